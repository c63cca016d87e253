"""The short statement that stands for a record in an agent's context (contract, section 7).

It is derived from the record's own fields and the ids that replaced it, and must never carry a character that could
change how the text around it is shown.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shared.domain.canonical import canonical
from shared.domain.instants import day
from shared.domain.model import Memory, State

LINE_LIMIT = 512
"""UTF-8 bytes of a line."""

_SEPARATOR = "; "
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class ContextLine:
    """A line of whole parts, the names of the parts that did not fit, and whether the record says more than it."""

    line: str
    omitted: tuple[str, ...]
    requires_expansion: bool


def context_line(memory: Memory, superseded_by: Sequence[str] = ()) -> ContextLine:
    """The line of `memory`; `superseded_by` are the ids in the reader's view that supersede it, ascending."""
    line = ""
    omitted: list[str] = []
    for name, part in _parts(memory, superseded_by):
        longer = f"{line}{_SEPARATOR}{_escaped(part)}" if line else _escaped(part)
        if len(longer.encode()) <= LINE_LIMIT:
            line = longer
        else:
            omitted.append(name)
    return ContextLine(line, tuple(omitted), bool(omitted) or memory.length > len(line))


def _parts(memory: Memory, superseded_by: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield "name", memory.name
    if memory.value is not None:
        yield "value", f"{memory.key or 'value'} = {canonical(memory.value).decode()}"
    elif memory.key is not None:
        yield "key", memory.key
    if memory.state != State.ACTIVE:
        yield "state", memory.state.value
    if memory.valid_from or memory.valid_to:
        bounds = (("from", memory.valid_from), ("to", memory.valid_to))
        yield "validity", " ".join(["valid", *(f"{word} {instant}" for word, instant in bounds if instant)])
    if superseded_by:
        yield "superseded_by", f"superseded by {', '.join(superseded_by)}"
    yield "recorded", f"recorded by {memory.owner} on {day(memory.created_at)}"


def _escaped(text: str) -> str:
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
