"""Declared names: their scopes, the ids made from them, and a declaration read item by item.

Ids are functions of what is declared, so that an import repeats them; nothing here knows what is stored.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from shared.domain.canonical import parse_json
from shared.domain.digests import digest
from shared.domain.errors import FieldError, Malformed
from shared.domain.fields import Fields
from shared.domain.ids import is_minted
from shared.domain.normalise import normalised

MAX_ITEMS = 64
"""Entities, relations, and retractions of each kind in one declaration."""

MAX_ALIASES = 32
"""Aliases of one entity in one declaration."""

MAX_STORED_ALIASES = 96
"""Aliases of one entity in all: so many names are claimed in one transaction with it."""

TAKEN = "already names another entity in this scope"
FULL = f"the entity has {MAX_STORED_ALIASES} aliases already"
NO_MEMORY = "no such memory"
NO_SCOPE = "no such agent or project"

_NAMES = b"hopscope-name-1"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DeclaredScope:
    """Where a declaration holds: one agent, one project or the global pool, one channel or all."""

    agent_id: str
    project_id: str | None = None
    channel: str | None = None

    def outward(self) -> list["DeclaredScope"]:
        """This scope and the wider ones, the most specific first."""
        pairs = dict.fromkeys((p, c) for p in (self.project_id, None) for c in (self.channel, None))
        return [DeclaredScope(self.agent_id, project, channel) for project, channel in pairs]


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """That a name or alias leads to an entity, in the entity's own scope and for one life of it."""

    entity_id: str
    born: str
    scope: DeclaredScope
    epoch: int = 0

    @property
    def home(self) -> str | None:
        """The project whose purge passes over it."""
        return self.scope.project_id


def entity_id(scope: DeclaredScope, normal_name: str) -> str:
    """The id of the entity that has this normalised name in exactly this scope."""
    return "ent_" + digest(_NAMES, "entity", *_parts(scope), normal_name)


def relation_id(scope: DeclaredScope, subject: str, predicate: str, object_: str, anchor: str | None) -> str:
    """The id of a relation between two entity ids; the predicate counts in its normal form."""
    return "rel_" + digest(_NAMES, "relation", *_parts(scope), subject, normalised(predicate), object_, anchor or "")


def in_order(aliases: Iterable[str]) -> tuple[str, ...]:
    """Aliases in the order of their normal forms."""
    return tuple(sorted(aliases, key=lambda alias: (normalised(alias), alias)))


@dataclass(frozen=True, slots=True)
class Dropped:
    """A part of a declaration that was not applied, and why."""

    item: str
    reason: str


@dataclass(frozen=True, slots=True)
class DeclaredEntity:
    """An entity as declared: aliases with the paths that they came by."""

    path: str
    name: str
    aliases: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class DeclaredRelation:
    """A relation as declared: its ends are names or aliases."""

    path: str
    subject: str
    predicate: str
    object: str


@dataclass(frozen=True, slots=True)
class Retracted:
    """A mention (`what` is a memory's id) or an alias to take back from `entity`, an id or a name."""

    entity: str
    what: str


@dataclass(slots=True)
class Declaration:
    """What is left of a declaration's items after the malformed ones were dropped."""

    entities: list[DeclaredEntity] = field(default_factory=list)
    relations: list[DeclaredRelation] = field(default_factory=list)
    retracted_relations: list[str] = field(default_factory=list)
    retracted_mentions: list[Retracted] = field(default_factory=list)
    retracted_aliases: list[Retracted] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)

    @classmethod
    def read(
        cls, entities: Sequence[object], relations: Sequence[object], retract: Mapping[str, Sequence[object]]
    ) -> "Declaration":
        """The items that can be applied; the others are named in `dropped`, as is what is over a bound."""
        made = cls()
        made.entities = made._kept("entities", entities, made._entity)
        made.relations = made._kept("relations", relations, _relation)
        made.retracted_relations = made._kept("retract.relations", retract.get("relations", ()), _id)
        mentions, aliases = retract.get("mentions", ()), retract.get("aliases", ())
        made.retracted_mentions = made._kept("retract.mentions", mentions, _retracted_mention)
        made.retracted_aliases = made._kept("retract.aliases", aliases, _retracted_alias)
        return made

    def drop(self, item: str, reason: str) -> None:
        self.dropped.append(Dropped(item, reason))

    def _kept(self, name: str, items: Sequence[object], read: Callable[[str, object], T]) -> list[T]:
        kept: list[T] = []
        for index, item in enumerate(items):
            path = f"{name}[{index}]"
            if index >= MAX_ITEMS:
                self.drop(path, f"over the limit of {MAX_ITEMS}")
                continue
            try:
                kept.append(read(path, item))
            except Malformed as fault:
                self._drop_fault(fault)
        return kept

    def _drop_fault(self, fault: Malformed) -> None:
        self.drop(fault.errors[0].field, fault.errors[0].message)

    def _entity(self, path: str, item: object) -> DeclaredEntity:
        fields = Fields(item, ("name", "aliases"), prefix=path)
        name = fields.declared_name("name")
        fields.check()
        given = fields.items("aliases")
        try:
            fields.check()
        except Malformed as fault:
            self._drop_fault(fault)
        aliases: list[tuple[str, str]] = []
        for position, (at, alias) in enumerate(given):
            one = Fields({}, (), prefix=f"{path}.{at}")
            text = one.declared("", alias)
            if position >= MAX_ALIASES:
                one.fault("", f"over the limit of {MAX_ALIASES}")
            try:
                one.check()
            except Malformed as fault:
                self._drop_fault(fault)
            else:
                aliases.append((f"{path}.{at}", text))
        return DeclaredEntity(path, name, tuple(aliases))


def _relation(path: str, item: object) -> DeclaredRelation:
    fields = Fields(item, ("subject", "predicate", "object"), prefix=path)
    subject, predicate, object_ = (fields.declared_name(name) for name in ("subject", "predicate", "object"))
    fields.check()
    return DeclaredRelation(path, subject, predicate, object_)


def _id(path: str, item: object) -> str:
    fields = Fields({}, (), prefix=path)
    text = fields.checked_id("", item)
    fields.check()
    return text


def _retracted_mention(path: str, item: object) -> Retracted:
    fields = Fields(item, ("entity", "ref"), prefix=path)
    retracted = Retracted(fields.declared_name("entity"), fields.required_id("ref"))
    fields.check()
    return retracted


def _retracted_alias(path: str, item: object) -> Retracted:
    fields = Fields(item, ("entity", "alias"), prefix=path)
    retracted = Retracted(fields.declared_name("entity"), fields.declared_name("alias"))
    fields.check()
    return retracted


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclareQuery:
    """A declaration whose whole has the right shape; its items are not judged yet."""

    agent_id: str
    project_id: str | None = None
    channel: str | None = None
    anchor_ref: str | None = None
    entities: Sequence[object] = ()
    relations: Sequence[object] = ()
    retract: Mapping[str, Sequence[object]] = field(default_factory=dict)

    @property
    def scope(self) -> DeclaredScope:
        return DeclaredScope(self.agent_id, self.project_id, self.channel)


RETRACTIONS = ("relations", "mentions", "aliases")
_WHOLE = ("agent_id", "project_id", "channel", "anchor_ref", "entities", "relations", "retract")


def riding_declaration(value: object, project_id: str | None, channel: str | None, anchor: str) -> DeclareQuery:
    """The `associations` of a memory's write; project and channel default to the memory's. Raises Malformed."""
    if not isinstance(value, dict):
        raise Malformed(FieldError("", "must be an object"))
    fields = Fields(value, _WHOLE)
    query = DeclareQuery(
        agent_id=fields.required_id("agent_id"),
        project_id=fields.id("project_id", default=project_id),
        channel=fields.id("channel", default=channel),
        anchor_ref=fields.id("anchor_ref", default=anchor),
        entities=_listed(fields, value, "entities"),
        relations=_listed(fields, value, "relations"),
        retract=retraction(value.get("retract")),
    )
    if query.anchor_ref != anchor:
        fields.fault("anchor_ref", "is the memory that the associations ride on")
    fields.check()
    return query


def retraction(value: object) -> dict[str, Sequence[object]]:
    """The three lists of a retraction. Raises Malformed for a wrong shape."""
    fields = Fields({} if value is None else value, RETRACTIONS, prefix="retract")
    whole = value if isinstance(value, dict) else {}
    lists: dict[str, Sequence[object]] = {name: _listed(fields, whole, name) for name in RETRACTIONS}
    fields.check()
    return lists


def as_items(value: object) -> list[object]:
    """A list, or the JSON text of one; its items as they are. Raises Malformed."""
    if isinstance(value, str):
        try:
            value = parse_json(value.encode())
        except ValueError:
            value = None
    if not isinstance(value, list | tuple):
        raise Malformed(FieldError("", "must be a list"))
    return list(value)


def is_mentionable(memory_id: str) -> bool:
    """Whether an id may be mentioned or be an anchor: passages and entities never are."""
    return not is_minted(memory_id)


def _listed(fields: Fields, whole: Mapping[str, object], name: str) -> list[object]:
    if whole.get(name) is None:
        return []
    try:
        return as_items(whole[name])
    except Malformed:
        fields.fault(name, "must be a list")
        return []


def _parts(scope: DeclaredScope) -> tuple[str, str, str]:
    return scope.agent_id, scope.project_id or "", scope.channel or ""
