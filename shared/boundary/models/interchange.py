"""Wire shapes of import and export."""

from typing import Annotated

from pydantic import Field

from shared.boundary.fields import Text
from shared.boundary.models.base import Answer, Read, Write
from shared.engine.exporting import ExportQuery


class ImportRequest(Write):
    """JSON Lines, at most 5 MiB; the lines themselves are judged one by one."""

    body: bytes

    def query(self) -> bytes:
        return self.body


class ImportFault(Answer):
    """A line that was rejected."""

    line: int = Field(ge=1)
    reason: str


class ImportAnswer(Answer):
    """What became of the lines."""

    applied: int
    unchanged: int
    rejected: int
    errors: list[ImportFault] = Field(description="The first 100.")


class ExportRequest(Read):
    """Where to go on."""

    cursor: Annotated[str | None, Text()] = Field(None, description="X-Next-Cursor of the page before.")

    def query(self) -> ExportQuery:
        return ExportQuery(self.cursor)
