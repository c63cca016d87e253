"""Writing to a store in tests: sessions, lines, what the table holds, a store that breaks off after so many calls."""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any, TypeVar

import boto3

from shared.domain.lines import memory_body, patch_fields
from shared.domain.principal import Principal, Role
from shared.engine.exporting import ExportQuery, export_lines
from shared.engine.importing import import_lines
from shared.engine.session import Deadline, Session
from shared.engine.sweep import sweep
from shared.engine.writes import MemoryPatch, patch_memory, put_memory
from shared.store.dynamo import Store
from shared.store.table import Table

T = TypeVar("T")

EVERYTHING = (Role.READER, Role.WRITER, Role.ADMIN)


def session(tenant: str, who: str = "root", *roles: Role, scope_keys: frozenset[str] | None = None) -> Session:
    """A request of `who`: with every role unless said otherwise, and time enough."""
    principal = Principal(
        tenant_id=tenant,
        principal_id=who,
        roles=frozenset(roles or EVERYTHING),
        agent_ids=frozenset({"*"}),
        scope_keys=scope_keys,
    )
    return Session(principal=principal, deadline=Deadline(monotonic() + 120))


def writer(tenant: str, who: str) -> Session:
    return session(tenant, who, Role.READER, Role.WRITER)


def ndjson(*lines: Mapping[str, Any]) -> bytes:
    return "\n".join(json.dumps(line) for line in lines).encode()


def load(store: Store, tenant: str, *lines: Mapping[str, Any]) -> Any:
    """Import lines as the tenant's admin."""
    return import_lines(store, session(tenant), ndjson(*lines))


def note(memory_id: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "memory", "id": memory_id, "type": "note", "name": f"Name of {memory_id}", **fields}


def link(source: str, target: str, relationship: str = "RELATED_TO", **fields: Any) -> dict[str, Any]:
    return {"kind": "edge", "source": source, "relationship": relationship, "target": target, **fields}


def put(store: Store, asker: Session, memory_id: str, **fields: Any) -> Any:
    return put_memory(store, asker, memory_body({"type": "note", "name": "N", **fields}, memory_id))


def patch(store: Store, asker: Session, memory_id: str, **fields: Any) -> Any:
    return patch_memory(store, asker, MemoryPatch(memory_id, patch_fields(fields)))


def exported(store: Store, tenant: str) -> list[str]:
    """All lines of the tenant, page after page."""
    texts: list[str] = []
    cursor: str | None = None
    while True:
        page = export_lines(store, session(tenant), ExportQuery(cursor))
        texts += page.text.splitlines()
        cursor = page.next_cursor
        if cursor is None:
            return texts


def swept(store: Store, tenant: str, *, after: timedelta = timedelta(hours=1)) -> list[str]:
    """Sweep as of later, and tell the kinds of task that the tenant has left."""
    sweep(store, datetime.now(UTC) + after, Deadline(monotonic() + 60))
    return [task.kind for task in store.cleanups.tasks() if task.tenant == tenant]


def table_rows(table_name: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Everything in the table, by key."""
    pages = boto3.client("dynamodb").get_paginator("scan").paginate(TableName=table_name, ConsistentRead=True)
    items = [item for page in pages for item in page["Items"]]
    return {(item["PK"]["S"], item["SK"]["S"]): item for item in items}


class Broken(Exception):
    """The process ended here."""


class BreakingTable(Table):
    """A table whose process ends before the call after the first `calls`."""

    def __init__(self, name: str, calls: int) -> None:
        super().__init__(boto3.client("dynamodb"), name, ThreadPoolExecutor(8))
        self._left = calls
        self._lock = threading.Lock()

    def _call(self, call: Callable[..., Any], **arguments: Any) -> Any:
        with self._lock:
            if self._left == 0:
                raise Broken
            self._left -= 1
        return super()._call(call, **arguments)


def together(calls: Sequence[Callable[[], T]]) -> list[T]:
    """The results of calls made at once, each on a thread of its own."""
    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]
