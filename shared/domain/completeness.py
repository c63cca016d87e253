"""Whether an expansion tells all that it could, and if not what limits it (contract, section 7).

Decides by facts of one answer alone; it must never name a row that the reader cannot see.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from shared.domain.lines import GapReason
from shared.domain.model import Json


class Status(StrEnum):
    """What became of the record behind a handle."""

    CURRENT = "current"
    REVISION_CHANGED = "revision_changed"
    PURGED = "purged"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureStatus:
    """What a capture tool last wrote about a project, and when."""

    project_id: str
    pending: int
    prior_setup: int
    gaps: Sequence[tuple[GapReason, int]] = ()
    written_at: str = ""

    @property
    def has_gap(self) -> bool:
        return self.pending > 0 or any(count > 0 for _, count in self.gaps)

    def as_json(self) -> dict[str, Json]:
        gaps: list[Json] = [{"reason": str(reason), "count": count} for reason, count in self.gaps]
        return {"pending": self.pending, "priorSetup": self.prior_setup, "gaps": gaps}


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the limitation of one answer depends on."""

    record_id: str
    status: Status
    exhausted: bool = False
    unreachable_links: int = 0
    project_selected: bool = False
    grant_reason: str | None = None
    capture: CaptureStatus | None = None


def limitation(facts: Facts) -> dict[str, Json] | None:
    """The first that applies, or None when the answer is complete."""
    found = _first(facts)
    if found is None:
        return None
    if facts.grant_reason is not None:
        if found["code"] == "scoped_coverage":
            found["reason"] = facts.grant_reason
        else:
            found["detail"] = f"{found['detail']} The grant was refused: {facts.grant_reason}."
    return found


def _first(facts: Facts) -> dict[str, Json] | None:
    if facts.status in (Status.PURGED, Status.UNAVAILABLE):
        reason: dict[str, Json] = {"reason": str(facts.status), "recordId": facts.record_id}
        return {"code": "expansion_unavailable", "detail": "The record is not served in this scope."} | reason
    applies = (
        (facts.status is Status.REVISION_CHANGED, "revision_changed", "The record is not as the handle had it."),
        (facts.exhausted, "investigation_budget_exhausted", "Not every counterpart was investigated."),
        (facts.unreachable_links > 0, "links_unavailable", "Records linked by supersession lie outside this scope."),
        (facts.grant_reason is not None, "scoped_coverage", "The grant was refused; only own scope is covered."),
        (not facts.project_selected, "scoped_coverage", "No project is selected, so coverage cannot be told."),
        (facts.capture is not None and facts.capture.has_gap, "capture_gap", "Capture has gaps, or is still pending."),
    )
    return next((_limit(code, detail) for applied, code, detail in applies if applied), None)


def _limit(code: str, detail: str) -> dict[str, Json]:
    return {"code": code, "detail": detail}
