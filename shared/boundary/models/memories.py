"""Wire shapes of single memories: read, replace, patch, delete."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from shared.boundary.fields import Id
from shared.boundary.models.base import Answer, LineRequest, Read, Write
from shared.domain.lines import memory_body, patch_fields
from shared.engine.writes import MemoryId, MemoryPatch

ScopeWord = Literal["private", "project", "team", "organization"]
StateWord = Literal["active", "superseded", "archived"]


class Span(Answer):
    """An author's own seam, in code points of the content."""

    start: int = Field(ge=0)
    end: int = Field(ge=0)
    label: str = Field("", max_length=200)


class MemoryGet(Read):
    """Which memory."""

    id: Annotated[str, Id()] = Field(description="The memory's id, percent-encoded.")

    def query(self) -> MemoryId:
        return MemoryId(self.id)


class MemoryDelete(Write):
    """Which memory."""

    id: Annotated[str, Id()] = Field(description="The memory's id, percent-encoded.")

    def query(self) -> MemoryId:
        return MemoryId(self.id)


class MemoryPut(LineRequest):
    """A memory line without `kind`: a whole replacement, fields left out go to their defaults."""

    reader: ClassVar[Any] = staticmethod(lambda given: memory_body(given, str(given["id"])))

    id: str = Field(min_length=1, max_length=256, description="The path's; may be left out of the body.")
    type: str = Field(
        pattern="^[a-z][a-z0-9_]{0,63}$", description="Lower snake case; passage and entity are reserved."
    )
    name: str = Field(min_length=1, max_length=500)
    content: str = Field("", description="At most 4 MiB of UTF-8.")
    scope: ScopeWord | None = None
    scope_key: str | None = Field(None, description="Defaults to project_id for the scope project.")
    project_id: str | None = None
    owner: str | None = Field(None, description="Defaults to the writing principal; another's only by an admin.")
    state: StateWord = "active"
    key: str | None = Field(None, max_length=500)
    value: Any = Field(None, description="Any JSON, at most 16 KiB.")
    valid_from: str | None = Field(None, json_schema_extra={"format": "date-time"})
    valid_to: str | None = Field(None, json_schema_extra={"format": "date-time"})
    origin_id: str | None = None
    source_id: str | None = None
    channel: str | None = None
    created_at: str | None = Field(None, json_schema_extra={"format": "date-time"})
    metadata: dict[str, Any] = Field({}, description="At most 16 KiB.")
    associations: dict[str, Any] | None = Field(None, description="As in POST /api/associations.")
    spans: list[Span] | None = Field(None, max_length=64)
    if_revision: int | None = Field(None, description="Refuse with 409 unless this is the current revision.")


def _patch(given: Mapping[str, object]) -> MemoryPatch:
    fields = {name: value for name, value in given.items() if name != "id"}
    return MemoryPatch(MemoryGet.parse(given).id, patch_fields(fields))


class MemoryChange(LineRequest):
    """What is to change; `null` clears, a field left out stays."""

    reader: ClassVar[Any] = staticmethod(_patch)

    id: str = Field(min_length=1, max_length=256, description="The path's; may be left out of the body.")
    name: str | None = Field(None, max_length=500)
    owner: str | None = None
    state: StateWord | None = None
    metadata: dict[str, Any] | None = Field(None, description="Replaced as a whole.")
    scope: ScopeWord | None = Field(None, description="A scope without a key takes its default key.")
    scope_key: str | None = None
    project_id: str | None = None
    if_revision: int | None = Field(None, description="Refuse with 409 unless this is the current revision.")


class MemoryAnswer(Answer):
    """A memory, whole, archived too."""

    id: str
    type: str
    name: str
    content: str
    scope: str | None
    scope_key: str | None
    project_id: str | None
    owner: str
    state: StateWord
    key: str | None
    value: Any
    valid_from: str | None
    valid_to: str | None
    origin_id: str | None
    source_id: str | None
    channel: str | None
    created_at: str
    metadata: dict[str, Any]
    spans: list[Span] | None
    revision: int = Field(ge=1)
    digest: str = Field(pattern="^[0-9a-f]{64}$", description="The record's digest with asOf null.")
    updated_at: str


class WrittenAnswer(Answer):
    """What a write did."""

    id: str
    revision: int = Field(ge=1)
    created: bool


class DeletedAnswer(Answer):
    """What a delete did."""

    id: str
    deleted: Literal[True]
