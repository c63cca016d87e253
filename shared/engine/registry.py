"""What is declared in one request's view, and the writes decided on it: the part that every way to declare shares.

A write that another one came before is decided anew on what is there then; nothing here knows the wire.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TypeVar

from shared.domain.authority import Authority
from shared.domain.declared import (
    FULL,
    MAX_STORED_ALIASES,
    TAKEN,
    DeclaredScope,
    Naming,
    Retracted,
    entity_id,
    in_order,
    is_mentionable,
    relation_id,
)
from shared.domain.errors import Unavailable
from shared.domain.ids import is_entity_id
from shared.domain.instants import utc_text
from shared.domain.lines import DeclaredBy
from shared.domain.model import Edge, Entity, Memory, Node, Relation
from shared.domain.normalise import normalised
from shared.domain.scoring import MENTIONS, base_weight
from shared.domain.tokens import new_token
from shared.engine.port import EdgeChange, EntityChange, Pending, RelationChange, Writes
from shared.engine.reading import LiveAuthority
from shared.engine.session import Session

_ATTEMPTS = 12
"""Rounds of reading and deciding anew when others declare the same names at the same time."""

_WRITERS = 8
"""Memories whose mentions are written at the same time."""

_Name = tuple[DeclaredScope, str]
K = TypeVar("K")
V = TypeVar("V")


class Registry:
    """Names, relations and memories as last read in one request, and the writes that are decided on them.

    A write that another one came before is decided anew on what is there then.
    """

    def __init__(
        self,
        store: Writes,
        session: Session,
        *,
        unrestricted: bool = False,
        declared_by: DeclaredBy = DeclaredBy.AGENT,
    ) -> None:
        self.store = store
        self.session = session
        self.unrestricted = unrestricted
        self.declared_by = declared_by
        self.live = LiveAuthority(session)
        self.now = utc_text(session.arrived)
        self.namings: dict[_Name, Naming | None] = {}
        self.entities: dict[str, Entity | None] = {}
        self.memories: dict[str, Memory | None] = {}
        self.relations: dict[str, Relation | None] = {}
        self.mentions: dict[tuple[str, str], Edge | None] = {}
        self.epochs: dict[str | None, int] = {None: 0}
        self._has_authority = False

    @property
    def tenant(self) -> str:
        return self.session.principal.tenant_id

    @property
    def authority(self) -> Authority:
        return self.live.value

    # --- what is there

    def read(
        self,
        *,
        names: Iterable[_Name] = (),
        nodes: Iterable[str] = (),
        relations: Iterable[str] = (),
        mentions: Iterable[tuple[str, str]] = (),
    ) -> None:
        """Read what of these is not known yet: one wave, and one more for the entities that names lead to."""
        wave = self.live.new_wave(self.store)
        asked = None if self._has_authority else self.live.ask(wave)
        wanted = {name: wave.naming(*name) for name in dict.fromkeys(names) if name not in self.namings}
        projects = {scope.project_id for scope, _ in wanted} - self.epochs.keys()
        epochs: dict[str | None, Pending[int]] = {one: wave.epoch(one) for one in projects if one is not None}
        found = {id_: wave.node(id_) for id_ in dict.fromkeys(nodes) if not self._has_node(id_)}
        rows = {id_: wave.relation(id_) for id_ in dict.fromkeys(relations) if id_ not in self.relations}
        edges = {
            (memory, entity): wave.edge(memory, MENTIONS, entity)
            for memory, entity in dict.fromkeys(mentions)
            if (memory, entity) not in self.mentions
        }
        if not (asked or wanted or epochs or found or rows or edges):
            return
        wave.run()
        if asked is not None:
            asked.take()
            self._has_authority = True
        self.namings |= _values(wanted)
        self.epochs |= _values(epochs)
        self.relations |= _values(rows)
        self.mentions |= _values(edges)
        for id_, node in found.items():
            self._take_node(id_, node.value)
        led_to = {naming.entity_id for naming in self.namings.values() if naming} - self.entities.keys()
        if led_to:
            self.read(nodes=led_to)

    def _has_node(self, node_id: str) -> bool:
        return node_id in (self.entities if is_entity_id(node_id) else self.memories)

    def _take_node(self, node_id: str, node: Node | None) -> None:
        if is_entity_id(node_id):
            self.entities[node_id] = node if isinstance(node, Entity) else None
        else:
            self.memories[node_id] = node if isinstance(node, Memory) and node.id == node_id else None

    def _forget(self, names: Iterable[_Name]) -> None:
        """Read these names, and the entities that they led to, anew when they are asked for next."""
        for name in names:
            naming = self.namings.pop(name, None)
            if naming is not None:
                self.entities.pop(naming.entity_id, None)
            self.entities.pop(entity_id(*name), None)

    def epoch(self, scope: DeclaredScope) -> int:
        return self.epochs[scope.project_id]

    def named(self, scope: DeclaredScope, normal_name: str) -> Entity | None:
        """The living entity that a name leads to in exactly this scope."""
        naming = self.namings[scope, normal_name]
        entity = None if naming is None else self.entities[naming.entity_id]
        if naming is None or entity is None or entity.born != naming.born or entity.epoch < self.epoch(scope):
            return None
        return entity

    def resolved(self, scope: DeclaredScope, normal_name: str) -> Entity | None:
        """The entity that a name means in this scope: the scope's own, else that of the nearest wider one."""
        for nearer in scope.outward():
            if self.may_declare(nearer) and (entity := self.named(nearer, normal_name)):
                return entity
        return None

    def seen(self, scope: DeclaredScope, entity_id_: str) -> Entity | None:
        """The entity of an id, when it is of this scope or a wider one."""
        entity = self.entities[entity_id_]
        if entity is None or not self.authority.alive(entity):
            return None
        nearer = _scope_of(entity)
        return entity if nearer in scope.outward() and self.may_declare(nearer) else None

    # --- who may

    def may_declare(self, scope: DeclaredScope) -> bool:
        return self.unrestricted or self.authority.may_read_declared(scope.agent_id, scope.project_id)

    def memory(self, memory_id: str) -> Memory | None:
        """A memory that may be mentioned or be an anchor."""
        memory = self.memories[memory_id] if is_mentionable(memory_id) else None
        if memory is None or not self.authority.alive(memory):
            return None
        return memory if self.unrestricted or self.authority.may_read_memory(memory) else None

    def lives(self, memory: Memory) -> bool:
        """Whether no write of this request has found the memory gone."""
        now = self.memories[memory.id]
        return now is not None and now.born == memory.born

    # --- writes

    def declare(self, wishes: Sequence["EntityWish"]) -> list["EntityResult"]:
        """The entities that `wishes` ask for, found and added to, or made; one result a wish, decided in order."""
        names = [name for wish in wishes for name in wish.names()]
        done = [EntityResult(entity=None) for _ in wishes]
        for _ in range(_ATTEMPTS):
            self.read(names=names)
            staged: dict[str, EntityChange] = {}
            decided = [self._decide(wish, staged) for wish in wishes]
            back = self.store.declared.write_entities(self.tenant, _without_reclaimed(staged.values()))
            lost = {change.after.id for change in back}
            for result, now in zip(done, decided, strict=True):
                kept = now.entity is not None and now.entity.id not in lost
                result.entity, result.refused = now.entity, now.refused
                result.created |= now.created and kept
                result.changed |= now.changed and kept
            if not lost:
                return done
            self._forget(names)
        raise Unavailable

    def _decide(self, wish: "EntityWish", staged: dict[str, EntityChange]) -> "EntityResult":
        """What `wish` comes to in the present view; its change goes to `staged`, and into the view."""
        name = normalised(wish.name)
        found = self.named(wish.scope, name) if wish.own else self.resolved(wish.scope, name)
        base = found or self._new_entity(wish)
        added, refused = self._new_aliases(wish, base)
        after = replace(
            base,
            aliases=in_order([*base.aliases, *added.values()]),
            declared_at=min(base.declared_at, wish.declared_at or self.now),
            updated_at=self.now,
        )
        if found is not None and not added and after.declared_at == found.declared_at:
            return EntityResult(entity=found, refused=refused)
        claimed = [*(() if found else (name,)), *added]
        before = found or self.entities.get(after.id)
        former = () if found or before is None else (normalised(alias) for alias in before.aliases)
        released = [alias for alias in former if alias not in claimed]
        earlier = staged.get(after.id, EntityChange(before=before, after=after, released=released))
        staged[after.id] = replace(earlier, after=after, claimed=[*earlier.claimed, *claimed])
        self._take_entity(after, claimed)
        return EntityResult(entity=after, created=found is None, changed=True, refused=refused)

    def _new_aliases(self, wish: "EntityWish", base: Entity) -> tuple[dict[str, str], dict[str, str]]:
        """Aliases to add, by normal form, and those that are refused, as written, with the reason."""
        own = {normalised(name) for name in (base.name, *base.aliases)}
        added: dict[str, str] = {}
        refused: dict[str, str] = {}
        for alias in wish.aliases:
            normal = normalised(alias)
            if normal in own or normal in added:
                continue
            if self.named(wish.scope, normal) is not None:
                refused[alias] = TAKEN
            elif len(base.aliases) + len(added) >= MAX_STORED_ALIASES:
                refused[alias] = FULL
            else:
                added[normal] = alias
        return added, refused

    def _new_entity(self, wish: "EntityWish") -> Entity:
        scope = wish.scope
        return Entity(
            id=entity_id(scope, normalised(wish.name)),
            agent_id=scope.agent_id,
            name=wish.name,
            born=new_token(self.session.arrived),
            updated_at=self.now,
            project_id=scope.project_id,
            channel=scope.channel,
            declared_by=str(wish.declared_by or self.declared_by),
            declared_at=wish.declared_at or self.now,
            epoch=self.epoch(scope),
        )

    def _take_entity(self, entity: Entity, claimed: Iterable[str], released: Iterable[str] = ()) -> None:
        scope = _scope_of(entity)
        self.entities[entity.id] = entity
        naming = Naming(entity_id=entity.id, born=entity.born, scope=scope, epoch=entity.epoch)
        self.namings |= {(scope, name): naming for name in claimed}
        self.namings |= {(scope, name): None for name in released}

    def mention(self, pairs: Sequence[tuple[Memory, Entity]], declared_at: str | None = None) -> list[bool]:
        """Let memories mention entities; whether each mention is new. A memory gone by then mentions nothing."""
        fresh = [False] * len(pairs)
        pending = list(range(len(pairs)))
        for _ in range(_ATTEMPTS):
            self.read(mentions=[(pairs[at][0].id, pairs[at][1].id) for at in pending])
            by_source: dict[str, dict[str, tuple[int, EdgeChange]]] = {}
            for at in pending:
                memory, entity = pairs[at]
                before = self.mentions[memory.id, entity.id]
                if before is None or (before.source_born, before.target_born) != (memory.born, entity.born):
                    change = EdgeChange(before=before, edge=self._mention(memory, entity, declared_at))
                    by_source.setdefault(memory.id, {})[entity.id] = (at, change)
            lost: list[int] = []
            for changes, back in self._write_mentions([*by_source.values()]):
                for at, change in changes.values():
                    self.mentions.pop((change.edge.source, change.edge.target))
                    if change in back:
                        lost.append(at)
                    else:
                        fresh[at] = True
            pending = [at for at in lost if self._still_there(pairs[at][0])]
            if not pending:
                return fresh
        raise Unavailable

    def _write_mentions(
        self, groups: Sequence[dict[str, tuple[int, EdgeChange]]]
    ) -> list[tuple[dict[str, tuple[int, EdgeChange]], list[EdgeChange]]]:
        """Write each memory's mentions; with each group what came back of it."""

        def write(group: dict[str, tuple[int, EdgeChange]]) -> list[EdgeChange]:
            self.session.deadline.check()
            return self.store.edges.write(self.tenant, [change for _, change in group.values()])

        if len(groups) == 1:
            return [(groups[0], write(groups[0]))]
        with ThreadPoolExecutor(_WRITERS) as pool:
            return list(zip(groups, pool.map(write, groups), strict=True))

    def _still_there(self, memory: Memory) -> bool:
        self.memories.pop(memory.id, None)
        self.read(nodes=[memory.id])
        return self.lives(memory)

    def _mention(self, memory: Memory, entity: Entity, declared_at: str | None) -> Edge:
        return Edge(
            source=memory.id,
            relationship=MENTIONS,
            target=entity.id,
            weight=base_weight(MENTIONS),
            source_born=memory.born,
            target_born=entity.born,
            written_at=self.now,
            declared_at=declared_at or self.now,
            declared_by=str(self.declared_by),
        )

    def relate(self, wishes: Sequence["RelationWish"]) -> list[bool]:
        """Store relations; whether each changed the store. Of one relation the earliest `declared_at` stays."""
        first: dict[str, int] = {}
        for at, wish in enumerate(wishes):
            best = first.setdefault(wish.id, at)
            if self._declared_at(wish) < self._declared_at(wishes[best]):
                first[wish.id] = at
        changed = [False] * len(wishes)
        pending = first
        for _ in range(_ATTEMPTS):
            self.read(relations=pending)
            changes = [change for at in pending.values() if (change := self._relation_change(wishes[at]))]
            lost = {change.after.id for change in self.store.declared.write_relations(self.tenant, changes)}
            for change in changes:
                self.relations.pop(change.after.id)
                changed[first[change.after.id]] |= change.after.id not in lost
            pending = {id_: at for id_, at in pending.items() if id_ in lost and self._anchor_stays(wishes[at])}
            if not pending:
                return changed
        raise Unavailable

    def _declared_at(self, wish: "RelationWish") -> str:
        return wish.declared_at or self.now

    def _anchor_stays(self, wish: "RelationWish") -> bool:
        return wish.anchor is None or self._still_there(wish.anchor)

    def _relation_change(self, wish: "RelationWish") -> RelationChange | None:
        before = self.relations[wish.id]
        after = self._relation(wish)
        if before is None:
            return RelationChange(before=None, after=after)
        lives = (before.subject_born, before.object_born, before.anchor_born, before.epoch)
        if lives != (after.subject_born, after.object_born, after.anchor_born, after.epoch):
            return RelationChange(before=before, after=after)
        if before.declared_at <= after.declared_at:
            return None
        kept = replace(after, predicate=before.predicate, declared_by=before.declared_by)
        return RelationChange(before=before, after=kept)

    def _relation(self, wish: "RelationWish") -> Relation:
        return Relation(
            id=wish.id,
            agent_id=wish.scope.agent_id,
            subject=wish.subject.id,
            predicate=wish.predicate,
            object=wish.object.id,
            declared_at=self._declared_at(wish),
            declared_by=str(wish.declared_by or self.declared_by),
            written_at=self.now,
            project_id=wish.scope.project_id,
            channel=wish.scope.channel,
            anchor_ref=wish.anchor.id if wish.anchor else None,
            anchor_born=wish.anchor.born if wish.anchor else None,
            subject_born=wish.subject.born,
            object_born=wish.object.born,
            subject_project_id=wish.subject.project_id,
            object_project_id=wish.object.project_id,
            epoch=self.epoch(wish.scope),
        )

    # --- retractions

    def retract_relation(self, scope: DeclaredScope, relation_id_: str) -> bool:
        for _ in range(_ATTEMPTS):
            self.read(relations=[relation_id_])
            relation = self.relations.pop(relation_id_)
            if relation is None or relation.agent_id != scope.agent_id or not self._may_retract(relation):
                return False
            if self.store.declared.remove_relation(self.tenant, relation):
                return True
        raise Unavailable

    def _may_retract(self, relation: Relation) -> bool:
        ends = (relation.project_id, relation.subject_project_id, relation.object_project_id)
        return self.authority.alive(relation) and all(
            self.may_declare(DeclaredScope(relation.agent_id, project)) for project in ends
        )

    def retract_mention(self, scope: DeclaredScope, retracted: Retracted) -> bool:
        for _ in range(_ATTEMPTS):
            entity = self._meant(scope, retracted.entity)
            self.read(nodes=[retracted.what])
            memory = self.memory(retracted.what) if is_mentionable(retracted.what) else None
            if entity is None or memory is None:
                return False
            self.read(mentions=[(memory.id, entity.id)])
            mention = self.mentions.pop((memory.id, entity.id))
            if mention is None or (mention.source_born, mention.target_born) != (memory.born, entity.born):
                return False
            if self.store.edges.remove(self.tenant, mention):
                return True
        raise Unavailable

    def retract_alias(self, scope: DeclaredScope, retracted: Retracted) -> bool:
        alias = normalised(retracted.what)
        for _ in range(_ATTEMPTS):
            entity = self._meant(scope, retracted.entity)
            kept = () if entity is None else tuple(one for one in entity.aliases if normalised(one) != alias)
            if entity is None or len(kept) == len(entity.aliases):
                return False
            after = replace(entity, aliases=kept, updated_at=self.now)
            change = EntityChange(before=entity, after=after, released=[alias])
            if not self.store.declared.write_entities(self.tenant, [change]):
                self._take_entity(after, (), [alias])
                return True
            self._forget([(scope, normalised(retracted.entity))])
            self.entities.pop(entity.id, None)
        raise Unavailable

    def _meant(self, scope: DeclaredScope, id_or_name: str) -> Entity | None:
        """The entity of an id, or of a name of exactly the declaring scope."""
        if is_entity_id(id_or_name):
            self.read(nodes=[id_or_name])
            entity = self.entities[id_or_name]
            if entity is None or entity.agent_id != scope.agent_id or not self.authority.alive(entity):
                return None
            return entity if self.may_declare(DeclaredScope(entity.agent_id, entity.project_id)) else None
        name = normalised(id_or_name)
        self.read(names=[(scope, name)])
        return self.named(scope, name)


@dataclass(frozen=True, slots=True)
class EntityWish:
    """An entity to be there: one of exactly this scope where `own`, else whichever its name means in it."""

    scope: DeclaredScope
    name: str
    aliases: tuple[str, ...] = ()
    own: bool = False
    declared_by: DeclaredBy | None = None
    declared_at: str | None = None

    def names(self) -> list[_Name]:
        """All names whose meaning decides what comes of the wish."""
        name = normalised(self.name)
        aliases = [(self.scope, normalised(alias)) for alias in self.aliases]
        return [(scope, name) for scope in self.scope.outward()] + aliases


@dataclass(slots=True)
class EntityResult:
    """What became of a wish: the entity, and aliases that were refused, as written, with the reasons."""

    entity: Entity | None
    created: bool = False
    changed: bool = False
    refused: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationWish:
    """A relation to be there."""

    scope: DeclaredScope
    subject: Entity
    predicate: str
    object: Entity
    anchor: Memory | None = None
    declared_by: DeclaredBy | None = None
    declared_at: str | None = None

    @property
    def id(self) -> str:
        anchor = self.anchor.id if self.anchor else None
        return relation_id(self.scope, self.subject.id, self.predicate, self.object.id, anchor)


def _without_reclaimed(changes: Collection[EntityChange]) -> list[EntityChange]:
    """Changes in which a name is not released by one that another claims."""
    claimed = {(_scope_of(change.after), name) for change in changes for name in change.claimed}
    return [
        replace(change, released=[name for name in change.released if (_scope_of(change.after), name) not in claimed])
        for change in changes
    ]


def _scope_of(entity: Entity) -> DeclaredScope:
    return DeclaredScope(entity.agent_id, entity.project_id, entity.channel)


def _values(pending: Mapping[K, Pending[V]]) -> dict[K, V]:
    return {key: one.value for key, one in pending.items()}
