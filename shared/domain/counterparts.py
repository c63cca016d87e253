"""Counterparts of a record: records that may say otherwise, their order, and what settles which one holds when.

Structure only (contract, section 7): no text is compared and nothing is inferred.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from shared.domain.canonical import canonical
from shared.domain.model import Memory, State

FEWEST_LISTED = 10


class Relation(StrEnum):
    """How a counterpart was found; the first that applies."""

    SAME_KEY = "same_key"
    SUPERSEDES = "supersedes"
    SUPERSEDED_BY = "superseded_by"


class Basis(StrEnum):
    """What settles a pair."""

    EXPLICIT_SUPERSESSION = "explicit_supersession"
    DIFFERENT_TIMES = "different_times"
    SAME_VALUE = "same_value"


@dataclass(frozen=True, slots=True)
class Counterpart:
    """A record in view that stands against the one asked for."""

    memory: Memory
    relation: Relation


def in_order(found: Mapping[Relation, Iterable[Memory]]) -> list[Counterpart]:
    """Each counterpart once, under the first relation that found it, the likeliest to hold now first."""
    known: dict[str, Counterpart] = {}
    for relation in Relation:
        for memory in found.get(relation, ()):
            known.setdefault(memory.id, Counterpart(memory, relation))
    ordered = sorted(known.values(), key=lambda counterpart: counterpart.memory.id)
    ordered.sort(key=lambda counterpart: _start(counterpart.memory), reverse=True)
    ordered.sort(key=lambda counterpart: counterpart.memory.state is State.SUPERSEDED)
    return ordered


def bases(record: Memory, other: Memory, *, replaces: Collection[str], replaced_by: Collection[str]) -> list[Basis]:
    """What settles the pair; `replaces` and `replaced_by` are the ids at the record's SUPERSEDES edges."""
    found = []
    if (other.id in replaces and _succeeds(record, other)) or (other.id in replaced_by and _succeeds(other, record)):
        found.append(Basis.EXPLICIT_SUPERSESSION)
    if _ends_before(record, other) or _ends_before(other, record):
        found.append(Basis.DIFFERENT_TIMES)
    if record.value is not None and other.value is not None and canonical(record.value) == canonical(other.value):
        found.append(Basis.SAME_VALUE)
    return found


def _start(memory: Memory) -> str:
    return memory.valid_from or memory.created_at


def _succeeds(later: Memory, earlier: Memory) -> bool:
    """Whether the times of both agree with an edge by which `later` replaces `earlier`."""
    if earlier.valid_from is not None and later.valid_from is not None and earlier.valid_from < later.valid_from:
        return True
    return earlier.valid_to is not None and earlier.valid_to <= _start(later)


def _ends_before(one: Memory, other: Memory) -> bool:
    return one.valid_to is not None and other.valid_from is not None and one.valid_to <= other.valid_from
