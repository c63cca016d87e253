"""Wire shapes of `expand_neighbors`."""

from typing import Annotated, Any, Literal

from pydantic import Field

from shared.boundary.fields import Clamped, Flag, Id, TextList
from shared.boundary.models.base import Answer, Read
from shared.engine.expand import ExpandQuery


class ExpandRequest(Read):
    """Where to start, what to follow, and how much to return."""

    entity_ids: Annotated[tuple[str, ...], TextList(required=True)] = Field(
        description="Ids of memories, passages or entities to start from, as this or another tool returned them. At "
        "least one; the first 8 are used, the rest come back in unresolved."
    )
    relationship_types: Annotated[tuple[str, ...] | None, TextList(fold=str.upper)] = Field(
        None,
        description="Follow only these relationships on every hop, such as DEPENDS_ON or MENTIONS; any case. "
        "Default: all, in their usual directions. Naming one lifts its direction rule; name SUPERSEDES to see replaced "
        "memories.",
    )
    types: Annotated[tuple[str, ...] | None, TextList(fold=str.lower)] = Field(
        None,
        description="Return only neighbors of these types, such as task, passage or entity; routes still pass through "
        "the others. Default: all types.",
    )
    depth: Annotated[int, Clamped(1, 3)] = Field(
        1, description="How many hops to walk, 1 to 3, default 1. Out of range is clamped and reported."
    )
    limit: Annotated[int, Clamped(1, 24)] = Field(
        8, description="How many neighbors to return, 1 to 24, default 8, best first. Out of range is clamped."
    )
    content_max_chars: Annotated[int, Clamped(0, 50_000)] = Field(
        500,
        description="Longest content of a neighbor in characters, 0 to 50000, default 500. Out of range is clamped.",
    )
    include_incoming: Annotated[bool, Flag()] = Field(
        default=True, description="Also follow relationships that point at a node. Default true."
    )
    project: Annotated[str | None, Id()] = Field(
        None, description="Id of a project you belong to; only its rows are read. Default: all that you may read."
    )

    def query(self) -> ExpandQuery:
        return ExpandQuery(
            entity_ids=self.entity_ids,
            relationship_types=self.relationship_types,
            types=self.types,
            depth=self.depth,
            limit=self.limit,
            content_max_chars=self.content_max_chars,
            include_incoming=self.include_incoming,
            project=self.project,
        )


class Neighbor(Answer):
    """A node that the walk reached."""

    id: str
    type: str
    name: str
    relationship: str = Field(description="The relationship that reached it.")
    direction: Literal["outgoing", "incoming"] = Field(description="Seen from the node one hop closer.")
    distance: int = Field(ge=1, le=3, description="Hops from the nearest seed.")
    score: float = Field(ge=0, le=1, description="Relationship weight, less with distance.")
    content: str = Field(description="The beginning of its text, at most content_max_chars.")
    project_id: str | None
    metadata: dict[str, Any] = Field(
        description="The memory's own, with content_truncated; for a passage also passage_index, parent_entity_id and "
        "widen_with; community_id where a community joins."
    )


class ExpandFilters(Answer):
    """What was applied."""

    depth: int
    limit: int
    content_max_chars: int
    include_incoming: bool
    round_budget: int = Field(description="Rounds of retrieval after which to answer.")
    relationship_types: list[str] | None = None
    types: list[str] | None = None
    project: str | None = None
    origin_limit: int | None = Field(None, description="8, when there were more ids than that.")


class ExpandAnswer(Answer):
    """The neighborhood of the seeds, best first."""

    origins: list[str] = Field(description="Seeds that exist and that you may read.")
    unresolved: list[str] = Field(description="Seeds that were not used, without saying why.")
    neighbors: list[Neighbor]
    total: int = Field(description="Neighbors returned.")
    depth: int
    limit: int
    truncated: bool = Field(description="True when one more neighbor existed.")
    filters: ExpandFilters
