"""Wire shapes of grants."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from shared.boundary.fields import Id, Text
from shared.boundary.models.base import Answer, LineRequest, Read, Write
from shared.domain.errors import FieldError, Malformed
from shared.domain.lines import GrantLine, grant_line
from shared.engine.grants import GrantId, GrantsOf

_OF_IMPORTS = ("id", "issued_at", "revoked_at")


def _issued(given: Mapping[str, object]) -> GrantLine:
    """A grant to issue: the fields that only an import may carry are unknown here."""
    unknown = [FieldError(name, "is not a field of this request") for name in _OF_IMPORTS if name in given]
    if unknown:
        raise Malformed(*unknown)
    return grant_line(given)


class GrantPost(LineRequest):
    """A grant to issue."""

    reader: ClassVar[Any] = staticmethod(_issued)

    grantee: str = Field(min_length=1, max_length=256, description="The principal that may present it.")
    projects: list[str] = Field(min_length=1, max_length=50, description="Projects it opens; you belong to each.")
    surfaces: list[Literal["http", "mcp"]] = Field(min_length=1)
    expires_at: str = Field(description="RFC 3339, in the future; from then on it is refused.")
    reason: str = Field(min_length=1, max_length=500)
    idempotency_key: str | None = Field(None, description="Repeated with the same bounds: the same grant.")


class GrantGet(Read):
    """Which grant."""

    id: Annotated[str, Id()] = Field(description="The grant's id, percent-encoded.")

    def query(self) -> GrantId:
        return GrantId(self.id)


class GrantChange(Write):
    """Which grant."""

    id: Annotated[str, Id()] = Field(description="The grant's id, percent-encoded.")

    def query(self) -> GrantId:
        return GrantId(self.id)


class GrantList(Read):
    """Whose grants."""

    grantee: Annotated[str | None, Id()] = Field(None, description="Default: everybody's.")
    cursor: Annotated[str | None, Text()] = Field(None, description="cursor of the page before.")

    def query(self) -> GrantsOf:
        return GrantsOf(self.grantee, self.cursor)


class GrantAnswer(Answer):
    """A grant as it stands: purged projects have left it."""

    id: str
    grantee: str
    projects: list[str]
    surfaces: list[str]
    expires_at: str
    reason: str
    issued_at: str
    revoked_at: str | None


class GrantListAnswer(Answer):
    """Grants by id."""

    grants: list[GrantAnswer]
    cursor: str | None = None


class RecheckAnswer(Answer):
    """Whether the grant would be accepted from you, here and now."""

    valid: bool
    reason: str | None
