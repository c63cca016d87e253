"""Wire of `expand_neighbors`."""

from shared.boundary.http import Operation, endpoint
from shared.boundary.models.expand import ExpandAnswer, ExpandRequest
from shared.domain.principal import Role
from shared.engine.expand import expand_neighbors
from shared.runtime import store

handler = endpoint(
    store,
    Operation(
        route="POST /api/search/expand",
        needs=Role.READER,
        request=ExpandRequest,
        answer=ExpandAnswer,
        run=expand_neighbors,
    ),
)
