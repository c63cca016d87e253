"""Declared names in memory, with the engine's read port; waves, calls and rows are counted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from shared.domain.declared import DeclaredScope, Naming, relation_id
from shared.domain.instants import inverted
from shared.domain.model import Edge, Entity, Memory, Relation
from shared.domain.normalise import normalised
from shared.domain.scoring import Direction
from shared.engine.port import Clock, EdgePage, Lane, Pending, RelationPage
from tests.support.graphs import BORN, LONG_AGO, Graph, GraphWave, edge, entity


def named(number: int, name: str = "", **fields: object) -> Entity:
    """An entity whose id orders by `number`."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    digits = "".join(letters[number // 26**place % 26] for place in (3, 2, 1, 0))
    return entity(f"ent_{digits:a>32}", name=name or f"E{number}", **fields)


def relation(
    subject: Entity, predicate: str, object_: Entity, declared_at: str = LONG_AGO, **fields: object
) -> Relation:
    scope = DeclaredScope("a1", str(fields["project_id"]) if fields.get("project_id") else None)
    anchor = str(fields["anchor_ref"]) if fields.get("anchor_ref") else None
    plain = Relation(
        id=relation_id(scope, subject.id, predicate, object_.id, anchor),
        agent_id="a1",
        subject=subject.id,
        predicate=predicate,
        object=object_.id,
        declared_at=declared_at,
        declared_by="agent",
        written_at=LONG_AGO,
        anchor_born=BORN if anchor else None,
        subject_born=subject.born,
        object_born=object_.born,
        subject_project_id=subject.project_id,
        object_project_id=object_.project_id,
    )
    return replace(plain, **fields)  # type: ignore[arg-type]


@dataclass
class DeclaredGraph(Graph):
    """Entities and memories are nodes, mentions are edges."""

    relations: list[Relation] = field(default_factory=list)
    context: dict[str, str] | None = None
    calls: int = 0
    _of: dict[str, list[Relation]] = field(default_factory=dict)

    def wave(self, tenant_id: str, principal_id: str, clock: Clock) -> "DeclaredWave":
        del tenant_id, principal_id, clock
        return DeclaredWave(self)

    def relate(self, *relations: Relation) -> "DeclaredGraph":
        self.relations += relations
        self._of.clear()
        return self

    def mention(self, one: Entity, *memories: Memory, target_born: str = BORN) -> "DeclaredGraph":
        self.link(*(edge(memory.id, "MENTIONS", one.id, target_born=target_born) for memory in memories))
        return self

    def entities(self) -> list[Entity]:
        return [node for node in self.nodes.values() if isinstance(node, Entity)]

    def namings(self, agent_id: str, normal_name: str) -> list[Naming]:
        return [
            Naming(entity_id=one.id, born=one.born, scope=_scope(one), epoch=one.epoch)
            for one in self.entities()
            if one.agent_id == agent_id and normal_name in {normalised(name) for name in (one.name, *one.aliases)}
        ]

    def relations_of(self, id_: str) -> list[Relation]:
        if not self._of:
            for one in sorted(self.relations, key=lambda one: (inverted(one.declared_at), one.id)):
                for end in {one.subject, one.object}:
                    self._of.setdefault(end, []).append(one)
        return self._of.get(id_, [])


def _scope(one: Entity) -> DeclaredScope:
    return DeclaredScope(one.agent_id, one.project_id, one.channel)


class DeclaredWave(GraphWave):
    """A wave over a `DeclaredGraph`."""

    def __init__(self, graph: DeclaredGraph) -> None:
        super().__init__(graph)
        self.graph = graph

    def names(self, agent_id: str, normal_name: str) -> Pending[Sequence[Naming]]:
        self.graph.calls += 1
        return self._later(lambda: self.graph.namings(agent_id, normal_name))

    def relations(self, entity_id: str, *, limit: int, after: str | None = None) -> Pending[RelationPage]:
        self.graph.calls += 1
        return self._later(lambda: self._page(self.graph.relations_of(entity_id), limit, after))

    def relations_between(self, one: str, other: str, *, limit: int, after: str | None = None) -> Pending[RelationPage]:
        self.graph.calls += 1

        def read() -> RelationPage:
            ends = {one, other}
            rows = [row for row in self.graph.relations_of(one) if {row.subject, row.object} == ends]
            return self._page(rows, limit, after)

        return self._later(read)

    def _page(self, rows: Sequence[Relation], limit: int, after: str | None) -> RelationPage:
        start = int(after or 0)
        end = start + min(limit, self.graph.page or limit)
        self.graph.rows += len(rows[start:end])
        # Like the store's: a full page has a place to go on from, even where nothing follows.
        return RelationPage(rows[start:end], str(end) if end <= len(rows) else None)

    def edges(self, node_id: str, lane: Lane, *, limit: int, after: str | None = None) -> Pending[EdgePage]:
        self.graph.calls += 1
        del lane

        def read() -> EdgePage:
            rows = self._mentions(node_id)
            start = int(after or 0)
            end = start + min(limit, self.graph.page or limit)
            self.graph.rows += len(rows[start:end])
            return EdgePage(rows[start:end], str(end) if end <= len(rows) else None)

        return self._later(read)

    def _mentions(self, entity_id: str) -> list[Edge]:
        return self.graph.lane(entity_id, Lane(Direction.INCOMING))

    def operating_context(self) -> Pending[Mapping[str, str] | None]:
        return self._later(lambda: self.graph.context)
