"""Purges: at once for every verb, grants narrowed, and a sweep that leaves no orphan; over real store code."""

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from shared.domain.errors import NotFound
from shared.domain.purges import PurgeMode
from shared.engine import purge
from shared.engine.grants import GrantId, recheck_grant, show_grant
from shared.engine.purge import PurgeQuery, purge_project
from shared.store.dynamo import Store
from tests.support.records import TENANT, expand, grant, lines, member, memory_store, reader
from tests.support.writing import exported, link, load, note, session, swept

LONG = "A sentence of a long body. " * 300


def declared(kind: str, **fields: Any) -> dict[str, Any]:
    return {"kind": kind, "agent_id": "a1", **fields}


KEPT = (
    member("root", "p2"),
    member("root", "p3"),
    member("bob", "p2"),
    note("free"),
    note("third", project_id="p3"),
    declared("entity", name="Gate", mentions=["free"]),
    {"kind": "capture_status", "project_id": "p2", "pending": 0, "priorSetup": 1, "gaps": []},
)
GONE = (
    note("m1", project_id="p2", content=LONG, key="k"),
    note("m2", project_id="p2", key="k"),
    note("ruled", scope="project", scope_key="p2"),
    link("m1", "m2"),
    link("free", "m1"),
    link("m2", "third", "SUPERSEDES"),
    {
        "kind": "entity",
        "agent_id": "a1",
        "name": "Vault",
        "project_id": "p2",
        "aliases": ["Safe"],
        "mentions": ["free"],
    },
    {"kind": "entity", "agent_id": "a1", "name": "Gate", "mentions": ["m1"]},
    {
        "kind": "relation",
        "agent_id": "a1",
        "subject": "Vault",
        "predicate": "behind",
        "object": "Gate",
        "project_id": "p2",
    },
    {
        "kind": "relation",
        "agent_id": "a1",
        "subject": "Gate",
        "predicate": "seen in",
        "object": "Gate",
        "anchor_ref": "m1",
    },
)
SURVIVING = ("P#", "B#", "Q#", "G#")
"""Partitions of the purge itself, of tasks not due yet, and of grants."""


@pytest.fixture
def store() -> Store:
    built = memory_store()
    report = load(built, TENANT, *KEPT)
    assert report["rejected"] == 0, report
    return built


def purged(store: Store, project: str = "p2", mode: PurgeMode = PurgeMode.LOGICAL) -> Any:
    return purge_project(store, session(TENANT), PurgeQuery(project_id=project, mode=mode, reason="over"))


def rows(store: Store) -> dict[tuple[str, str], Any]:
    """All rows but those of the purge and of grants."""
    found: Any = store.table
    return {key: item for key, item in found.rows.items() if not key[0].startswith(SURVIVING)}


@pytest.fixture
def at_once() -> Iterator[None]:
    """No writer is in flight."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(purge, "IN_FLIGHT", timedelta(seconds=-1))
        yield


def sweep_all(store: Store) -> None:
    """A first sweep removes, a second finds nothing left; deleted memories are looked at once more."""
    for _ in range(4):
        swept(store, TENANT)
    assert not [key for key in store.table.rows if key[0].startswith("Q#")]  # type: ignore[attr-defined]


def test_a_sweep_leaves_the_store_as_if_the_project_had_never_been_written(store: Store, at_once: None) -> None:
    before = rows(store)
    report = load(store, TENANT, *GONE)
    assert report["rejected"] == 0, report
    assert rows(store) != before
    purged(store)
    sweep_all(store)
    left = rows(store)
    assert left.keys() == before.keys()
    kept = {key[1] for key in store.table.rows if key[0].startswith("P#")}  # type: ignore[attr-defined]
    assert {"CAPTURE", "EPOCH"} < kept
    assert len([sort for sort in kept if sort.startswith("PURGE#")]) == 1
    assert "m1" not in str([item for key, item in store.table.rows.items() if key[0].startswith(("P#", "B#"))])  # type: ignore[attr-defined]


def test_a_purge_is_at_once_and_writes_four_rows(store: Store) -> None:
    load(store, TENANT, *GONE, *(note(f"n{number}", project_id="p2") for number in range(300)))
    store.table.meter.reset()
    purged(store)
    assert store.table.meter.writes == 1
    assert lines(store, reader("bob"), project="p2")["lines"] == []
    assert expand(store, reader("bob"), "m1", project="p2")["status"] == "unavailable"
    assert not [line for line in exported(store, TENANT) if '"m1"' in line and '"memory"' in line]


def test_what_is_written_anew_stays_through_the_sweep(store: Store, at_once: None) -> None:
    load(store, TENANT, *GONE)
    purged(store)
    load(store, TENANT, note("m1", project_id="p2", content="new"), note("m9", project_id="p2"), link("m1", "m9"))
    sweep_all(store)
    answer = expand(store, reader("bob"), "m1", project="p2")
    assert answer["record"]["content"] == "new"
    assert answer["investigation"]["total"] == 0
    assert {line["recordId"] for line in lines(store, reader("bob"), project="p2")["lines"]} == {"m1", "m9"}
    purged(store)
    assert expand(store, reader("bob"), "m1", project="p2")["status"] == "unavailable"
    sweep_all(store)


ANEW = (
    note("m1", project_id="p2"),
    note("ruled"),
    declared("entity", name="Vault", project_id="p2", aliases=["Strongroom"]),
    declared(
        "relation",
        subject="Vault",
        predicate="behind",
        object="Gate",
        project_id="p2",
        declared_at="2020-01-01T00:00:00Z",
    ),
)


def undated(store: Store) -> set[tuple[str, str]]:
    """The keys of all rows, less the instant by which a project lists its memories."""
    return {(partition, re.sub(r"^U#\d+", "U#", sort)) for partition, sort in rows(store)}


def test_a_new_life_keeps_no_row_of_the_former_one(store: Store, at_once: None) -> None:
    twin = memory_store()
    load(twin, TENANT, *KEPT, *ANEW)
    load(store, TENANT, *GONE)
    purged(store)
    report = load(store, TENANT, *ANEW)
    assert report["rejected"] == 0, report
    sweep_all(store)
    assert undated(store) == undated(twin)


def test_a_mention_by_a_writer_that_saw_the_name_alive_is_found_later(store: Store, at_once: None) -> None:
    before = rows(store).keys()
    load(store, TENANT, *GONE)
    write = store.edges.write

    def late(tenant: str, changes: Any) -> Any:
        purged(store)
        for _ in range(2):
            swept(store, tenant, after=timedelta(0))
        return write(tenant, changes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store.edges, "write", late)
        load(store, TENANT, declared("entity", name="Vault", project_id="p2", mentions=["third"]))
    sweep_all(store)
    assert rows(store).keys() == before


def test_the_board_keeps_a_project_until_no_writer_is_in_flight(store: Store) -> None:
    load(store, TENANT, *GONE)
    purged(store)
    for _ in range(3):
        swept(store, TENANT)
    board = [item["active"] for key, item in store.table.rows.items() if key[0].startswith("B#")]  # type: ignore[attr-defined]
    assert board == ['{"p2": 1}']


def test_a_sweep_that_breaks_off_goes_on(store: Store, at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    before = rows(store)
    load(store, TENANT, *GONE)
    purged(store)
    remove = store.purges.remove
    done: list[str] = []

    def one(task: Any, row: Any, clock: Any) -> None:
        if done:
            msg = "the process ended"
            raise KeyboardInterrupt(msg)
        done.append(row.id)
        remove(task, row, clock)

    monkeypatch.setattr(store.purges, "remove", one)
    with pytest.raises(KeyboardInterrupt):
        swept(store, TENANT)
    monkeypatch.undo()
    monkeypatch.setattr(purge, "IN_FLIGHT", timedelta(seconds=-1))
    sweep_all(store)
    assert rows(store).keys() == before.keys()


def test_a_purged_project_leaves_every_grant_for_good(store: Store, at_once: None) -> None:
    both, one = grant(store, "bob", "p2", "p3")["id"], grant(store, "bob", "p2")["id"]
    at = purged(store)["at"]
    for _ in ("before the sweep", "after it"):
        exports = [line for line in map(json.loads, exported(store, TENANT)) if line["kind"] == "grant"]
        assert sorted(line["projects"] for line in exports) == [[], ["p3"]]
        assert show_grant(store, session(TENANT), GrantId(both))["projects"] == ["p3"]
        shown = show_grant(store, session(TENANT), GrantId(one))
        assert (shown["projects"], shown["revoked_at"]) == ([], at)
        assert recheck_grant(store, reader("bob"), GrantId(both))["valid"] is True
        assert recheck_grant(store, reader("bob"), GrantId(one))["reason"] == "grant_revoked"
        load(store, TENANT, note("anew", project_id="p2"))
        assert expand(store, reader("cyd"), "anew", accessId=both)["status"] == "unavailable"
        assert expand(store, reader("bob"), "anew", project="p3", accessId=both)["status"] == "unavailable"
        sweep_all(store)
    assert grant(store, "bob", "p2")["projects"] == ["p2"]


def test_only_a_member_may_purge(store: Store) -> None:
    with pytest.raises(NotFound):
        purged(store, "p9")


def test_a_purge_comes_through_however_many_of_the_tenant_come_first(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(store, TENANT, *GONE)
    purge_rows, others = store.purges.purge, iter(range(20))
    monkeypatch.setattr(store.purges, "purge", lambda *args: next(others, None) is None and purge_rows(*args))
    assert purged(store)["project_id"] == "p2"
    assert expand(store, reader("bob"), "m1", project="p2")["status"] == "unavailable"
