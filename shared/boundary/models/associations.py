"""Wire shapes of `declare_associations`. Only the whole is judged here; its items are the verb's to take or drop."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field
from pydantic.json_schema import JsonSchemaValue

from shared.boundary.fields import Id, Misfit, Shape, as_list
from shared.boundary.models.base import Answer, Write
from shared.domain import jsontext
from shared.domain.declared import RETRACTIONS, DeclareQuery

_TEXT: JsonSchemaValue = {"type": "string", "minLength": 1, "maxLength": 256}
_ID: JsonSchemaValue = {"type": "string", "minLength": 1, "maxLength": 256}


def _items(required: Mapping[str, JsonSchemaValue], **optional: JsonSchemaValue) -> JsonSchemaValue:
    properties = {**required, **optional}
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class Items(Shape):
    """A list, or the JSON text of one, whose items are taken as they are; `item` is their published schema."""

    item: JsonSchemaValue

    def accept(self, given: object) -> tuple[object, ...]:
        return tuple(as_list(given))

    def schema(self) -> JsonSchemaValue:
        return {"type": "array", "items": self.item, "maxItems": 64}


@dataclass(frozen=True, slots=True)
class Retraction(Shape):
    """An object of up to three lists, or the JSON text of one."""

    lists: Mapping[str, JsonSchemaValue]

    def accept(self, given: object) -> dict[str, Sequence[object]]:
        if isinstance(given, str):
            try:
                given = jsontext.parse(given.encode())
            except ValueError:
                given = None
        if not isinstance(given, dict):
            raise Misfit("must be an object")
        if not set(given) <= set(RETRACTIONS):
            raise Misfit(f"must have no fields but {', '.join(RETRACTIONS)}")
        try:
            return {name: as_list(items) for name, items in given.items() if items is not None}
        except Misfit:
            raise Misfit("must have lists only") from None

    def schema(self) -> JsonSchemaValue:
        lists = {name: {"type": "array", "items": item, "maxItems": 64} for name, item in self.lists.items()}
        return {"type": "object", "properties": lists, "required": [], "additionalProperties": False}


_ENTITY = _items({"name": _TEXT}, aliases={"type": "array", "items": _TEXT, "maxItems": 32})
_RELATION = _items({"subject": _TEXT, "predicate": _TEXT, "object": _TEXT})
_RETRACTED: dict[str, JsonSchemaValue] = {
    "relations": _ID,
    "mentions": _items({"entity": _TEXT, "ref": _ID}),
    "aliases": _items({"entity": _TEXT, "alias": _TEXT}),
}


class AssociationsRequest(Write):
    """What is declared, in which scope, and what is taken back."""

    agent_id: Annotated[str, Id()] = Field(description="Id of the agent that declares; one that you may act as.")
    project_id: Annotated[str | None, Id()] = Field(
        None, description="Id of a project you belong to. Default: the global pool, which all projects see."
    )
    channel: Annotated[str | None, Id()] = Field(
        None, description="Channel that the declaration holds in. Default: all channels."
    )
    anchor_ref: Annotated[str | None, Id()] = Field(
        None,
        description="Id of a memory you may read that evidences the declaration; it will mention every entity in "
        "entities. Default: none.",
    )
    entities: Annotated[tuple[Any, ...], Items(_ENTITY)] = Field(
        (),
        description="Entities to name, at most 64: name, and up to 32 aliases. A known name is reused; with aliases "
        "the scope gets an entity of its own. Default: none.",
    )
    relations: Annotated[tuple[Any, ...], Items(_RELATION)] = Field(
        (),
        description="Relations to state, at most 64: subject and object are names or aliases, registered when unknown; "
        "predicate is free text. Default: none.",
    )
    retract: Annotated[dict[str, Any] | None, Retraction(_RETRACTED)] = Field(
        None,
        description="What to take back, at most 64 of each: relations by id; mentions by entity (id or name) and ref "
        "(memory id); aliases by entity and alias. Default: nothing.",
    )

    def query(self) -> DeclareQuery:
        return DeclareQuery(
            agent_id=self.agent_id,
            project_id=self.project_id,
            channel=self.channel,
            anchor_ref=self.anchor_ref,
            entities=self.entities,
            relations=self.relations,
            retract=self.retract or {},
        )


class AssociatedEntity(Answer):
    """An entity that a declared name stands for."""

    id: str
    name: str = Field(description="As first written.")
    created: bool


class Retracted(Answer):
    """How many were taken back."""

    relations: int
    mentions: int
    aliases: int


class DroppedItem(Answer):
    """A part that was not applied."""

    item: str = Field(description="Its path, such as entities[3].aliases[0].")
    reason: str


class AssociationsAnswer(Answer):
    """What was declared, taken back, and dropped."""

    entities: list[AssociatedEntity] = Field(description="One for each entity that was applied, in order.")
    mentions: int = Field(description="Entities that the anchor mentions by this declaration.")
    relations: list[str] = Field(description="Ids of the relations stated.")
    retracted: Retracted
    dropped: list[DroppedItem] = Field(description="Parts that were not applied; all others were.")
