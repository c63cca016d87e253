"""What records, grants, the audit and purges need of a store, beyond what every verb does (`shared.engine.port`)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from shared.domain.audit import Aggregate, Presentation
from shared.domain.completeness import CaptureStatus
from shared.domain.grants import ActivePurge, Grant
from shared.domain.model import Memory
from shared.domain.purges import Marker
from shared.engine.port import Clock, Pending, Task, Wave


@dataclass(frozen=True, slots=True)
class RecentPage:
    """Ids of a project's memories, the latest updated first, and the cursor to go on from (None: that was the end)."""

    ids: Sequence[str]
    after: str | None


@dataclass(frozen=True, slots=True)
class GrantPage:
    """Ids of grants in order, and the cursor to go on from."""

    ids: Sequence[str]
    after: str | None


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Aggregates of one day in order, and the cursor to go on from."""

    aggregates: Sequence[Aggregate]
    after: str | None


@dataclass(frozen=True, slots=True)
class Note:
    """What an idempotency key was used for: the grant, and a digest of its bounds."""

    grant_id: str
    bounds: str


class RecordWave(Wave, Protocol):
    """Reads that are sent together and awaited together; all strongly consistent."""

    def grant(self, grant_id: str) -> Pending[Grant | None]: ...

    def same_key(self, project_id: str | None, type_: str, key: str) -> Pending[Sequence[Memory]]:
        """All memories of that project, type and key, as their hinges are. Bodies of cut ones are not whole."""
        ...

    def recent(self, project_id: str, limit: int, after: str | None = None) -> Pending[RecentPage]:
        """Memories whose home is the project."""
        ...

    def markers(self, project_id: str, after: str) -> Pending[Sequence[Marker]]:
        """Purges strictly after an instant, earliest first; not more than are needed to tell of the first."""
        ...

    def capture(self, project_id: str) -> Pending[CaptureStatus | None]: ...

    def active_purges(self) -> Pending[Mapping[str, ActivePurge]]:
        """The purge board with its instants."""
        ...

    def grants(self, grantee: str | None, limit: int, after: str | None) -> Pending[GrantPage]:
        """The tenant's grants, or one principal's, by id."""
        ...

    def note(self, idempotency_key: str) -> Pending[Note | None]: ...

    def aggregates(self, day: str, grant_id: str | None, limit: int, after: str | None) -> Pending[AuditPage]: ...


class GrantWrites(Protocol):
    """Writes of grants; each finds what it was decided on unchanged, or changes nothing."""

    def issue(self, tenant: str, grant: Grant, key: str | None, bounds: str) -> bool: ...
    def replace(self, tenant: str, before: Grant | None, grant: Grant) -> bool: ...
    def withdraw(self, tenant: str, before: Grant, grant: Grant) -> bool: ...


class AuditWrites(Protocol):
    """Counts of presentations."""

    def count(self, tenant: str, presentation: Presentation, decided_on: Grant | None, clock: Clock) -> bool:
        """Count once. False: the grant is not any more as it was decided on, and nothing was written."""
        ...


class CaptureWrites(Protocol):
    """Writes of capture status."""

    def put(self, tenant: str, capture: CaptureStatus) -> None: ...


class Records(Protocol):
    """A store whose records can be expanded under grants."""

    def wave(self, tenant_id: str, principal_id: str, clock: Clock) -> RecordWave: ...

    @property
    def grants(self) -> GrantWrites: ...
    @property
    def audit(self) -> AuditWrites: ...


@dataclass(frozen=True, slots=True)
class ListedRow:
    """A memory, entity or relation as its project's list has it; `place` is for the store to find it again."""

    kind: str
    id: str
    place: str


class PurgeRows(Protocol):
    """Purges, and the lists of what they passed over."""

    def purge(self, tenant: str, project_id: str, marker: Marker, board: Mapping[str, ActivePurge]) -> bool:
        """Purge at once, in one transaction. False: another purge of the tenant came first."""
        ...

    def passed_over(self, task: Task) -> Iterator[ListedRow]:
        """The rows that are listed for the project from before the purge."""
        ...

    def remove(self, task: Task, row: ListedRow, clock: Clock) -> None:
        """Remove such a row with all that stands on it. One that was written anew meanwhile stays as it is."""
        ...

    def finish(self, task: Task) -> bool:
        """Take the project off the board unless it was purged again, and the task off the queue. False: try again."""
        ...


class Purges(Records, Protocol):
    """A store whose projects can be purged."""

    @property
    def purges(self) -> PurgeRows: ...
