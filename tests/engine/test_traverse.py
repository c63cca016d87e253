"""Budgets, work bounds and exact edges of `traverse`, by counting waves, calls and rows."""

from dataclasses import replace
from typing import Any

import pytest

from shared.domain.model import Entity, Memberships, Memory
from shared.domain.principal import Principal, Role
from shared.engine.session import Session
from shared.engine.traverse import TraverseQuery, traverse
from tests.support.declared_graph import DeclaredGraph, named, relation
from tests.support.graphs import memory

PRINCIPAL = Principal(tenant_id="t", principal_id="ann", roles=frozenset({Role.READER}), agent_ids=frozenset({"a1"}))


def asked(graph: DeclaredGraph, name: str, *, principal: Principal = PRINCIPAL, **fields: Any) -> dict[str, Any]:
    graph.waves = graph.rows = graph.calls = 0
    query = TraverseQuery(**{"agent_id": "a1", "entity": name, "max_hops": 1, "limit": 20, **fields})
    return traverse(graph, Session(principal=principal), query)


def ids(answer: dict[str, Any]) -> list[str]:
    return [one["id"] for one in answer["entities"]]


def instant(number: int) -> str:
    return f"2024-01-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"


def star(leaves: int, **fields: Any) -> DeclaredGraph:
    """A hub whose leaf 1 was declared last."""
    hub, others = named(0, "Hub"), [named(number) for number in range(1, leaves + 1)]
    graph = DeclaredGraph().add(hub, *others)
    return graph.relate(
        *(relation(hub, "has", one, instant(leaves - number), **fields) for number, one in enumerate(others))
    )


def chain(length: int) -> tuple[DeclaredGraph, list[Entity]]:
    entities = [named(number) for number in range(length)]
    graph = DeclaredGraph().add(*entities, memory("m1"))
    for number in range(length - 1):
        graph.relate(relation(entities[number], "next", entities[number + 1], instant(number), anchor_ref="m1"))
    return graph.mention(entities[0], *memories(graph)), entities


def memories(graph: DeclaredGraph) -> list[Memory]:
    return [node for node in graph.nodes.values() if isinstance(node, Memory)]


@pytest.mark.parametrize("hops", [0, 1, 2, 3, 4, 5])
def test_a_walk_of_h_hops_costs_h_plus_three_waves(hops: int) -> None:
    graph, entities = chain(8)
    answer = asked(graph, "e0", max_hops=hops)
    assert ids(answer) == [one.id for one in entities[: hops + 1]]
    assert answer["bounds"] == {"omitted": ["max_hops"]}
    assert graph.waves == hops + 3


def test_an_unknown_name_costs_one_wave() -> None:
    graph, _ = chain(3)
    assert asked(graph, "nobody")["reason"] == "no_such_entity"
    assert (graph.waves, graph.rows) == (1, 0)


def test_a_busy_hub_costs_what_a_small_one_costs() -> None:
    small, large = star(255), star(50_000)
    few, many = asked(small, "hub"), asked(large, "hub")
    small_cost = (small.waves, small.calls, small.rows)
    assert ids(many) == ids(few) == [named(number).id for number in range(20)]
    assert few["entities_omitted"] == many["entities_omitted"] == 236
    assert [one["object"] for one in many["relations"]] == ids(many)[1:]
    assert "relations_omitted" not in many
    assert "bounds" in few
    assert few["bounds"] == {"omitted": ["limit"]}
    assert many["bounds"] == {"omitted": ["max_hops", "limit"]}
    assert large.waves == small.waves == 4
    assert large.calls <= small_cost[1]
    assert large.rows <= small_cost[2] + 64


def test_a_hub_of_one_instant_is_not_read_to_its_end() -> None:
    """A bulk import declares everything at once: the rows' own order decides whom the 256 hold."""
    hub, others = named(0, "Hub"), [named(number) for number in range(1, 3_001)]
    graph = DeclaredGraph().add(hub, *others).relate(*(relation(hub, "has", one) for one in others))
    answer = asked(graph, "hub")
    assert answer["entities_omitted"] == 236
    assert ids(answer)[1:] == sorted(ids(answer)[1:])
    assert graph.rows < 1_000


def test_relations_between_two_busy_entities_are_looked_up_by_the_pair() -> None:
    graph = star(2_000)
    hub, other = named(0, "Hub"), named(1)
    others = [named(number) for number in range(5_000, 7_000)]
    graph.add(*others).relate(*(relation(other, "has", one, instant(number)) for number, one in enumerate(others)))
    old = relation(other, "knows", hub, "2020-01-01T00:00:00.000Z")
    itself = relation(hub, "is", hub, "2020-01-02T00:00:00.000Z")
    graph.relate(old, itself)
    answer = asked(graph, "hub", limit=2)
    assert [one["predicate"] for one in answer["relations"]] == ["has", "is", "knows"]
    assert graph.rows < 2_000


def test_hidden_relations_of_a_hub_change_nothing_but_the_work() -> None:
    graph = star(2_000, project_id="cobalt")
    leaf = named(9_000)
    graph.add(leaf).relate(relation(leaf, "joins", named(0, "Hub"), "2019-01-01T00:00:00.000Z"))
    answer = asked(graph, "hub")
    assert ids(answer) == [named(0).id, leaf.id]
    assert "bounds" not in answer
    member = replace(graph, memberships=Memberships(frozenset({"cobalt"})))
    assert asked(member, "hub")["entities_omitted"] == 236


def test_the_256_keeps_the_latest_declared() -> None:
    graph = star(400)
    answer = asked(graph, "hub", limit=100, max_hops=3)
    assert ids(answer) == [named(number).id for number in range(100)]
    assert answer["entities_omitted"] == 156
    assert answer["bounds"] == {"omitted": ["max_hops", "limit"]}


def test_more_relations_than_ten_an_entity_are_counted() -> None:
    one, other = named(0), named(1)
    graph = DeclaredGraph().add(one, other)
    graph.relate(*(relation(one, f"p{number}", other, instant(number)) for number in range(45)))
    answer = asked(graph, "e0", limit=2)
    assert [relation_["predicate"] for relation_ in answer["relations"]] == [f"p{44 - number}" for number in range(20)]
    assert answer["relations_omitted"] == 25
    assert answer["bounds"] == {"omitted": ["limit"]}


def with_mentions(count: int, **fields: Any) -> DeclaredGraph:
    written = [memory(f"m{number:04}", **fields) for number in range(count)]
    kiln = named(0, "Kiln")
    return DeclaredGraph().add(kiln, *written).mention(kiln, *written)


def test_exactly_200_mentions_are_all_examined() -> None:
    answer = asked(with_mentions(200), "kiln", limit=5)
    assert answer["entities"][0]["mentions"] == [f"m{number:04}" for number in range(5)]
    assert answer["entities"][0]["mentions_omitted"] == 195
    assert answer["bounds"] == {"omitted": ["limit"]}


def test_of_more_than_200_mentions_the_rest_is_unexamined() -> None:
    answer = asked(with_mentions(201), "kiln", limit=5)
    assert answer["entities"][0]["mentions_omitted"] == 195
    assert answer["bounds"] == {"omitted": ["limit", "candidates"]}


def test_unreadable_mentions_count_as_examined_and_as_nothing_else() -> None:
    graph = with_mentions(201, scope="private", owner="bob")
    answer = asked(graph, "kiln")
    assert "mentions" not in answer["entities"][0]
    assert answer["bounds"] == {"omitted": ["candidates"]}


def test_2000_mentions_are_examined_in_all() -> None:
    hub, leaves = named(0, "Hub"), [named(number) for number in range(1, 13)]
    written = [memory(f"m{number:04}") for number in range(180)]
    graph = DeclaredGraph().add(hub, *leaves, *written)
    graph.relate(*(relation(hub, "has", leaf, instant(50 - number)) for number, leaf in enumerate(leaves)))
    for leaf in leaves:
        graph.mention(leaf, *written)
    answer = asked(graph, "hub", limit=13)
    counts = [13 + one["mentions_omitted"] if "mentions_omitted" in one else 0 for one in answer["entities"]]
    assert counts == [0] + 11 * [180] + [20]
    assert answer["bounds"] == {"omitted": ["limit", "candidates"]}


def test_an_anchor_is_shown_only_within_the_filters() -> None:
    one, other = named(0), named(1)
    note = memory("m1", project_id="atlas", scope="organization", source_id="forum:7", channel="day", state="archived")
    graph = DeclaredGraph(memberships=Memberships(frozenset({"atlas"}))).add(one, other, note)
    graph.relate(relation(one, "knows", other, anchor_ref="m1"))
    cases: list[tuple[dict[str, Any], bool]] = [
        ({}, True),
        ({"source_id": "forum:"}, True),
        ({"source_id": "forum"}, False),
        ({"project_id": "atlas"}, True),
        ({"project_id": ""}, False),
        ({"channel": "day"}, True),
        ({"channel": "night"}, False),
    ]
    for fields, shown in cases:
        (found,) = asked(graph, "e0", **fields)["relations"]
        assert ("anchor_ref" in found) is shown, fields


def test_a_deleted_anchor_takes_its_relation_along() -> None:
    one, other = named(0), named(1)
    graph = DeclaredGraph().add(one, other, memory("m1", born="0kf0000000000005"))
    graph.relate(relation(one, "knows", other, anchor_ref="m1"))
    answer = asked(graph, "e0")
    assert ids(answer) == [one.id]
    assert "bounds" not in answer


def test_a_purged_project_is_gone_at_once() -> None:
    one, other = named(0), named(1, project_id="atlas")
    graph = DeclaredGraph(memberships=Memberships(frozenset({"atlas"}))).add(one, other)
    graph.relate(relation(one, "knows", other, project_id="atlas"))
    assert ids(asked(graph, "e0")) == [one.id, other.id]
    graph.purges = {"atlas": 1}
    answer = asked(graph, "e0")
    assert ids(answer) == [one.id]
    assert answer["relations"] == []
    assert asked(graph, "e1")["reason"] == "no_such_entity"


def test_a_restricted_credential_needs_the_pair_of_every_end() -> None:
    one, other = named(0), named(1, project_id="atlas")
    graph = DeclaredGraph(memberships=Memberships(frozenset({"atlas"}))).add(one, other)
    graph.relate(relation(one, "knows", other, project_id="atlas"))
    cases: list[tuple[set[str], list[str]]] = [
        ({"project:atlas"}, [other.id]),
        ({"organization:*"}, []),
        ({"project:atlas", "organization:*"}, [other.id, one.id]),
        (set(), []),
    ]
    for pairs, found in cases:
        principal = replace(PRINCIPAL, scope_keys=frozenset(pairs))
        assert ids(asked(graph, "e1", principal=principal)) == found


@pytest.mark.parametrize(
    ("context", "resolved", "warned"),
    [({"a1": "atlas"}, "atlas", False), ({"a2": "atlas"}, "", True), ({}, "", True), (None, "@auto", False)],
)
def test_auto_names_the_project_of_the_agent(context: dict[str, str] | None, resolved: str, *, warned: bool) -> None:
    graph = DeclaredGraph(context=context).add(named(0, "Kiln"), named(1, "Kiln", project_id="atlas"))
    answer = asked(graph, "kiln", project_id="@auto")
    assert answer["resolved_project_id"] == resolved
    assert ("operating_context_warning" in answer) is warned
    assert ids(answer) == [named(0).id]
    assert "resolved_project_id" not in asked(graph, "kiln")


@pytest.mark.parametrize(("context", "resolved"), [({"a2": "atlas"}, ""), (None, "@auto")])
def test_auto_does_not_tell_the_project_of_an_agent_of_others(context: dict[str, str] | None, resolved: str) -> None:
    graph = DeclaredGraph(context=context)
    foreign, unknown = (asked(graph, "kiln", agent_id=id_, project_id="@auto") for id_ in ("a2", "a3"))
    assert foreign == unknown
    assert foreign["resolved_project_id"] == resolved
