"""A graph in memory with the engine's read port, and a count of the waves and rows that it was asked for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar

from shared.domain.declared import DeclaredScope, Naming
from shared.domain.ids import PassageId, passage_id
from shared.domain.model import Edge, Entity, Memberships, Memory, Node, Passage, Relation, State
from shared.domain.scoring import BELONGS_TO, Direction, base_weight, walked_by_default
from shared.engine.port import Clock, EdgePage, Lane, Pending, RelationPage

T = TypeVar("T")

LONG_AGO = "2020-01-01T00:00:00.000Z"
BORN = "0kf0000000000000"
CUT = "0kf0000000000001"


def ref_of(memory_id: str) -> str:
    """A stand-in for the store's partition handle: 32 characters of the id's hex, as base-32 has them."""
    return memory_id.encode().hex().translate(str.maketrans("0189", "ghij")).ljust(32, "z")[:32]


def memory(memory_id: str, *, passages: int = 0, **fields: Any) -> Memory:
    """A memory with the plainest values; `passages` > 0 makes it a cut one."""
    plain = Memory(
        id=memory_id,
        type="note",
        name=f"Name of {memory_id}",
        owner="root",
        created_at=LONG_AGO,
        updated_at=LONG_AGO,
        born=BORN,
        ref=ref_of(memory_id),
        cut=CUT if passages else None,
        passages=passages,
    )
    return replace(plain, **fields)


def entity(entity_id: str, **fields: Any) -> Entity:
    plain = Entity(id=entity_id, agent_id="a1", name=f"Name of {entity_id}", born=BORN, updated_at=LONG_AGO)
    return replace(plain, **fields)


def edge(source: str, relationship: str, target: str, weight: float | None = None, **fields: Any) -> Edge:
    plain = Edge(
        source=source,
        relationship=relationship,
        target=target,
        weight=base_weight(relationship) if weight is None else weight,
        own_weight=weight,
        source_born=BORN,
        target_born=BORN,
        written_at=LONG_AGO,
    )
    return replace(plain, **fields)


@dataclass
class Graph:
    """Nodes by id, edges, and who belongs where. Implements `shared.engine.port.Waves`."""

    nodes: dict[str, Node] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    memberships: Memberships = field(default_factory=Memberships)
    purges: dict[str, int] = field(default_factory=dict)
    waves: int = 0
    rows: int = 0
    page: int | None = None
    """Rows a page holds at most, however many are asked for."""

    def add(self, *nodes: Node) -> Self:
        self.nodes |= {node.id: node for node in nodes}
        return self

    def link(self, *edges: Edge) -> Self:
        self.edges += edges
        return self

    def wave(self, tenant_id: str, principal_id: str, clock: Clock) -> "GraphWave":
        del tenant_id, principal_id, clock
        return GraphWave(self)

    def hinge(self, node_id: str) -> Node | None:
        passage = passage_id(node_id)
        if passage is None:
            return self.nodes.get(node_id)
        return next((n for n in self.nodes.values() if isinstance(n, Memory) and n.ref == passage.ref), None)

    def lane(self, node_id: str, lane: Lane) -> list[Edge]:
        outgoing = lane.direction is Direction.OUTGOING
        found = [e for e in self.edges if (e.source if outgoing else e.target) == node_id]
        if lane.members:
            return sorted((e for e in found if e.relationship == BELONGS_TO), key=lambda e: e.source)
        if lane.relationship is None:
            found = [e for e in found if walked_by_default(e.relationship, lane.direction)]
        else:
            found = [e for e in found if e.relationship == lane.relationship]
        return sorted(found, key=lambda e: (-e.weight, e.target if outgoing else e.source, e.relationship))


class GraphWave:
    """A wave over a `Graph`; rows are counted as a store would read them."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._reads: list[Callable[[], None]] = []

    def _later(self, read: Callable[[], T]) -> Pending[T]:
        pending: Pending[T] = Pending()
        self._reads.append(lambda: pending.settle(read()))
        return pending

    def memberships(self) -> Pending[Memberships]:
        return self._later(lambda: self._graph.memberships)

    def purges(self) -> Pending[Mapping[str, int]]:
        return self._later(lambda: dict(self._graph.purges))

    def node(self, node_id: str) -> Pending[Node | None]:
        self._graph.rows += 1
        return self._later(lambda: self._graph.hinge(node_id))

    def edges(self, node_id: str, lane: Lane, *, limit: int, after: str | None = None) -> Pending[EdgePage]:
        def read() -> EdgePage:
            start = int(after or 0)
            rows = self._graph.lane(node_id, lane)
            end = start + min(limit, self._graph.page or limit)
            page = rows[start:end]
            self._graph.rows += len(page)
            more = str(end) if end < len(rows) else None
            return EdgePage(page, more)

        return self._later(read)

    def passage(self, ref: str, cut: str, index: int) -> Pending[Passage | None]:
        del ref, cut
        self._graph.rows += 1
        return self._later(lambda: Passage(index, index, "p", ""))

    def edge(self, source: str, relationship: str, target: str) -> Pending[Edge | None]:
        raise NotImplementedError

    def memberships_of(self, principal_id: str) -> Pending[Memberships]:
        raise NotImplementedError

    def naming(self, scope: DeclaredScope, normal_name: str) -> Pending[Naming | None]:
        raise NotImplementedError

    def names(self, agent_id: str, normal_name: str) -> Pending[Sequence[Naming]]:
        raise NotImplementedError

    def relation(self, relation_id: str) -> Pending[Relation | None]:
        raise NotImplementedError

    def relations(self, entity_id: str, *, limit: int, after: str | None = None) -> Pending[RelationPage]:
        raise NotImplementedError

    def relations_between(self, one: str, other: str, *, limit: int, after: str | None = None) -> Pending[RelationPage]:
        raise NotImplementedError

    def operating_context(self) -> Pending[Mapping[str, str] | None]:
        raise NotImplementedError

    def body(self, memory: Memory, upto: int) -> Pending[str | None]:
        return self._later(lambda: memory.text[:upto])

    def run(self) -> None:
        self._graph.waves += 1
        for read in self._reads:
            read()


def passage_ids(memory: Memory) -> list[str]:
    """The ids of a cut memory's passages, by index."""
    return [str(PassageId(memory.ref, memory.cut or "", index)) for index in range(memory.passages)]


__all__ = ["BORN", "CUT", "LONG_AGO", "Graph", "State", "edge", "entity", "memory", "passage_ids"]
