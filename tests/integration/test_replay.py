"""A table restored to before a purge is purged again from the markers, and what was written since the purge stays."""

from collections.abc import Iterator

import boto3
import pytest

from infra.local.template import Template
from infra.replay import replay
from shared.runtime import connected
from tests.conftest import Caller, ClaimsOf, Load

RESTORED = "restored"


@pytest.fixture
def restored(engine: str, template: Template) -> Iterator[str]:
    """An empty table, as the restore will fill it."""
    assert engine
    client = boto3.client("dynamodb")
    definition = {**template.tables()[0].definition, "TableName": RESTORED}
    client.create_table(**definition)
    yield RESTORED
    client.delete_table(TableName=RESTORED)


def copied(source: str, target: str) -> None:
    client = boto3.client("dynamodb")
    for page in client.get_paginator("scan").paginate(TableName=source):
        for item in page["Items"]:
            client.put_item(TableName=target, Item=item)


def test_what_was_purged_stays_purged(
    call: Caller,
    claims_of: ClaimsOf,
    load: Load,
    table_name: str,
    restored: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = claims_of("root")
    member = {"kind": "membership", "principal_id": "root"}
    note = {"kind": "memory", "type": "note", "name": "N"}
    load(
        {**member, "project_id": "gone"},
        {**member, "project_id": "kept"},
        {**note, "id": "in-gone", "project_id": "gone"},
        {**note, "id": "scoped", "scope": "project", "scope_key": "gone"},
        {**note, "id": "in-kept", "project_id": "kept"},
    )
    copied(table_name, restored)
    for reason in ("once", "twice"):
        purged = call("POST", "/api/projects/gone/purge", root, {"mode": "logical", "reason": reason})
        assert purged.status == 200

    def seen() -> set[str]:
        ids = ("in-gone", "scoped", "in-kept")
        return {name for name in ids if call("GET", f"/api/memories/{name}", root).status == 200}

    assert seen() == {"in-kept"}
    monkeypatch.setenv("TABLE_NAME", restored)
    connected.cache_clear()
    assert seen() == {"in-gone", "scoped", "in-kept"}
    assert replay(table_name, restored) == 2
    assert seen() == {"in-kept"}
    assert replay(table_name, restored) == 0
    put = call("PUT", "/api/memories/later", root, {"type": "note", "name": "L", "project_id": "gone"})
    assert put.status == 200
    assert call("GET", "/api/memories/later", root).status == 200
    connected.cache_clear()


def test_a_restore_to_after_the_purge_needs_nothing(
    call: Caller, claims_of: ClaimsOf, load: Load, table_name: str, restored: str
) -> None:
    load({"kind": "membership", "principal_id": "root", "project_id": "gone"})
    assert call("POST", "/api/projects/gone/purge", claims_of("root"), {"mode": "hard", "reason": "r"}).status == 200
    copied(table_name, restored)
    assert replay(table_name, restored) == 0
