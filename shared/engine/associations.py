"""`declare_associations` and everything else that declares names: associations of a memory, lines of an import.

Items are independent: what cannot be applied is named with its reason and the rest applies. Nothing is declared where
the writer may not, and no answer tells an absent row from one that the writer may not read.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import cast

from shared.domain.declared import (
    NO_MEMORY,
    NO_SCOPE,
    Declaration,
    DeclaredEntity,
    DeclaredScope,
    DeclareQuery,
    Dropped,
    is_mentionable,
    riding_declaration,
)
from shared.domain.errors import Malformed, NotFound
from shared.domain.ids import is_entity_id
from shared.domain.lines import DeclaredBy, EntityLine, RelationLine
from shared.domain.model import Entity, Json, Memory, Scope
from shared.domain.normalise import normalised
from shared.domain.principal import Role
from shared.engine.port import Writes
from shared.engine.registry import EntityResult, EntityWish, Registry, RelationWish
from shared.engine.session import Session


def declare_associations(store: Writes, session: Session, query: DeclareQuery) -> dict[str, Json]:
    """Declare and retract in one scope (contract, section 8). Raises `NotFound` where the principal may not declare."""
    registry = Registry(store, session)
    declaration = Declaration.read(query.entities, query.relations, query.retract)
    return _applied(registry, query, declaration).answer()


def apply_associations(
    store: Writes, session: Session, memory: Memory, raw: object, *, declared_by: DeclaredBy = DeclaredBy.AGENT
) -> "LineResult":
    """The `associations` of a memory that was just written, with the memory as anchor.

    What was refused as a whole is one dropped part. An admin may declare for any agent and project, as it may write any
    row.
    """
    declaration = Declaration()
    try:
        query = riding_declaration(raw, memory.project_id, memory.channel, memory.id)
    except Malformed as fault:
        for error in fault.errors:
            declaration.drop(f"associations.{error.field}".rstrip("."), error.message)
        return _line_result(_Outcome(declaration))
    if memory.scope == Scope.PRIVATE and memory.project_id is None:
        declaration.drop("associations", "a private memory without a project declares nothing")
        return _line_result(_Outcome(declaration))
    registry = Registry(store, session, unrestricted=Role.ADMIN in session.principal.roles, declared_by=declared_by)
    read = Declaration.read(query.entities, query.relations, query.retract)
    try:
        return _line_result(_applied(registry, query, read))
    except NotFound:
        declaration.drop("associations", NO_SCOPE)
        return _line_result(_Outcome(declaration))


# --- one declaration


@dataclass(slots=True)
class _Outcome:
    """The answer of a declaration while it is applied, and whether it changed the store."""

    declaration: Declaration
    changed: bool = False
    entities: list[Json] = field(default_factory=list)
    mentioned: set[str] = field(default_factory=set)
    relations: dict[str, None] = field(default_factory=dict)
    retracted: dict[str, Json] = field(default_factory=lambda: {"relations": 0, "mentions": 0, "aliases": 0})

    def answer(self) -> dict[str, Json]:
        return {
            "entities": self.entities,
            "mentions": len(self.mentioned),
            "relations": list(self.relations),
            "retracted": self.retracted,
            "dropped": [_dropped(dropped) for dropped in self.declaration.dropped],
        }


def _applied(registry: Registry, query: DeclareQuery, declaration: Declaration) -> _Outcome:
    scope = query.scope
    _read_ahead(registry, query, declaration)
    if not registry.may_declare(scope):
        raise NotFound
    outcome = _Outcome(declaration)
    anchor = None if query.anchor_ref is None else registry.memory(query.anchor_ref)
    if query.anchor_ref is not None and anchor is None:
        declaration.drop("anchor_ref", NO_MEMORY)
    _retract(registry, scope, outcome)
    found = _declare_entities(registry, scope, outcome)
    if anchor is not None and found:
        outcome.changed |= any(registry.mention([(anchor, entity) for entity in found.values()]))
        outcome.mentioned |= found.keys()
    wishes = _relation_wishes(registry, scope, outcome, anchor)
    outcome.changed |= any(registry.relate(wishes))
    if anchor is not None and not registry.lives(anchor):
        declaration.drop("anchor_ref", NO_MEMORY)
        outcome.mentioned.clear()
        wishes = [replace(wish, anchor=None) for wish in wishes]
        outcome.changed |= any(registry.relate(wishes))
    outcome.relations |= dict.fromkeys(wish.id for wish in wishes)
    return outcome


def _read_ahead(registry: Registry, query: DeclareQuery, declaration: Declaration) -> None:
    """All that the declaration names, in one wave (two where names lead to entities)."""
    scope = query.scope
    names = [declared.name for declared in declaration.entities]
    names += [end for declared in declaration.relations for end in (declared.subject, declared.object)]
    wanted = [(wider, normalised(name)) for name in names for wider in scope.outward()]
    wanted += [(scope, normalised(alias)) for declared in declaration.entities for _, alias in declared.aliases]
    retracted = [*declaration.retracted_mentions, *declaration.retracted_aliases]
    wanted += [(scope, normalised(one.entity)) for one in retracted if not is_entity_id(one.entity)]
    nodes = [one.entity for one in retracted if is_entity_id(one.entity)]
    nodes += [one.what for one in declaration.retracted_mentions if is_mentionable(one.what)]
    nodes += [query.anchor_ref] if query.anchor_ref and is_mentionable(query.anchor_ref) else []
    registry.read(names=[*wanted, (scope, "")], nodes=nodes, relations=declaration.retracted_relations)


def _retract(registry: Registry, scope: DeclaredScope, outcome: _Outcome) -> None:
    declaration = outcome.declaration
    relations = dict.fromkeys(declaration.retracted_relations)
    mentions = dict.fromkeys(declaration.retracted_mentions)
    aliases = dict.fromkeys(declaration.retracted_aliases)
    outcome.retracted = {
        "relations": sum(registry.retract_relation(scope, id_) for id_ in relations),
        "mentions": sum(registry.retract_mention(scope, one) for one in mentions),
        "aliases": sum(registry.retract_alias(scope, one) for one in aliases),
    }
    outcome.changed |= any(outcome.retracted.values())


def _declare_entities(registry: Registry, scope: DeclaredScope, outcome: _Outcome) -> dict[str, Entity]:
    declared = outcome.declaration.entities
    found: dict[str, Entity] = {}
    for one, result in zip(declared, registry.declare([_entity_wish(scope, one) for one in declared]), strict=True):
        entity = _entity(result)
        found[entity.id] = entity
        outcome.changed |= result.changed
        outcome.entities.append({"id": entity.id, "name": entity.name, "created": result.created})
        for path, alias in one.aliases:
            if alias in result.refused:
                outcome.declaration.drop(path, result.refused[alias])
    return found


def _entity_wish(scope: DeclaredScope, declared: DeclaredEntity) -> EntityWish:
    """With aliases an entity gets one of its own scope."""
    aliases = tuple(alias for _, alias in declared.aliases)
    return EntityWish(scope, declared.name, aliases, own=bool(aliases))


def _relation_wishes(
    registry: Registry, scope: DeclaredScope, outcome: _Outcome, anchor: Memory | None
) -> list[RelationWish]:
    declared = outcome.declaration.relations
    names = [name for one in declared for name in (one.subject, one.object)]
    results = registry.declare([EntityWish(scope, name) for name in names])
    outcome.changed |= any(result.changed for result in results)
    ends = [_entity(result) for result in results]
    return [
        RelationWish(scope=scope, subject=subject, predicate=one.predicate, object=object_, anchor=anchor)
        for one, subject, object_ in zip(declared, ends[::2], ends[1::2], strict=True)
    ]


def _entity(result: EntityResult) -> Entity:
    return cast("Entity", result.entity)


def _dropped(dropped: Dropped) -> Json:
    return {"item": dropped.item, "reason": dropped.reason}


def _line_result(outcome: _Outcome) -> "LineResult":
    notes = [f"{dropped.item}: {dropped.reason}" for dropped in outcome.declaration.dropped]
    return LineResult(changed=outcome.changed, notes=notes)


# --- lines of an import


@dataclass(slots=True)
class LineResult:
    """What became of a line: whether it changed the store, parts that were dropped, or why all of it was refused."""

    changed: bool = False
    notes: list[str] = field(default_factory=list)
    fault: str | None = None
    entity: Entity | None = None


def apply_entity_lines(store: Writes, session: Session, lines: Sequence[EntityLine]) -> list[LineResult]:
    """Entities of exactly their own scopes; lines of one name add up. The memories that they mention are there by now.

    Names come before aliases, so that the order of the lines does not matter. One result a line.
    """
    registry = _importing(store, session)
    results = [LineResult() for _ in lines]
    scopes = [DeclaredScope(line.agent_id, line.project_id, line.channel) for line in lines]
    registry.read(
        names=[(scope, normalised(name)) for scope, line in zip(scopes, lines, strict=True) for name in _names(line)],
        nodes=[ref for line in lines for ref in line.mentions],
    )
    allowed = _allowed(registry, scopes, results)
    taken = {(scopes[at], normalised(lines[at].name)) for at in allowed}
    order = sorted(allowed, key=lambda at: (lines[at].declared_at or registry.now, at))
    first = [_line_wish(scopes[at], lines[at], taken) for at in order]
    again = [_line_wish(scopes[at], lines[at]) for at in order]
    for wishes in (first, again):
        for at, result in zip(order, registry.declare(wishes), strict=True):
            results[at].changed |= result.changed
            results[at].entity = result.entity
            results[at].notes = [f"aliases: {alias!r} {reason}" for alias, reason in result.refused.items()]
    _mention_all(registry, lines, results)
    return results


def apply_relation_lines(store: Writes, session: Session, lines: Sequence[RelationLine]) -> list[LineResult]:
    """Relations between names as they resolve after all entity lines; unknown ends are registered.

    An end may be an entity's id, as an export has it where nearer entities hide all names of a wider one.
    """
    registry = _importing(store, session)
    results = [LineResult() for _ in lines]
    scopes = [DeclaredScope(line.agent_id, line.project_id, line.channel) for line in lines]
    registry.read(
        names=[
            (scope, normalised(name))
            for own, line in zip(scopes, lines, strict=True)
            for scope in own.outward()
            for name in (line.subject, line.object)
        ],
        nodes=[
            *(line.anchor_ref for line in lines if line.anchor_ref is not None),
            *(end for line in lines for end in (line.subject, line.object) if is_entity_id(end)),
        ],
    )
    allowed = _allowed(registry, scopes, results)
    ends = _line_ends(registry, [(scopes[at], end) for at in allowed for end in (lines[at].subject, lines[at].object)])
    wishes = []
    for at, subject, object_ in zip(allowed, ends[::2], ends[1::2], strict=True):
        results[at].changed = subject.created or object_.created
        wishes.append(_line_relation(registry, scopes[at], lines[at], (subject, object_), results[at]))
    for at, changed in zip(allowed, registry.relate(wishes), strict=True):
        results[at].changed |= changed
    return results


def _line_ends(registry: Registry, named: Sequence[tuple[DeclaredScope, str]]) -> list[EntityResult]:
    """What each name leads to, or else each id of an entity that the scope sees."""
    by_id = {
        (scope, end): entity
        for scope, end in named
        if is_entity_id(end) and registry.resolved(scope, normalised(end)) is None
        if (entity := registry.seen(scope, end)) is not None
    }
    made = iter(registry.declare([EntityWish(*one) for one in named if one not in by_id]))
    return [EntityResult(entity=by_id[one]) if one in by_id else next(made) for one in named]


def _line_relation(
    registry: Registry,
    scope: DeclaredScope,
    line: RelationLine,
    ends: tuple[EntityResult, EntityResult],
    result: LineResult,
) -> RelationWish:
    anchor = None if line.anchor_ref is None else registry.memory(line.anchor_ref)
    if line.anchor_ref is not None and anchor is None:
        result.notes.append(f"anchor_ref: {NO_MEMORY}")
    return RelationWish(
        scope=scope,
        subject=_entity(ends[0]),
        predicate=line.predicate,
        object=_entity(ends[1]),
        anchor=anchor,
        declared_by=line.declared_by,
        declared_at=line.declared_at,
    )


def _importing(store: Writes, session: Session) -> Registry:
    unrestricted = Role.ADMIN in session.principal.roles
    declared_by = DeclaredBy.OPERATOR if unrestricted else DeclaredBy.AGENT
    return Registry(store, session, unrestricted=unrestricted, declared_by=declared_by)


def _names(line: EntityLine) -> tuple[str, ...]:
    return line.name, *line.aliases


def _line_wish(
    scope: DeclaredScope, line: EntityLine, withheld: AbstractSet[tuple[DeclaredScope, str]] = frozenset()
) -> EntityWish:
    """A line's entity; aliases that are names of the same import wait until those have theirs."""
    aliases = tuple(alias for alias in line.aliases if (scope, normalised(alias)) not in withheld)
    return EntityWish(scope, line.name, aliases, own=True, declared_by=line.declared_by, declared_at=line.declared_at)


def _allowed(registry: Registry, scopes: Sequence[DeclaredScope], results: Sequence[LineResult]) -> list[int]:
    allowed = []
    for at, scope in enumerate(scopes):
        if registry.may_declare(scope):
            allowed.append(at)
        else:
            results[at].fault = NO_SCOPE
    return allowed


def _mention_all(registry: Registry, lines: Sequence[EntityLine], results: Sequence[LineResult]) -> None:
    pairs: dict[tuple[str, str], tuple[LineResult, Memory, Entity]] = {}
    for line, result in zip(lines, results, strict=True):
        if result.entity is None:
            continue
        for ref in line.mentions:
            memory = registry.memory(ref)
            if memory is None:
                result.notes.append(f"mentions: {NO_MEMORY}: {ref}")
            else:
                pairs.setdefault((memory.id, result.entity.id), (result, memory, result.entity))
    fresh = registry.mention([(memory, entity) for _, memory, entity in pairs.values()])
    for (result, _, _), new in zip(pairs.values(), fresh, strict=True):
        result.changed |= new
