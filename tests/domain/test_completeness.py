"""What limits an expansion: the first that applies, in the contract's order (section 7)."""

from dataclasses import replace

import pytest

from shared.domain.completeness import CaptureStatus, Facts, Status, limitation
from shared.domain.lines import GapReason

REASON = next(iter(GapReason))
WHOLE = CaptureStatus(project_id="p", pending=0, prior_setup=3, gaps=((REASON, 0),))
GAP = replace(WHOLE, gaps=((REASON, 0), (REASON, 1)))
PENDING = replace(WHOLE, pending=1)
COMPLETE = Facts(record_id="m", status=Status.CURRENT, project_selected=True, capture=WHOLE)
WORST = Facts(
    record_id="m",
    status=Status.UNAVAILABLE,
    exhausted=True,
    unreachable_links=1,
    grant_reason="grant_revoked",
    capture=GAP,
)


def test_nothing_limits_what_is_complete() -> None:
    assert limitation(COMPLETE) is None
    assert limitation(replace(COMPLETE, capture=None)) is None


@pytest.mark.parametrize("status", [Status.PURGED, Status.UNAVAILABLE])
def test_what_is_not_served(status: Status) -> None:
    assert limitation(replace(COMPLETE, status=status)) == {
        "code": "expansion_unavailable",
        "detail": "The record is not served in this scope.",
        "reason": str(status),
        "recordId": "m",
    }


def test_the_order() -> None:
    """One after another is mended, and the next one shows."""
    mended: list[dict[str, object]] = [
        {"status": Status.REVISION_CHANGED},
        {"status": Status.CURRENT},
        {"exhausted": False},
        {"unreachable_links": 0},
        {"grant_reason": None},
        {"project_selected": True},
        {"capture": PENDING},
        {"capture": WHOLE},
    ]
    facts, codes = WORST, []
    for change in mended:
        found = limitation(facts)
        codes.append(found and found["code"])
        facts = replace(facts, **change)  # type: ignore[arg-type]
    assert codes == [
        *("expansion_unavailable", "revision_changed", "investigation_budget_exhausted", "links_unavailable"),
        *("scoped_coverage", "scoped_coverage", "capture_gap", "capture_gap"),
    ]
    assert limitation(facts) is None


def test_where_a_refused_grant_is_told() -> None:
    alone = limitation(replace(COMPLETE, grant_reason="grant_expired"))
    assert alone is not None
    assert (alone["code"], alone["reason"]) == ("scoped_coverage", "grant_expired")
    assert alone["detail"] == "The grant was refused; only own scope is covered."
    beside = limitation(replace(COMPLETE, exhausted=True, grant_reason="grant_expired"))
    assert beside == {
        "code": "investigation_budget_exhausted",
        "detail": "Not every counterpart was investigated. The grant was refused: grant_expired.",
    }
    neither = limitation(replace(COMPLETE, project_selected=False))
    assert neither == {"code": "scoped_coverage", "detail": "No project is selected, so coverage cannot be told."}


def test_gaps() -> None:
    assert [one.has_gap for one in (WHOLE, GAP, PENDING, replace(WHOLE, gaps=()))] == [False, True, True, False]
    assert GAP.as_json() == {
        "pending": 0,
        "priorSetup": 3,
        "gaps": [{"reason": str(REASON), "count": 0}, {"reason": str(REASON), "count": 1}],
    }
