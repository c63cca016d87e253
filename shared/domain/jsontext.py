"""JSON text as doors take and give it: what is read can be written again, and writing is deterministic."""

import json
import re
from collections.abc import Mapping

from shared.domain.canonical import parse_json

_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


class NotJson(ValueError):
    """The text is no JSON that can be kept; `field` names the top-level member at fault where one is."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


def parse(data: bytes) -> object:
    """The value that UTF-8 `data` holds, without lone surrogates.

    >>> parse(b'{"depth": 2}')
    {'depth': 2}
    """
    try:
        value = parse_json(data)
    except ValueError as fault:
        raise NotJson(str(fault)) from None
    if _SURROGATE_ESCAPE.search(data):
        _refuse_surrogates(value)
    return value


def encode(value: object) -> str:
    """Compact JSON text; equal values built in the same order give equal text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _refuse_surrogates(value: object) -> None:
    members = value.items() if isinstance(value, Mapping) else [("", value)]
    for name, member in members:
        try:
            json.dumps(name, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise NotJson("has a lone surrogate in a name") from None
        try:
            json.dumps(member, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise NotJson("has a lone surrogate", name or None) from None
