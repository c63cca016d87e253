"""Wire shapes of the purge."""

from typing import Annotated, Literal

from pydantic import Field

from shared.boundary.fields import Id, Text, Word
from shared.boundary.models.base import Answer, Write
from shared.domain.purges import PurgeMode
from shared.engine.purge import PurgeQuery


class PurgePost(Write):
    """What to purge, and how."""

    id: Annotated[str, Id()] = Field(description="The project, percent-encoded.")
    mode: Annotated[PurgeMode, Word(PurgeMode)] = Field(
        description="logical: readers of old handles may be told; hard: never."
    )
    reason: Annotated[str, Text(max_length=500)]

    def query(self) -> PurgeQuery:
        return PurgeQuery(project_id=self.id, mode=self.mode, reason=self.reason)


class PurgeAnswer(Answer):
    """The purge, in force since `at`."""

    project_id: str
    mode: Literal["logical", "hard"]
    at: str
