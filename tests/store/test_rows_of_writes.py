"""Which rows a write leaves in the table, by their keys."""

from collections import Counter
from dataclasses import replace

import pytest

from shared.domain.lines import edge_key, edge_line
from shared.domain.model import Edge
from shared.engine.port import EdgeChange
from shared.engine.writes import delete_edge, put_edge
from shared.store import keys
from shared.store.dynamo import Store
from tests.support.writing import link, load, note, patch, put, session, table_rows


def lanes(table_name: str, tenant: str, memory_id: str) -> list[str]:
    partition = keys.node(tenant, memory_id)
    return sorted(sort[0] for pk, sort in table_rows(table_name) if pk == partition)


@pytest.mark.parametrize(
    ("relationship", "source_lanes", "target_lanes"),
    [
        ("RELATED_TO", "EKOR", "IKS"),
        ("SUPERSEDES", "EKR", "IKS"),
        ("DECIDES", "EKOR", "KS"),
        ("BELONGS_TO", "EKOR", "BIKS"),
    ],
)
def test_an_edge_is_in_the_lanes_that_are_walked(
    store: Store, table_name: str, tenant: str, relationship: str, source_lanes: str, target_lanes: str
) -> None:
    load(store, tenant, note("a"), note("b"), link("a", "b", relationship))
    assert lanes(table_name, tenant, "a") == [*source_lanes]
    assert lanes(table_name, tenant, "b") == [*target_lanes]
    load(store, tenant, link("a", "b", relationship, weight=0.125))
    assert lanes(table_name, tenant, "a") == [*source_lanes]
    assert lanes(table_name, tenant, "b") == [*target_lanes]
    delete_edge(store, session(tenant), edge_key({"source": "a", "relationship": relationship, "target": "b"}))
    assert lanes(table_name, tenant, "a") + lanes(table_name, tenant, "b") == ["K", "K"]


def test_an_edge_of_a_source_that_has_gone_is_not_written(store: Store, table_name: str, tenant: str) -> None:
    load(store, tenant, note("a"), note("b"))
    edge = Edge(
        source="a",
        relationship="ABOUT",
        target="b",
        weight=0.5,
        source_born="0" * 16,
        target_born="0" * 16,
        written_at="2026-01-01T00:00:00.000Z",
    )
    change = EdgeChange(before=None, edge=edge)
    assert store.edges.write(tenant, [change]) == [change]
    assert lanes(table_name, tenant, "a") == ["K"]


def test_many_edges_of_one_transaction_are_lost_one_by_one(store: Store, table_name: str, tenant: str) -> None:
    load(store, tenant, note("a"), note("b"), note("c"), link("a", "b"), link("a", "c"))
    wave = store.wave(tenant, "root", session(tenant).deadline)
    pending = [wave.edge("a", "RELATED_TO", other) for other in "bc"]
    wave.run()
    (first, second) = [one.value for one in pending]
    assert first is not None
    assert second is not None
    changes = [
        EdgeChange(before=None, edge=replace(first, weight=0.25)),
        EdgeChange(before=second, edge=replace(second, weight=0.25)),
    ]
    assert store.edges.write(tenant, changes) == changes[:1]
    assert lanes(table_name, tenant, "a") == [*"EEKOORR"]


def test_a_memory_is_listed_once_under_its_home_and_once_under_its_key(
    store: Store, table_name: str, tenant: str
) -> None:
    before = table_rows(table_name)
    asker = session(tenant)

    def others() -> Counter[str]:
        return Counter(pk for pk, sort in table_rows(table_name).keys() - before.keys() if sort != "K")

    put(store, asker, "m", key="k", project_id="atlas")
    assert others() == {keys.project_rows(tenant, "atlas"): 1, keys.same_key(tenant, "atlas", "note", "k"): 1}
    patch(store, asker, "m", project_id=None, scope="project", scope_key="zeus")
    assert others() == {keys.project_rows(tenant, "zeus"): 1, keys.same_key(tenant, None, "note", "k"): 1}
    put(store, asker, "m", name="No key")
    assert others() == {keys.project_rows(tenant, None): 1}


def test_the_copy_among_counterparts_is_the_hinge(store: Store, table_name: str, tenant: str) -> None:
    put(store, session(tenant), "m", key="k", content="first", value={"a": 1})
    patch(store, session(tenant), "m", name="Renamed", metadata={"k": 1})
    rows = table_rows(table_name)
    copy = rows[keys.same_key(tenant, None, "note", "k"), "m"]
    hinge = rows[keys.node(tenant, "m"), "K"]
    assert {name: value for name, value in hinge.items() if name not in ("PK", "SK", "x1", "x2")} == {
        name: value for name, value in copy.items() if name not in ("PK", "SK")
    }


def test_a_long_id_keeps_its_edges_apart(store: Store, tenant: str) -> None:
    long = [("é🙂" * 128)[:255] + end for end in "xy"]
    load(store, tenant, note("a"), *(note(memory_id) for memory_id in long))
    for memory_id in long:
        put_edge(store, session(tenant), edge_line({"source": "a", "relationship": "ABOUT", "target": memory_id}))
    wave = store.wave(tenant, "root", session(tenant).deadline)
    pending = [wave.edge("a", "ABOUT", memory_id) for memory_id in long]
    wave.run()
    assert [edge.value.target for edge in pending if edge.value] == long
