"""Purges as rows: the marker, the project's purge count, the board of purges whose sweep has not finished, the task.

All four change in one transaction, so a purge is there at once and whole, whatever the size of the project.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from shared.domain.grants import ActivePurge
from shared.domain.instants import utc_text
from shared.domain.model import Memory
from shared.domain.purges import Marker, PurgeMode
from shared.engine.port import Clock, Task
from shared.engine.record_port import ListedRow
from shared.store import keys, rows
from shared.store.declared import relation_delete_ops, remove_entity
from shared.store.memories import Memories
from shared.store.table import Item, Key, Op, Query, Table
from shared.store.tasks import put_task, task_key

PURGE = "purge"
_MARKERS = "PURGE#"
_PAGE = 200
_LISTS = {"U": "memory", "V": "entity", "W": "relation"}


class PurgeRows:
    """Purges of one table."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._memories = Memories(table)

    def purge(self, tenant: str, project_id: str, marker: Marker, board: Mapping[str, ActivePurge]) -> bool:
        """Purge, in place of the board as it was read. False: another purge of the tenant came first."""
        after = {**board, project_id: ActivePurge(marker.epoch, marker.at)}
        task = purge_task(tenant, project_id, marker)
        ops = [
            _count(tenant, project_id, marker),
            Op(put=_marker_item(tenant, project_id, marker)),
            _board(tenant, board, after),
            put_task(task),
        ]
        return self._table.held(ops)

    def passed_over(self, task: Task) -> Iterator[ListedRow]:
        """The rows that are listed for the project from before the purge. They may be removed while they are read."""
        partition, epoch = keys.project_rows(task.tenant, task.subject), int(task.mark)
        after: str | None = None
        while True:
            page = self._table.query(Query(partition=partition, low="U#", high="X", limit=_PAGE, after=after))
            for item in page.items:
                if int(str(item["epoch"])) < epoch:
                    yield ListedRow(_LISTS[str(item["SK"])[0]], str(item["id"]), str(item["SK"]))
            after = page.after
            if after is None:
                return

    def remove(self, task: Task, row: ListedRow, clock: Clock) -> None:
        """Remove such a row with all that stands on it. One that was written anew meanwhile stays as it is."""
        if row.kind == "relation":
            key = (keys.relation(task.tenant, row.id), keys.HINGE)
        else:
            key = (keys.node(task.tenant, row.id), keys.HINGE)
        item = self._table.get_many([key]).get(key)
        if item is None or int(str(item["epoch"])) >= int(task.mark):
            self._unlist(task, row)
        elif row.kind == "relation":
            self._table.held(relation_delete_ops(task.tenant, rows.relation_from(item)))
        elif row.kind == "entity":
            remove_entity(self._table, task.tenant, rows.entity_from(item), utc_text(datetime.now(UTC)), clock)
        else:
            self._remove_memory(task, row, rows.memory_from(item, keys.ref(key[0])), clock)

    def _remove_memory(self, task: Task, row: ListedRow, memory: Memory, clock: Clock) -> None:
        """A memory that has moved to another project since it was listed is not this purge's."""
        if memory.home == task.subject:
            self._memories.remove(task.tenant, memory, utc_text(datetime.now(UTC)), clock)
        else:
            self._unlist(task, row)

    def _unlist(self, task: Task, row: ListedRow) -> None:
        key = (keys.project_rows(task.tenant, task.subject), row.place)
        self._table.held([Op(delete=key, condition="epoch < :mark", values={":mark": int(task.mark)})])

    def finish(self, task: Task) -> bool:
        """Take the project off the board unless it was purged again, and the task off the queue. False: try again."""
        key = board_key(task.tenant)
        board = board_from(self._table.get_many([key]).get(key))
        after = {name: purge for name, purge in board.items() if name != task.subject or purge.epoch != int(task.mark)}
        ops = [Op(delete=task_key(task))]
        if len(after) < len(board):
            ops.append(_board(task.tenant, board, after))
        return self._table.held(ops)


def purge_task(tenant: str, project_id: str, marker: Marker) -> Task:
    return Task(kind=PURGE, tenant=tenant, subject=project_id, mark=str(marker.epoch), due=marker.at)


def board_key(tenant: str) -> Key:
    return keys.purge_board(tenant), keys.ACTIVE_PURGES


def board_from(item: Item | None) -> dict[str, ActivePurge]:
    item = item or {}
    instants = json.loads(str(item.get("at", "{}")))
    counts = json.loads(str(item.get("active", "{}")))
    return {project: ActivePurge(epoch, instants[project]) for project, epoch in counts.items()}


def markers_after(instant: str) -> str:
    """A place after the markers of that instant, and before all later ones."""
    return f"{_MARKERS}{instant}{keys.AFTER}"


def marker_from(item: Item) -> Marker:
    mode = PurgeMode(str(item["mode"]))
    return Marker(at=str(item["at"]), mode=mode, epoch=int(str(item["epoch"])), reason=str(item.get("reason", "")))


def _marker_item(tenant: str, project_id: str, marker: Marker) -> Item:
    return {
        "PK": keys.project(tenant, project_id),
        "SK": f"{_MARKERS}{marker.at}{keys.SEPARATOR}{marker.epoch:09}",
        "at": marker.at,
        "mode": marker.mode.value,
        "epoch": marker.epoch,
        "reason": marker.reason or None,
    }


def _count(tenant: str, project_id: str, marker: Marker) -> Op:
    before = marker.epoch - 1
    return Op(
        change=(keys.project(tenant, project_id), keys.EPOCH),
        update="SET epoch = :epoch",
        condition="epoch = :before" if before else "attribute_not_exists(PK)",
        values={":epoch": marker.epoch} | ({":before": before} if before else {}),
    )


def _board(tenant: str, before: Mapping[str, ActivePurge], after: Mapping[str, ActivePurge]) -> Op:
    counts = _texts(before)["active"]
    return Op(
        change=board_key(tenant),
        update="SET active = :active, #at = :at",
        condition="active = :before" if before else "attribute_not_exists(active) OR active = :before",
        names={"#at": "at"},
        values={":active": _texts(after)["active"], ":at": _texts(after)["at"], ":before": counts},
    )


def _texts(board: Mapping[str, ActivePurge]) -> dict[str, str]:
    ordered = dict(sorted(board.items()))
    return {
        "active": json.dumps({project: purge.epoch for project, purge in ordered.items()}, ensure_ascii=False),
        "at": json.dumps({project: purge.at for project, purge in ordered.items()}, ensure_ascii=False),
    }
