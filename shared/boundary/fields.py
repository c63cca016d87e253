"""The field types that requests are made of: what is accepted, how it is brought into shape, and its plain schema.

Each is the metadata of an `Annotated` and owns both its validation and its published JSON Schema, so that the schema
stays flat (no `anyOf`, no `$ref`) while `null`, `3.0`, `"3"` and JSON text are still accepted (contract, section 1).
A fault is a `Misfit`, whose text completes "<field> ..." and never repeats the value.

    depth: Annotated[int, Clamped(1, 3)] = Field(1, description="...")
    types: Annotated[tuple[str, ...] | None, TextList(fold=str.lower)] = Field(None, description="...")
"""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from shared.domain import instants, jsontext
from shared.domain.ids import MAX_ID_LENGTH, is_id, trimmed

_INTEGER_TEXT = re.compile(r"([+-]?)0*([0-9]+)(?:\.0+)?")
_MAX_EXACT_DIGITS = 18


class Misfit(ValueError):
    """A value that its field cannot take."""


class Shape:
    """Base of the field types: `accept` brings a given value into shape, `schema` is what callers are told."""

    __slots__ = ()

    def accept(self, given: object) -> Any:
        raise NotImplementedError

    def schema(self) -> JsonSchemaValue:
        raise NotImplementedError

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.accept)

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return self.schema()


@dataclass(frozen=True, slots=True)
class Clamped(Shape):
    """A whole number, brought into `low`–`high`."""

    low: int
    high: int

    def accept(self, given: object) -> int:
        if isinstance(given, bool):
            raise Misfit("must be a whole number, not a boolean")
        if isinstance(given, int):
            return self._within(given)
        if isinstance(given, float):
            return self._from_float(given)
        if isinstance(given, str) and (match := _INTEGER_TEXT.fullmatch(trimmed(given))):
            return self._from_digits(match[1], match[2])
        raise Misfit("must be a whole number")

    def _from_float(self, given: float) -> int:
        if not math.isfinite(given) or not given.is_integer():
            raise Misfit("must be a whole number")
        return self._within(int(given))

    def _from_digits(self, sign: str, digits: str) -> int:
        if len(digits) > _MAX_EXACT_DIGITS:
            return self.low if sign == "-" else self.high
        return self._within(-int(digits) if sign == "-" else int(digits))

    def _within(self, number: int) -> int:
        return max(self.low, min(self.high, number))

    def schema(self) -> JsonSchemaValue:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


@dataclass(frozen=True, slots=True)
class Flag(Shape):
    """A JSON boolean; words and numbers are none."""

    def accept(self, given: object) -> bool:
        if not isinstance(given, bool):
            raise Misfit("must be true or false")
        return given

    def schema(self) -> JsonSchemaValue:
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class Id(Shape):
    """One id, trimmed. Blank, too long, or with control characters is a fault."""

    def accept(self, given: object) -> str:
        text = _text(given)
        if not (name := trimmed(text)):
            raise Misfit("must not be blank")
        if not is_id(name):
            raise Misfit(f"must be 1 to {MAX_ID_LENGTH} characters without control characters")
        return name

    def schema(self) -> JsonSchemaValue:
        return {"type": "string", "minLength": 1, "maxLength": MAX_ID_LENGTH}


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(Shape):
    """A text, kept as written; `may_be_blank` where blank has a meaning, trimmed where `trim` says so."""

    max_length: int | None = None
    may_be_blank: bool = False
    trim: bool = False

    def accept(self, given: object) -> str:
        text = _text(given)
        if not self.may_be_blank and not trimmed(text):
            raise Misfit("must not be blank")
        text = trimmed(text) if self.trim else text
        if self.max_length is not None and len(text) > self.max_length:
            raise Misfit(f"must be at most {self.max_length} characters")
        return text

    def schema(self) -> JsonSchemaValue:
        schema: JsonSchemaValue = {"type": "string"}
        if not self.may_be_blank:
            schema["minLength"] = 1
        if self.max_length is not None:
            schema["maxLength"] = self.max_length
        return schema


@dataclass(frozen=True, slots=True)
class Word(Shape):
    """One word of a closed vocabulary."""

    words: type[StrEnum]

    def accept(self, given: object) -> StrEnum:
        try:
            return self.words(_text(given))
        except ValueError:
            raise Misfit("must be one of " + ", ".join(word.value for word in self.words)) from None

    def schema(self) -> JsonSchemaValue:
        return {"type": "string", "enum": [word.value for word in self.words]}


@dataclass(frozen=True, slots=True, kw_only=True)
class TextList(Shape):
    """A list of texts, or the JSON text of one: trimmed, folded, blank ones dropped, each once, in order.

    Nothing left reads as None (an empty list is an omitted one), or is a fault where `required`.
    Items are not checked to be ids: an impossible one is for the verb to leave unresolved.
    """

    required: bool = False
    fold: Callable[[str], str] = str
    max_items: int | None = None
    words: type[StrEnum] | None = None

    def accept(self, given: object) -> tuple[str, ...] | None:
        items = tuple(dict.fromkeys(self._items(given)))
        if not items and self.required:
            raise Misfit("must have at least one item that is not blank")
        if self.max_items is not None and len(items) > self.max_items:
            raise Misfit(f"must have at most {self.max_items} items")
        return items or None

    def _items(self, given: object) -> Iterable[str]:
        for index, item in enumerate(as_list(given)):
            if not isinstance(item, str):
                raise Misfit(f"must be a list of strings, and item {index} is none")
            if text := self.fold(trimmed(item)):
                if self.words is not None and text not in list(self.words):
                    raise Misfit("must have items of " + ", ".join(word.value for word in self.words))
                yield text

    def schema(self) -> JsonSchemaValue:
        item: JsonSchemaValue = {"type": "string"}
        if self.words is not None:
            item["enum"] = [word.value for word in self.words]
        schema: JsonSchemaValue = {"type": "array", "items": item}
        if self.required:
            schema["minItems"] = 1
        return schema


@dataclass(frozen=True, slots=True)
class Instant(Shape):
    """An RFC 3339 instant with seconds and zone, as the UTC milliseconds text that the domain works with."""

    def accept(self, given: object) -> str:
        try:
            return instants.parse(trimmed(_text(given)))
        except ValueError:
            raise Misfit("must be an RFC 3339 instant with seconds and zone, such as 2026-01-02T03:04:05Z") from None

    def schema(self) -> JsonSchemaValue:
        return {"type": "string", "format": "date-time"}


def as_list(given: object) -> list[object]:
    """`given` as a list: one, or the JSON text of one."""
    if isinstance(given, str):
        try:
            given = jsontext.parse(given.encode()) if given.strip() else []
        except ValueError:
            given = None
    if not isinstance(given, list | tuple):
        raise Misfit("must be a list")
    return list(given)


def _text(given: object) -> str:
    if not isinstance(given, str):
        raise Misfit("must be a string")
    return given
