"""Records and grants in tests: a store in memory, sessions of a surface and an instant, and the verbs in short."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from shared.boundary.models.records import ContextLinesRequest, ExpandRecordRequest
from shared.domain.lines import grant_line
from shared.domain.principal import Role, Surface
from shared.engine.audit import AuditQuery, read_audit
from shared.engine.grants import issue_grant
from shared.engine.lines import context_lines
from shared.engine.records import expand_record
from shared.engine.session import Session
from shared.store.dynamo import Store
from tests.support.scripted import MemoryTable
from tests.support.writing import session

TENANT = "t"
FAR = "2099-01-01T00:00:00Z"


def memory_store() -> Store:
    return Store(MemoryTable())


def reader(who: str, *, surface: Surface = Surface.HTTP, at: datetime | None = None, tenant: str = TENANT) -> Session:
    """A request of a reader, arrived now or `at` that instant."""
    plain = session(tenant, who, Role.READER)
    return replace(plain, surface=surface, arrived=at or datetime.now(UTC))


def member(principal: str, project: str) -> dict[str, Any]:
    return {"kind": "membership", "principal_id": principal, "project_id": project}


def expand(store: Store, asker: Session, name: str, /, **fields: Any) -> Any:
    """`expand_record` as the wire has it."""
    return expand_record(store, asker, ExpandRecordRequest.read({"recordId": name, "digest": "d", **fields}))


def lines(store: Store, asker: Session, **fields: Any) -> Any:
    """`context_lines` as the wire has it."""
    return context_lines(store, asker, ContextLinesRequest.read(fields))


def grant(store: Store, grantee: str, *projects: str, tenant: str = TENANT, **fields: Any) -> Any:
    """A grant issued by root, of both surfaces unless said otherwise."""
    terms: Mapping[str, Any] = {"surfaces": ["http", "mcp"], "expires_at": FAR, "reason": "review", **fields}
    line = grant_line({"grantee": grantee, "projects": list(projects), **terms})
    return issue_grant(store, session(tenant), line)


def aggregates(store: Store, *, tenant: str = TENANT, **query: Any) -> list[Any]:
    """All aggregates, page after page."""
    found: list[Any] = []
    cursor: str | None = None
    while True:
        page: Any = read_audit(store, session(tenant), AuditQuery(cursor=cursor, **query))
        found += page["aggregates"]
        cursor = page.get("cursor")
        if cursor is None:
            return found


def counted(store: Store, *, tenant: str = TENANT, **query: Any) -> list[tuple[str, str, int]]:
    """Grant, outcome and count of each aggregate."""
    return [(row["grant_id"], row["outcome"], row["count"]) for row in aggregates(store, tenant=tenant, **query)]
