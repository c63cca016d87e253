"""JSON text as it is taken and given: one strict reader and one deterministic writer.

The reader never lets NaN, an infinity literal, a lone surrogate or unbounded nesting through.
"""

import json
import re
from collections.abc import Mapping
from typing import NoReturn

MAX_INTEGER_DIGITS = 40
"""A longer integer reads as ±10^40: reading a number must not cost more than reading its text."""

_HUGE = int("1" + "0" * MAX_INTEGER_DIGITS)
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


class NotJson(ValueError):
    """The text is no JSON that can be kept; `field` names the top-level member at fault where one is."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


def parse(text: str) -> object:
    """The value that `text` holds.

    >>> parse('{"depth": 2}')
    {'depth': 2}
    """
    try:
        value: object = json.loads(text, parse_constant=_refuse_constant, parse_int=_integer)
        if _SURROGATE_ESCAPE.search(text) or not _encodable(text):
            _refuse_surrogates(value)
    except RecursionError:
        raise NotJson("is nested too deeply") from None
    except json.JSONDecodeError as fault:
        raise NotJson(f"is not JSON (line {fault.lineno}, column {fault.colno})") from None
    return value


def parse_bytes(data: bytes) -> object:
    """The value that UTF-8 `data` holds."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise NotJson("is not UTF-8") from None
    return parse(text)


def encode(value: object) -> str:
    """Compact JSON text; equal values built in the same order give equal text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _refuse_constant(name: str) -> NoReturn:
    raise NotJson(f"is not JSON: {name} is no JSON number")


def _integer(digits: str) -> int:
    if len(digits) <= MAX_INTEGER_DIGITS:
        return int(digits)
    return -_HUGE if digits.startswith("-") else _HUGE


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _refuse_surrogates(value: object) -> None:
    members = value.items() if isinstance(value, Mapping) else [("", value)]
    for name, member in members:
        if not _encodable(json.dumps(member, ensure_ascii=False)):
            raise NotJson("has a lone surrogate", name or None)
        if not _encodable(name):
            raise NotJson("has a lone surrogate in a member's name")
