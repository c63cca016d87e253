"""Wire of single edges."""

from shared.boundary.http import Operation, endpoint
from shared.boundary.models import edges as wire
from shared.domain.errors import NotFound
from shared.domain.principal import Role
from shared.engine.writes import delete_edge, put_edge
from shared.runtime import store

handler = endpoint(
    store,
    Operation(
        route="PUT /api/edges",
        needs=Role.WRITER,
        request=wire.EdgePut,
        answer=wire.EdgeAnswer,
        refuses=(NotFound,),
        run=put_edge,
    ),
    Operation(
        route="DELETE /api/edges",
        needs=Role.WRITER,
        request=wire.EdgeDelete,
        answer=wire.EdgeDeleted,
        refuses=(NotFound,),
        run=delete_edge,
    ),
)
