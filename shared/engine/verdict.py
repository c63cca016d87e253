"""What became of one line of an import. Whoever applies a kind of line says it in these words."""

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """What an import counts."""

    APPLIED = "applied"
    UNCHANGED = "unchanged"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a line, and what is reported with its number: why it was rejected, or what of it was dropped."""

    outcome: Outcome
    reasons: tuple[str, ...] = ()


APPLIED = Verdict(Outcome.APPLIED)
UNCHANGED = Verdict(Outcome.UNCHANGED)


def rejected(reason: str) -> Verdict:
    return Verdict(Outcome.REJECTED, (reason,))
