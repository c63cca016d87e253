"""Wire of the grant recheck."""

from shared.boundary.http import ANY_CALLER, Operation, endpoint
from shared.boundary.models.grants import GrantChange, RecheckAnswer
from shared.engine.grants import recheck_grant
from shared.runtime import store

handler = endpoint(
    store,
    Operation(
        route="POST /api/grants/{id}/recheck",
        needs=ANY_CALLER,
        request=GrantChange,
        answer=RecheckAnswer,
        run=recheck_grant,
    ),
)
