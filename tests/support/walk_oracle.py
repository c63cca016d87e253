"""The walk by brute force: the whole readable graph, hop by hop, straight from the contract's rules (section 4)."""

from dataclasses import replace

from shared.domain.authority import Authority
from shared.domain.ids import passage_id
from shared.domain.model import Entity, Memory, Node, State
from shared.engine.walk import MAX_CANDIDATES, MAX_ROUTES, WalkQuery
from tests.support.graphs import Graph, passage_ids

POLICY_IN = {"DECIDES", "REQUIRES", "SUPPORTS"}
FOUND = tuple[str, str, str, int, float, str | None]


def readable_part(graph: Graph, authority: Authority) -> Graph:
    """The graph with everything that the reader may not read removed (the deletion twin)."""
    kept = {
        node_id: node
        for node_id, node in graph.nodes.items()
        if (authority.may_read_entity(node) if isinstance(node, Entity) else authority.may_read_memory(node))
    }
    edges = [e for e in graph.edges if e.source in kept and e.target in kept]
    return replace(graph, nodes=kept, edges=edges, waves=0, rows=0)


def expected(graph: Graph, query: WalkQuery, authority: Authority, now: str) -> tuple[list[str], list[FOUND], bool]:
    """Origins, neighbors (id, relationship, direction, distance, score, community) and `truncated`."""
    nodes: dict[str, tuple[Node, str]] = {}
    for node in graph.nodes.values():
        readable = authority.may_read_entity(node) if isinstance(node, Entity) else authority.may_read_memory(node)
        if not readable or (isinstance(node, Memory) and node.state is State.ARCHIVED):
            continue
        if query.project is not None and (
            node.project_id != query.project or query.project not in authority.memberships.projects
        ):
            continue
        nodes[node.id] = (node, "entity" if isinstance(node, Entity) else node.type)
        if isinstance(node, Memory):
            nodes |= dict.fromkeys(passage_ids(node), (node, "passage"))
    names = query.relationship_types

    def result(node_id: str) -> bool:
        node = nodes[node_id][0]
        superseded = isinstance(node, Memory) and node.state is State.SUPERSEDED
        return not superseded or (names is not None and "SUPERSEDES" in names)

    def walked(relationship: str, direction: str) -> bool:
        if direction == "incoming" and not query.include_incoming:
            return False
        if names is not None:
            return relationship in names
        if relationship == "SUPERSEDES":
            return direction == "incoming"
        return not (relationship in POLICY_IN and direction == "incoming")

    live = [
        e
        for e in graph.edges
        if e.source in nodes
        and e.target in nodes
        and e.source_born == nodes[e.source][0].born
        and e.target_born == nodes[e.target][0].born
        and (e.expires_at is None or now < e.expires_at)
    ]
    ways = [(e.source, e.target, e.relationship, "outgoing", e.weight) for e in live]
    ways += [(e.target, e.source, e.relationship, "incoming", e.weight) for e in live]
    for one in list(nodes):
        parent = nodes[one][0].id
        if passage_id(one):
            ways += [(one, parent, "PART_OF", "outgoing", 0.72), (parent, one, "PART_OF", "incoming", 0.72)]
    origins = [seed for seed in query.seeds if seed in nodes]
    reached: set[str] = set(query.seeds)
    found: list[FOUND] = []
    frontier, cut = origins, False
    for distance in range(1, query.depth + 1):
        rows = [
            (-w, other, rel, way == "incoming", "", way)
            for near, other, rel, way, w in ways
            if near in frontier and walked(rel, way)
        ]
        if distance == 1 and (names is None or "SHARES_COMMUNITY" in names):
            for link in live:
                community = nodes[link.target][0]
                if link.relationship != "BELONGS_TO" or link.source not in origins or passage_id(link.source):
                    continue
                if not isinstance(community, Memory) or community.type != "community":
                    continue
                if community.state is not State.ACTIVE:
                    continue
                rows += [
                    (-0.74, e.source, "SHARES_COMMUNITY", False, community.id, "outgoing")
                    for e in live
                    if e.relationship == "BELONGS_TO" and e.target == community.id and nodes[e.source][1] != "community"
                ]
        rows.sort()
        assert len(rows) <= MAX_CANDIDATES, "the oracle knows no bound on candidates"
        hop: list[tuple[float, str]] = []
        for negative, other, rel, _, community_id, way in rows:
            if other in reached or not result(other):
                continue
            reached.add(other)
            score = min(1.0, max(0.1, -negative * 0.72 ** (distance - 1)))
            hop.append((-score, other))
            if query.types is None or nodes[other][1] in query.types:
                found.append((other, rel, way, distance, score, community_id or None))
        hop.sort()
        frontier = [other for _, other in hop[:MAX_ROUTES]]
        cut = cut or (len(hop) > MAX_ROUTES and distance < query.depth)
    found.sort(key=lambda one: (-one[4], one[3], one[0]))
    return origins, found[: query.limit], len(found) > query.limit or cut
