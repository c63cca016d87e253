"""The declared neighbourhood of a name over what is known so far: pure, and exact or silent.

`explore` follows the contract's rules (section 6). Where something that it needs is not known it says what to read next
instead of guessing; called again with more known it comes to the one right answer.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from unicodedata import category

from shared.domain.authority import Authority, is_retrievable
from shared.domain.declared import Naming
from shared.domain.instants import inverted
from shared.domain.model import Edge, Entity, Memory, Node, Relation

MAX_ENTITIES = 256
"""Entities reached, starts included (rule 4)."""

MAX_MENTIONS = 200
MAX_MENTIONS_IN_ALL = 2_000
"""Mention rows examined, of an entity and of a call (rule 7)."""

RELATIONS_PER_ENTITY = 10
"""Relations returned, for each entity that the limit allows (rule 6)."""

MAX_PAIRS = 64
"""Pairs of busy entities whose relations are looked up pair by pair; with more pairs the lists are read on."""

_FIRST_ROWS = 300
"""Rows of an entity's relations in the first look: enough to fill the 256 where few rows are hidden or repeat."""

_LEAST_ROWS = 64
_ROWS_OF_A_HOP = 6_000
_MENTIONS_OF_A_HOP = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What a call narrows its answer to (rules 2 and 7), `@auto` resolved.

    `project_id` None is every project of the reader and the global pool, "" the global pool alone.
    """

    agent_id: str
    project_id: str | None
    channel: str | None
    source_id: str | None

    def opens(self, project_id: str | None, channel: str | None) -> bool:
        """Whether a declaration's, or a memory's, own project and channel are within those of the call."""
        return (self.project_id is None or project_id is None or project_id == self.project_id) and (
            self.channel is None or channel is None or channel == self.channel
        )

    def opens_memory(self, memory: Memory, authority: Authority) -> bool:
        if not self.opens(memory.project_id, memory.channel):
            return False
        if self.project_id and memory.project_id is not None and not authority.is_member(self.project_id):
            return False
        return self.source_id is None or _is_from(self.source_id, memory.source_id or "")


def _is_from(wanted: str, source_id: str) -> bool:
    """A wanted id that ends in a letter or a digit is compared whole, any other is a namespace."""
    if category(wanted[-1])[0] == "L" or category(wanted[-1]) == "Nd":
        return source_id == wanted
    return source_id.startswith(wanted)


@dataclass(slots=True)
class Relations:
    """What is known of a list of relations: the latest ones, and where to go on (None: that was all)."""

    rows: list[Relation] = field(default_factory=list)
    after: str | None = None


@dataclass(slots=True)
class Mentions:
    """What is known of an entity's mentions: the first by memory id, and where to go on (None: that was all)."""

    rows: list[Edge] = field(default_factory=list)
    after: str | None = None


Pair = tuple[str, str]


@dataclass(slots=True)
class Known:
    """All that was read so far. A node that was looked for and not found is None."""

    names: Sequence[Naming] = ()
    nodes: dict[str, Node | None] = field(default_factory=dict)
    relations: dict[str, Relations] = field(default_factory=dict)
    between: dict[Pair, Relations] = field(default_factory=dict)
    mentions: dict[str, Mentions] = field(default_factory=dict)


@dataclass(slots=True)
class Needs:
    """What to read next: nodes, and of each list how many rows are wanted in all."""

    nodes: dict[str, None] = field(default_factory=dict)
    relations: dict[str, int] = field(default_factory=dict)
    between: dict[Pair, int] = field(default_factory=dict)
    mentions: dict[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.nodes or self.relations or self.between or self.mentions)

    @property
    def lists_open(self) -> bool:
        """Whether lists of whole entities are wanted: until they are read the answer may still grow."""
        return bool(self.relations or self.mentions)


@dataclass(frozen=True, slots=True)
class Reached:
    """An entity that the walk reached, and when the latest relation that reached it was declared ("" for a start)."""

    id: str
    hops: int
    declared_at: str = ""


@dataclass(frozen=True, slots=True)
class Mentioned:
    """The readable mentions of an entity: ids to list, and how many more there are."""

    listed: tuple[str, ...] = ()
    omitted: int = 0


@dataclass(slots=True)
class Outcome:
    """The answer so far; it is final when nothing is needed any more.

    `used` names the hinges that the answer stands on, `written` the instants at which the rows it uses were written.
    """

    entities: list[Reached] = field(default_factory=list)
    entities_omitted: int = 0
    relations: list[Relation] = field(default_factory=list)
    relations_omitted: int = 0
    mentions: dict[str, Mentioned] = field(default_factory=dict)
    leads_on: bool = False
    unexamined: bool = False
    used: dict[str, None] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)
    needs: Needs = field(default_factory=Needs)


def explore(known: Known, filters: Filters, authority: Authority, *, max_hops: int, limit: int) -> Outcome:
    """The neighbourhood of the names known, for a reader, as far as `known` goes."""
    return _Exploration(known, filters, authority, max_hops, limit).run()


class _Exploration:
    """One evaluation over one state of knowledge."""

    def __init__(self, known: Known, filters: Filters, authority: Authority, max_hops: int, limit: int) -> None:
        self.known = known
        self.filters = filters
        self.authority = authority
        self.max_hops = max_hops
        self.limit = limit
        self.reached: dict[str, Reached] = {}
        self.via: list[Relation] = []
        self.walked: list[str] = []
        self.beyond: str | None = None
        self.outcome = Outcome()
        self.needs = self.outcome.needs

    def run(self) -> Outcome:
        self._start()
        settled = self._spread()
        returned = self._returned()
        self.outcome.entities = [self.reached[id_] for id_ in returned]
        self.outcome.entities_omitted = len(self.reached) - len(returned)
        examined = self._examined_mentions(returned)
        if settled and not self.needs:
            self._look_beyond()
            self._relate(returned)
        if not self.needs.lists_open:
            # Memories are read last, when nothing else is open, so that no hinge is read twice.
            beyond = [] if self.beyond is None else [self.beyond]
            for id_ in dict.fromkeys([*self.walked, *returned, *beyond]):
                self._stand_on(id_)
            self._confirm([*self.via, *self.outcome.relations])
            self._mention(examined)
        return self.outcome

    def _returned(self) -> list[str]:
        return list(self.reached)[: self.limit]

    # --- the walk

    def _start(self) -> None:
        named = [naming for naming in self.known.names if self._is_start(naming)]
        for naming in sorted(named, key=lambda naming: naming.entity_id)[:MAX_ENTITIES]:
            self.reached[naming.entity_id] = Reached(naming.entity_id, 0)
        self._need_lists([*self.reached])

    def _is_start(self, naming: Naming) -> bool:
        scope = naming.scope
        return (
            self.filters.opens(scope.project_id, scope.channel)
            and self.authority.may_read_declared(self.filters.agent_id, scope.project_id)
            and self.authority.alive(naming)
            and self._lives(naming.entity_id, naming.born)
        )

    def _spread(self) -> bool:
        """Reach hop by hop; whether all hops are settled."""
        frontier = [*self.reached]
        for hops in range(1, self.max_hops + 1):
            room = MAX_ENTITIES - len(self.reached)
            if not frontier or room == 0:
                break
            ways = self._ways(frontier, room)
            if ways is None:
                return False
            self.walked += frontier
            taken = sorted(ways[:room], key=lambda way: (inverted(way[1].declared_at), way[0]))
            self.reached |= {other: Reached(other, hops, relation.declared_at) for other, relation in taken}
            self.via += [relation for _, relation in taken]
            frontier = [other for other, _ in taken]
            self._need_lists(frontier, full=len(ways) > room)
        return True

    def _ways(self, frontier: Sequence[str], room: int) -> list[tuple[str, Relation]] | None:
        """New entities, each with the latest relation that reaches it, latest first; None while that is open.

        More than `room` are given where there are more. Relations of one instant count in the order of their ids, as
        they are listed: a busy entity's list need not be read to the end.
        """
        best: dict[str, Relation] = {}
        for id_ in frontier:
            if id_ not in self.known.relations:
                return None
            for relation in self._readable(id_):
                other = far_end(relation, id_)
                if other not in self.reached and (other not in best or _order(relation) < _order(best[other])):
                    best[other] = relation
        ways = sorted(best.items(), key=lambda way: _order(way[1]))
        open_lists = [(_last(self.known.relations[id_]), id_) for id_ in frontier if self._is_open(id_)]
        if not open_lists:
            return ways
        horizon = min(open_lists)[0]
        settled = [way for way in ways if _order(way[1]) <= horizon]
        if len(settled) > room:
            return settled
        for last, id_ in open_lists:
            if last == horizon:
                self._need_more(id_)
        return None

    def _is_open(self, id_: str) -> bool:
        return self.known.relations[id_].after is not None

    def _need_more(self, id_: str) -> None:
        """Four times as many rows of a list, so that few waves reach any depth."""
        self.needs.relations[id_] = max(4 * len(self.known.relations[id_].rows), _FIRST_ROWS)

    def _need_lists(self, entities: Sequence[str], *, full: bool = False) -> None:
        """The hinges and lists of entities just reached; once no more can be, the lists of those returned alone."""
        returned = set(self._returned())
        self.needs.nodes |= dict.fromkeys(id_ for id_ in entities if id_ not in self.known.nodes)
        if full:
            entities = [id_ for id_ in entities if id_ in returned]
        missing = [id_ for id_ in entities if id_ not in self.known.relations]
        rows = min(_FIRST_ROWS, max(_LEAST_ROWS, _ROWS_OF_A_HOP // max(1, len(missing))))
        self.needs.relations |= dict.fromkeys(missing, rows)
        silent = [id_ for id_ in entities if id_ in returned and id_ not in self.known.mentions]
        if silent:
            rows = min(MAX_MENTIONS, _MENTIONS_OF_A_HOP // len(silent)) + 1
            self.needs.mentions |= dict.fromkeys(silent, rows)

    # --- what lies beyond

    def _look_beyond(self) -> None:
        """Rule 8: whether a readable relation leads from a reached entity to one that was not reached."""
        for id_ in self.reached:
            if id_ not in self.known.relations:
                continue
            for relation in self._readable(id_):
                if far_end(relation, id_) not in self.reached:
                    self.outcome.leads_on = True
                    self.via.append(relation)
                    self.beyond = far_end(relation, id_)
                    return
        for id_ in self.reached:
            if id_ not in self.known.relations:
                self.needs.relations[id_] = _LEAST_ROWS
            elif self._is_open(id_):
                self._need_more(id_)

    # --- relations

    def _relate(self, returned: Sequence[str]) -> None:
        """Rule 6. What lies between two busy entities is looked up by the pair, not in the lists of either."""
        found: dict[str, Relation] = {}
        for id_ in returned:
            found |= {one.id: one for one in self._readable(id_) if far_end(one, id_) in returned}
        busy = sorted(id_ for id_ in returned if self._is_open(id_))
        pairs = list(combinations_with_replacement(busy, 2))
        if len(pairs) > MAX_PAIRS:
            for id_ in busy:
                self._need_more(id_)
            return
        for pair in pairs:
            rows = self.known.between.get(pair, Relations(after=""))
            if rows.after is not None:
                self.needs.between[pair] = max(4 * len(rows.rows), RELATIONS_PER_ENTITY * self.limit + 1)
            found |= {one.id: one for one in rows.rows if self._holds(one)}
        ordered = sorted(found.values(), key=_order)
        most = RELATIONS_PER_ENTITY * self.limit
        self.outcome.relations, self.outcome.relations_omitted = ordered[:most], max(0, len(ordered) - most)

    def _readable(self, id_: str) -> Iterator[Relation]:
        return (relation for relation in self.known.relations[id_].rows if self._holds(relation))

    def _holds(self, relation: Relation) -> bool:
        """Whether a relation is in this reader's view; of ends and anchors not read yet the best is assumed."""
        may_read, agent_id = self.authority.may_read_declared, self.filters.agent_id
        return (
            self.authority.alive(relation)
            and self.filters.opens(relation.project_id, relation.channel)
            and all(
                may_read(agent_id, project)
                for project in {relation.project_id, relation.subject_project_id, relation.object_project_id}
            )
            and self._lives(relation.subject, relation.subject_born)
            and self._lives(relation.object, relation.object_born)
            and (relation.anchor_ref is None or self._anchor_lives(relation.anchor_ref, relation.anchor_born))
        )

    def _lives(self, id_: str, born: str) -> bool:
        node = self.known.nodes.get(id_)
        if node is None:
            return id_ not in self.known.nodes
        return isinstance(node, Entity) and node.born == born and self.authority.alive(node)

    def _anchor_lives(self, id_: str, born: str | None) -> bool:
        node = self.known.nodes.get(id_)
        if node is None:
            return id_ not in self.known.nodes
        return isinstance(node, Memory) and node.born == born and self.authority.alive(node)

    def _confirm(self, relations: Iterable[Relation]) -> None:
        """Make the answer stand on the anchors of these relations: a deleted memory takes its relations along."""
        for relation in relations:
            self.outcome.written.append(relation.written_at)
            if relation.anchor_ref is not None:
                self._stand_on(relation.anchor_ref)

    def _stand_on(self, node_id: str) -> None:
        self.outcome.used[node_id] = None
        if node_id not in self.known.nodes:
            self.outcome.needs.nodes[node_id] = None
        elif (node := self.known.nodes[node_id]) is not None:
            self.outcome.written.append(node.updated_at)

    # --- mentions

    def _examined_mentions(self, returned: Sequence[str]) -> dict[str, list[Edge]]:
        """The mention rows that the bounds of rule 7 let be examined, by entity in the answer's order."""
        left = MAX_MENTIONS_IN_ALL
        examined: dict[str, list[Edge]] = {}
        for id_ in returned:
            mentions = self.known.mentions.get(id_)
            allowed = min(MAX_MENTIONS, left)
            if mentions is None:
                self.needs.mentions.setdefault(id_, allowed + 1)
                continue
            if len(mentions.rows) <= allowed and mentions.after is not None:
                self.needs.mentions[id_] = allowed + 1
            examined[id_] = mentions.rows[:allowed]
            self.outcome.unexamined |= len(mentions.rows) > allowed
            left -= len(examined[id_])
        return examined

    def _mention(self, examined: dict[str, list[Edge]]) -> None:
        for id_, rows in examined.items():
            entity = self.known.nodes.get(id_)
            mine = [edge for edge in rows if entity is not None and edge.target_born == entity.born]
            for edge in mine:
                self._stand_on(edge.source)
                self.outcome.written.append(edge.written_at)
            readable = sorted(edge.source for edge in mine if self._is_mentioned(edge))
            self.outcome.mentions[id_] = Mentioned(tuple(readable[: self.limit]), len(readable[self.limit :]))

    def _is_mentioned(self, edge: Edge) -> bool:
        memory = self.known.nodes.get(edge.source)
        return (
            isinstance(memory, Memory)
            and memory.born == edge.source_born
            and is_retrievable(memory)
            and may_show(self.known, edge.source, self.filters, self.authority)
        )


def far_end(relation: Relation, near: str) -> str:
    return relation.object if relation.subject == near else relation.subject


def may_show(known: Known, memory_id: str, filters: Filters, authority: Authority) -> bool:
    """Whether the reader may read a memory within this call's filters."""
    memory = known.nodes.get(memory_id)
    return isinstance(memory, Memory) and authority.may_read_memory(memory) and filters.opens_memory(memory, authority)


def _order(relation: Relation) -> tuple[str, str]:
    """Latest first, then by id: the order in which relations are listed, here and in the store."""
    return inverted(relation.declared_at), relation.id


def _last(relations: Relations) -> tuple[str, str]:
    return _order(relations.rows[-1]) if relations.rows else ("", "")
