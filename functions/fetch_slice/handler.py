"""Wire of `fetch_slice`."""

from shared.boundary.http import Operation, endpoint
from shared.boundary.models.slice import SliceAnswer, SliceRequest
from shared.domain.errors import NotFound
from shared.domain.principal import Role
from shared.engine.slice import fetch_slice
from shared.runtime import store

handler = endpoint(
    store,
    Operation(
        route="POST /api/search/slice",
        needs=Role.READER,
        request=SliceRequest,
        answer=SliceAnswer,
        refuses=(NotFound,),
        run=fetch_slice,
    ),
)
