"""Budgets, work bounds and authority of the walk, by counting waves and rows."""

from typing import Any

import pytest

from shared.domain.model import Edge, Memberships
from shared.domain.principal import Principal, Role
from shared.engine.expand import ExpandQuery, expand_neighbors
from shared.engine.port import Lane
from shared.engine.session import Session
from tests.support.graphs import BORN, Graph, edge, memory

PRINCIPAL = Principal(tenant_id="t", principal_id="ann", roles=frozenset({Role.READER}))


def expand(graph: Graph, *seeds: str, **fields: Any) -> dict[str, Any]:
    graph.waves = graph.rows = 0
    return expand_neighbors(graph, Session(principal=PRINCIPAL), ExpandQuery(entity_ids=seeds, **fields))


def ids(answer: dict[str, Any]) -> list[str]:
    return [neighbor["id"] for neighbor in answer["neighbors"]]


def chain(length: int) -> Graph:
    graph = Graph().add(*(memory(f"n{number}") for number in range(length)))
    return graph.link(*(edge(f"n{number}", "RELATED_TO", f"n{number + 1}") for number in range(length - 1)))


def star(leaves: int, **fields: Any) -> Graph:
    graph = Graph().add(memory("hub"), *(memory(f"leaf{number:04}", **fields) for number in range(leaves)))
    return graph.link(*(edge("hub", "RELATED_TO", f"leaf{number:04}") for number in range(leaves)))


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_walk_of_depth_d_costs_d_plus_one_waves(depth: int) -> None:
    graph = chain(6)
    assert ids(expand(graph, "n0", depth=depth)) == [f"n{number}" for number in range(1, depth + 1)]
    assert graph.waves == depth + 1


def test_a_community_costs_one_wave_more() -> None:
    graph = Graph().add(memory("s"), memory("mate"), memory("club", type="community"))
    graph.link(edge("s", "BELONGS_TO", "club"), edge("mate", "BELONGS_TO", "club"))
    assert ids(expand(graph, "s")) == ["mate", "club"]
    assert graph.waves == 3


def test_nothing_readable_costs_one_wave() -> None:
    graph = chain(3)
    assert ids(expand(graph, "ghost")) == []
    assert graph.waves == 1


def test_a_hub_costs_what_its_answer_costs() -> None:
    few, many = star(30), star(5_000)
    small, large = expand(few, "hub"), expand(many, "hub")
    assert ids(large) == ids(small) == [f"leaf{number:04}" for number in range(8)]
    assert large["truncated"] is True
    assert (many.waves, many.rows) == (few.waves, few.rows) == (2, 1 + 18 + 1 + 18)


def test_no_lane_is_read_of_nodes_that_end_the_walk() -> None:
    class Watched(Graph):
        def lane(self, node_id: str, lane: Lane) -> list[Edge]:
            read.add(node_id)
            return super().lane(node_id, lane)

    read: set[str] = set()
    leaves = [f"leaf{number:03}" for number in range(150)]
    graph = Watched().add(memory("hub"), *map(memory, leaves))
    graph.link(*(edge("hub", "REFERENCES", leaf) for leaf in leaves), edge("leaf149", "DECIDES", "leaf000"))
    assert ids(expand(graph, "hub", depth=2)) == leaves[:8]
    assert (graph.waves, read) == (2, {"hub"})
    for leaf in leaves[:-3]:
        graph.nodes[leaf] = memory(leaf, scope="private", owner="bob")
    graph.add(memory("far")).link(edge("leaf147", "DECIDES", "far", 0.9))
    answer = expand(graph, "hub", depth=2)
    assert ids(answer) == ["leaf147", "leaf148", "leaf149", "far"]
    assert (answer["truncated"], graph.waves) == (False, 4)


def test_items_read_stay_within_four_times_the_answer_on_an_ordinary_graph() -> None:
    graph = Graph().add(*(memory(f"n{number}") for number in range(200)))
    graph.link(*(edge(f"n{n}", "RELATED_TO", f"n{(n * 3 + step) % 200}") for n in range(200) for step in (1, 2, 3, 4)))
    answer = expand(graph, "n7", depth=2, limit=24)
    assert answer["total"] == 24
    routes = sum(neighbor["distance"] == 1 for neighbor in answer["neighbors"])
    assert graph.rows <= 4 * (answer["total"] + routes) + 40


def test_hidden_rows_before_a_readable_one_are_passed_over() -> None:
    graph = star(400, scope="private", owner="bob").add(memory("seen"))
    graph.link(edge("hub", "RELATED_TO", "seen", 0.1))
    answer = expand(graph, "hub")
    assert (ids(answer), answer["truncated"]) == (["seen"], False)


def test_a_thousand_candidates_are_examined_and_no_more() -> None:
    graph = star(999, scope="private", owner="bob").add(memory("seen"), memory("beyond"))
    graph.link(edge("hub", "RELATED_TO", "seen", 0.2))
    exact = expand(graph, "hub")
    assert (ids(exact), exact["truncated"], "bounded_by" in exact["filters"]) == (["seen"], False, False)
    graph.link(edge("hub", "RELATED_TO", "beyond", 0.1))
    cut = expand(graph, "hub")
    assert (ids(cut), cut["truncated"], cut["filters"]["bounded_by"]) == (["seen"], True, ["candidates"])


def test_a_hundred_routes_lead_on_and_the_next_does_not() -> None:
    graph = star(101).add(memory("near"), memory("far"))
    graph.link(edge("leaf0099", "RELATED_TO", "near", 1.0), edge("leaf0100", "RELATED_TO", "far", 1.0))
    answer = expand(graph, "hub", depth=2, limit=3)
    assert (ids(answer), answer["filters"]["bounded_by"]) == (["near", "leaf0000", "leaf0001"], ["routes"])
    graph.nodes["leaf0000"] = memory("leaf0000", scope="private", owner="bob")
    answer = expand(graph, "hub", depth=2, limit=3)
    assert (ids(answer), answer["truncated"]) == (["far", "near", "leaf0001"], True)
    assert "bounded_by" not in answer["filters"]


def test_a_node_of_the_first_hop_stays_there_however_many_come_before_it() -> None:
    graph = star(300).link(edge("leaf0000", "DECIDES", "leaf0250"))
    answer = expand(graph, "hub", depth=2, limit=24)
    assert ids(answer) == [f"leaf{number:04}" for number in range(24)]
    assert answer["filters"]["bounded_by"] == ["routes"]


def test_equal_scores_at_the_floor_order_by_id_whatever_their_weights() -> None:
    graph = Graph().add(memory("s"), memory("a"), memory("b"), memory("c"))
    graph.link(edge("s", "X", "c", 0.09), edge("s", "X", "b", 0.05), edge("s", "X", "a", 0.0))
    assert ids(expand(graph, "s", limit=1)) == ["a"]


def test_an_edge_of_a_former_life_is_no_edge() -> None:
    graph = Graph().add(memory("s"), memory("t", born="0kz0000000000000")).link(edge("s", "RELATED_TO", "t"))
    assert ids(expand(graph, "s")) == []
    graph.link(edge("s", "RELATED_TO", "t", target_born="0kz0000000000000"))
    assert ids(expand(graph, "s")) == ["t"]


class Revoking(Graph):
    """Membership is lost, and a secret written, between the first wave and the second."""

    def wave(self, *args: Any) -> Any:
        if self.waves == 1:
            self.memberships = Memberships()
            self.add(memory("t", project_id="atlas", text="secret", updated_at="2999-01-01T00:00:00.000Z"))
        return super().wave(*args)


def test_a_row_written_after_a_revocation_is_not_opened_by_the_membership_before_it() -> None:
    graph = Revoking(memberships=Memberships(frozenset({"atlas"})))
    graph.add(memory("s"), memory("t", project_id="atlas", text="plain")).link(edge("s", "RELATED_TO", "t"))
    assert ids(expand(graph, "s")) == []
    assert graph.waves == 3


def test_the_hinges_of_the_way_are_read_again_in_the_last_wave() -> None:
    class Closing(Graph):
        def wave(self, *args: Any) -> Any:
            if self.waves == 2:
                self.add(memory("b", scope="private", owner="bob"))
            return super().wave(*args)

    graph = Closing().add(memory("a"), memory("b"), memory("c"))
    graph.link(edge("a", "RELATED_TO", "b"), edge("b", "RELATED_TO", "c"))
    assert ids(expand(graph, "a", depth=2)) == []


def test_the_same_request_gives_the_same_answer_whatever_order_seeds_come_in() -> None:
    graph = star(20).add(memory("other")).link(edge("other", "RELATED_TO", "leaf0003", source_born=BORN))
    assert expand(graph, "hub", "other")["neighbors"] == expand(graph, "other", "hub")["neighbors"]
