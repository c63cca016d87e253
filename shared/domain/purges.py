"""Purges of projects: what a marker tells, and of what (contract, sections 7 and 10)."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class PurgeMode(StrEnum):
    """A logical purge may be told to readers of old handles; a hard one never is."""

    LOGICAL = "logical"
    HARD = "hard"


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """That a project was purged: when, how, and as which purge of it. Names no row."""

    at: str
    mode: PurgeMode
    epoch: int
    reason: str = ""


def is_told(markers: Sequence[Marker]) -> bool:
    """Whether the purges after a handle was made, earliest first, may be told: all at the first instant logical."""
    return bool(markers) and all(marker.mode is PurgeMode.LOGICAL for marker in markers if marker.at == markers[0].at)
