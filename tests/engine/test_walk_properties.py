"""The walk against a brute-force oracle, and against the same graph without what the reader may not read."""

import random
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shared.domain.authority import Authority
from shared.domain.model import Memberships, Memory, State
from shared.domain.principal import Principal, Role
from shared.engine.expand import ExpandQuery, expand_neighbors
from shared.engine.session import Session
from tests.support.examples import examples
from tests.support.graphs import BORN, Graph, edge, entity, memory, passage_ids
from tests.support.walk_oracle import expected, readable_part

NAMES = [f"m{number}" for number in range(14)]
ENTITY = "ent_" + "a" * 32
RELATIONSHIPS = ["RELATED_TO", "DECIDES", "SUPERSEDES", "BELONGS_TO", "PART_OF", "SUPPORTS", "OWN"]
PRINCIPAL = Principal(tenant_id="t", principal_id="ann", roles=frozenset({Role.READER}), agent_ids=frozenset({"a1"}))
NOW = "2026-01-01T00:00:00.000Z"


def graph_of(chance: random.Random) -> Graph:
    """A dense graph of few nodes, most of them readable: ways meet, and every rule is met often."""
    graph = Graph(memberships=Memberships(frozenset({"atlas"}), frozenset({"red"})), purges={"old": 1})
    hidden = chance.choice([0.0, 0.0, 0.2, 0.5])
    for name in NAMES:
        odd = chance.random() < hidden
        graph.add(
            memory(
                name,
                passages=chance.choice([0, 0, 0, 0, 3]),
                type=chance.choice(["note", "note", "task", "community"]),
                state=chance.choice([State.ACTIVE] * 16 + [State.SUPERSEDED, State.ARCHIVED]),
                scope=chance.choice(["private", "project", "team", "odd", None] if odd else [None, "organization"]),
                scope_key=chance.choice(["atlas", "red", "blue"]),
                project_id=chance.choice(["cobalt", "old", "atlas"] if odd else [None, None, "atlas"]),
                owner=chance.choice(["ann", "bob"]),
                text="text",
                length=4,
            )
        )
    graph.add(entity(ENTITY, agent_id=chance.choice(["a1", "a1", "a2"])))
    relationships: list[str] = chance.choice(
        [RELATIONSHIPS, ["RELATED_TO", "BELONGS_TO"], ["OWN", "SUPERSEDES", "DECIDES"]]
    )
    weights: list[float | None] = chance.choice(
        [[None, None, None, 0.5, 0.74, 1.0], [0.0, 0.05, 0.08, 0.12, None], [0.3, 0.5, 1.0]]
    )
    drawn = {}
    for _ in range(chance.choice([15, 30, 60, 120])):
        one = edge(
            chance.choice(NAMES),
            chance.choice(relationships),
            chance.choice(NAMES),
            chance.choice(weights),
            expires_at=chance.choice([None] * 14 + ["2025-01-01T00:00:00.000Z", "2027-01-01T00:00:00.000Z"]),
            target_born=chance.choice([BORN] * 14 + ["0kf0000000000009"]),
        )
        drawn[one.source, one.relationship, one.target] = one
    graph.link(*drawn.values())
    return graph.link(*(edge(name, "MENTIONS", ENTITY) for name in chance.sample(NAMES, 2)))


def query_of(chance: random.Random, graph: Graph) -> ExpandQuery:
    passages = [one for node in graph.nodes.values() if isinstance(node, Memory) for one in passage_ids(node)]
    named = chance.sample([*RELATIONSHIPS, "MENTIONS", "SHARES_COMMUNITY", "X1", "X2"], chance.choice([3, 6, 10]))
    seeds = chance.sample(NAMES, chance.choice([1, 2, 3])) + chance.sample([ENTITY, "ghost", *passages[:3]], 1)
    return ExpandQuery(
        entity_ids=tuple(seeds[: chance.choice([1, 2, 4])]),
        relationship_types=chance.choice([None, None, None, tuple(named)]),
        types=chance.choice([None] * 12 + [("task",), ("passage", "entity"), ("note", "community")]),
        depth=chance.choice([1, 2, 2, 3]),
        limit=chance.choice([1, 2, 3, 5, 8, 24]),
        include_incoming=chance.random() < 0.8,
        project=chance.choice([None] * 16 + ["atlas", "cobalt"]),
    )


def shown(answer: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (n["id"], n["relationship"], n["direction"], n["distance"], n["score"], n["metadata"].get("community_id"))
        for n in answer["neighbors"]
    ]


CHANCES = st.integers(0, 2**63).map(random.Random)


@examples(600)
@given(CHANCES)
def test_the_answer_is_the_oracles(chance: random.Random) -> None:
    graph = graph_of(chance)
    query = query_of(chance, graph)
    authority = Authority(PRINCIPAL, graph.memberships, graph.purges)
    origins, found, truncated = expected(graph, query.walk_query(), authority, NOW)
    answer = expand_neighbors(graph, Session(principal=PRINCIPAL), query)
    assert answer["origins"] == origins
    assert shown(answer) == found
    assert answer["truncated"] is truncated


@examples(300)
@given(CHANCES)
def test_what_cannot_be_read_changes_nothing(chance: random.Random) -> None:
    graph = graph_of(chance)
    query = query_of(chance, graph)
    twin = readable_part(graph, Authority(PRINCIPAL, graph.memberships, graph.purges))
    session = Session(principal=PRINCIPAL)
    assert expand_neighbors(graph, session, query) == expand_neighbors(twin, session, query)


@examples(150)
@given(CHANCES)
def test_a_smaller_limit_gives_a_prefix(chance: random.Random) -> None:
    graph = graph_of(chance)
    query = query_of(chance, graph)
    session = Session(principal=PRINCIPAL)
    whole = expand_neighbors(graph, session, query)["neighbors"]
    assert isinstance(whole, list)
    for limit in range(1, query.limit):
        smaller = expand_neighbors(graph, session, replace(query, limit=limit))
        assert smaller["neighbors"] == whole[:limit]


@examples(150)
@given(CHANCES)
def test_small_pages_change_nothing(chance: random.Random) -> None:
    """However few rows a page holds and however far a hub's lanes go on, the answer is the same."""
    graph = graph_of(chance)
    query = query_of(chance, graph)
    session = Session(principal=PRINCIPAL)
    whole = expand_neighbors(graph, session, query)
    graph.page = chance.choice([1, 2, 3])
    assert expand_neighbors(graph, session, query) == whole
