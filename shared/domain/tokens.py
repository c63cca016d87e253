"""Tokens that order by the time they were made: names of cuts and of lives of an id."""

import secrets
from datetime import datetime

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_TIME_DIGITS = 9
_RANDOM_DIGITS = 7
LENGTH = _TIME_DIGITS + _RANDOM_DIGITS


def _base36(number: int, digits: int) -> str:
    out = []
    for _ in range(digits):
        number, remainder = divmod(number, 36)
        out.append(_DIGITS[remainder])
    return "".join(reversed(out))


def new_token(now: datetime, *, after: str | None = None) -> str:
    """A token of 16 characters in [0-9a-z]: milliseconds, then chance.

    It sorts after every token of an earlier millisecond, and after `after` even when the clock went back.
    """
    millis = int(now.timestamp() * 1000)
    if after is not None:
        millis = max(millis, int(after[:_TIME_DIGITS], 36) + 1)
    return _base36(millis, _TIME_DIGITS) + _base36(secrets.randbelow(36**_RANDOM_DIGITS), _RANDOM_DIGITS)
