"""Wire of the purge."""

from shared.boundary.http import Operation, endpoint
from shared.boundary.models.purge import PurgeAnswer, PurgePost
from shared.domain.errors import NotFound
from shared.domain.principal import Role
from shared.engine.purge import purge_project
from shared.runtime import store

handler = endpoint(
    store,
    Operation(
        route="POST /api/projects/{id}/purge",
        needs=Role.ADMIN,
        request=PurgePost,
        answer=PurgeAnswer,
        refuses=(NotFound,),
        run=purge_project,
    ),
)
