"""The bounded walk over what is known so far: pure, and exact or silent.

`walk` follows the contract's rules (section 4) over the nodes and lanes already read. Where something that it needs is
not known it says what to read next instead of guessing; called again with more known it comes to the one right answer.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from shared.domain.authority import Authority, is_retrievable
from shared.domain.ids import PassageId, is_entity_id, passage_id
from shared.domain.model import Edge, Entity, Memory, Node, Passage, State
from shared.domain.scoring import (
    BELONGS_TO,
    FLOOR,
    MENTIONS,
    ONLY_INCOMING,
    ONLY_OUTGOING,
    PART_OF,
    SHARES_COMMUNITY,
    SUPERSEDES,
    WEIGHTS,
    Direction,
    best_score_at,
    score,
)
from shared.engine.port import Lane

MAX_ROUTES = 100
"""Nodes walked through into each further hop (rule 13)."""

MAX_CANDIDATES = 1_000
"""Candidate rows examined in a hop over the whole frontier (rule 13)."""

MAX_NAMED_LANES = 8
"""More relationships than this are read from the general lanes and filtered: each lane costs a query a node."""

COMMUNITY = "community"
_OUT, _IN = Direction.OUTGOING, Direction.INCOMING
_COMMUNITIES_OF = Lane(_OUT, BELONGS_TO)
_MEMBERS = Lane(_IN, BELONGS_TO, members=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkQuery:
    """The rules of one walk; words are folded already, bounds in range."""

    seeds: tuple[str, ...]
    relationship_types: tuple[str, ...] | None
    types: tuple[str, ...] | None
    depth: int
    limit: int
    include_incoming: bool
    project: str | None

    def allows(self, relationship: str) -> bool:
        """Whether the relationship is walked at all (rule 4); which way it is, the lanes decide."""
        return self.relationship_types is None or relationship in self.relationship_types

    def lanes(self, node_id: str) -> list[Lane]:
        """The lanes that hold all edges which may be walked from a memory or an entity."""
        directions = [_OUT, _IN] if self.include_incoming else [_OUT]
        if is_entity_id(node_id):
            directions = directions[1:]
        if self.relationship_types is None:
            return [Lane(direction) for direction in directions]
        named = [name for name in self.relationship_types if name != SHARES_COMMUNITY]
        if is_entity_id(node_id):
            named = [name for name in named if name == MENTIONS]
        if len(named) <= MAX_NAMED_LANES:
            return [Lane(direction, name) for direction in directions for name in named]
        closed = {_OUT: ONLY_INCOMING, _IN: ONLY_OUTGOING}
        beside = [Lane(direction, name) for direction in directions for name in named if name in closed[direction]]
        return [Lane(direction) for direction in directions] + beside


@dataclass(slots=True)
class LaneRows:
    """What is known of a lane: its first edges, and where to go on (None: that was all)."""

    edges: list[Edge] = field(default_factory=list)
    after: str | None = None


@dataclass(slots=True)
class Known:
    """All that was read so far. What was looked for and not found is None."""

    nodes: dict[str, Node | None] = field(default_factory=dict)
    passages: dict[str, Passage | None] = field(default_factory=dict)
    lanes: dict[tuple[str, Lane], LaneRows] = field(default_factory=dict)
    memory_ids: dict[str, str] = field(default_factory=dict)
    """Memory ids by partition handle: whose passages an id of that handle names."""

    def put(self, node_id: str, node: Node | None) -> None:
        self.nodes[node_id] = node
        if isinstance(node, Memory):
            self.nodes[node.id] = node
            self.memory_ids[node.ref] = node.id

    def hinge_id(self, node_id: str) -> str:
        """The id under which the hinge with the authority over `node_id` is known: of a passage, its memory's."""
        passage = passage_id(node_id)
        return node_id if passage is None else self.memory_ids.get(passage.ref, node_id)

    def hinge(self, node_id: str) -> Node | None:
        return self.nodes.get(self.hinge_id(node_id))

    def has_node(self, node_id: str) -> bool:
        return self.hinge_id(node_id) in self.nodes


@dataclass(slots=True)
class Needs:
    """What to read next: nodes (hinges; of passages their rows besides), and lanes with the rows wanted in all."""

    nodes: dict[str, None] = field(default_factory=dict)
    lanes: dict[tuple[str, Lane], int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.nodes or self.lanes)

    def lane(self, node_id: str, lane: Lane, rows: int) -> None:
        self.lanes[node_id, lane] = max(rows, self.lanes.get((node_id, lane), rows))


Order: TypeAlias = tuple[float, str, str, bool, str]
_START: Order = (-2.0, "", "", False, "")
"""Before every candidate."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A way to reach `other` from `near`: one edge row, stored or minted, in the merged order of its hop."""

    weight: float
    other: str
    relationship: str
    direction: Direction
    near: str
    edge: Edge | None = None
    community: str | None = None

    @property
    def order(self) -> Order:
        """Rule 5: weight, then (for one node) relationship name, outgoing before incoming, smallest community."""
        return (-self.weight, self.other, self.relationship, self.direction is _IN, self.community or "")


@dataclass(frozen=True, slots=True)
class Reached:
    """A readable node, the best way that it was reached, and its score."""

    candidate: Candidate
    node: Node
    distance: int
    score: float
    passage: Passage | None = None

    @property
    def id(self) -> str:
        return self.candidate.other

    @property
    def order(self) -> tuple[float, int, str]:
        """Rule 10: score descending, distance ascending, id ascending."""
        return (-self.score, self.distance, self.id)


@dataclass(slots=True)
class Outcome:
    """The answer so far; it is final when nothing is needed any more.

    `results` holds the best `limit + 1` at most: one more than asked tells that the answer is truncated. `used` names
    the hinges that the answer stands on, `written` the instants at which the rows it uses were written.
    """

    origins: list[str] = field(default_factory=list)
    results: list[Reached] = field(default_factory=list)
    used: dict[str, None] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)
    bounded_by: set[str] = field(default_factory=set)
    needs: Needs = field(default_factory=Needs)


def walk(known: Known, query: WalkQuery, authority: Authority, now: str) -> Outcome:
    """The outcome of `query` for a reader, as far as `known` goes; `now` (UTC milliseconds) decides expiry."""
    return _Walk(known, query, authority, now).run()


@dataclass(slots=True)
class _Hop:
    """The candidates of one hop in merged order, as far as they are known.

    Beyond `horizon` rows of `open_lanes` may still come in between.
    """

    distance: int
    candidates: list[Candidate] = field(default_factory=list)
    open_lanes: list[tuple[Order, str, Lane]] = field(default_factory=list)
    ways: dict[str, list[Candidate]] = field(default_factory=dict)
    """The examined candidates by the node that they lead to, once all are in."""

    def put(self, candidates: Sequence[Candidate], rows: LaneRows, node_id: str, lane: Lane) -> None:
        """Add what the known rows of a lane lead to."""
        self.candidates += candidates
        if rows.after is not None:
            self.open_lanes.append((candidates[-1].order if candidates else _START, node_id, lane))

    def close(self) -> None:
        for candidate in self.candidates[:MAX_CANDIDATES]:
            self.ways.setdefault(candidate.other, []).append(candidate)

    @property
    def horizon(self) -> Order | None:
        return min((last for last, _, _ in self.open_lanes), default=None)

    @property
    def complete(self) -> bool:
        """Whether all rows that may be examined are known, once none of its lanes is unread."""
        horizon = self.horizon
        return horizon is None or sum(candidate.order <= horizon for candidate in self.candidates) >= MAX_CANDIDATES


class _Walk:
    def __init__(self, known: Known, query: WalkQuery, authority: Authority, now: str) -> None:
        self.known = known
        self.query = query
        self.authority = authority
        self.now = now
        self.outcome = Outcome()
        self.taken: dict[str, Reached] = {}
        self.results: list[Reached] = []
        self.earlier: list[_Hop] = []

    def run(self) -> Outcome:
        frontier = self._origins()
        distance = 1
        while frontier:
            frontier = self._hop(distance, frontier)
            distance += 1
        self.results.sort(key=lambda reached: reached.order)
        self.outcome.results = self.results[: self.query.limit + 1]
        for reached in self.outcome.results:
            self._use(reached.id, reached)
        return self.outcome

    # --- seeds

    def _origins(self) -> list[str]:
        unknown = [seed for seed in self.query.seeds if not self.known.has_node(seed)]
        for seed in unknown:
            self.outcome.needs.nodes[seed] = None
        self._need_lanes(unknown, 1)
        if unknown:
            return []
        self.outcome.origins = [seed for seed in self.query.seeds if self._readable(seed)]
        for seed in self.outcome.origins:
            self._use(seed, None)
        return self.outcome.origins

    # --- one hop

    def _hop(self, distance: int, frontier: Sequence[str]) -> list[str]:
        """Take what the hop reaches; the frontier of the next hop, empty when the walk ends here."""
        hop = self._gather(distance, frontier)
        taken = self._take(hop)
        if self.outcome.needs:
            return []
        if distance == self.query.depth or self._enough_at(distance + 1):
            return []
        hop.close()
        self.earlier.append(hop)
        taken.sort(key=lambda reached: reached.order)
        if len(taken) > MAX_ROUTES:
            self.outcome.bounded_by.add("routes")
        for reached in taken[:MAX_ROUTES]:
            self._use(reached.id, reached)
        return [reached.id for reached in taken[:MAX_ROUTES]]

    def _take(self, hop: _Hop) -> list[Reached]:
        """Admit candidates in order until the answer cannot change; note what must be read to go on."""
        taken: list[Reached] = []
        unknown: dict[str, float] = {}
        room = self._read_ahead(hop)
        horizon = hop.horizon
        for examined, candidate in enumerate(hop.candidates):
            beyond = horizon is not None and candidate.order > horizon
            heaviest_ahead = max(candidate.weight, -horizon[0]) if horizon else candidate.weight
            if not unknown and self._settled(hop.distance, heaviest_ahead, taken):
                return taken
            if beyond or len(unknown) >= room:
                break
            if examined >= MAX_CANDIDATES:
                self.outcome.bounded_by.add("candidates")
                break
            self._look_at(candidate, hop.distance, taken, unknown)
        else:
            beyond = horizon is not None and not self._settled(hop.distance, -horizon[0], taken)
        if beyond and len(unknown) < room:
            self._need_rows(hop)
        self._need_nodes(hop, unknown, MAX_ROUTES + 1 - len(taken))
        return taken

    def _look_at(self, candidate: Candidate, distance: int, taken: list[Reached], unknown: dict[str, float]) -> None:
        """Take what the candidate reaches, or note that its other end is not known."""
        if not self.query.allows(candidate.relationship):
            return
        if not self._is_known(candidate.other):
            unknown.setdefault(candidate.other, candidate.weight)
        elif reached := self._admit(candidate, distance):
            taken.append(reached)

    def _admit(self, candidate: Candidate, distance: int) -> Reached | None:
        """The node that `candidate` reaches, when it is readable and was not reached before."""
        if candidate.other in self.taken or candidate.other in self.query.seeds:
            return None
        node = self.known.hinge(candidate.other)
        if node is None or not self._holds(candidate, node) or self._reached_earlier(candidate.other, node):
            return None
        passage = self.known.passages.get(candidate.other)
        reached = Reached(candidate, node, distance, score(candidate.weight, distance), passage)
        self.taken[candidate.other] = reached
        if self.query.types is None or node_type(candidate.other, node) in self.query.types:
            self.results.append(reached)
        return reached

    def _holds(self, candidate: Candidate, node: Node) -> bool:
        """Whether the candidate is an edge of this reader's graph: both ends of this life, unexpired, readable."""
        if not self._admissible(candidate.other, node):
            return False
        edge = candidate.edge
        if edge is None:
            return True
        if candidate.community is None:
            near, forward = self.known.hinge(candidate.near), candidate.direction is _OUT
        elif node_type(candidate.other, node) == COMMUNITY:
            return False
        else:
            near, forward = self.known.hinge(candidate.community), False
        source, target = (near, node) if forward else (node, near)
        return edge_holds(edge, source, target, self.now)

    def _reached_earlier(self, node_id: str, node: Node) -> bool:
        """Whether an earlier hop reaches the node, though it did not have to take it."""
        return any(
            self.query.allows(candidate.relationship) and self._holds(candidate, node)
            for hop in self.earlier
            for candidate in hop.ways.get(node_id, ())
        )

    # --- when a hop, or the walk, may stop

    def _settled(self, distance: int, weight: float, taken: Sequence[Reached]) -> bool:
        """Whether no candidate of this weight or a smaller one can change the answer any more."""
        ahead = score(weight, distance)
        better = sum(
            reached.score > ahead or (reached.score == ahead and (reached.distance < distance or ahead > FLOOR))
            for reached in self.results
        )
        if better <= self.query.limit:
            return False
        last = distance == self.query.depth
        return last or self._enough_at(distance + 1) or len(taken) > MAX_ROUTES

    def _enough_at(self, distance: int) -> bool:
        """Whether a node at `distance` or farther cannot be among the best `limit + 1` any more."""
        best = best_score_at(distance)
        return sum(reached.score >= best for reached in self.results) > self.query.limit

    # --- candidates

    def _gather(self, distance: int, frontier: Sequence[str]) -> _Hop:
        hop = _Hop(distance)
        for node_id in frontier:
            for lane in self._lanes_of(node_id):
                self._put_lane(hop, node_id, lane)
            hop.candidates += self._minted_passages(node_id)
        self._need_lanes(frontier, distance)
        if distance == 1:
            self._put_shared_communities(hop, frontier)
        elif hop.candidates or self.outcome.needs:
            for before in self.earlier:
                if not before.complete:
                    self._need_rows(before)
        hop.candidates.sort(key=lambda candidate: candidate.order)
        return hop

    def _lanes_of(self, node_id: str) -> list[Lane]:
        return [] if passage_id(node_id) else self.query.lanes(node_id)

    def _put_lane(self, hop: _Hop, node_id: str, lane: Lane) -> None:
        rows = self.known.lanes.get((node_id, lane))
        if rows is None:
            return
        ways = [(edge.target if lane.direction is _OUT else edge.source, edge) for edge in rows.edges]
        found = [Candidate(e.weight, other, e.relationship, lane.direction, node_id, e) for other, e in ways]
        hop.put(found, rows, node_id, lane)

    def _minted_passages(self, node_id: str) -> Iterator[Candidate]:
        """Rule 9: from a memory to the passages of its current cut, from a passage to its memory."""
        memory = self.known.hinge(node_id)
        if not isinstance(memory, Memory) or not self.query.allows(PART_OF):
            return
        weight = WEIGHTS[PART_OF]
        if passage_id(node_id):
            yield Candidate(weight, memory.id, PART_OF, _OUT, node_id)
        elif memory.cut is not None and self.query.include_incoming:
            for index in range(min(memory.passages, MAX_CANDIDATES + 1)):
                yield Candidate(weight, str(PassageId(memory.ref, memory.cut, index)), PART_OF, _IN, node_id)

    def _put_shared_communities(self, hop: _Hop, frontier: Sequence[str]) -> None:
        """Rule 8: other members of the readable communities that a seed belongs to."""
        if not self.query.allows(SHARES_COMMUNITY):
            return
        weight = WEIGHTS[SHARES_COMMUNITY]
        for seed in frontier:
            for community in self._communities_of(seed):
                self._use(community, None)
                rows = self.known.lanes.get((community, _MEMBERS))
                if rows is None:
                    self.outcome.needs.lane(community, _MEMBERS, self._page(1))
                    continue
                found = [Candidate(weight, e.source, SHARES_COMMUNITY, _OUT, seed, e, community) for e in rows.edges]
                hop.put(found, rows, community, _MEMBERS)

    def _communities_of(self, seed: str) -> Iterator[str]:
        rows = self.known.lanes.get((seed, _COMMUNITIES_OF))
        if rows is None:
            return
        if rows.after is not None and len(rows.edges) < MAX_CANDIDATES:
            self.outcome.needs.lane(seed, _COMMUNITIES_OF, MAX_CANDIDATES)
        elif rows.after is not None:
            self.outcome.bounded_by.add("candidates")
        source = self.known.hinge(seed)
        for edge in rows.edges:
            if not self.known.has_node(edge.target):
                self.outcome.needs.nodes[edge.target] = None
                self.outcome.needs.lane(edge.target, _MEMBERS, self._page(1))
                continue
            community = self.known.hinge(edge.target)
            if (
                isinstance(community, Memory)
                and community.type == COMMUNITY
                and community.state is State.ACTIVE
                and edge_holds(edge, source, community, self.now)
                and self._readable(community.id)
            ):
                yield community.id

    def _may_belong(self, seed: str) -> bool:
        return passage_id(seed) is None and not is_entity_id(seed)

    # --- what to read next

    def _read_ahead(self, hop: _Hop) -> int:
        """How many unknown candidates one wave may look at: doubling with what the hop has looked at before."""
        if hop.distance < self.query.depth:
            base = MAX_ROUTES + self.query.limit
        else:
            base = 100 if self.query.types else 2 * (self.query.limit + 1)
        return max(base, sum(self._is_known(candidate.other) for candidate in hop.candidates))

    def _need_nodes(self, hop: _Hop, unknown: Mapping[str, float], routes: int) -> None:
        """Read candidates; those that may become routes with their lanes, so that a hop costs one wave."""
        for node_id in unknown:
            self.outcome.needs.nodes[node_id] = None
        if hop.distance < self.query.depth and not self._may_end(hop, unknown):
            self._need_lanes(list(unknown)[: max(routes, 0)], hop.distance + 1)

    def _may_end(self, hop: _Hop, unknown: Mapping[str, float]) -> bool:
        """Whether the walk ends here should the unknown nodes be readable: then no lane of theirs is needed.

        At the first look alone: where hidden nodes disappoint it, the next wave reads lanes as well.
        """
        if self.query.types or any(self._is_known(candidate.other) for candidate in hop.candidates):
            return False
        best = best_score_at(hop.distance + 1)
        hoped = sum(score(weight, hop.distance) >= best for weight in unknown.values())
        return hoped + sum(reached.score >= best for reached in self.results) > self.query.limit

    def _need_lanes(self, frontier: Sequence[str], distance: int) -> None:
        wanted = [(node_id, lane) for node_id in frontier for lane in self._lanes_of(node_id)]
        for node_id, lane in wanted:
            if (node_id, lane) not in self.known.lanes:
                rows = max(5, min(self._page(distance), MAX_CANDIDATES // len(wanted)))
                self.outcome.needs.lane(node_id, lane, rows)
        if distance == 1 and self.query.allows(SHARES_COMMUNITY):
            for node_id in frontier:
                if self._may_belong(node_id) and (node_id, _COMMUNITIES_OF) not in self.known.lanes:
                    self.outcome.needs.lane(node_id, _COMMUNITIES_OF, MAX_ROUTES)

    def _page(self, distance: int) -> int:
        """Rows of a lane in its first read: enough where all are readable."""
        if distance < self.query.depth or self.query.types:
            return MAX_ROUTES + 2
        return 2 * (self.query.limit + 1)

    def _need_rows(self, hop: _Hop) -> None:
        """More of the lanes whose known rows end first: four times as many, within what may be examined in all."""
        lanes = sorted(hop.open_lanes, key=lambda lane: lane[0])
        lanes = lanes[: max(4, len(lanes) // 2)]
        share = max(16, 2 * MAX_CANDIDATES // len(lanes))
        for _, node_id, lane in lanes:
            have = len(self.known.lanes[node_id, lane].edges)
            self.outcome.needs.lane(node_id, lane, min(max(4 * have, 16), have + share))

    # --- readability

    def _is_known(self, node_id: str) -> bool:
        """A passage on the way is known with its row, which holds the text to return."""
        if passage_id(node_id) is not None:
            return node_id in self.known.passages
        return node_id in self.known.nodes

    def _readable(self, node_id: str) -> bool:
        """Whether this reader's graph has the node at all (as a seed: superseded ones too)."""
        node = self.known.hinge(node_id)
        if node is None or not self._in_project(node):
            return False
        if isinstance(node, Entity):
            return self.authority.may_read_entity(node)
        passage = passage_id(node_id)
        if passage is not None and (passage.cut != node.cut or passage.index >= node.passages):
            return False
        return is_retrievable(node) and self.authority.may_read_memory(node)

    def _admissible(self, node_id: str, node: Node) -> bool:
        """Whether the node may be a result or a route (rule 3)."""
        if isinstance(node, Memory) and node.state is State.SUPERSEDED:
            named = self.query.relationship_types
            if named is None or SUPERSEDES not in named:
                return False
        return self._readable(node_id)

    def _in_project(self, node: Node) -> bool:
        project = self.query.project
        return project is None or (node.project_id == project and self.authority.is_member(project))

    def _use(self, node_id: str, reached: Reached | None) -> None:
        self.outcome.used[self.known.hinge_id(node_id)] = None
        node = self.known.hinge(node_id)
        if node is not None:
            self.outcome.written.append(node.updated_at)
        if reached is not None and reached.candidate.edge is not None:
            self.outcome.written.append(reached.candidate.edge.written_at)


def node_type(node_id: str, node: Node) -> str:
    """The type that a neighbor is reported with."""
    if isinstance(node, Entity):
        return "entity"
    return node.type if passage_id(node_id) is None else "passage"


def edge_holds(edge: Edge, source: Node | None, target: Node | None, now: str) -> bool:
    """Whether the edge belongs to these lives of its ends and has not expired."""
    return (
        source is not None
        and target is not None
        and edge.source_born == source.born
        and edge.target_born == target.born
        and (edge.expires_at is None or now < edge.expires_at)
    )
