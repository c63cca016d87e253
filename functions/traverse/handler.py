"""Wire of `traverse`."""

from shared.boundary.http import Operation, endpoint
from shared.boundary.models.traverse import TraverseAnswer, TraverseRequest
from shared.domain.principal import Role
from shared.engine.traverse import traverse
from shared.runtime import store

handler = endpoint(
    store,
    Operation(
        route="POST /api/search/traverse",
        needs=Role.READER,
        request=TraverseRequest,
        answer=TraverseAnswer,
        run=traverse,
    ),
)
