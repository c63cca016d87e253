"""Wire shapes of single edges."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from shared.boundary.models.base import Answer, LineRequest
from shared.domain.lines import edge_key, edge_line

_RELATIONSHIP = "A letter, then letters, digits and _; folded to upper case."


class EdgePut(LineRequest):
    """An edge line without `kind`: a whole replacement."""

    reader: ClassVar[Any] = staticmethod(edge_line)

    source: str = Field(min_length=1, max_length=256)
    relationship: str = Field(description=_RELATIONSHIP)
    target: str = Field(min_length=1, max_length=256)
    weight: float | None = Field(None, ge=0, le=1, description="Without it the relationship's own weight counts.")
    expires_at: str | None = Field(None, json_schema_extra={"format": "date-time"})
    declared_at: str | None = Field(None, json_schema_extra={"format": "date-time"})
    declared_by: Literal["agent", "operator"] | None = None
    anchor_ref: str | None = None


class EdgeDelete(LineRequest):
    """Which edge, as body or query."""

    reader: ClassVar[Any] = staticmethod(edge_key)

    source: str = Field(min_length=1, max_length=256)
    relationship: str = Field(description=_RELATIONSHIP)
    target: str = Field(min_length=1, max_length=256)


class EdgeAnswer(Answer):
    """The edge as stored."""

    kind: Literal["edge"]
    source: str
    relationship: str
    target: str
    weight: float | None = None
    expires_at: str | None = None
    declared_at: str | None = None
    declared_by: str | None = None
    anchor_ref: str | None = None


class EdgeDeleted(EdgeAnswer):
    """The edge that was removed."""

    deleted: Literal[True]
