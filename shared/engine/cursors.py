"""Cursors: where a list goes on, as text that callers hand back unread. One is good for its own list only."""

import base64
import binascii
import json

from shared.domain.canonical import is_text
from shared.domain.errors import FieldError, Malformed


def encoded(place: str, bound: str) -> str:
    """The cursor of `place` in the list that `bound` tells apart from others."""
    return base64.urlsafe_b64encode(json.dumps([bound, place]).encode()).decode().rstrip("=")


def decoded(cursor: str | None, bound: str) -> str | None:
    """The place that `cursor` stands for, or `Malformed` when it is none of this list."""
    if cursor is None:
        return None
    try:
        found = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        found = None
    match found:
        case [str(of), str(place)] if of == bound and is_text(place):
            return place
        case _:
            raise Malformed(FieldError("cursor", "is not a cursor of this list"))
