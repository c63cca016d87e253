"""Pages of an export: all lines once, in one order, and nothing of what is gone."""

import json

import pytest

from shared.domain.errors import Malformed
from shared.domain.purges import PurgeMode
from shared.engine import exporting
from shared.engine.exporting import ExportQuery, export_lines
from shared.engine.purge import PurgeQuery, purge_project
from shared.engine.writes import MemoryId, delete_memory, get_memory
from shared.store import keys
from shared.store.dynamo import Store
from tests.support.writing import exported, link, load, note, put, session, swept, table_rows

LONG = "Page after page. " * 300


def test_pages_are_the_whole_in_order(store: Store, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"n{number:02}" for number in range(12)]
    load(store, tenant, *(note(name, content=LONG) for name in reversed(names)), *(link("n00", name) for name in names))
    whole = exported(store, tenant)
    assert [json.loads(line)["id"] for line in whole[:12]] == names
    assert [json.loads(line)["kind"] for line in whole[12:]] == ["edge"] * 12
    monkeypatch.setattr(exporting, "PAGE_BYTES", 12_000)
    monkeypatch.setattr(exporting, "_ROWS", 5)
    first = export_lines(store, session(tenant), ExportQuery())
    assert len(first.text.splitlines()) == 2
    assert exported(store, tenant) == whole


def test_a_long_line_has_a_page_of_its_own(store: Store, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    load(store, tenant, note("a"), note("b", content=LONG), note("c"))
    monkeypatch.setattr(exporting, "PAGE_BYTES", 2_000)
    pages = [export_lines(store, session(tenant), ExportQuery())]
    while cursor := pages[-1].next_cursor:
        pages.append(export_lines(store, session(tenant), ExportQuery(cursor)))
    assert [[json.loads(line)["id"] for line in page.text.splitlines()] for page in pages] == [["a"], ["b"], ["c"]]


def test_a_cursor_is_good_for_its_tenant_alone(store: Store, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    load(store, tenant, note("a"), note("b"))
    monkeypatch.setattr(exporting, "PAGE_BYTES", 1)
    cursor = export_lines(store, session(tenant), ExportQuery()).next_cursor
    assert cursor is not None
    assert "b" in export_lines(store, session(tenant), ExportQuery(cursor)).text
    with pytest.raises(Malformed):
        export_lines(store, session("another"), ExportQuery(cursor))


def test_many_mentions_take_several_lines(store: Store, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "_MENTIONS_A_LINE", 2)
    names = ["a", "b", "c", "d", "e"]
    load(store, tenant, *map(note, names), {"kind": "entity", "agent_id": "x", "name": "N", "mentions": names})
    lines = [json.loads(line) for line in exported(store, tenant)]
    assert [line["mentions"] for line in lines if line["kind"] == "entity"] == [["a", "b"], ["c", "d"], ["e"]]
    load(store, tenant + "-copy", *lines)
    assert [json.loads(line) for line in exported(store, tenant + "-copy")] == lines


def test_an_end_that_a_nearer_name_hides_is_exported_by_another_name(store: Store, tenant: str) -> None:
    relation = {
        "kind": "relation",
        "agent_id": "x",
        "subject": "Ann",
        "predicate": "is",
        "object": "Ben",
        "channel": "c",
    }
    load(
        store,
        tenant,
        {"kind": "entity", "agent_id": "x", "name": "Ann", "aliases": ["Annie"]},
        {"kind": "entity", "agent_id": "x", "name": "Ben"},
        relation,
    )
    load(store, tenant, {"kind": "entity", "agent_id": "x", "name": "Ann", "channel": "c"})
    (found,) = [line for line in map(json.loads, exported(store, tenant)) if line["kind"] == "relation"]
    assert (found["subject"], found["object"]) == ("Annie", "Ben")


def test_what_is_gone_has_no_line(store: Store, tenant: str) -> None:
    load(
        store,
        tenant,
        {"kind": "membership", "principal_id": "root", "project_id": "atlas"},
        note("kept"),
        note("purged", project_id="atlas", content=LONG, key="k"),
        note("deleted"),
        link("kept", "purged"),
        link("purged", "kept", "BLOCKS"),
        link("deleted", "kept"),
        {"kind": "entity", "agent_id": "x", "name": "Ann", "mentions": ["kept", "purged"]},
    )
    purge_project(store, session(tenant), PurgeQuery(project_id="atlas", mode=PurgeMode.LOGICAL))
    delete_memory(store, session(tenant), MemoryId("deleted"))
    lines = [json.loads(line) for line in exported(store, tenant)]
    assert [line["kind"] for line in lines] == ["membership", "memory", "entity"]
    assert lines[2]["mentions"] == ["kept"]


def test_a_new_life_after_a_purge_has_nothing_of_the_former(store: Store, table_name: str, tenant: str) -> None:
    load(
        store,
        tenant,
        {"kind": "membership", "principal_id": "root", "project_id": "atlas"},
        note("a"),
        note("m", project_id="atlas", content=LONG, owner="ben"),
        link("a", "m"),
        link("m", "a", "BLOCKS"),
    )
    purge_project(store, session(tenant), PurgeQuery(project_id="atlas", mode=PurgeMode.HARD))
    assert put(store, session(tenant), "m", project_id="atlas") == {"id": "m", "revision": 1, "created": True}
    swept(store, tenant)
    partitions = {keys.node(tenant, memory_id) for memory_id in ("a", "m")}
    assert [sort for partition, sort in table_rows(table_name) if partition in partitions] == ["K", "K"]
    found = get_memory(store, session(tenant), MemoryId("m"))
    assert (found["owner"], found["content"]) == ("root", "")
    assert [json.loads(line)["kind"] for line in exported(store, tenant)] == ["membership", "memory", "memory"]
