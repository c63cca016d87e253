"""The queue of clean-ups as rows. A task is put in the transaction that makes it due, or before the rows it is for."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from shared.domain.instants import utc_text
from shared.engine.port import Task
from shared.store import keys
from shared.store.table import Item, Key, Op

CUT, LIFE = "cut", "life"

_SECOND_LOOK = timedelta(minutes=2)


def task_key(task: Task) -> Key:
    return keys.queue_of(task.tenant, task.subject), f"{task.kind}#{keys.digest(task.tenant, task.subject)}#{task.mark}"


def put_task(task: Task) -> Op:
    return Op(put=task_item(task))


def task_item(task: Task) -> Item:
    partition, sort = task_key(task)
    return {
        "PK": partition,
        "SK": sort,
        "kind": task.kind,
        "tenant": task.tenant,
        "subject": task.subject,
        "mark": task.mark,
        "due": task.due,
        "passages": task.passages,
        "chunks": task.chunks,
    }


def task_from(item: Item) -> Task:
    texts = {name: str(item[name]) for name in ("kind", "tenant", "subject", "mark", "due")}
    return Task(**texts, passages=_count(item, "passages"), chunks=_count(item, "chunks"))


def _count(item: Item, name: str) -> int:
    return int(str(item.get(name, 0)))


def drop_unclaimed(task: Task) -> Op:
    """Take a task off the queue in a transaction that fails when the sweep has begun it."""
    return Op(delete=task_key(task), condition="attribute_exists(PK) AND attribute_not_exists(claimed)")


def cut_task(tenant: str, memory_id: str, cut: str, due: str, counts: Sequence[int]) -> Task:
    passages, chunks = counts
    return Task(kind=CUT, tenant=tenant, subject=memory_id, mark=cut, due=due, passages=passages, chunks=chunks)


def life_task(tenant: str, node_id: str, born: str, ended: str) -> Task:
    """Removes what stands on a life of an id that has ended, once every write that saw it alive has ended too."""
    due = utc_text(datetime.fromisoformat(ended) + _SECOND_LOOK)
    return Task(kind=LIFE, tenant=tenant, subject=node_id, mark=born, due=due)
