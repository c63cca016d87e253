"""Declared entities and relations as rows: an identity with its names or copies, always written and removed together.

A name is claimed by a conditional put, so that within one scope it never leads to two entities.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from shared.domain.declared import DeclaredScope, Naming
from shared.domain.model import Edge, Entity, Relation
from shared.domain.normalise import normalised
from shared.domain.scoring import Direction
from shared.engine.port import Clock, EntityChange, Lane, RelationChange
from shared.store import edges, keys, rows
from shared.store.table import MAX_TRANSACTION, Item, Key, Op, Query, Table
from shared.store.tasks import life_task, put_task

_MENTIONS = Lane(Direction.INCOMING)
_PAGE = 200
C = TypeVar("C")


class Declared:
    """Writes of declared names and relations of one table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def write_entities(self, tenant: str, changes: Sequence[EntityChange]) -> list[EntityChange]:
        return self._written([(change, _entity_ops(tenant, change)) for change in changes])

    def write_relations(self, tenant: str, changes: Sequence[RelationChange]) -> list[RelationChange]:
        return self._written([(change, _relation_ops(tenant, change)) for change in changes])

    def remove_relation(self, tenant: str, relation: Relation) -> bool:
        return self._applied([relation_delete_ops(tenant, relation)])

    def put_context(self, tenant: str, agents: Mapping[str, str]) -> None:
        key: Item = {"PK": keys.context(tenant), "SK": keys.CONTEXT}
        content: Item = {"tenant": tenant, "agents": json.dumps(dict(sorted(agents.items())), ensure_ascii=False)}
        self._table.transact([Op(put={**key, **content, **keys.exported(tenant, "operating_context", "")})])

    def _written(self, changes: Sequence[tuple[C, list[Op]]]) -> list[C]:
        """Write changes, many in a transaction; those whose conditions do not hold come back."""
        lost: list[C] = []
        for together in _packed(changes):
            if not self._applied([ops for _, ops in together]):
                lost += [one for one, ops in together if len(together) == 1 or not self._applied([ops])]
        return lost

    def _applied(self, groups: Iterable[Sequence[Op]]) -> bool:
        """One transaction of all groups; what several of them check is checked once."""
        ops: list[Op] = []
        for op in (op for group in groups for op in group):
            if op.check is None or op not in ops:
                ops.append(op)
        return self._table.held(ops)


def relation_delete_ops(tenant: str, relation: Relation) -> list[Op]:
    """The deletion of all rows of a relation, on condition that it is as it was read, or gone."""
    identity, *copies = _relation_items(tenant, relation)
    known = _unchanged(Op(delete=identity), relation)
    known = replace(known, condition=f"attribute_not_exists(PK) OR ({known.condition})")
    return [known, *(Op(delete=key) for key in copies)]


def remove_anchored(table: Table, tenant: str, memory_id: str, born: str, clock: Clock) -> bool:
    """Delete the relations anchored on a life of a memory that has ended; whether all are gone.

    One that was written anew meanwhile stays as it is.
    """
    low = keys.ANCHORED
    query = Query(partition=keys.node(tenant, memory_id), low=low, high=low + keys.AFTER, limit=_PAGE)
    for item in _every(table, query):
        if clock.remaining() <= 0:
            return False
        relation = rows.relation_from(item)
        if relation.anchor_born == born:
            table.held(relation_delete_ops(tenant, relation))
    return True


def remove_entity(table: Table, tenant: str, entity: Entity, now: str, clock: Clock) -> bool:
    """Delete an entity that a purge has ended, its names and its mentions; whether all are gone.

    Its relations are rows of the same project and go by themselves; rows of a later life have another `born` and stay.
    The life is looked at again, for mentions by a request that had seen it alive.
    """
    for mention in _mentions(table, tenant, entity.id):
        if clock.remaining() <= 0:
            return False
        if mention.target_born <= entity.born:
            edges.remove_many(table, tenant, [mention])
    names = [normalised(name) for name in (entity.name, *entity.aliases)]
    for name in names:
        table.held([release_op(tenant, entity, name)])
    hinge = Op(
        delete=(keys.node(tenant, entity.id), keys.HINGE), condition="born = :born", values={":born": entity.born}
    )
    listed = Op(delete=(keys.project_rows(tenant, entity.project_id), keys.listed_entity(entity.id)))
    again = put_task(life_task(tenant, entity.id, entity.born, now))
    table.held([hinge, listed, again])
    return True


def _mentions(table: Table, tenant: str, entity_id: str) -> Iterator[Edge]:
    """The mentions of all lives of an entity's id, by memory id."""
    low = keys.lane_prefix(_MENTIONS)
    query = Query(partition=keys.node(tenant, entity_id), low=low, high=low + keys.AFTER, limit=_PAGE)
    return (rows.edge_from(item) for item in _every(table, query))


def release_op(tenant: str, entity: Entity, normal_name: str) -> Op:
    """The deletion of a name, unless it leads elsewhere by now."""
    return Op(
        delete=_name_key(tenant, _scope_of(entity), normal_name),
        condition="attribute_not_exists(PK) OR (entity_id = :id AND born = :born)",
        values={":id": entity.id, ":born": entity.born},
    )


def _claim(tenant: str, entity: Entity, normal_name: str) -> Op:
    scope = _scope_of(entity)
    partition, sort = _name_key(tenant, scope, normal_name)
    naming = Naming(entity_id=entity.id, born=entity.born, scope=scope, epoch=entity.epoch)
    return Op(
        put={"PK": partition, "SK": sort, **rows.naming_item(naming)},
        condition="attribute_not_exists(PK) OR epoch < :epoch OR (entity_id = :id AND born = :born)",
        values={":epoch": entity.epoch, ":id": entity.id, ":born": entity.born},
    )


def _entity_put(tenant: str, change: EntityChange) -> Op:
    after = change.after
    item: Item = {
        "PK": keys.node(tenant, after.id),
        "SK": keys.HINGE,
        "tenant": tenant,
        **rows.entity_item(after),
        **keys.exported(tenant, "entity", after.id),
    }
    if change.before is None:
        return Op(put=item, condition="attribute_not_exists(PK) OR epoch < :epoch", values={":epoch": after.epoch})
    aliases = rows.entity_item(change.before)["aliases"]
    same = "attribute_not_exists(#aliases)" if aliases is None else "#aliases = :aliases"
    values = {":born": change.before.born, ":declared": change.before.declared_at}
    return Op(
        put=item,
        condition=f"born = :born AND declared_at = :declared AND {same}",
        names={"#aliases": "aliases"},
        values=values if aliases is None else {**values, ":aliases": aliases},
    )


def _packed(changes: Iterable[tuple[C, list[Op]]]) -> Iterator[list[tuple[C, list[Op]]]]:
    """Changes in groups that fit a transaction."""
    together: list[tuple[C, list[Op]]] = []
    room = MAX_TRANSACTION
    for change in changes:
        if len(change[1]) > room:
            yield together
            together, room = [], MAX_TRANSACTION
        together.append(change)
        room -= len(change[1])
    if together:
        yield together


def _entity_ops(tenant: str, change: EntityChange) -> list[Op]:
    after = change.after
    listed: Item = {
        "PK": keys.project_rows(tenant, after.project_id),
        "SK": keys.listed_entity(after.id),
        "id": after.id,
        "epoch": after.epoch,
    }
    ops = [_entity_put(tenant, change), Op(put=listed)]
    ops += [_claim(tenant, after, name) for name in change.claimed]
    ops += [release_op(tenant, change.before or after, name) for name in change.released]
    return ops + _ended(tenant, change)


def _ended(tenant: str, change: EntityChange) -> list[Op]:
    """The task that removes the mentions of a life that a purge has ended."""
    before, after = change.before, change.after
    if before is None or before.born == after.born:
        return []
    return [put_task(life_task(tenant, before.id, before.born, after.updated_at))]


def _relation_ops(tenant: str, change: RelationChange) -> list[Op]:
    """The rows of a relation in place of those of `before`, while its anchor is there."""
    relation = change.after
    items = _relation_items(tenant, relation)
    identity, *copies = items
    before = {} if change.before is None else _relation_items(tenant, change.before)
    ops = [_unchanged(Op(put=items[identity]), change.before)]
    ops += [Op(put=items[key]) for key in copies]
    ops += [Op(delete=key) for key in before if key not in items]
    if relation.anchor_ref is not None:
        anchor = (keys.node(tenant, relation.anchor_ref), keys.HINGE)
        ops.append(Op(check=anchor, condition="born = :born", values={":born": relation.anchor_born}))
    return ops


def _unchanged(op: Op, before: Relation | None) -> Op:
    if before is None:
        return replace(op, condition="attribute_not_exists(PK)")
    values = {":written": before.written_at, ":declared": before.declared_at}
    return replace(op, condition="written_at = :written AND declared_at = :declared", values=values)


def _relation_items(tenant: str, relation: Relation) -> dict[Key, Item]:
    """All rows of a relation, the identity first."""
    content = rows.relation_item(relation)
    ends = sorted({relation.subject, relation.object})
    lists = [keys.relations_between(tenant, relation.subject, relation.object)]
    lists += [keys.relations_of(tenant, end) for end in ends]
    places = [(partition, keys.relation_row(relation.declared_at, relation.id)) for partition in lists]
    places.append((keys.project_rows(tenant, relation.project_id), keys.listed_relation(relation.id)))
    if relation.anchor_ref is not None:
        places.append((keys.node(tenant, relation.anchor_ref), keys.anchored_row(relation.id)))
    identity = (keys.relation(tenant, relation.id), keys.HINGE)
    items: dict[Key, Item] = {(pk, sk): {"PK": pk, "SK": sk, **content} for pk, sk in (identity, *places)}
    items[identity] |= {"tenant": tenant, **keys.exported(tenant, "relation", relation.id)}
    return items


def _name_key(tenant: str, scope: DeclaredScope, normal_name: str) -> Key:
    return keys.names(tenant, scope.agent_id, normal_name), keys.scope(scope.project_id, scope.channel)


def _scope_of(entity: Entity) -> DeclaredScope:
    return DeclaredScope(entity.agent_id, entity.project_id, entity.channel)


def _every(table: Table, query: Query) -> Iterator[Item]:
    while True:
        page = table.query(query)
        yield from page.items
        if page.after is None:
            return
        query = replace(query, after=page.after)
