"""Where a memory is found besides by its id: its project's list, its counterparts of one key, and the tenant's export.

All of these rows are written in the transaction of the hinge, so none ever speaks of another revision.
"""

from collections.abc import Callable, Iterable
from typing import Any

from shared.domain.model import Memory
from shared.engine.port import Clock, Exported, ExportPage
from shared.store import captures, grants, keys, rows
from shared.store.table import MAX_BATCH_GET, Item, Key, Op, Page, Query, Table

_INDEX = "ByTenant"
_END = keys.AFTER


def hinge_item(tenant: str, memory: Memory) -> Item:
    """The hinge as a whole item."""
    return {
        "PK": keys.node(tenant, memory.id),
        "SK": keys.HINGE,
        "tenant": tenant,
        **rows.memory_item(memory),
        **keys.exported(tenant, "memory", memory.id),
    }


def companion_items(tenant: str, memory: Memory) -> dict[Key, Item]:
    """The rows that follow a hinge: in the list of its home, and a copy among those of its key."""
    listed: Item = {
        "PK": keys.project_rows(tenant, memory.home),
        "SK": keys.updated_row(memory.updated_at, memory.id),
        "id": memory.id,
        "epoch": memory.epoch,
    }
    found = [listed]
    if memory.key is not None:
        place = keys.same_key(tenant, memory.project_id, memory.type, memory.key)
        found.append({"PK": place, "SK": keys.sortable(memory.id), "tenant": tenant, **rows.memory_item(memory)})
    return {(str(item["PK"]), str(item["SK"])): item for item in found}


def companion_ops(tenant: str, before: Memory | None, after: Memory | None) -> list[Op]:
    """What brings the rows that follow a hinge from one state to another."""
    old = {} if before is None else companion_items(tenant, before)
    new = {} if after is None else companion_items(tenant, after)
    return [Op(delete=key) for key in old if key not in new] + [Op(put=item) for item in new.values()]


class Exports:
    """The tenant's rows that have lines, in the order of kinds, then of ids."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def page(self, tenant: str, after: str, limit: int, clock: Clock) -> ExportPage:
        """At most `limit` rows after the place `after` ("" is the beginning)."""
        found = [
            self._table.submit(self._table.query, _shard_query(tenant, shard, after, limit))
            for shard in range(keys.EXPORT_SHARDS)
        ]
        places, complete = _merged(self._table.awaited(found, clock), limit)
        wanted = list(places.values())
        batches = [wanted[at : at + MAX_BATCH_GET] for at in range(0, len(wanted), MAX_BATCH_GET)]
        calls = [self._table.submit(self._table.get_many, batch) for batch in batches]
        items = {key: item for batch in self._table.awaited(calls, clock) for key, item in batch.items()}
        read = [(place, exported_row(items[key], key)) for place, key in places.items() if key in items]
        last = None if complete else next(reversed(places), None)
        return ExportPage([(place, row) for place, row in read if row is not None], last)


def exported_row(item: Item, key: Key) -> Exported | None:
    """The value of a row with a line; None for one that has none any more."""
    if "x2" not in item:
        return None
    kind = keys.EXPORT_ORDER[int(str(item["x2"])[0])]
    read: dict[str, Callable[[Item], Any]] = {
        "membership": lambda row: (str(row["principal"]), rows.memberships_from(row)),
        "memory": lambda row: rows.memory_from(row, keys.ref(key[0])),
        "entity": rows.entity_from,
        "edge": rows.edge_from,
        "relation": rows.relation_from,
        "grant": grants.grant_from,
        "capture_status": captures.capture_from,
        "operating_context": rows.context_from,
    }
    return Exported(kind, read[kind](item))


def _shard_query(tenant: str, shard: int, after: str, limit: int) -> Query:
    return Query(
        partition=keys.export_shard(tenant, shard),
        low="0",
        high=_END,
        limit=limit,
        after=after or None,
        index=_INDEX,
    )


def _merged(pages: Iterable[Page], limit: int) -> tuple[dict[str, Key], bool]:
    """The first `limit` places of all shards with the keys there, and whether nothing lies beyond them.

    Beyond the end of a page that goes on, the other shards' rows must wait.
    """
    pages = list(pages)
    horizon = min((page.after for page in pages if page.after is not None), default=None)
    places = {str(item["x2"]): (str(item["PK"]), str(item["SK"])) for page in pages for item in page.items}
    ordered = [place for place in sorted(places) if horizon is None or place <= horizon]
    return {place: places[place] for place in ordered[:limit]}, horizon is None and len(ordered) <= limit
