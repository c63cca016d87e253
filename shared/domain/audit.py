"""What is counted of a presentation of a grant, and how long (contract, section 10)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from shared.domain import instants
from shared.domain.grants import Outcome
from shared.domain.model import Json
from shared.domain.principal import Surface

KEPT_DAYS = 30
SAMPLES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Presentation:
    """One use of a grant, as it is counted; `at` is the request's arrival."""

    grant_id: str
    surface: Surface
    outcome: Outcome
    at: str
    records: int
    project: str | None

    @property
    def day(self) -> str:
        return instants.day(self.at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """All presentations of one grant, surface, outcome and UTC day."""

    grant_id: str
    surface: str
    outcome: str
    day: str
    count: int
    records_returned_total: int
    first_at: str
    last_at: str
    revision: int
    samples: Sequence[Json]

    def as_json(self) -> dict[str, Json]:
        return {
            "grant_id": self.grant_id,
            "surface": self.surface,
            "outcome": self.outcome,
            "day": self.day,
            "count": self.count,
            "records_returned_total": self.records_returned_total,
            "first_at": self.first_at,
            "last_at": self.last_at,
            "revision": self.revision,
            "samples": list(self.samples),
        }


def kept_since(now: datetime) -> str:
    """The instant before which an aggregate's last presentation makes it too old to be shown."""
    return instants.utc_text(now - timedelta(days=KEPT_DAYS))


def forgotten_at(last_at: str) -> int:
    """The epoch second from which the store may delete the aggregate: the first when it is not shown any more."""
    return int((datetime.fromisoformat(last_at) + timedelta(days=KEPT_DAYS)).timestamp()) + 1
