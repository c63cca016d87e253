"""What every verb is given besides its query: who asks, through which door, when, and until when."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic

from shared.domain.errors import Unavailable
from shared.domain.principal import Principal, Surface


@dataclass(frozen=True, slots=True)
class Deadline:
    """The instant, on a monotonic clock in seconds, after which no further store call may start."""

    at: float
    clock: Callable[[], float] = monotonic

    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.at - self.clock())

    def check(self) -> None:
        """Raise `Unavailable` when no time is left."""
        if self.remaining() <= 0:
            raise Unavailable


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One request: its principal, surface, arrival (UTC, the clock is read once) and deadline."""

    principal: Principal
    surface: Surface = Surface.HTTP
    arrived: datetime = field(default_factory=_utc_now)
    deadline: Deadline = field(default_factory=lambda: Deadline(monotonic() + 25.0))
