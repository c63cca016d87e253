"""Wire shapes of single memberships."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from shared.boundary.models.base import Answer, LineRequest
from shared.domain.lines import membership_line


class MembershipPut(LineRequest):
    """A principal and exactly one of a project and a team."""

    reader: ClassVar[Any] = staticmethod(membership_line)

    principal_id: str = Field(min_length=1, max_length=256)
    project_id: str | None = Field(None, max_length=256)
    team_id: str | None = Field(None, max_length=256)


class MembershipDelete(MembershipPut):
    """Which membership, as body or query."""


class MembershipAnswer(Answer):
    """The membership as stored."""

    kind: Literal["membership"]
    principal_id: str
    project_id: str | None = None
    team_id: str | None = None


class MembershipDeleted(MembershipAnswer):
    """The membership that was removed."""

    deleted: Literal[True]
