"""Writers and readers at the same time: nothing is lost, nothing is mixed, nothing is left."""

from collections.abc import Callable
from threading import Event
from typing import Any

import pytest

from shared.domain.errors import Conflict, NotFound
from shared.domain.lines import edge_line
from shared.engine.expand import ExpandQuery, expand_neighbors
from shared.engine.slice import SliceQuery, fetch_slice
from shared.engine.writes import MemoryId, delete_memory, get_memory, put_edge
from shared.store.dynamo import Store
from tests.support.writing import link, load, note, patch, put, session, swept, table_rows, together

pytestmark = pytest.mark.needs_concurrency


def test_eight_writers_lose_nothing(store: Store, tenant: str) -> None:
    """Each counts up under `if_revision`, and again when another came first."""
    put(store, session(tenant), "counter", metadata={"n": 0})

    def count_up() -> None:
        done = 0
        while done < 5:
            read: Any = get_memory(store, session(tenant), MemoryId("counter"))
            change = {"metadata": {"n": read["metadata"]["n"] + 1}, "if_revision": read["revision"]}
            try:
                patch(store, session(tenant), "counter", **change)
            except Conflict:
                continue
            done += 1

    together([count_up] * 8)
    counter: Any = get_memory(store, session(tenant), MemoryId("counter"))
    assert (counter["metadata"], counter["revision"]) == ({"n": 40}, 41)


def test_writers_of_different_fields_lose_nothing(store: Store, tenant: str) -> None:
    put(store, session(tenant), "m", content="word " * 1_000)
    together(
        [
            lambda: patch(store, session(tenant), "m", name="Renamed"),
            lambda: patch(store, session(tenant), "m", metadata={"k": 1}),
            lambda: patch(store, session(tenant), "m", state="superseded"),
            lambda: patch(store, session(tenant), "m", scope="organization"),
        ]
    )
    memory: Any = get_memory(store, session(tenant), MemoryId("m"))
    found = [memory[name] for name in ("name", "metadata", "state", "scope", "revision")]
    assert found == ["Renamed", {"k": 1}, "superseded", "organization", 5]


def test_sixteen_writers_to_one_hub(store: Store, tenant: str) -> None:
    load(store, tenant, note("hub"), *(note(f"leaf{number:02}") for number in range(64)))

    def connect(writer: int) -> None:
        for number in range(4):
            line = {"source": f"leaf{4 * writer + number:02}", "relationship": "ABOUT", "target": "hub"}
            put_edge(store, session(tenant), edge_line(line))

    together([lambda writer=writer: connect(writer) for writer in range(16)])  # type: ignore[misc]
    found: Any = [
        expand_neighbors(store, session(tenant), ExpandQuery(entity_ids=(f"leaf{number:02}",), limit=24))["neighbors"]
        for number in range(64)
    ]
    assert [neighbors[0]["id"] for neighbors in found] == ["hub"] * 64
    around: Any = expand_neighbors(store, session(tenant), ExpandQuery(entity_ids=("hub",), limit=24))
    assert [neighbor["id"] for neighbor in around["neighbors"]] == [f"leaf{number:02}" for number in range(24)]


def test_readers_see_one_cut_whole(store: Store, tenant: str) -> None:
    bodies = [f"Version {version} says so. " * (150 + 20 * version) for version in range(12)]
    put(store, session(tenant), "m", content=bodies[0])
    over = Event()

    def write() -> set[str]:
        for body in bodies[1:]:
            put(store, session(tenant), "m", content=body)
        over.set()
        return set()

    def read() -> set[str]:
        seen = set()
        while not over.is_set():
            seen.add(str(get_memory(store, session(tenant), MemoryId("m"))["content"]))
            query = SliceQuery(entity_id="m", window=64, content_max_chars=50_000)
            sliced: Any = fetch_slice(store, session(tenant), query)
            seen.add("".join(passage["content"] for passage in sliced["passages"]))
            assert sliced["covers_parent"] is True
        return seen

    seen = set[str]().union(*together([write, read, read, read]))
    assert seen <= set(bodies)
    assert len(seen) > 2


def test_links_to_a_memory_that_is_being_deleted(store: Store, table_name: str, tenant: str) -> None:
    """Whatever comes first, no row of an edge without its ends is left."""
    before = table_rows(table_name)
    load(store, tenant, note("target"), *(note(f"n{number}") for number in range(12)))

    def connect(number: int) -> str:
        edge = edge_line({"source": f"n{number}", "relationship": "ABOUT", "target": "target"})
        try:
            put_edge(store, session(tenant), edge)
        except NotFound:
            return "refused"
        return "stored"

    calls: list[Callable[[], str]] = [lambda number=number: connect(number) for number in range(12)]  # type: ignore[misc]
    calls.insert(6, lambda: str(delete_memory(store, session(tenant), MemoryId("target"))["deleted"]))
    together(calls)
    assert swept(store, tenant) == []
    left = {sort[:2] for _, sort in table_rows(table_name).keys() - before.keys()}
    assert left == {"K", "U#"}


def test_many_lives_of_one_id(store: Store, table_name: str, tenant: str) -> None:
    """Deleted, written and linked at once, again and again: the last life has nothing of the others."""
    before = table_rows(table_name)
    load(store, tenant, note("near"))

    def live() -> None:
        for number in range(4):
            load(
                store,
                tenant,
                note("m", content=f"Life {number}. " * 300, key="k"),
                link("m", "near"),
                link("near", "m"),
            )
            try:
                delete_memory(store, session(tenant), MemoryId("m"))
            except NotFound:
                continue

    together([live] * 4)
    put(store, session(tenant), "m", name="The last")
    answer: Any = expand_neighbors(store, session(tenant), ExpandQuery(entity_ids=("m", "near")))
    assert (answer["origins"], answer["neighbors"]) == (["m", "near"], [])
    assert swept(store, tenant) == []
    left = sorted(sort[:2] for _, sort in table_rows(table_name).keys() - before.keys())
    assert left == ["K", "K", "U#", "U#"]
