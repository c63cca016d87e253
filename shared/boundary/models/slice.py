"""Wire shapes of `fetch_slice`."""

from typing import Annotated

from pydantic import Field

from shared.boundary.fields import Clamped, Id
from shared.boundary.models.base import Answer, Read
from shared.engine.slice import SliceQuery


class SliceRequest(Read):
    """Which text to read, and how much of it."""

    entity_id: Annotated[str, Id()] = Field(
        description="Id of a memory (reads from its beginning) or of a passage (reads around it), as returned by "
        "expand_neighbors or by this tool."
    )
    window: Annotated[int, Clamped(1, 64)] = Field(
        3, description="How many passages to return, 1 to 64, default 3. Out of range is clamped; the answer tells it."
    )
    content_max_chars: Annotated[int, Clamped(0, 50_000)] = Field(
        18_000,
        description="Characters of all passages together, 0 to 50000, default 18000, spent in order. Out of range is "
        "clamped.",
    )
    project: Annotated[str | None, Id()] = Field(
        None, description="Id of a project you belong to; a memory outside it is not found. Default: any you may read."
    )

    def query(self) -> SliceQuery:
        return SliceQuery(
            entity_id=self.entity_id,
            window=self.window,
            content_max_chars=self.content_max_chars,
            project=self.project,
        )


class SlicePassage(Answer):
    """One passage, or the whole of a memory that was never cut."""

    id: str
    name: str
    content: str
    passage_index: int | None
    passage_total: int | None
    breadcrumb: str = Field(description="The heading path in force where it begins.")
    truncated: bool = Field(description="True when the budget cut or emptied it.")


class SliceFilters(Answer):
    """What was applied."""

    window: int
    content_max_chars: int
    round_budget: int = Field(description="Rounds of retrieval after which to answer.")
    project: str | None = None
    stale_passage: bool | None = Field(None, description="True when the id was of an earlier cut of the text.")


class SliceAnswer(Answer):
    """A window of a memory's text."""

    entity_id: str
    parent_id: str = Field(description="The memory to cite.")
    parent_name: str
    parent_type: str
    passages: list[SlicePassage]
    window: int
    sliced: bool = Field(description="False when the memory was never cut and came whole.")
    total: int = Field(description="Passages returned.")
    window_start: int | None
    passage_total: int | None
    covers_parent: bool = Field(description="True when this is all of the memory's text.")
    project_id: str | None
    content_chars: int
    filters: SliceFilters
