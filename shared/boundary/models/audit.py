"""Wire shapes of the audit."""

import re
from datetime import date
from typing import Annotated, Any

from pydantic import Field

from shared.boundary.fields import Id, Misfit, Shape, Text
from shared.boundary.models.base import Answer, Read
from shared.domain.ids import trimmed
from shared.engine.audit import AuditQuery

_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")


class Day(Shape):
    """A calendar day."""

    __slots__ = ()

    def accept(self, given: object) -> str:
        text = trimmed(given) if isinstance(given, str) else ""
        try:
            if _DAY.fullmatch(text):
                return date.fromisoformat(text).isoformat()
        except ValueError:
            pass
        raise Misfit("must be a day such as 2026-01-02")

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "format": "date"}


class AuditGet(Read):
    """Which aggregates."""

    grant_id: Annotated[str | None, Id()] = Field(None, description="Default: all; only an admin may leave it out.")
    first_day: Annotated[str | None, Day()] = Field(None, alias="from", description="First UTC day.")
    last_day: Annotated[str | None, Day()] = Field(None, alias="to", description="Last UTC day, included.")
    cursor: Annotated[str | None, Text()] = Field(None, description="cursor of the page before.")

    def query(self) -> AuditQuery:
        return AuditQuery(grant_id=self.grant_id, first_day=self.first_day, last_day=self.last_day, cursor=self.cursor)


class Sample(Answer):
    """One presentation."""

    at: str
    records_returned: int
    project: str | None


class AggregateAnswer(Answer):
    """All presentations of one grant, surface, outcome and UTC day."""

    grant_id: str
    surface: str
    outcome: str
    day: str
    count: int
    records_returned_total: int
    first_at: str
    last_at: str
    revision: int
    samples: list[Sample] = Field(description="The last three.")


class AuditAnswer(Answer):
    """Aggregates by day, grant, surface, outcome."""

    aggregates: list[AggregateAnswer]
    cursor: str | None = None
