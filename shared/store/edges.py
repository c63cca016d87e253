"""Edges and mentions as rows: an identity and its copies at both ends, always written and removed together.

The source's hinge is checked in the transaction; a target never is, so that links to one hub don't cancel each other.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from shared.domain.ids import is_entity_id
from shared.domain.model import Edge
from shared.domain.scoring import BELONGS_TO, WEIGHT_STEPS, Direction, walked_by_default
from shared.engine.port import EdgeChange, Lane
from shared.store import keys, rows
from shared.store.table import MAX_TRANSACTION, Item, Key, Op, Table

_OUT, _IN = Direction.OUTGOING, Direction.INCOMING
_MOST_ROWS = 6
"""Rows of one edge: identity, two outgoing lanes, two incoming, and the members of a community."""

_REMOVED_TOGETHER = MAX_TRANSACTION // _MOST_ROWS


class Edges:
    """Writes of edges of one table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def write(self, tenant: str, changes: Sequence[EdgeChange]) -> list[EdgeChange]:
        """Write edges, many in a transaction; those that lost a race (source or edge changed) come back."""
        lost: list[EdgeChange] = []
        for together in _packed(tenant, changes):
            if not self._written(tenant, together):
                lost += [change for change in together if len(together) == 1 or not self._written(tenant, [change])]
        return lost

    def remove(self, tenant: str, edge: Edge) -> bool:
        """Remove an edge as it was read; False when it has changed since."""
        return _removed(self._table, tenant, [edge])

    def _written(self, tenant: str, changes: Sequence[EdgeChange]) -> bool:
        checks = {change.edge.source: check_source(tenant, change.edge) for change in changes}
        ops = [op for change in changes for op in edge_ops(tenant, change.edge, change.before)]
        return self._table.held([*checks.values(), *ops])


def _packed(tenant: str, changes: Sequence[EdgeChange]) -> Iterator[list[EdgeChange]]:
    """The changes in as few transactions as hold them, the check of each source counted with each edge."""
    together: list[EdgeChange] = []
    size = 0
    for change in changes:
        ops = 1 + len(edge_ops(tenant, change.edge, change.before))
        if size + ops > MAX_TRANSACTION:
            yield together
            together, size = [], 0
        together.append(change)
        size += ops
    if together:
        yield together


def check_source(tenant: str, edge: Edge) -> Op:
    """The source's hinge is there, in the life that the edge belongs to."""
    return Op(
        check=(keys.node(tenant, edge.source), keys.HINGE), condition="born = :born", values={":born": edge.source_born}
    )


def edge_ops(tenant: str, edge: Edge, before: Edge | None) -> list[Op]:
    """The rows of an edge or mention, in place of those of `before`; for a transaction that checks the source."""
    items = _items(tenant, edge)
    identity = identity_key(tenant, edge)
    obsolete = [] if before is None else [key for key in _keys(tenant, before) if key not in items]
    ops = [_unchanged(Op(put=items.pop(identity)), before)]
    ops += [Op(put=item) for item in items.values()]
    return ops + [Op(delete=key) for key in obsolete]


def removal_ops(tenant: str, edge: Edge) -> list[Op]:
    """The deletion of all rows of an edge, on condition that it is as it was read, or gone."""
    identity, *copies = _keys(tenant, edge)
    known = _unchanged(Op(delete=identity), edge)
    known = replace(known, condition=f"attribute_not_exists(PK) OR ({known.condition})")
    return [known, *(Op(delete=key) for key in copies)]


def remove_many(table: Table, tenant: str, dead: Sequence[Edge]) -> None:
    """Remove edges that are in nobody's view any more. One that was written anew meanwhile stays as it is."""
    for start in range(0, len(dead), _REMOVED_TOGETHER):
        together = dead[start : start + _REMOVED_TOGETHER]
        if not _removed(table, tenant, together):
            for edge in together:
                _removed(table, tenant, [edge])


def identity_key(tenant: str, edge: Edge) -> Key:
    return keys.node(tenant, edge.source), keys.edge_identity(edge.relationship, edge.target)


def _removed(table: Table, tenant: str, edges: Iterable[Edge]) -> bool:
    return table.held([op for edge in edges for op in removal_ops(tenant, edge)])


def _unchanged(op: Op, before: Edge | None) -> Op:
    """`op` on an identity row, on condition that the row is as it was read."""
    if before is None:
        return replace(op, condition="attribute_not_exists(PK)")
    weight = round(before.weight * WEIGHT_STEPS)
    return replace(
        op,
        condition="written_at = :written AND weight = :weight",
        values={":written": before.written_at, ":weight": weight},
    )


def _keys(tenant: str, edge: Edge) -> list[Key]:
    """All rows of an edge, the identity first."""
    source, target = keys.node(tenant, edge.source), keys.node(tenant, edge.target)
    found = [identity_key(tenant, edge)]
    for direction, partition, other in ((_OUT, source, edge.target), (_IN, target, edge.source)):
        lanes = [Lane(direction, edge.relationship)]
        if walked_by_default(edge.relationship, direction):
            lanes.append(Lane(direction))
        if edge.relationship == BELONGS_TO and direction is _IN:
            lanes.append(Lane(direction, BELONGS_TO, members=True))
        found += [(partition, keys.edge_row(lane, edge.weight, other, edge.relationship)) for lane in lanes]
    return found


def _items(tenant: str, edge: Edge) -> dict[Key, Item]:
    """The rows of an edge. Only an edge's identity is exported; mentions are, with their entity."""
    content = rows.edge_item(edge)
    items: dict[Key, Item] = {(pk, sk): {"PK": pk, "SK": sk, **content} for pk, sk in _keys(tenant, edge)}
    identity = items[identity_key(tenant, edge)]
    identity["tenant"] = tenant
    if not is_entity_id(edge.target):
        identity |= keys.exported(tenant, "edge", edge.source, edge.relationship, edge.target)
    return items
