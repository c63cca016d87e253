"""Wire of `context_lines`."""

from shared.boundary.http import Operation, endpoint
from shared.boundary.models.records import ContextLinesAnswer, ContextLinesRequest
from shared.domain.principal import Role
from shared.engine.lines import context_lines
from shared.runtime import store

handler = endpoint(
    store,
    Operation(
        route="POST /api/records/lines",
        needs=Role.READER,
        request=ContextLinesRequest,
        answer=ContextLinesAnswer,
        run=context_lines,
    ),
)
