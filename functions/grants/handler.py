"""Wire of grants, but for the recheck."""

from shared.boundary.http import ANY_CALLER, Operation, endpoint
from shared.boundary.models import grants as wire
from shared.domain.errors import Conflict, NotFound
from shared.domain.principal import Role
from shared.engine.grants import issue_grant, list_grants, revoke_grant, show_grant
from shared.runtime import store

handler = endpoint(
    store,
    Operation(
        route="POST /api/grants",
        needs=Role.ADMIN,
        request=wire.GrantPost,
        answer=wire.GrantAnswer,
        refuses=(NotFound, Conflict),
        run=issue_grant,
    ),
    Operation(
        route="GET /api/grants",
        needs=Role.ADMIN,
        request=wire.GrantList,
        answer=wire.GrantListAnswer,
        run=list_grants,
    ),
    Operation(
        route="GET /api/grants/{id}",
        needs=ANY_CALLER,
        request=wire.GrantGet,
        answer=wire.GrantAnswer,
        refuses=(NotFound,),
        run=show_grant,
    ),
    Operation(
        route="DELETE /api/grants/{id}",
        needs=Role.ADMIN,
        request=wire.GrantChange,
        answer=wire.GrantAnswer,
        refuses=(NotFound,),
        run=revoke_grant,
    ),
)
