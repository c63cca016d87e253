"""Weights, scores and the direction policy of the walk (contract, section 4, rules 5 and 6)."""

from enum import StrEnum

DECAY = 0.72
FLOOR = 0.1
CAP = 1.0
WEIGHT_STEPS = 1_000_000
"""Weights are kept to six decimals."""

MENTIONS = "MENTIONS"
PART_OF = "PART_OF"
BELONGS_TO = "BELONGS_TO"
SUPERSEDES = "SUPERSEDES"
SHARES_COMMUNITY = "SHARES_COMMUNITY"

DEFAULT_WEIGHT = 0.64
WEIGHTS = {
    "DECIDES": 1.00,
    "DEPENDS_ON": 0.98,
    "REQUIRES": 0.98,
    "BLOCKS": 0.96,
    SUPERSEDES: 0.95,
    "SUPPORTS": 0.94,
    "VALIDATED_BY": 0.94,
    "USES_PROCEDURE": 0.92,
    "IMPLEMENTED": 0.90,
    "ENCOUNTERED": 0.86,
    "REFERENCES": 0.86,
    "PRODUCES": 0.82,
    "TOUCHES": 0.82,
    "ABOUT": 0.78,
    SHARES_COMMUNITY: 0.74,
    BELONGS_TO: 0.72,
    "CONTAINS": 0.72,
    PART_OF: 0.72,
    "DERIVED_FROM": 0.70,
    "DOCUMENTED_IN": 0.66,
    MENTIONS: 0.58,
}

ONLY_INCOMING = frozenset({SUPERSEDES})
ONLY_OUTGOING = frozenset({"DECIDES", "REQUIRES", "SUPPORTS"})


class Direction(StrEnum):
    """Of an edge, seen from the node one hop closer to the seeds."""

    OUTGOING = "outgoing"
    INCOMING = "incoming"


def base_weight(relationship: str) -> float:
    """The weight of an edge that has none of its own."""
    return WEIGHTS.get(relationship, DEFAULT_WEIGHT)


def score(weight: float, distance: int) -> float:
    """The score of a neighbor reached at `distance` (≥ 1) by an edge of `weight`: IEEE doubles, unrounded."""
    return min(CAP, max(FLOOR, weight * DECAY ** (distance - 1)))


def best_score_at(distance: int) -> float:
    """No neighbor at `distance` can score above this."""
    return score(CAP, distance)


def walked_by_default(relationship: str, direction: Direction) -> bool:
    """Whether the direction policy lets an unnamed relationship be walked that way."""
    if direction is Direction.OUTGOING:
        return relationship not in ONLY_INCOMING
    return relationship not in ONLY_OUTGOING
