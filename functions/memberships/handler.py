"""Wire of single memberships."""

from shared.boundary.http import Operation, endpoint
from shared.boundary.models import memberships as wire
from shared.domain.errors import NotFound
from shared.domain.principal import Role
from shared.engine.writes import delete_membership, put_membership
from shared.runtime import store

handler = endpoint(
    store,
    Operation(
        route="PUT /api/memberships",
        needs=Role.ADMIN,
        request=wire.MembershipPut,
        answer=wire.MembershipAnswer,
        run=put_membership,
    ),
    Operation(
        route="DELETE /api/memberships",
        needs=Role.ADMIN,
        request=wire.MembershipDelete,
        answer=wire.MembershipDeleted,
        refuses=(NotFound,),
        run=delete_membership,
    ),
)
