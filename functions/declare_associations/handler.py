"""Wire of `declare_associations`."""

from shared.boundary.http import Operation, endpoint
from shared.boundary.models.associations import AssociationsAnswer, AssociationsRequest
from shared.domain.errors import NotFound
from shared.domain.principal import Role
from shared.engine.associations import declare_associations
from shared.runtime import store

handler = endpoint(
    store,
    Operation(
        route="POST /api/associations",
        needs=Role.WRITER,
        request=AssociationsRequest,
        answer=AssociationsAnswer,
        refuses=(NotFound,),
        run=declare_associations,
    ),
)
