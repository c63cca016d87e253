"""The queue of clean-ups, and the clean-ups themselves: removing what a deletion or a new cut left behind.

A task is put on the queue in the transaction that makes it due, or before the rows it is for are written; so what a
crash leaves is always found. Nothing here may touch a row of the present life or of the present cut.
"""

import logging
from collections.abc import Iterator
from time import monotonic

from shared.domain.errors import Unavailable
from shared.engine.port import Clock, Task
from shared.store import declared, edges, keys, rows
from shared.store.table import Op, Query, Table
from shared.store.tasks import CUT, task_from, task_key

BODY_CHUNK = 20_000
"""Code points in a chunk of a body that its passages do not cover."""

_PAGE = 200
_BRIEF_SECONDS = 5.0
_logger = logging.getLogger("hopscope.store")


class CleanUps:
    """The queue and the store's own kinds of task."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def tasks(self) -> Iterator[Task]:
        """All tasks on the queue, shard by shard."""
        for shard in range(keys.QUEUE_SHARDS):
            after: str | None = None
            while True:
                page = self._table.query(
                    Query(partition=keys.queue(shard), low="\x01", high=keys.AFTER, limit=_PAGE, after=after)
                )
                yield from (task_from(item) for item in page.items)
                after = page.after
                if after is None:
                    break

    def claim(self, task: Task) -> bool:
        """Take the task for good: whoever still wants to make use of its rows fails from now on. False: it is gone."""
        claimed = Op(
            change=task_key(task), update="SET claimed = :yes", condition="attribute_exists(PK)", values={":yes": True}
        )
        return self._table.held([claimed])

    def drop(self, task: Task) -> None:
        self._table.write_many([], [task_key(task)])

    def perform(self, task: Task, clock: Clock) -> bool:
        """Do a task of kind `cut` or `life`; whether it is finished."""
        if task.kind == CUT:
            remove_cut(self._table, task)
            return True
        return remove_life(self._table, task, clock)

    def attempt(self, task: Task, clock: Clock) -> None:
        """Clean up in a request that has done its work: what is trouble, or takes long, is left to the sweep.

        A life that has ended is looked at again, so its task stays.
        """
        try:
            if self.perform(task, _Brief(clock)) and task.kind == CUT:
                self.drop(task)
        except Unavailable:
            _logger.warning("a clean-up is left to the sweep", extra={"task": task.kind})


class _Brief:
    """What a request may spend on cleaning up."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._end = monotonic() + _BRIEF_SECONDS

    def remaining(self) -> float:
        return min(self._clock.remaining(), self._end - monotonic())


def remove_cut(table: Table, task: Task) -> None:
    """Delete the passages and chunks of one cut, of which the task has the counts."""
    partition = keys.node(task.tenant, task.subject)
    sorts = [keys.passage(task.mark, index) for index in range(task.passages)]
    sorts += [keys.body_chunk(task.mark, index) for index in range(task.chunks)]
    table.write_in_parallel([], [(partition, sort) for sort in sorts])


def remove_life(table: Table, task: Task, clock: Clock) -> bool:
    """Delete the edges, mentions and anchored relations of a life of an id that has ended; whether all are gone.

    Rows of a later life have another `born` and stay.
    """
    partition = keys.node(task.tenant, task.subject)
    for prefix, born in (("E#", "source_born"), ("S#", "target_born")):
        after: str | None = None
        while True:
            if clock.remaining() <= 0:
                return False
            page = table.query(
                Query(partition=partition, low=prefix, high=prefix + keys.AFTER, limit=_PAGE, after=after)
            )
            dead = [rows.edge_from(item) for item in page.items if item[born] == task.mark]
            edges.remove_many(table, task.tenant, dead)
            after = page.after
            if after is None:
                break
    return declared.remove_anchored(table, task.tenant, task.subject, task.mark, clock)
