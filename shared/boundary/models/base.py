"""What every request and answer model is made from. One file a verb beside this one; nothing here knows a verb.

A request model is the wire shape of a verb's input, and the only place where its bounds and coercions are written:

    class ExpandRequest(Read):                                  # `Write` where unknown fields are refused
        entity_ids: Annotated[tuple[str, ...], TextList(required=True)] = Field(description="...")
        depth: Annotated[int, Clamped(1, 3)] = Field(1, description="...")

        def query(self) -> ExpandQuery:                         # the engine's frozen dataclass
            return ExpandQuery(entity_ids=self.entity_ids, depth=self.depth)

`Model.read(given)` is that query, or raises `Malformed` with the fields as the caller spelled them. A field with an
alias (`record_id: ... = Field(alias="recordId")`) is accepted in both spellings. Path and query values are fields too.
Writes of interchange lines are `LineRequest`s: the domain reads them, as in an import, and the model publishes them.

An answer model documents and tests the engine's dict: it feeds OpenAPI and MCP, and does not run per request.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from shared.domain.errors import FieldError, Malformed

_MAX_ERRORS = 20
_MAX_FIELD_LENGTH = 200


class Request(BaseModel):
    """A verb's input; `null` is an omitted field."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    @classmethod
    def read(cls, given: Mapping[str, object]) -> Any:
        """What the engine is given, or `Malformed`."""
        return cls.parse(given).query()

    @classmethod
    def parse(cls, given: Mapping[str, object]) -> Self:
        """The model of `given`, or `Malformed`."""
        members, spelled = cls._joined_spellings(given)
        try:
            return cls.model_validate(members)
        except ValidationError as fault:
            details = fault.errors(include_url=False, include_input=False)[:_MAX_ERRORS]
            raise Malformed(*(_field_error(detail, spelled) for detail in details)) from None

    def query(self) -> Any:
        """What the engine is given."""
        raise NotImplementedError

    @classmethod
    def _joined_spellings(cls, given: Mapping[str, object]) -> tuple[dict[str, object], dict[str, str]]:
        """`given` without nulls and under published names, and how each published name was spelled."""
        members = {name: value for name, value in given.items() if value is not None}
        spelled: dict[str, str] = {}
        for name, field in cls.model_fields.items():
            alias = field.alias
            if alias is None or alias == name or name not in members:
                continue
            value = members.pop(name)
            if alias not in members:
                members[alias] = value
                spelled[alias] = name
            elif members[alias] != value:
                raise Malformed(FieldError(alias, f"differs from {name}, another spelling of it"))
        return members, spelled


class Read(Request):
    """Input of a read: unknown fields are ignored."""


class Write(Request):
    """Input of a write: unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class LineRequest(Write):
    """An interchange line, or the key of one. Its fields are documentation; a test holds them to the domain's."""

    reader: ClassVar[Callable[[Mapping[str, object]], Any]]

    @classmethod
    def read(cls, given: Mapping[str, object]) -> Any:
        return cls.reader(given)


class Answer(BaseModel):
    """Shape of an answer. A field with a default is absent when it has nothing to say."""

    model_config = ConfigDict(extra="forbid")


def _field_error(detail: ErrorDetails, spelled: Mapping[str, str]) -> FieldError:
    path = ""
    for part in detail["loc"]:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            path += f".{part}" if path else spelled.get(part, part)
    return FieldError(path[:_MAX_FIELD_LENGTH] or "body", _message(detail))


def _message(detail: ErrorDetails) -> str:
    match detail["type"]:
        case "missing":
            return "is required"
        case "extra_forbidden":
            return "is not a field of this request"
        case "value_error":
            return str(detail["ctx"]["error"])
        case _:
            return detail["msg"]
