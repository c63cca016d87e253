"""Reading one JSON object of a caller strictly: each field as its type, all faults named at once.

Nothing is brought into range here; that is for the budgets of a read.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar, cast

from shared.domain import ids, instants
from shared.domain.canonical import canonical, is_canonical, is_text, parse_json
from shared.domain.cutter import BREADCRUMB_LIMIT, checked_spans
from shared.domain.errors import FieldError, Malformed, TooLarge
from shared.domain.model import Json, Scope, Span
from shared.domain.normalise import normalised, trimmed

MAX_NAME = 500
MAX_DECLARED_NAME = 256
MAX_CONTENT_BYTES = 4 * 1024 * 1024
MAX_JSON_BYTES = 16 * 1024
MAX_COUNT = 2**53 - 1
"""What every reader of JSON keeps exactly."""
MAX_ERRORS = 20
"""Faults named in one refusal; further ones say nothing new."""

_TYPE = re.compile(r"[a-z][a-z0-9_]{0,63}")
_RELATIONSHIP = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_INTEGER = re.compile(r"[+-]?[0-9]{1,400}(?:\.0{1,20})?")
_RESERVED_TYPES = ("passage", "entity")
_MINTED_RELATIONSHIP = "SHARES_COMMUNITY"

_Word = TypeVar("_Word", bound=StrEnum)


def settled_scope(scope: Scope | None, scope_key: str | None, project_id: str | None) -> str | None:
    """The scope key in force: what was given, else the default of the scope. Raises Malformed where there is none."""
    if scope is Scope.PROJECT:
        scope_key = scope_key or project_id
    if scope in (Scope.PROJECT, Scope.TEAM) and scope_key is None:
        raise Malformed(FieldError("scope_key", f"is required for the scope {scope}"))
    if scope is None and scope_key is not None:
        raise Malformed(FieldError("scope_key", "needs a scope"))
    return scope_key


class Fields:
    """One JSON object being read: gives each field as its type, and keeps what was wrong until `check`.

    A fault makes the reader return a stand-in, which nobody sees because `check` raises. Null is an omitted field.
    """

    def __init__(
        self, value: object, known: tuple[str, ...], *, prefix: str = "", errors: list[FieldError] | None = None
    ) -> None:
        self._errors: list[FieldError] = [] if errors is None else errors
        self._prefix = prefix
        self._values: Mapping[str, object] = value if isinstance(value, dict) else {}
        self._readable = True
        if not isinstance(value, dict):
            self.fault("" if prefix else "body", "must be an object")
            self._readable = False
        for name in self._values:
            if name not in known:
                self.fault(_printable(name), "is not a field of this")

    @property
    def given(self) -> tuple[str, ...]:
        return tuple(self._values)

    @property
    def faulty(self) -> bool:
        return bool(self._errors)

    def inner(self, path: str, value: object, known: tuple[str, ...]) -> "Fields":
        """An object within this one; its faults are this one's."""
        return Fields(value, known, prefix=path, errors=self._errors)

    def fault(self, name: str, message: str) -> None:
        path = ".".join(part for part in (self._prefix, name) if part)
        if self._readable and len(self._errors) < MAX_ERRORS and all(error.field != path for error in self._errors):
            self._errors.append(FieldError(path, message))

    def missing(self, name: str) -> str:
        self.fault(name, "is required")
        return ""

    def check(self) -> None:
        if self._errors:
            raise Malformed(*self._errors)

    def present(self, name: str) -> bool:
        return self._values.get(name) is not None

    def unjudged(self, name: str) -> object:
        """The value as given, for whoever takes it to judge."""
        return self._values.get(name)

    def content(self) -> str:
        """Content over its limit is refused at once, before what else may be wrong."""
        value = self._values.get("content")
        if value is None:
            return ""
        if not is_text(value):
            self.fault("content", "must be text that UTF-8 can carry")
            return ""
        text = cast("str", value)
        if len(text.encode()) > MAX_CONTENT_BYTES:
            raise TooLarge("content: must be at most 4 MiB of UTF-8")
        return text

    def text(self, name: str, *, most: int, may_be_blank: bool = False) -> str | None:
        value = self._values.get(name)
        blank = may_be_blank and isinstance(value, str) and not trimmed(value)
        return None if value is None or blank else self._checked_text(name, value, most)

    def name(self, name: str, *, most: int) -> str:
        return self.text(name, most=most) or self.missing(name)

    def declared_name(self, name: str) -> str:
        return self.declared(name, self._values[name]) if self.present(name) else self.missing(name)

    def declared(self, path: str, value: object) -> str:
        """A name, alias or predicate: it must have a normal form."""
        text = self._checked_text(path, value, MAX_DECLARED_NAME)
        if text and not normalised(text):
            self.fault(path, "has no visible character")
        return text

    def id(self, name: str, *, default: str | None = None) -> str | None:
        value = self._values.get(name)
        return default if value is None else self.checked_id(name, value)

    def required_id(self, name: str) -> str:
        return self.id(name) or self.missing(name)

    def memory_ref(self, name: str) -> str | None:
        value = self._values.get(name)
        return None if value is None else self.checked_ref(name, value)

    def checked_id(self, path: str, value: object) -> str:
        text = trimmed(value) if isinstance(value, str) else ""
        if not ids.is_id(text):
            self.fault(_printable(path), f"must be an id: 1 to {ids.MAX_ID_LENGTH} characters, none of them control")
        return text

    def checked_ref(self, path: str, value: object) -> str:
        """The id of a memory, there or not."""
        text = self.checked_id(path, value)
        if ids.is_minted(text):
            self.fault(path, "has a form that only the product gives out")
        return text

    def word(self, name: str, words: type[_Word]) -> _Word | None:
        value = self._values.get(name)
        return None if value is None else self.checked_word(name, value, words)

    def checked_word(self, path: str, value: object, words: type[_Word]) -> _Word:
        found = next((word for word in words if word == value), None)
        if found is None:
            self.fault(path, f"must be one of {', '.join(words)}")
        return found or next(iter(words))

    def memory_type(self) -> str:
        value = self._values.get("type")
        if value is None:
            return self.missing("type")
        if not isinstance(value, str) or _TYPE.fullmatch(value) is None:
            self.fault("type", "must be lower_snake, at most 64 characters")
            return ""
        if value in _RESERVED_TYPES:
            self.fault("type", "is reserved")
        return value

    def relationship(self) -> str:
        value = self._values.get("relationship")
        if value is None:
            return self.missing("relationship")
        folded = value.upper() if isinstance(value, str) and value.isascii() else ""
        if _RELATIONSHIP.fullmatch(folded) is None:
            self.fault("relationship", "must be a letter, then letters, digits and _, at most 64 characters")
        if folded == _MINTED_RELATIONSHIP:
            self.fault("relationship", "is derived, never stored")
        return folded

    def weight(self) -> float | None:
        value = self._values.get("weight")
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            self.fault("weight", "must be a number from 0 to 1")
            return None
        return round(float(value), 6) + 0.0

    def integer(self, name: str) -> int | None:
        value = self._values.get(name)
        if value is None:
            return None
        number = _integer(value)
        if number is None:
            self.fault(name, "must be an integer")
        return number

    def count(self, name: str) -> int | None:
        number = self.integer(name)
        if number is None or 0 <= number <= MAX_COUNT:
            return number
        self.fault(name, f"must be from 0 to {MAX_COUNT}")
        return None

    def instant(self, name: str) -> str | None:
        value = self._values.get(name)
        if value is None:
            return None
        try:
            if isinstance(value, str):
                return instants.parse(value)
        except ValueError as error:
            self.fault(name, str(error))
        else:
            self.fault(name, "must be an RFC 3339 instant with seconds and zone")
        return None

    def items(self, name: str) -> list[tuple[str, object]]:
        """The items of a list with their paths, blank and null ones dropped. A list as JSON text is taken."""
        value = self._values.get(name)
        if value is None:
            return []
        if isinstance(value, str):
            try:
                value = parse_json(value.encode())
            except ValueError:
                value = None
        if not isinstance(value, list):
            self.fault(name, "must be a list")
            return []
        kept = ((index, item) for index, item in enumerate(value) if item is not None)
        return [(f"{name}[{i}]", item) for i, item in kept if not (isinstance(item, str) and not trimmed(item))]

    def json(self, name: str) -> Json:
        value = self._values.get(name)
        if value is not None and self._is_stored_json(name, value, MAX_JSON_BYTES):
            return cast("Json", value)
        return None

    def mapping(self, name: str, *, most: int | None = None) -> dict[str, Json] | None:
        """An object; what is in it is checked only where `most` bytes of canonical JSON are allowed."""
        value = self._values.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            self.fault(name, "must be an object")
            return None
        return value if most is None or self._is_stored_json(name, value, most) else None

    def metadata(self) -> dict[str, Json]:
        return self.mapping("metadata", most=MAX_JSON_BYTES) or {}

    def scope_key(self, scope: Scope | None, project_id: str | None) -> str | None:
        key = self.id("scope_key")
        if self.faulty:
            return key
        try:
            return settled_scope(scope, key, project_id)
        except Malformed as refusal:
            self.fault(refusal.errors[0].field, refusal.errors[0].message)
            return None

    def spans(self, body_length: int) -> tuple[Span, ...] | None:
        spans: list[Span] = []
        before = len(self._errors)
        for path, item in self.items("spans"):
            inner = self.inner(path, item, ("start", "end", "label"))
            start, end = inner.integer("start"), inner.integer("end")
            label = inner.text("label", most=BREADCRUMB_LIMIT, may_be_blank=True) or ""
            if start is None or end is None:
                inner.missing("start" if start is None else "end")
            else:
                spans.append(Span(start, end, label))
            if len(self._errors) > before:
                return None
        try:
            return checked_spans(spans, body_length) or None
        except ValueError as error:
            self.fault("spans", str(error))
            return None

    def _checked_text(self, path: str, value: object, most: int) -> str:
        if not is_text(value):
            self.fault(path, "must be text that UTF-8 can carry")
            return ""
        text = cast("str", value)
        if not trimmed(text):
            self.fault(path, "must not be blank")
        elif len(text) > most:
            self.fault(path, f"must be at most {most} characters")
        return text

    def _is_stored_json(self, name: str, value: object, most: int) -> bool:
        if not is_canonical(value):
            self.fault(
                name,
                "must be JSON of at most 100 levels, without lone surrogates or integers that a double cannot hold",
            )
        elif len(canonical(cast("Json", value))) > most:
            self.fault(name, f"must be at most {most // 1024} KiB of canonical JSON")
        else:
            return True
        return False


def _integer(value: object) -> int | None:
    """What common clients send for an integer: `3`, `3.0`, `"3"`, `" 3.0 "`; never a boolean."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str) and _INTEGER.fullmatch(text := trimmed(value)):
        return int(text.partition(".")[0])
    return None


def _printable(name: str) -> str:
    """A caller's field name fit for an answer: short, and without lone surrogates."""
    return name[:100].encode(errors="backslashreplace").decode()
