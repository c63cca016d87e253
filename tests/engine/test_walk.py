"""What the walk reads next and where it stops, over rows known by hand: lanes, pages, read-ahead, horizons, bounds."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from shared.domain.authority import Authority
from shared.domain.model import Edge, Memberships, Node, Passage, State
from shared.domain.principal import Principal, Role
from shared.domain.scoring import BELONGS_TO, Direction, best_score_at
from shared.engine.port import Lane
from shared.engine.walk import Known, LaneRows, Outcome, WalkQuery, edge_holds, walk
from tests.support.graphs import edge, entity, memory, passage_ids

PRINCIPAL = Principal(tenant_id="t", principal_id="ann", roles=frozenset({Role.READER}), agent_ids=frozenset({"a1"}))
AUTHORITY = Authority(PRINCIPAL, Memberships(frozenset({"atlas"})), {})
NOW = "2026-01-01T00:00:00.000Z"
ENTITY = "ent_" + "a" * 32
DIRECT_OUT, DIRECT_IN = Direction.OUTGOING, Direction.INCOMING
OUT, IN = Lane(DIRECT_OUT), Lane(DIRECT_IN)
CLUBS, MEMBERS = Lane(DIRECT_OUT, BELONGS_TO), Lane(DIRECT_IN, BELONGS_TO, members=True)
EIGHT = tuple(f"R{number}" for number in range(8))
PLAIN = WalkQuery(
    seeds=("s",), relationship_types=None, types=None, depth=1, limit=8, include_incoming=True, project=None
)


def hidden(node_id: str, **fields: Any) -> Node:
    return memory(node_id, scope="private", owner="bob", **fields)


def known(*nodes: Node | str, **lanes: LaneRows) -> Known:
    """Nodes (memories, by name), and lanes by their node and `_out`, `_in`, `_clubs` or `_members`.

    The lanes of `s` that are not given are known to be empty.
    """
    of = {"out": OUT, "in": IN, "clubs": CLUBS, "members": MEMBERS}
    found = Known(lanes={("s", lane): LaneRows() for lane in (OUT, IN, CLUBS)})
    for node in ("s", *nodes):
        one = memory(node) if isinstance(node, str) else node
        found.put(one.id, one)
    for name, rows in lanes.items():
        node_id, lane = name.rsplit("_", 1)
        found.lanes[node_id, of[lane]] = rows
    return found


def names(count: int, first: int = 0) -> list[str]:
    return [f"n{number:04}" for number in range(first, first + count)]


def rows(*edges: Edge, more: bool = False) -> LaneRows:
    return LaneRows(list(edges), "on" if more else None)


def star(targets: Sequence[str], weight: float = 0.64, *, more: bool = False) -> LaneRows:
    return rows(*(edge("s", "RELATED_TO", target, weight) for target in targets), more=more)


def alike(target: str, count: int, weight: float = 0.5, *, more: bool = False) -> LaneRows:
    """So many edges to one node."""
    return rows(*(edge("s", f"X{number:04}", target, weight) for number in range(count)), more=more)


def run(found: Known, **fields: Any) -> Outcome:
    return walk(found, replace(PLAIN, **fields), AUTHORITY, NOW)


def ids(outcome: Outcome) -> list[str]:
    assert not outcome.needs
    return [reached.id for reached in outcome.results]


# --- lanes and pages


@pytest.mark.parametrize(
    ("node_id", "fields", "lanes"),
    [
        ("s", {}, [OUT, IN]),
        ("s", {"include_incoming": False}, [OUT]),
        (ENTITY, {}, [IN]),
        (ENTITY, {"include_incoming": False}, []),
        (
            "s",
            {"relationship_types": ("R", "SHARES_COMMUNITY", "MENTIONS")},
            [Lane(way, name) for way in (DIRECT_OUT, DIRECT_IN) for name in ("R", "MENTIONS")],
        ),
        (ENTITY, {"relationship_types": ("R", "SHARES_COMMUNITY", "MENTIONS")}, [Lane(DIRECT_IN, "MENTIONS")]),
        ("s", {"relationship_types": EIGHT, "include_incoming": False}, [Lane(DIRECT_OUT, name) for name in EIGHT]),
        ("s", {"relationship_types": (*EIGHT, "R8")}, [OUT, IN]),
        (
            "s",
            {"relationship_types": (*EIGHT, "DECIDES", "SUPERSEDES")},
            [OUT, IN, Lane(DIRECT_OUT, "SUPERSEDES"), Lane(DIRECT_IN, "DECIDES")],
        ),
    ],
)
def test_the_lanes_of_a_node(node_id: str, fields: dict[str, Any], lanes: list[Lane]) -> None:
    assert replace(PLAIN, **fields).lanes(node_id) == lanes


@pytest.mark.parametrize(
    ("fields", "page"), [({}, 18), ({"limit": 1}, 5), ({"depth": 2}, 102), ({"types": ("task",)}, 102)]
)
def test_a_seed_is_read_with_its_lanes(fields: dict[str, Any], page: int) -> None:
    outcome = run(Known(), **fields)
    assert list(outcome.needs.nodes) == ["s"]
    assert outcome.needs.lanes == {("s", OUT): page, ("s", IN): page, ("s", CLUBS): 100}
    assert outcome.origins == []


def test_many_lanes_share_the_rows_of_a_hop() -> None:
    outcome = run(Known(), seeds=tuple(names(8)), relationship_types=EIGHT)
    assert len(outcome.needs.lanes) == 8 * 16
    assert set(outcome.needs.lanes.values()) == {1_000 // 128}


def test_a_seed_without_communities_does_not_ask_for_them() -> None:
    passage = passage_ids(memory("m", passages=1))[0]
    outcome = run(Known(), seeds=(ENTITY, passage))
    assert list(outcome.needs.nodes) == [ENTITY, passage]
    assert outcome.needs.lanes == {(ENTITY, IN): 18}


def test_what_is_known_of_seeds_is_not_asked_again() -> None:
    found = known(s_out=star(["a"]))
    found.lanes["other", OUT] = found.lanes["other", CLUBS] = rows()
    outcome = run(found, seeds=("s", "other"))
    assert (list(outcome.needs.nodes), outcome.needs.lanes) == (["other"], {("other", IN): 18})


def test_a_known_seed_is_asked_for_the_lanes_that_are_missing() -> None:
    found = known()
    del found.lanes["s", IN]
    assert run(found).needs.lanes == {("s", IN): 18}
    del found.lanes["s", CLUBS]
    assert run(found).needs.lanes == {("s", IN): 18, ("s", CLUBS): 100}
    found.lanes["s", IN] = rows()
    assert run(found).needs.lanes == {("s", CLUBS): 100}
    assert not run(found, relationship_types=EIGHT[:1]).needs.nodes
    assert ("s", CLUBS) not in run(found, relationship_types=EIGHT[:1]).needs.lanes


# --- read-ahead


@pytest.mark.parametrize(
    ("fields", "count"), [({}, 18), ({"types": ("task",)}, 100), ({"depth": 2}, 108), ({"depth": 3, "limit": 3}, 103)]
)
def test_so_many_unknown_nodes_are_read_at_once(fields: dict[str, Any], count: int) -> None:
    outcome = run(known(s_out=star(names(300))), **fields)
    assert list(outcome.needs.nodes) == names(count)
    depth = fields.get("depth", 1)
    onward = {(name, lane): 5 for name in names(101) for lane in (OUT, IN)}
    assert outcome.needs.lanes == (onward if depth > 1 else {})


def test_lanes_of_few_routes_are_read_by_the_page() -> None:
    found = known(s_out=star(["a", "b"]))
    assert run(found, depth=2).needs.lanes == {(name, lane): 18 for name in "ab" for lane in (OUT, IN)}
    assert run(found, depth=3).needs.lanes == {(name, lane): 102 for name in "ab" for lane in (OUT, IN)}


@pytest.mark.parametrize(
    ("weight", "fields", "ends"),
    [
        (0.72, {"limit": 1}, True),
        (0.71, {"limit": 1}, False),
        (0.8, {"limit": 2}, False),
        (0.8, {"limit": 1, "types": ("task",)}, False),
    ],
)
def test_no_lane_is_read_of_nodes_that_may_end_the_walk(weight: float, fields: dict[str, Any], *, ends: bool) -> None:
    outcome = run(known(s_out=star(["a", "b"], weight)), depth=2, **fields)
    assert list(outcome.needs.nodes) == ["a", "b"]
    assert {name for name, _ in outcome.needs.lanes} == (set() if ends else {"a", "b"})


def test_lanes_are_read_once_a_look_was_disappointed() -> None:
    found = known(hidden("h"), s_out=star(["a", "b", "h"], 0.8))
    assert {name for name, _ in run(found, depth=2, limit=1).needs.lanes} == {"a", "b"}


@pytest.mark.parametrize(
    ("near", "far", "ends"), [(0.6, 0.8, True), (0.6, 0.7, False), (0.5, 0.8, False), (best_score_at(3), 0.8, True)]
)
def test_results_of_earlier_hops_count_for_the_end_of_the_walk(near: float, far: float, *, ends: bool) -> None:
    found = known("a", s_out=star(["a"], near))
    found.lanes |= {("a", IN): rows(), ("a", OUT): rows(edge("a", "R", "b", far))}
    outcome = run(found, depth=3, limit=1)
    assert (list(outcome.needs.nodes), bool(outcome.needs.lanes)) == (["b"], not ends)


def test_as_many_again_are_read_as_were_looked_at() -> None:
    found = known(*map(hidden, names(50)), s_out=star(names(300)))
    assert list(run(found).needs.nodes) == names(50, 50)


def test_lanes_are_read_of_as_many_routes_as_are_left() -> None:
    found = known(*names(40), s_out=star(names(300)))
    outcome = run(found, depth=2, limit=100)
    assert len(outcome.needs.nodes) == 200
    assert {name for name, _ in outcome.needs.lanes} == set(names(61, 40))
    found = known(*names(102), s_out=star(names(105)))
    outcome = run(found, depth=2, types=("task",))
    assert (list(outcome.needs.nodes), outcome.needs.lanes) == (names(3, 102), {})


def test_passages_are_read_by_their_row() -> None:
    whole = memory("s", passages=2)
    first, second = passage_ids(whole)
    found = known(whole)
    assert (list(run(found).needs.nodes), run(found).needs.lanes) == ([first, second], {})
    found.passages = {first: Passage(0, 0, "p", ""), second: Passage(1, 1, "q", "")}
    outcome = run(found)
    assert ids(outcome) == [first, second]
    assert [reached.passage for reached in outcome.results] == [Passage(0, 0, "p", ""), Passage(1, 1, "q", "")]
    assert ids(run(found, include_incoming=False)) == []
    for lane in run(found, relationship_types=("R",)).needs.lanes:
        found.lanes[lane] = rows()
    assert ids(run(found, relationship_types=("R",))) == []
    assert ids(run(found, seeds=(second,), include_incoming=False)) == ["s"]


def test_passages_that_are_not_walked_are_not_examined() -> None:
    found = known(memory("s", passages=1_000), "a")
    found.lanes |= {("s", Lane(way, "R")): rows(edge("s", "R", "a", 0.5)) for way in (DIRECT_OUT, DIRECT_IN)}
    outcome = run(found, relationship_types=("R",))
    assert (ids(outcome), outcome.bounded_by) == (["a"], set())


# --- more rows of open lanes


@pytest.mark.parametrize(("have", "wanted"), [(1, 16), (4, 16), (5, 20), (18, 72), (900, 2_900)])
def test_a_lane_is_read_four_times_as_far(have: int, wanted: int) -> None:
    outcome = run(known(hidden("h"), s_out=alike("h", have, more=True)))
    assert (list(outcome.needs.nodes), outcome.needs.lanes) == ([], {("s", OUT): wanted})


@pytest.mark.parametrize(("lanes", "asked"), [(3, 3), (4, 4), (6, 4), (10, 5)])
def test_the_lanes_that_end_first_are_read_on(lanes: int, asked: int) -> None:
    seeds = names(lanes)
    found = known(hidden("h"), *seeds)
    for number, seed in enumerate(seeds):
        found.lanes |= {(seed, IN): rows(), (seed, CLUBS): rows()}
        found.lanes[seed, OUT] = rows(edge(seed, "R", "h", 0.1 + number / 100), more=True)
    outcome = run(found, seeds=tuple(seeds))
    assert outcome.needs.lanes == {(seed, OUT): 16 for seed in seeds[-asked:]}


@pytest.mark.parametrize(("lanes", "have", "wanted"), [(9, 200, 700), (256, 10, 26)])
def test_lanes_that_are_read_on_share_what_may_be_examined(lanes: int, have: int, wanted: int) -> None:
    first, *others = names(lanes)
    found = known(hidden("h"), first, *others)
    found.lanes |= {(seed, lane): rows() for seed in names(lanes) for lane in (IN, CLUBS)}
    found.lanes |= {(seed, OUT): alike("h", have, more=True) for seed in others}
    found.lanes[first, OUT] = alike("h", 1, 0.9, more=True)
    outcome = run(found, seeds=tuple(names(lanes)))
    assert outcome.needs.lanes.pop((first, OUT)) == 16
    assert set(outcome.needs.lanes.values()) == {wanted}


def test_rows_are_read_beside_nodes_only_while_there_is_room() -> None:
    outcome = run(known(s_out=star(names(17), more=True)))
    assert (list(outcome.needs.nodes), outcome.needs.lanes) == (names(17), {("s", OUT): 68})
    for incoming in (rows(), rows(edge("late", "R", "s", 0.1))):
        outcome = run(known(s_out=star(names(18), more=True), s_in=incoming))
        assert (list(outcome.needs.nodes), outcome.needs.lanes) == (names(18), {})


def test_nothing_beyond_the_horizon_is_looked_at() -> None:
    found = known("late", hidden("h"), s_out=alike("h", 1, more=True), s_in=rows(edge("late", "R", "s", 0.1)))
    outcome = run(found)
    assert (outcome.results, outcome.needs.lanes) == ([], {("s", OUT): 16})
    found.lanes["s", IN] = rows(edge("late", "R", "s", 0.9))
    assert [reached.id for reached in run(found).results] == ["late"]


def test_a_page_without_rows_may_be_followed_by_any() -> None:
    found = known("late", s_out=rows(more=True), s_in=rows(edge("late", "R", "s", 1.0)))
    outcome = run(found)
    assert (outcome.results, outcome.needs.lanes) == ([], {("s", OUT): 16})


# --- early stopping


def test_a_hop_ends_where_one_more_than_asked_is_certain() -> None:
    found = known("a", "b", s_out=star(["a", "b", "c"], more=True))
    assert ids(run(found, limit=1)) == ["a", "b"]
    assert list(run(found, limit=2).needs.nodes) == ["c"]
    assert ids(run(known("a", "b", s_out=star(["a", "b"], more=True)), limit=1)) == ["a", "b"]
    assert ids(run(known("a", "b", "c", s_out=star(["a", "b", "c"])), limit=1)) == ["a", "b"]


def test_at_the_floor_a_lighter_edge_may_come_before() -> None:
    edges = rows(edge("s", "R", "c", 0.09), edge("s", "R", "b", 0.05), edge("s", "R", "a", 0.0))
    assert list(run(known("b", "c", s_out=edges), limit=1).needs.nodes) == ["a"]


def test_a_farther_node_of_the_same_score_comes_after() -> None:
    found = known(
        "a", "b", s_out=star(["a", "b"], 0.05), a_out=rows(edge("a", "R", "c", 0.05)), a_in=rows(), b_out=rows()
    )
    found.lanes["b", IN] = rows()
    assert ids(run(found, depth=2, limit=1)) == ["a", "b"]
    assert list(run(found, depth=2, limit=2).needs.nodes) == ["c"]


@pytest.mark.parametrize(("weight", "limit", "last"), [(0.72, 1, True), (0.71, 1, False), (0.8, 2, False)])
def test_a_walk_ends_where_no_farther_node_can_be_better(weight: float, limit: int, *, last: bool) -> None:
    found = known("a", "b", s_out=star(["a", "b"], weight))
    outcome = run(found, depth=2, limit=limit)
    assert bool(outcome.needs) is not last
    found = known("a", "b", s_out=star(["a", "b", "c"], weight))
    assert list(run(found, depth=2, limit=limit).needs.nodes) == ([] if last else ["c"])


def test_a_lane_that_may_go_on_with_better_rows_is_read_on() -> None:
    found = known("a", "b", hidden("h"), "late", s_out=star(["a", "b"], 0.6))
    found.lanes |= {("a", IN): rows(), ("b", IN): rows()}
    found.lanes["a", OUT] = rows(edge("a", "R", "h", 1.0), more=True)
    found.lanes["b", OUT] = rows(edge("b", "R", "late", 0.1))
    assert run(found, depth=2, limit=1).needs.lanes == {("a", OUT): 16}
    found.lanes["a", OUT] = rows(edge("a", "R", "h", 0.5), more=True)
    assert ids(run(found, depth=2, limit=1)) == ["a", "b"]


def test_a_hop_ends_at_one_route_more_than_may_be_walked() -> None:
    found = known(*names(100), s_out=star(names(102)))
    assert list(run(found, depth=2, limit=1).needs.nodes) == names(2, 100)
    found = known(*names(101), s_out=star(names(102)))
    outcome = run(found, depth=2, limit=1)
    assert (list(outcome.needs.nodes), outcome.bounded_by) == ([], {"routes"})
    assert set(outcome.needs.lanes) == {(name, lane) for name in names(100) for lane in (OUT, IN)}
    assert run(known(*names(100), s_out=star(names(100))), depth=2, limit=1).bounded_by == set()
    assert run(known(*names(101), s_out=star(names(101)))).bounded_by == set()


# --- bounds


@pytest.mark.parametrize(("count", "bounds"), [(999, set()), (1_000, set()), (1_001, {"candidates"})])
def test_a_thousand_rows_are_examined(count: int, bounds: set[str]) -> None:
    outcome = run(known(hidden("h"), s_out=alike("h", count)))
    assert (ids(outcome), outcome.bounded_by) == ([], bounds)


@pytest.mark.parametrize(("count", "bounds"), [(1_000, set()), (1_001, {"candidates"})])
def test_a_thousand_passages_are_examined(count: int, bounds: set[str]) -> None:
    whole = memory("s", passages=count)
    found = known(whole)
    found.passages = dict.fromkeys(passage_ids(whole), Passage(0, 0, "p", ""))
    assert (ids(run(found, types=("task",))), run(found, types=("task",)).bounded_by) == ([], bounds)


def hub(count: int, **lanes: LaneRows) -> Known:
    """A seed with 101 readable neighbors, `count` rows known and more to come."""
    leaves = [edge("s", "R", name, 0.64) for name in names(101)]
    found = known(hidden("h"), *names(101), **lanes)
    found.lanes["s", OUT] = rows(*leaves, *alike("h", count - 101).edges, more=True)
    return found


def test_the_rows_of_an_earlier_hop_are_read_as_far_as_they_are_examined() -> None:
    assert ("s", OUT) not in run(hub(1_000), depth=2, limit=1).needs.lanes
    assert ("s", OUT) in run(hub(999), depth=2, limit=1).needs.lanes
    later = rows(*(edge(f"x{number}", "R", "s", 0.1) for number in range(5)))
    assert ("s", OUT) in run(hub(999, s_in=later), depth=2, limit=1).needs.lanes


def test_the_rows_of_an_earlier_hop_are_read_only_where_the_next_one_reaches_something() -> None:
    found = hub(200)
    found.lanes |= {(name, lane): rows() for name in names(100) for lane in (OUT, IN)}
    assert ids(run(found, depth=2, limit=1)) == names(2)
    found.lanes["n0000", OUT] = rows(edge("n0000", "R", "h", 1.0))
    assert run(found, depth=2, limit=1).needs.lanes == {("s", OUT): 800}


def test_a_node_that_an_earlier_hop_need_not_take_stays_with_it() -> None:
    found = hub(1_000)
    found.put("far", memory("far"))
    found.lanes |= {(name, lane): rows() for name in names(100) for lane in (OUT, IN)}
    found.lanes["n0000", OUT] = rows(edge("n0000", "R", "far", 1.0))
    assert ids(run(found, depth=2, limit=1)) == ["far", "n0000"]
    edges = found.lanes["s", OUT].edges
    edges[999] = edge("s", "R", "far", 0.1)
    assert ids(run(found, depth=2, limit=1)) == names(2)
    edges[999] = edge("s", "R", "far", 0.1, expires_at=NOW)
    assert ids(run(found, depth=2, limit=1)) == ["far", "n0000"]
    edges[999:] = [edges[998], edge("s", "R", "far", 0.1)]
    assert ids(run(found, depth=2, limit=1)) == ["far", "n0000"]


def test_an_edge_that_is_not_named_keeps_nothing_from_a_later_hop() -> None:
    found = known("m", "far", s_out=rows(edge("s", "R0", "m", 0.9), edge("s", "OTHER", "far", 0.5)))
    found.lanes |= {("m", IN): rows(), ("m", OUT): rows(edge("m", "R1", "far"))}
    named = (*EIGHT, "R8")
    outcome = run(found, relationship_types=named, depth=2)
    assert [(reached.id, reached.distance) for reached in outcome.results] == [("m", 1), ("far", 2)]
    assert not outcome.needs


# --- communities


def club(node_id: str, **fields: Any) -> Node:
    return memory(node_id, **{"type": "community", **fields})


def test_a_community_is_read_with_its_members() -> None:
    member = edge("s", BELONGS_TO, "club")
    found = known(s_clubs=rows(member))
    assert (list(run(found).needs.nodes), run(found).needs.lanes) == (["club"], {("club", MEMBERS): 18})
    assert run(found, depth=2).needs.lanes == {("club", MEMBERS): 102}
    found.put("club", club("club"))
    assert (list(run(found).needs.nodes), run(found).needs.lanes) == ([], {("club", MEMBERS): 18})
    assert run(found, depth=2).needs.lanes == {("club", MEMBERS): 102}
    found.lanes["club", MEMBERS] = rows(edge("h", BELONGS_TO, "club"), more=True)
    found.put("h", hidden("h"))
    assert run(found).needs.lanes == {("club", MEMBERS): 16}


@pytest.mark.parametrize(
    ("node", "link"),
    [
        (memory("club"), {}),
        (club("club", state=State.SUPERSEDED), {}),
        (club("club", state=State.ARCHIVED), {}),
        (club("club", scope="private", owner="bob"), {}),
        (club("club"), {"expires_at": NOW}),
        (club("club"), {"source_born": "0kz0000000000000"}),
        (club("club"), {"target_born": "0kz0000000000000"}),
        (None, {}),
    ],
)
def test_no_community_shares_nothing(node: Node | None, link: dict[str, Any]) -> None:
    found = known("mate", s_clubs=rows(edge("s", BELONGS_TO, "club", **link)))
    found.put("club", node)
    found.lanes["club", MEMBERS] = rows(edge("mate", BELONGS_TO, "club"))
    assert ids(run(found)) == []
    assert "club" not in run(found).used


def test_the_smallest_shared_community_is_told() -> None:
    found = known("mate", club("a"), club("b"), club("c"))
    found.lanes["s", CLUBS] = rows(*(edge("s", BELONGS_TO, name, 0.9 if name == "b" else 0.5) for name in "bac"))
    found.lanes |= {(name, MEMBERS): rows(edge("mate", BELONGS_TO, name), edge("s", BELONGS_TO, name)) for name in "ab"}
    found.lanes["c", MEMBERS] = rows(edge("a", BELONGS_TO, "c"))
    outcome = run(found)
    assert [(reached.id, reached.candidate.community) for reached in outcome.results] == [("mate", "a")]
    assert set(outcome.used) == {"s", "a", "b", "c", "mate"}


def test_communities_that_are_named_alone_share_nothing() -> None:
    found = known(club("club"))
    found.lanes["s", CLUBS] = rows(edge("s", BELONGS_TO, "club"))
    found.lanes["s", Lane(DIRECT_IN, BELONGS_TO)] = rows()
    assert ids(run(found, relationship_types=(BELONGS_TO,))) == ["club"]


@pytest.mark.parametrize(("have", "needs", "bounds"), [(999, 1_000, set()), (1_000, None, {"candidates"})])
def test_a_thousand_communities_of_a_seed_are_read(have: int, needs: int | None, bounds: set[str]) -> None:
    found = known(memory("x"), s_clubs=rows(*(edge("s", BELONGS_TO, "x") for _ in range(have)), more=True))
    outcome = run(found)
    assert (outcome.needs.lanes.get(("s", CLUBS)), outcome.bounded_by) == (needs, bounds)


# --- readability


def test_a_passage_is_a_seed_only_within_its_current_cut() -> None:
    whole = memory("m", passages=2)
    first, last = passage_ids(whole)
    beyond, former = last[:-1] + "2", first.replace(whole.cut or "", "0kf0000000000000")
    found = known(whole)
    found.passages = {passage: Passage(0, 0, "p", "") for passage in (first, last)}
    outcome = run(found, seeds=(first, last, beyond, former), include_incoming=False)
    assert (outcome.origins, ids(outcome)) == ([first, last], ["m"])


def test_an_edge_is_of_the_lives_of_its_ends_whichever_way_it_is_walked() -> None:
    born = "0kz0000000000000"
    found = known(memory("a", born=born), memory("b", born=born), memory("mate", born=born), club("club"))
    found.lanes["s", OUT] = rows(edge("s", "R", "a", target_born=born), edge("s", "R", "b", 0.6, source_born=born))
    found.lanes["s", IN] = rows(edge("a", "R", "s", 0.5, target_born=born), edge("b", "R", "s", 0.4, source_born=born))
    found.lanes["s", CLUBS] = rows(edge("s", BELONGS_TO, "club"))
    found.lanes["club", MEMBERS] = rows(edge("mate", BELONGS_TO, "club", source_born=born))
    outcome = run(found)
    assert [(one.id, one.candidate.direction) for one in outcome.results] == [
        ("mate", DIRECT_OUT),
        ("a", DIRECT_OUT),
        ("b", DIRECT_IN),
    ]


def test_a_project_narrows_to_its_own_nodes() -> None:
    foreign = memory("f", project_id="x", scope="organization")
    found = known(memory("i", project_id="atlas"), "o", foreign)
    found.lanes |= {(name, lane): rows() for name in "iof" for lane in (OUT, IN, CLUBS)}
    assert run(found, seeds=tuple("iof"), project="atlas").origins == ["i"]
    assert run(found, seeds=tuple("iof"), project="x").origins == []
    assert run(found, seeds=tuple("iof")).origins == ["i", "o", "f"]


def test_a_superseded_node_is_reached_only_where_its_relationship_is_named() -> None:
    named = ("RELATED_TO",), ("RELATED_TO", "SUPERSEDES")
    found = known(memory("old", state=State.SUPERSEDED))
    for way in (DIRECT_OUT, DIRECT_IN):
        found.lanes |= {("s", Lane(way, name)): rows() for name in named[1]}
    found.lanes["s", OUT] = found.lanes["s", Lane(DIRECT_OUT, "RELATED_TO")] = star(["old"])
    assert ids(run(found)) == ids(run(found, relationship_types=named[0])) == []
    assert ids(run(found, relationship_types=named[1])) == ["old"]


def test_types_name_entities_and_passages_by_their_own() -> None:
    whole = memory("s", passages=1, type="task")
    found = known(whole, entity(ENTITY), s_out=rows(edge("s", "MENTIONS", ENTITY)))
    found.passages = {passage_ids(whole)[0]: Passage(0, 0, "p", "")}
    assert ids(run(found, types=("entity",))) == [ENTITY]
    assert ids(run(found, types=("passage",))) == passage_ids(whole)
    assert ids(run(found, types=("task",))) == []


def test_what_the_answer_stands_on_is_told() -> None:
    whole = memory("s", passages=1, updated_at="at s")
    found = known(whole, memory("a", updated_at="at a"), s_out=rows(edge("s", "R", "a", written_at="at s-a")))
    found.passages = {passage_ids(whole)[0]: Passage(0, 0, "p", "")}
    outcome = run(found)
    assert set(outcome.used) == {"s", "a"}
    assert set(outcome.written) == {"at s", "at a", "at s-a"}
    many = run(known(*names(20), s_out=star(names(20))), limit=3)
    assert list(many.used) == ["s", *names(4)]
    found.lanes |= {("a", OUT): rows(edge("a", "R", "b", written_at="at a-b")), ("a", IN): rows()}
    found.put("b", memory("b", updated_at="at b"))
    far = run(found, depth=2, types=("task",))
    assert (ids(far), set(far.used)) == ([], {"s", "a"})
    assert set(far.written) == {"at s", "at a", "at s-a"}


def test_an_edge_holds_for_these_lives_until_it_expires() -> None:
    one, other = memory("a"), memory("b")
    assert edge_holds(edge("a", "R", "b"), one, other, NOW)
    assert not edge_holds(edge("a", "R", "b", expires_at=NOW), one, other, NOW)
    assert edge_holds(edge("a", "R", "b", expires_at="2026-01-01T00:00:00.001Z"), one, other, NOW)
    assert not edge_holds(edge("a", "R", "b", source_born="0kz0000000000000"), one, other, NOW)
    assert not edge_holds(edge("a", "R", "b", target_born="0kz0000000000000"), one, other, NOW)
    assert not edge_holds(edge("a", "R", "b"), None, other, NOW)
    assert not edge_holds(edge("a", "R", "b"), one, None, NOW)
