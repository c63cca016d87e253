"""`traverse` against a brute-force oracle, and against the same graph without what the reader may not read."""

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.domain.model import Entity, Memberships, Memory, Relation, State
from shared.domain.principal import Principal, Role
from shared.engine import neighbourhood
from shared.engine.session import Session
from shared.engine.traverse import TraverseQuery, traverse
from tests.support.declared_graph import DeclaredGraph, named, relation
from tests.support.graphs import BORN, memory
from tests.support.traverse_oracle import expected, readable_part

OTHER_LIFE = "0kf0000000000009"
BOUNDS = {
    "MAX_ENTITIES": 6,
    "MAX_MENTIONS": 3,
    "MAX_MENTIONS_IN_ALL": 5,
    "MAX_PAIRS": 2,
    "_FIRST_ROWS": 4,
    "_LEAST_ROWS": 2,
}


@pytest.fixture(autouse=True)
def _bounds() -> Iterator[None]:
    """Small bounds, so that small graphs meet all of them."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in BOUNDS.items():
            patch.setattr(neighbourhood, name, value)
        yield


def principal_of(chance: random.Random) -> Principal:
    pairs = ["organization:*", "project:atlas", "private:ann", "project:old"]
    held = frozenset(chance.sample(pairs, chance.choice([0, 1, 2, 3])))
    return Principal(
        tenant_id="t",
        principal_id="ann",
        roles=frozenset({Role.READER}),
        agent_ids=frozenset({chance.choice(["a1", "a1", "a1", "a1", "*", "a2"])}),
        scope_keys=chance.choice([None, None, None, held]),
    )


def memories_of(chance: random.Random, hidden: float) -> list[Memory]:
    odd = [chance.random() < hidden for _ in range(6)]
    return [
        memory(
            f"m{number}",
            scope=chance.choice(["private", "project", "odd"] if odd[number] else [None, "organization"]),
            scope_key="cobalt",
            owner=chance.choice(["ann", "bob"]),
            project_id=chance.choice([None, None, "atlas", "cobalt"]),
            channel=chance.choice([None, None, "day", "night"]),
            source_id=chance.choice([None, "forum:7", "forum:70", "mail:"]),
            state=chance.choice([State.ACTIVE] * 5 + [State.SUPERSEDED, State.ARCHIVED]),
        )
        for number in range(6)
    ]


def entities_of(chance: random.Random, hidden: float, count: int) -> list[Entity]:
    return [
        named(
            number,
            chance.choice(["Mill", "Mill", f"E{number}", f"E{number}"]),
            aliases=chance.choice([(), (), ("mill race",), ("Weir", "Zed")]),
            project_id=chance.choice(["cobalt", "old"] if chance.random() < hidden else [None, None, "atlas"]),
            channel=chance.choice([None, None, None, "day", "night"]),
        )
        for number in range(count)
    ]


def relation_of(chance: random.Random, entities: list[Entity], memories: list[Memory]) -> Relation | None:
    """A relation in a scope that both its ends are in, or in a narrower one."""
    subject, object_ = chance.choice(entities), chance.choice(entities)
    projects = {one.project_id for one in (subject, object_)} - {None}
    channels = {one.channel for one in (subject, object_)} - {None}
    if len(projects) > 1 or len(channels) > 1:
        return None
    return relation(
        subject,
        chance.choice(["turns", "feeds", "opens"]),
        object_,
        f"2024-01-0{chance.randint(1, 5)}T00:00:00.000Z",
        project_id=projects.pop() if projects else chance.choice([None, None, None, "atlas", "cobalt"]),
        channel=channels.pop() if channels else chance.choice([None, None, None, "day"]),
        subject_born=chance.choice([BORN] * 15 + [OTHER_LIFE]),
        anchor_ref=chance.choice([None, None, *(one.id for one in memories), "ghost"]),
        anchor_born=chance.choice([BORN] * 7 + [OTHER_LIFE]),
    )


def graph_of(chance: random.Random) -> DeclaredGraph:
    graph = DeclaredGraph(memberships=Memberships(frozenset({"atlas", "old"})), purges={"old": 1})
    hidden = chance.choice([0.0, 0.0, 0.2, 0.5])
    entities, memories = entities_of(chance, hidden, chance.choice([3, 8, 14])), memories_of(chance, hidden)
    graph.add(*entities, *memories)
    drawn = [relation_of(chance, entities, memories) for _ in range(chance.choice([4, 12, 30, 60]))]
    graph.relate(*{one.id: one for one in drawn if one is not None}.values())
    for one in entities:
        mentioning = chance.sample(memories, chance.choice([0, 0, 1, 3, 4, 5]))
        graph.mention(one, *mentioning, target_born=chance.choice([BORN] * 7 + [OTHER_LIFE]))
    graph.context = chance.choice([None, {"a1": "atlas"}, {"a1": "cobalt"}, {"a2": "atlas"}])
    return graph


def query_of(chance: random.Random) -> TraverseQuery:
    return TraverseQuery(
        agent_id="a1",
        entity=chance.choice(["mill", "MILL", "Weir", "e3", "nobody"]),
        max_hops=chance.choice([0, 1, 1, 2, 3, 5]),
        limit=chance.choice([1, 2, 3, 5, 20]),
        project_id=chance.choice([None] * 5 + ["", "atlas", "cobalt", "@auto"]),
        channel=chance.choice([None, None, None, "", "day", "night"]),
        source_id=chance.choice([None, None, None, "forum:7", "forum:", "mail:"]),
    )


def asked(graph: DeclaredGraph, principal: Principal, query: TraverseQuery) -> dict[str, Any]:
    return traverse(graph, Session(principal=principal), query)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
def test_the_answer_is_that_of_brute_force(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - a test case, no secret
    graph, principal, query = graph_of(chance), principal_of(chance), query_of(chance)
    assert asked(graph, principal, query) == expected(graph, principal, query)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
def test_what_a_reader_may_not_read_does_not_change_the_answer(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - a test case, no secret
    graph, principal, query = graph_of(chance), principal_of(chance), query_of(chance)
    part = readable_part(graph, principal)
    # An anchor that is gone takes its relation along; the reader's twin has it without the anchor instead.
    part.relations = [
        one
        if one.anchor_ref is None or one.anchor_ref in part.nodes
        else replace(one, anchor_ref=None, anchor_born=None)
        for one in part.relations
    ]
    with pytest.MonkeyPatch.context() as patch:
        # The work bounds on mentions are the one place where rows that are not readable may count.
        patch.setattr(neighbourhood, "MAX_MENTIONS", 100)
        patch.setattr(neighbourhood, "MAX_MENTIONS_IN_ALL", 1_000)
        assert asked(graph, principal, query) == asked(part, principal, query)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
def test_a_smaller_limit_gives_the_first_of_a_larger_ones_entities(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - a test case, no secret
    graph, principal, query = graph_of(chance), principal_of(chance), query_of(chance)
    few, many = (asked(graph, principal, replace(query, limit=limit))["entities"] for limit in (2, 20))
    assert [(one["id"], one["hops"]) for one in few] == [(one["id"], one["hops"]) for one in many[:2]]
