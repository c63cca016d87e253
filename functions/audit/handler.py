"""Wire of the audit."""

from shared.boundary.http import ANY_CALLER, Operation, endpoint
from shared.boundary.models.audit import AuditAnswer, AuditGet
from shared.domain.errors import Forbidden
from shared.engine.audit import read_audit
from shared.runtime import store

handler = endpoint(
    store,
    Operation(
        route="GET /api/audit",
        needs=ANY_CALLER,
        request=AuditGet,
        answer=AuditAnswer,
        refuses=(Forbidden,),
        run=read_audit,
    ),
)
