"""`traverse` by brute force, as the contract's section 6 reads: all rows at once, nothing read by need."""

from typing import Any
from unicodedata import category

from shared.domain.authority import Authority
from shared.domain.instants import inverted
from shared.domain.model import Edge, Entity, Memory, Relation
from shared.domain.normalise import normalised
from shared.domain.principal import Principal
from shared.engine import neighbourhood
from shared.engine.traverse import AUTO, UNMAPPED, TraverseQuery
from tests.support.declared_graph import DeclaredGraph


def readable_part(graph: DeclaredGraph, principal: Principal) -> DeclaredGraph:
    """The graph with every row removed that the principal may not read."""
    authority = Authority(principal, graph.memberships, graph.purges)
    part = DeclaredGraph(memberships=graph.memberships, purges=graph.purges, context=graph.context, page=graph.page)
    for node in graph.nodes.values():
        if authority.may_read_entity(node) if isinstance(node, Entity) else authority.may_read_memory(node):
            part.add(node)
    kept = [one for one in graph.edges if one.source in part.nodes and one.target in part.nodes]
    part.link(*kept)
    return part.relate(*(one for one in graph.relations if _readable(graph, authority, one)))


def _readable(graph: DeclaredGraph, authority: Authority, one: Relation) -> bool:
    ends = [graph.nodes.get(one.subject), graph.nodes.get(one.object)]
    borns = [one.subject_born, one.object_born]
    if not authority.alive(one) or not authority.may_read_declared(one.agent_id, one.project_id):
        return False
    for end, born in zip(ends, borns, strict=True):
        if not isinstance(end, Entity) or end.born != born or not authority.may_read_entity(end):
            return False
    if one.anchor_ref is None:
        return True
    anchor = graph.nodes.get(one.anchor_ref)
    return isinstance(anchor, Memory) and anchor.born == one.anchor_born and authority.alive(anchor)


def expected(graph: DeclaredGraph, principal: Principal, query: TraverseQuery) -> dict[str, Any]:
    """The answer, with anchors of unreadable memories only shown to be there by the relation itself."""
    return _Oracle(graph, principal, query).answer()


class _Oracle:
    def __init__(self, graph: DeclaredGraph, principal: Principal, query: TraverseQuery) -> None:
        self.graph = graph
        self.query = query
        self.authority = Authority(principal, graph.memberships, graph.purges)
        self.project = query.project_id
        self.extra: dict[str, Any] = {}
        if self.project == AUTO:
            mine = {agent: project for agent, project in (graph.context or {}).items() if principal.may_act_as(agent)}
            self.project = AUTO if graph.context is None else mine.get(query.agent_id, "")
            self.extra["resolved_project_id"] = self.project
            if self.project == "":
                self.extra["operating_context_warning"] = UNMAPPED

    def in_call(self, project: str | None, channel: str | None) -> bool:
        projects = {None: True, "": project is None}.get(self.project, project in (None, self.project))
        return projects and (not self.query.channel or channel in (None, self.query.channel))

    def relations(self) -> list[Relation]:
        found = [
            one
            for one in self.graph.relations
            if one.agent_id == self.query.agent_id
            and self.in_call(one.project_id, one.channel)
            and _readable(self.graph, self.authority, one)
        ]
        return sorted(found, key=lambda one: (inverted(one.declared_at), one.id))

    def starts(self) -> list[str]:
        wanted = normalised(self.query.entity)
        return sorted(
            one.id
            for one in self.graph.entities()
            if one.agent_id == self.query.agent_id
            and self.authority.may_read_entity(one)
            and self.in_call(one.project_id, one.channel)
            and wanted in {normalised(name) for name in (one.name, *one.aliases)}
        )[: neighbourhood.MAX_ENTITIES]

    def answer(self) -> dict[str, Any]:
        relations = self.relations()
        hops, order = self.walk(relations)
        shown = order[: self.query.limit]
        inside = [one for one in relations if one.subject in shown and one.object in shown]
        most = 10 * self.query.limit
        entities, cut, unexamined = self.entities(shown, hops)
        leads_on = any((one.subject in hops) != (one.object in hops) for one in relations)
        omitted = {
            "max_hops": leads_on,
            "limit": cut or len(order) > len(shown) or len(inside) > most,
            "candidates": unexamined,
        }
        answer: dict[str, Any] = {
            "entity": self.query.entity,
            "max_hops": self.query.max_hops,
            "limit": self.query.limit,
            "entities": entities,
            "relations": [self.relation(one) for one in inside[:most]],
        }
        answer |= {"entities_omitted": len(order) - len(shown)} if len(order) > len(shown) else {}
        answer |= {"relations_omitted": len(inside) - most} if len(inside) > most else {}
        answer |= {"bounds": {"omitted": [name for name in omitted if omitted[name]]}} if any(omitted.values()) else {}
        answer |= {} if entities else {"reason": "no_such_entity"}
        return answer | self.extra

    def walk(self, relations: list[Relation]) -> tuple[dict[str, int], list[str]]:
        hops = dict.fromkeys(self.starts(), 0)
        order = [*hops]
        for hop in range(1, self.query.max_hops + 1):
            best: dict[str, str] = {}
            for one in relations:
                for near, far in ((one.subject, one.object), (one.object, one.subject)):
                    room = len(hops) + len(best) < neighbourhood.MAX_ENTITIES
                    if hops.get(near) == hop - 1 and far not in hops and far not in best and room:
                        best[far] = one.declared_at
            found = sorted(best, key=lambda id_: (inverted(best[id_]), id_))
            hops |= dict.fromkeys(found, hop)
            order += found
        return hops, order

    def entities(self, shown: list[str], hops: dict[str, int]) -> tuple[list[dict[str, Any]], bool, bool]:
        left, cut, unexamined = neighbourhood.MAX_MENTIONS_IN_ALL, False, False
        entities = []
        for id_ in shown:
            one = self.graph.nodes[id_]
            assert isinstance(one, Entity)
            rows = sorted((edge for edge in self.graph.edges if edge.target == id_), key=lambda edge: edge.source)
            allowed = min(neighbourhood.MAX_MENTIONS, left)
            unexamined |= len(rows) > allowed
            left -= len(rows[:allowed])
            readable = [edge.source for edge in rows[:allowed] if self.mentions(edge, one)]
            entity: dict[str, Any] = {"id": id_, "name": one.name, "hops": hops[id_]}
            entity |= {"aliases": list(one.aliases)} if one.aliases else {}
            entity |= {"mentions": readable[: self.query.limit]} if readable else {}
            more = len(readable) - self.query.limit
            entity |= {"mentions_omitted": more} if more > 0 else {}
            cut |= more > 0
            entities.append(entity)
        return entities, cut, unexamined

    def mentions(self, edge: Edge, one: Entity) -> bool:
        memory = self.graph.nodes.get(edge.source)
        lives = isinstance(memory, Memory) and edge.source_born == memory.born and edge.target_born == one.born
        return lives and isinstance(memory, Memory) and memory.state != "archived" and self.shows(memory)

    def shows(self, memory: Memory) -> bool:
        member = not self.project or memory.project_id is None or self.authority.is_member(self.project)
        wanted, source = self.query.source_id, memory.source_id or ""
        if wanted:
            exact = category(wanted[-1])[0] == "L" or category(wanted[-1]) == "Nd"
            if not (source == wanted if exact else source.startswith(wanted)):
                return False
        return member and self.authority.may_read_memory(memory) and self.in_call(memory.project_id, memory.channel)

    def relation(self, one: Relation) -> dict[str, Any]:
        names = ("id", "subject", "predicate", "object", "declared_by", "declared_at")
        shown = {name: getattr(one, name) for name in names}
        anchor = self.graph.nodes.get(one.anchor_ref or "")
        return shown | ({"anchor_ref": anchor.id} if isinstance(anchor, Memory) and self.shows(anchor) else {})
