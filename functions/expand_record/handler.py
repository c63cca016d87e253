"""Wire of `expand_record`."""

from shared.boundary.http import Operation, endpoint
from shared.boundary.models.records import ExpandRecordAnswer, ExpandRecordRequest
from shared.domain.principal import Role
from shared.engine.records import expand_record
from shared.runtime import store

handler = endpoint(
    store,
    Operation(
        route="POST /api/records/expand",
        needs=Role.READER,
        request=ExpandRecordRequest,
        answer=ExpandRecordAnswer,
        run=expand_record,
    ),
)
