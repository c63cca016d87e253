"""Wire shapes of `traverse`."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field
from pydantic.json_schema import JsonSchemaValue

from shared.boundary.fields import Clamped, Id, Shape, Text
from shared.boundary.models.base import Answer, Read
from shared.domain.fields import MAX_DECLARED_NAME
from shared.domain.ids import MAX_ID_LENGTH, trimmed
from shared.engine.traverse import TraverseQuery


@dataclass(frozen=True, slots=True)
class BlankOrId(Shape):
    """An id, or a blank text where that has a meaning."""

    def accept(self, given: object) -> str:
        return "" if isinstance(given, str) and not trimmed(given) else Id().accept(given)

    def schema(self) -> JsonSchemaValue:
        return {"type": "string", "maxLength": MAX_ID_LENGTH}


class TraverseRequest(Read):
    """Which name, how far around it, and within what."""

    agent_id: Annotated[str, Id()] = Field(
        description="Id of the agent whose declared names to read; one that you may act as. Names of other agents are "
        "not found."
    )
    entity: Annotated[str, Text(max_length=MAX_DECLARED_NAME)] = Field(
        description="Name or alias to start from, at most 256 characters; case, width and spacing do not matter. Not "
        "an id."
    )
    max_hops: Annotated[int, Clamped(0, 5)] = Field(
        1, description="How many relations to follow, 0 to 5, default 1. Out of range is clamped; the answer tells it."
    )
    limit: Annotated[int, Clamped(1, 100)] = Field(
        20,
        description="How many entities to return, 1 to 100, default 20, nearest and latest first; also mentions of "
        "each. Out of range is clamped.",
    )
    project_id: Annotated[str | None, BlankOrId()] = Field(
        None,
        description="Id of a project you belong to: that project and the global pool. Empty: the global pool alone. "
        "@auto: the project that the operating context maps the agent to. Default: all your projects and the pool.",
    )
    channel: Annotated[str | None, BlankOrId()] = Field(
        None, description="Channel to narrow to; what belongs to no channel stays. Default or empty: all channels."
    )
    source_id: Annotated[str | None, BlankOrId()] = Field(
        None,
        description="Source of the mentioning memories: a whole id, or a prefix that ends in a delimiter, such as "
        "discord:. Default: all sources.",
    )

    def query(self) -> TraverseQuery:
        return TraverseQuery(
            agent_id=self.agent_id,
            entity=self.entity,
            max_hops=self.max_hops,
            limit=self.limit,
            project_id=self.project_id,
            channel=self.channel,
            source_id=self.source_id,
        )


class TraversedEntity(Answer):
    """A declared entity."""

    id: str
    name: str
    hops: int = Field(ge=0, le=5, description="Relations between it and the nearest start.")
    aliases: list[str] | None = Field(None, description="Its other names.")
    mentions: list[str] | None = Field(None, description="Ids of memories that mention it; read them with fetch_slice.")
    mentions_omitted: int | None = Field(None, description="Further memories that mention it.")


class TraversedRelation(Answer):
    """A declared relation between two of the entities."""

    id: str
    subject: str = Field(description="Id of an entity in entities.")
    predicate: str
    object: str = Field(description="Id of an entity in entities.")
    declared_by: str
    declared_at: str
    anchor_ref: str | None = Field(None, description="Id of the memory that it is evidenced by.")


class TraverseBounds(Answer):
    """What is missing from the answer."""

    omitted: list[Literal["max_hops", "limit", "candidates"]] = Field(
        description="max_hops: relations lead farther; limit: more entities, relations or mentions; candidates: "
        "mentions were not all examined."
    )


class TraverseAnswer(Answer):
    """The declared neighbourhood of a name."""

    entity: str
    max_hops: int
    limit: int
    entities: list[TraversedEntity] = Field(description="Nearest first, then by the latest relation.")
    relations: list[TraversedRelation] = Field(description="Latest first.")
    entities_omitted: int | None = Field(None, description="Further entities that were reached.")
    relations_omitted: int | None = Field(None, description="Further relations between the entities.")
    bounds: TraverseBounds | None = None
    reason: Literal["no_such_entity"] | None = Field(None, description="Present when nothing answers to the name.")
    resolved_project_id: str | None = Field(None, description="What @auto stood for; empty for the global pool.")
    operating_context_warning: str | None = Field(None, description="Present when @auto found no project.")
