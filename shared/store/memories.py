"""Memories as rows: the hinge with all that follows it in one transaction, passages before it, removal after it.

A reader sees the former memory whole or the new one whole, at every step and after a crash at any.
"""

from datetime import datetime, timedelta

from shared.domain.instants import utc_text
from shared.domain.model import Memory
from shared.engine.port import Clock, MemoryChange, Task
from shared.store import keys, rows
from shared.store.cleanup import BODY_CHUNK, CleanUps
from shared.store.listing import companion_ops, hinge_item
from shared.store.table import Item, Op, Table
from shared.store.tasks import cut_task, drop_unclaimed, life_task, put_task, task_item

_IN_FLIGHT = timedelta(minutes=15)
"""A cut that has not become current for so long is abandoned; should its writer still live, its transaction fails."""


class Memories:
    """Writes of memories of one table."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._cleanups = CleanUps(table)

    def stage(self, tenant: str, change: MemoryChange) -> None:
        """Write the rows of a new cut, with a task on the queue that removes them should it not become current."""
        for task in _coming_tasks(tenant, change):
            self._table.write_many([task_item(task)])
            self._table.write_in_parallel(_passage_items(tenant, change))

    def write(self, tenant: str, change: MemoryChange, clock: Clock) -> bool:
        """Put `after` in place of `before`; False when `before` is no longer what is there."""
        coming = _coming_tasks(tenant, change)
        going = _going_tasks(tenant, change)
        ops = [_hinge_put(tenant, change), *companion_ops(tenant, change.before, change.after)]
        ops += [drop_unclaimed(task) for task in coming]
        ops += [put_task(task) for task in going]
        written = self._table.held(ops)
        self._clean(going if written else coming, clock)
        return written

    def remove(self, tenant: str, memory: Memory, now: str, clock: Clock) -> bool:
        """Delete a memory and what stands on it; False when it is no longer what is there."""
        going = [*_cut_tasks(tenant, memory, now), life_task(tenant, memory.id, memory.born, now)]
        partition = keys.node(tenant, memory.id)
        hinge = Op(
            delete=(partition, keys.HINGE),
            condition="born = :born AND revision = :revision",
            values={":born": memory.born, ":revision": memory.revision},
        )
        removed = self._table.held([hinge, *companion_ops(tenant, memory, None), *(put_task(task) for task in going)])
        if removed:
            self._clean(going, clock)
        return removed

    def _clean(self, tasks: list[Task], clock: Clock) -> None:
        """Clean up at once what can be; a deleted memory is looked at again, so its task stays."""
        for task in tasks:
            self._cleanups.attempt(task, clock)


def _hinge_put(tenant: str, change: MemoryChange) -> Op:
    item, before = hinge_item(tenant, change.after), change.before
    if before is None:
        return Op(put=item, condition="attribute_not_exists(PK)")
    return Op(
        put=item,
        condition="born = :born AND revision = :revision",
        values={":born": before.born, ":revision": before.revision},
    )


def _coming_tasks(tenant: str, change: MemoryChange) -> list[Task]:
    """The task that stands for a new cut until it is current."""
    if not change.cuts_anew:
        return []
    abandoned = utc_text(datetime.fromisoformat(change.after.updated_at) + _IN_FLIGHT)
    return _cut_tasks(tenant, change.after, abandoned)


def _going_tasks(tenant: str, change: MemoryChange) -> list[Task]:
    """What a write makes due: the former cut, and where it begins a new life all that stood on the former one."""
    before, after = change.before, change.after
    if before is None:
        return []
    tasks = [] if before.cut == after.cut else _cut_tasks(tenant, before, after.updated_at)
    if before.born != after.born:
        tasks.append(life_task(tenant, before.id, before.born, after.updated_at))
    return tasks


def _cut_tasks(tenant: str, memory: Memory, due: str) -> list[Task]:
    if memory.cut is None:
        return []
    chunks = 0 if memory.covers else -(-memory.length // BODY_CHUNK)
    return [cut_task(tenant, memory.id, memory.cut, due, (memory.passages, chunks))]


def _passage_items(tenant: str, change: MemoryChange) -> list[Item]:
    memory, body = change.after, change.body
    partition, cut = keys.node(tenant, memory.id), memory.cut or ""
    items: list[Item] = [
        {"PK": partition, "SK": keys.passage(cut, passage.index), **rows.passage_item(passage)}
        for passage in change.passages
    ]
    if not memory.covers:
        for index, start in enumerate(range(0, len(body), BODY_CHUNK)):
            chunk = body[start : start + BODY_CHUNK]
            items.append({"PK": partition, "SK": keys.body_chunk(cut, index), "start": start, "content": chunk})
    return items
