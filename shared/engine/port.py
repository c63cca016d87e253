"""What the verbs need of a store. The engine sees values of the domain and waves of reads; never a key."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from shared.domain.declared import DeclaredScope, Naming
from shared.domain.model import Edge, Entity, Memberships, Memory, Node, Passage, Relation
from shared.domain.scoring import Direction

T = TypeVar("T")


class Clock(Protocol):
    """The time left to a request, in seconds."""

    def remaining(self) -> float: ...


class Pending(Generic[T]):
    """A value that is there once its wave has run."""

    __slots__ = ("_value",)
    _value: T

    def settle(self, value: T) -> None:
        self._value = value

    @property
    def value(self) -> T:
        """The answer. Raises AttributeError before the wave has run."""
        return self._value


@dataclass(frozen=True, slots=True)
class Lane:
    """A list of a node's edges in the walk's order (weight descending, other id, relationship).

    Without `relationship`: all that are walked by default in that direction. With it: all of that relationship.
    `members`: the members of a community, that is its incoming BELONGS_TO, by id alone.
    """

    direction: Direction
    relationship: str | None = None
    members: bool = False


@dataclass(frozen=True, slots=True)
class EdgePage:
    """Edges of a lane in order, and the cursor to go on from (None: that was the end)."""

    edges: Sequence[Edge]
    after: str | None


@dataclass(frozen=True, slots=True)
class RelationPage:
    """Declared relations, the latest first, and the cursor to go on from (None: that was the end)."""

    relations: Sequence[Relation]
    after: str | None


class AuthorityWave(Protocol):
    """Reads that are sent together and awaited together, all strongly consistent: those that every verb needs."""

    def memberships(self) -> Pending[Memberships]:
        """Of the principal the wave was made for."""
        ...

    def purges(self) -> Pending[Mapping[str, int]]:
        """The purge board: project → purge count, for purges whose sweep has not finished."""
        ...

    def run(self) -> None:
        """Send all and wait. Raises `Unavailable` when one failed or no time is left."""
        ...


class NodeWave(AuthorityWave, Protocol):
    """Besides these, nodes."""

    def node(self, node_id: str) -> Pending[Node | None]:
        """The hinge of a memory or entity; of a passage id, that of its memory. Another tenant's is None."""
        ...


class GraphWave(NodeWave, Protocol):
    """Besides these, edges."""

    def edges(self, node_id: str, lane: Lane, *, limit: int, after: str | None = None) -> Pending[EdgePage]:
        """At most `limit` edges of a lane, from `after` on."""
        ...


class WalkWave(GraphWave, Protocol):
    """The reads of a walk."""

    def passage(self, ref: str, cut: str, index: int) -> Pending[Passage | None]:
        """One passage of a cut."""
        ...

    def body(self, memory: Memory, upto: int) -> Pending[str | None]:
        """The first `upto` code points of a memory's body, or more; None when a re-cut has removed rows of it."""
        ...


class SliceWave(NodeWave, Protocol):
    """The reads of a window of passages."""

    def passages(self, ref: str, cut: str, first: int, count: int) -> Pending[Sequence[Passage]]:
        """Passages `first` … `first + count - 1` of a cut that exist, by index."""
        ...

    def newest_passages(self, memory_id: str, count: int) -> Pending[tuple[str | None, Sequence[Passage]]]:
        """The newest cut written (perhaps not yet, or no longer, the current one) and its first `count` passages."""
        ...


class DeclaredWave(GraphWave, Protocol):
    """The reads of a name's neighbourhood."""

    def names(self, agent_id: str, normal_name: str) -> Pending[Sequence[Naming]]:
        """What a normalised name or alias of an agent leads to, in every scope."""
        ...

    def relations(self, entity_id: str, *, limit: int, after: str | None = None) -> Pending[RelationPage]:
        """At most `limit` relations of an entity, the latest first, then by id."""
        ...

    def relations_between(self, one: str, other: str, *, limit: int, after: str | None = None) -> Pending[RelationPage]:
        """At most `limit` relations between two entities (or of one with itself), the latest first, then by id."""
        ...

    def operating_context(self) -> Pending[Mapping[str, str] | None]:
        """The project of each agent; None where the tenant has no operating context."""
        ...


class Wave(WalkWave, SliceWave, DeclaredWave, Protocol):
    """All reads: what writes need of them too."""

    def epoch(self, project_id: str) -> Pending[int]:
        """How often the project was purged: what a row written into it now is stamped with."""
        ...

    def edge(self, source: str, relationship: str, target: str) -> Pending[Edge | None]:
        """One edge or mention, of whatever lives of its ends."""
        ...

    def memberships_of(self, principal_id: str) -> Pending[Memberships]:
        """Of any principal of the tenant."""
        ...

    def naming(self, scope: DeclaredScope, normal_name: str) -> Pending[Naming | None]:
        """What a normalised name or alias leads to in exactly that scope."""
        ...

    def relation(self, relation_id: str) -> Pending[Relation | None]:
        """One relation, of whatever lives of its ends."""
        ...


W_co = TypeVar("W_co", bound=AuthorityWave, covariant=True)


class Waves(Protocol[W_co]):
    """A store to read from, in waves of these reads."""

    def wave(self, tenant_id: str, principal_id: str, clock: Clock) -> W_co: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A clean-up that is due: of a `kind`, about a `subject` (a memory, a project), of the generation `mark`.

    `due` is the instant from which the sweep takes it up: later than now where a request is at it, or may yet write.
    """

    kind: str
    tenant: str
    subject: str
    mark: str
    due: str
    passages: int = 0
    chunks: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryChange:
    """A memory to be written in place of `before` (None: the id was free).

    `body` and `passages` are given where `after` has a new cut. `revision` and `born` of `before` must still hold.
    """

    before: Memory | None
    after: Memory
    body: str = ""
    passages: Sequence[Passage] = ()

    @property
    def is_idle(self) -> bool:
        """Whether everything stays as it is."""
        return self.after is self.before

    @property
    def cuts_anew(self) -> bool:
        """Whether `after` has passages that are not written yet."""
        return self.after.cut is not None and (self.before is None or self.before.cut != self.after.cut)


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeChange:
    """An edge to be written in place of `before` (None: there was none)."""

    before: Edge | None
    edge: Edge


class MemoryWrites(Protocol):
    """Writes of memories; each is one transaction to every reader."""

    def stage(self, tenant: str, change: MemoryChange) -> None:
        """Write the passages of a new cut, before the write that makes it current."""
        ...

    def write(self, tenant: str, change: MemoryChange, clock: Clock) -> bool:
        """False: another write came first; read again and decide again."""
        ...

    def remove(self, tenant: str, memory: Memory, now: str, clock: Clock) -> bool:
        """Delete, then clean up as far as time allows. False: another write came first."""
        ...


class EdgeWrites(Protocol):
    """Writes of edges and mentions."""

    def write(self, tenant: str, changes: Sequence[EdgeChange]) -> list[EdgeChange]:
        """Write edges, each whole. Those whose source, or earlier state, changed since it was read come back."""
        ...

    def remove(self, tenant: str, edge: Edge) -> bool:
        """False: the edge changed since it was read."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityChange:
    """An entity to be written in place of `before`, perhaps of a life that a purge ended (None: it was not there).

    `claimed` are normalised names that lead to it from now on, `released` those that led to `before` and no longer do.
    """

    before: Entity | None
    after: Entity
    claimed: Sequence[str] = ()
    released: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationChange:
    """A relation to be written in place of `before` (None: there was none, of no life)."""

    before: Relation | None
    after: Relation


class DeclaredWrites(Protocol):
    """Writes of declared names and relations."""

    def write_entities(self, tenant: str, changes: Sequence[EntityChange]) -> list[EntityChange]:
        """Those come back whose entity changed since it was read, or one of whose names leads elsewhere by now."""
        ...

    def write_relations(self, tenant: str, changes: Sequence[RelationChange]) -> list[RelationChange]:
        """Those come back whose earlier state, or whose anchor, changed since it was read."""
        ...

    def remove_relation(self, tenant: str, relation: Relation) -> bool:
        """False: it changed since it was read."""
        ...

    def put_context(self, tenant: str, agents: Mapping[str, str]) -> None:
        """Replace the operating context as a whole."""
        ...


class MembershipWrites(Protocol):
    """Writes of memberships."""

    def add(self, tenant: str, principal_id: str, memberships: Memberships) -> None: ...

    def remove(self, tenant: str, principal_id: str, memberships: Memberships) -> bool:
        """Take away the one named membership; False: it was not there."""
        ...


class CleanUps(Protocol):
    """The queue of what remains to be removed."""

    def tasks(self) -> Iterator[Task]: ...

    def claim(self, task: Task) -> bool:
        """Take the task for good; False: it is gone."""
        ...

    def perform(self, task: Task, clock: Clock) -> bool:
        """Do a task of the kinds `cut` and `life`; False: time ran out, go on later."""
        ...

    def drop(self, task: Task) -> None: ...


@dataclass(frozen=True, slots=True)
class Exported:
    """A row that has a line: of a `kind`, as a value of the domain."""

    kind: str
    row: Any


@dataclass(frozen=True, slots=True)
class ExportPage:
    """Rows in the order of the export, each with the place just after it."""

    rows: Sequence[tuple[str, Exported]]
    after: str | None


class Exports(Protocol):
    """The tenant's rows that have lines."""

    def page(self, tenant: str, after: str, limit: int, clock: Clock) -> ExportPage: ...


class Writes(Waves[Wave], Protocol):
    """A store to read from and to write to."""

    @property
    def memories(self) -> MemoryWrites: ...
    @property
    def edges(self) -> EdgeWrites: ...
    @property
    def declared(self) -> DeclaredWrites: ...
    @property
    def memberships(self) -> MembershipWrites: ...
    @property
    def cleanups(self) -> CleanUps: ...
    @property
    def exports(self) -> Exports: ...
