"""JSON values: reading them strictly, their canonical form (RFC 8785), and the digest of a record.

Nothing is stored that has no canonical form, so a digest can never fail.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from math import isfinite
from typing import Any

import rfc8785

from shared.domain.model import Json, State

DERIVATION_VERSION = "line-v1"
MAX_DEPTH = 100
"""Levels of nesting in a stored value; far below what the interpreter's stack allows."""

RECORD_FIELDS = (
    "id",
    "type",
    "name",
    "content",
    "key",
    "value",
    "state",
    "scope",
    "scope_key",
    "project_id",
    "origin_id",
    "owner",
    "valid_from",
    "valid_to",
    "metadata",
    "created_at",
)
_SAFE = 2**53 - 1
_MAX_DIGITS = 21
_SATURATED: int = 10**_MAX_DIGITS + 1


def parse_json(data: bytes) -> object:
    """The JSON value of UTF-8 `data`, or a ValueError with a public message.

    Refuses NaN and infinities, names given twice, and nesting that the parser cannot follow. Integers of more than
    21 digits come out as ±(10²¹ + 1): too large for any use, and not canonical, whatever their digits.
    """
    try:
        return json.loads(
            data.decode(), parse_int=_integer, parse_constant=_refuse_constant, object_pairs_hook=_object_of
        )
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at column {error.colno}") from None


def canonical(value: Json) -> bytes:
    """The RFC 8785 form of a value for which `is_canonical` holds. Two values are equal when their forms are."""
    return rfc8785.dumps(_with_doubles(value))


def is_canonical(value: object) -> bool:
    """Whether `value` is JSON that has a canonical form.

    Refused: integers with digits that a double loses (two of them would have one digest); NaN and infinities; lone
    surrogates; more than 100 levels; anything that is not JSON.
    """
    pending = [(value, 0)]
    while pending:
        item, depth = pending.pop()
        if depth > MAX_DEPTH:
            return False
        if isinstance(item, dict):
            pending += [(part, depth + 1) for pair in item.items() for part in pair]
            if not all(isinstance(name, str) for name in item):
                return False
        elif isinstance(item, list):
            pending += [(part, depth + 1) for part in item]
        elif not _is_canonical_scalar(item):
            return False
    return True


def record_digest(fields: Mapping[str, Json], as_of: str | None, derivation_version: str = DERIVATION_VERSION) -> str:
    """The digest of a record under a view (contract, section 7).

    `fields` has its default scope key and owner already; absent ones are null, absent metadata is `{}`. Instants,
    `as_of` too, are UTC milliseconds text.
    """
    record: dict[str, Json] = {name: fields.get(name) for name in RECORD_FIELDS}
    record["metadata"] = record["metadata"] or {}
    record["state"] = record["state"] or State.ACTIVE.value
    return sha256(canonical({"derivationVersion": derivation_version, "asOf": as_of, "record": record})).hexdigest()


def is_text(value: object) -> bool:
    """Whether `value` is a string that UTF-8 can carry (no lone surrogates)."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_canonical_scalar(value: object) -> bool:
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, int):
        return abs(value) <= _SAFE or _survives_as_double(value)
    if isinstance(value, float):
        return isfinite(value)
    return is_text(value)


def _survives_as_double(number: int) -> bool:
    """Whether the shortest digits of the nearest double are those of `number`, as JavaScript would write it."""
    return abs(number) < _SATURATED and rfc8785.dumps(float(number)) == str(number).encode()


def _with_doubles(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _with_doubles(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_doubles(item) for item in value]
    if isinstance(value, int) and abs(value) > _SAFE:
        return float(value)
    return value


def _integer(text: str) -> int:
    if len(text.removeprefix("-")) <= _MAX_DIGITS:
        return int(text)
    return -_SATURATED if text.startswith("-") else _SATURATED


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("an object has the same name twice")
    return value
