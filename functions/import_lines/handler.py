"""Wire of the import."""

from shared.boundary.http import NDJSON, Operation, endpoint
from shared.boundary.models.interchange import ImportAnswer, ImportRequest
from shared.domain.principal import Role
from shared.engine.importing import import_lines
from shared.runtime import store

handler = endpoint(
    store,
    Operation(
        route="POST /api/import",
        needs=Role.WRITER,
        media=NDJSON,
        request=ImportRequest,
        answer=ImportAnswer,
        run=import_lines,
    ),
)
