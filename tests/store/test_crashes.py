"""A process that ends at any step of a write leaves one whole state, and the sweep removes what it left besides."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from shared.domain.errors import NotFound
from shared.engine.writes import MemoryId, delete_memory, get_memory
from shared.store.dynamo import Store
from tests.support.writing import (
    BreakingTable,
    Broken,
    link,
    load,
    note,
    put,
    session,
    swept,
    table_rows,
)

OLD = "Before it was so. " * 200
NEW = "Now it is otherwise. " * 300
_MOST_CALLS = 60


def broken_off(table_name: str, work: Callable[[Store], object]) -> list[int]:
    """Run `work` in processes that end after 0, 1, 2 … calls, until one comes through; how many calls those were."""
    tried = []
    for calls in range(_MOST_CALLS):
        tried.append(calls)
        try:
            work(Store(BreakingTable(table_name, calls)))
        except Broken:
            continue
        return tried
    pytest.fail("the work does not end")


def test_a_broken_recut_leaves_one_whole_cut(store: Store, table_name: str, tenant: str) -> None:
    before = table_rows(table_name)
    put(store, session(tenant), "m", content=OLD)
    seen = []

    def recut(breaking: Store) -> None:
        put(store, session(tenant), "m", content=OLD)
        try:
            put(breaking, session(tenant), "m", content=NEW)
        finally:
            seen.append(get_memory(store, session(tenant), MemoryId("m"))["content"])

    tried = broken_off(table_name, recut)
    assert len(tried) > 5
    assert set(seen) == {OLD, NEW}
    assert seen[0] == OLD
    assert seen[-1] == NEW
    assert swept(store, tenant) == []
    rows = {key: row for key, row in table_rows(table_name).items() if key not in before}
    (hinge,) = [row for (_, sort), row in rows.items() if sort == "K"]
    passages = [sort for _, sort in rows if sort.startswith("J#")]
    assert {sort.split("#")[1] for sort in passages} == {hinge["cut"]["S"]}
    assert len(passages) == int(hinge["passages"]["N"])
    assert get_memory(store, session(tenant), MemoryId("m"))["content"] == NEW


def test_a_broken_delete_is_finished_by_the_sweep(store: Store, table_name: str, tenant: str) -> None:
    before = table_rows(table_name)

    def delete(breaking: Store) -> None:
        load(
            store,
            tenant,
            note("m", content=OLD, key="k", project_id="p", spans=[{"start": 5, "end": 900, "label": "part"}]),
            note("near"),
            link("m", "near"),
            link("near", "m", "BELONGS_TO"),
            link("m", "m", "SUPPORTS"),
        )
        delete_memory(breaking, session(tenant), MemoryId("m"))

    tried = broken_off(table_name, delete)
    assert len(tried) > 6
    with pytest.raises(NotFound):
        get_memory(store, session(tenant), MemoryId("m"))
    assert swept(store, tenant) == []
    left = [sort for key, sort in table_rows(table_name).keys() - before.keys() if not sort.startswith("U#")]
    assert left == ["K"]


def test_a_deletion_is_looked_at_again_later(store: Store, tenant: str) -> None:
    load(store, tenant, note("m"), note("near"), link("near", "m"))
    delete_memory(store, session(tenant), MemoryId("m"))
    assert swept(store, tenant, after=timedelta(0)) == ["life"]
    assert swept(store, tenant) == []


def test_a_cut_that_the_sweep_has_claimed_never_becomes_current(
    store: Store, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that slept for an hour between its passages and its hinge writes them again."""
    stage = store.memories.stage
    left: list[list[str]] = []

    def slow_stage(of: str, change: object) -> None:
        stage(of, change)  # type: ignore[arg-type]
        left.append(swept(store, tenant) if not left else ["in time"])

    monkeypatch.setattr(store.memories, "stage", slow_stage)
    put(store, session(tenant), "m", content=NEW)
    assert left == [[], ["in time"]]
    assert get_memory(store, session(tenant), MemoryId("m"))["content"] == NEW
