"""What the verbs need of a store. The engine sees values of the domain and waves of reads; never a key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from shared.domain.model import Edge, Memberships, Memory, Node, Passage
from shared.domain.scoring import Direction

T_co = TypeVar("T_co", covariant=True)
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


class Wave(Protocol):
    """Reads that are sent together and awaited together; all strongly consistent."""

    def memberships(self) -> Pending[Memberships]:
        """Of the principal the wave was made for."""
        ...

    def purges(self) -> Pending[Mapping[str, int]]:
        """The purge board: project → purge count, for purges whose sweep has not finished."""
        ...

    def epoch(self, project_id: str) -> Pending[int]:
        """How often the project was purged: what a row written into it now is stamped with."""
        ...

    def node(self, node_id: str) -> Pending[Node | None]:
        """The hinge of a memory or entity; of a passage id, that of its memory. Another tenant's is None."""
        ...

    def edges(self, node_id: str, lane: Lane, *, limit: int, after: str | None = None) -> Pending[EdgePage]:
        """At most `limit` edges of a lane, from `after` on."""
        ...

    def passage(self, ref: str, cut: str, index: int) -> Pending[Passage | None]:
        """One passage of a cut."""
        ...

    def passages(self, ref: str, cut: str, first: int, count: int) -> Pending[Sequence[Passage]]:
        """Passages `first` … `first + count - 1` of a cut that exist, by index."""
        ...

    def newest_passages(self, ref: str, count: int) -> Pending[tuple[str | None, Sequence[Passage]]]:
        """The newest cut written (perhaps not yet, or no longer, the current one) and its first `count` passages."""
        ...

    def body(self, memory: Memory, upto: int) -> Pending[str | None]:
        """The first `upto` code points of a memory's body, or more; None when a re-cut has removed rows of it."""
        ...

    def run(self) -> None:
        """Send all and wait. Raises `Unavailable` when one failed or no time is left."""
        ...


class Reads(Protocol):
    """A store to read from."""

    def wave(self, tenant_id: str, principal_id: str, clock: Clock) -> Wave: ...
