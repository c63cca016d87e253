"""Imports a file of any size as requests that a function takes: kinds in an order in which each finds what it names.

The file is read twice and never held; the answers come back as one, with the file's own line numbers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from shared.domain.canonical import parse_json
from shared.domain.errors import Malformed, TooLarge
from shared.domain.lines import (
    CaptureStatusLine,
    EdgeLine,
    EntityLine,
    GrantLine,
    Line,
    MembershipLine,
    MemoryLine,
    OperatingContextLine,
    RelationLine,
    parse_line,
)
from shared.engine.importing import MAX_LISTED_ERRORS, identity_of

MAX_LINE_BYTES = 5 * 1024 * 1024 - 1
"""What one request carries, the end of the line counted."""

CHUNK_BYTES = 2 * 1024 * 1024
CHUNK_LINES = 4_000
"""A request ends well within a function's time; a longer single line goes alone."""

_PHASES: tuple[type[Line], ...] = (
    MembershipLine,
    MemoryLine,
    EntityLine,
    EdgeLine,
    RelationLine,
    GrantLine,
    CaptureStatusLine,
    OperatingContextLine,
)
_UNREADABLE = len(_PHASES)
"""The phase of lines that are sent only to be refused in the server's words."""

Send = Callable[[bytes], Mapping[str, Any]]
Progress = Callable[[int, int], None]
"""Told lines done and lines in all."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the file: its number from 1, and where its bytes are."""

    number: int
    offset: int
    length: int
    phase: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """A body for one request, and the file's number of each of its lines."""

    body: bytes
    numbers: tuple[int, ...]


@dataclass(slots=True)
class Plan:
    """The lines to send in order; those that a later line of the file replaces; those that are too long to send."""

    places: list[Place] = field(default_factory=list)
    overtaken: list[int] = field(default_factory=list)
    too_long: list[int] = field(default_factory=list)

    @property
    def total(self) -> int:
        return len(self.places) + len(self.overtaken) + len(self.too_long)


@dataclass(slots=True)
class Imported:
    """The answers of all requests as one."""

    applied: int = 0
    unchanged: int = 0
    rejected: int = 0
    errors: list[tuple[int, str]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        listed = [{"line": line, "reason": reason} for line, reason in sorted(self.errors)[:MAX_LISTED_ERRORS]]
        return {"applied": self.applied, "unchanged": self.unchanged, "rejected": self.rejected, "errors": listed}


def plan(file: BinaryIO) -> Plan:
    """Read a file's lines once, and say in what order they go."""
    planned = Plan()
    last: dict[Any, Place] = {}
    offset = 0
    for number, raw in enumerate(file, 1):
        start, offset = offset, offset + len(raw)
        text = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
        if not text.strip(b" \t\r\n"):
            continue
        if len(text) > MAX_LINE_BYTES:
            planned.too_long.append(number)
            continue
        line = _line(text.strip(b" \t\r\n"))
        phase = _UNREADABLE if line is None else _PHASES.index(type(line))
        identity = number if line is None else identity_of(line, number)
        if identity in last:
            planned.overtaken.append(last.pop(identity).number)
        last[identity] = Place(number, start + len(raw) - len(text), len(text), phase)
    planned.places = sorted(last.values(), key=lambda place: (place.phase, place.number))
    return planned


def chunks(file: BinaryIO, places: Sequence[Place]) -> Iterator[Chunk]:
    """The planned lines as bodies of requests; lines of two kinds never share one."""
    body, numbers, phase = b"", list[int](), -1
    for place in places:
        full = len(body) + place.length >= CHUNK_BYTES or len(numbers) == CHUNK_LINES
        if numbers and (full or place.phase != phase):
            yield Chunk(body, tuple(numbers))
            body, numbers = b"", []
        file.seek(place.offset)
        body += file.read(place.length).rstrip(b"\r\n") + b"\n"
        numbers.append(place.number)
        phase = place.phase
    if numbers:
        yield Chunk(body, tuple(numbers))


def import_file(file: BinaryIO, send: Send, progress: Progress) -> Imported:
    """Import a file by way of `send`, which gives the answer to one request's body or raises."""
    planned = plan(file)
    done = len(planned.overtaken) + len(planned.too_long)
    result = Imported(unchanged=len(planned.overtaken), rejected=len(planned.too_long))
    result.errors = [(number, "is too long for a request") for number in planned.too_long]
    progress(done, planned.total)
    for chunk in chunks(file, planned.places):
        answer = send(chunk.body)
        result.applied += answer["applied"]
        result.unchanged += answer["unchanged"]
        result.rejected += answer["rejected"]
        result.errors += [(chunk.numbers[error["line"] - 1], error["reason"]) for error in answer["errors"]]
        done += len(chunk.numbers)
        progress(done, planned.total)
    return result


def _line(text: bytes) -> Line | None:
    try:
        return parse_line(parse_json(text))
    except (Malformed, TooLarge, ValueError):
        return None
