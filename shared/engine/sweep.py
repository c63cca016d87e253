"""The sweep: takes up what clean-ups are due, each resumable and harmless to repeat, until the time is over."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from shared.domain.errors import Unavailable
from shared.domain.instants import utc_text
from shared.engine.port import Task, Writes
from shared.engine.purge import clean_purge
from shared.engine.session import Deadline

Cleaner = Callable[[Any, Task, Deadline], bool]
"""Does a task against the store; False where it must go on later."""

_logger = logging.getLogger("hopscope.sweep")


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep did: tasks finished, tasks due that remain, and tasks that are not due yet.

    `lag` is for how many seconds the oldest of those it found had been due.
    """

    finished: int = 0
    remaining: int = 0
    waiting: int = 0
    lag: int = 0


def clean_cut(store: Writes, task: Task, deadline: Deadline) -> bool:
    """Remove a cut that is not current. It is claimed first, so that no slow writer can make it current after all."""
    return not store.cleanups.claim(task) or store.cleanups.perform(task, deadline)


def clean_life(store: Writes, task: Task, deadline: Deadline) -> bool:
    """Remove what stood on a memory that was deleted or begun anew."""
    return store.cleanups.perform(task, deadline)


CLEANERS: Mapping[str, Cleaner] = {"cut": clean_cut, "life": clean_life, "purge": clean_purge}


def sweep(store: Writes, now: datetime, deadline: Deadline, cleaners: Mapping[str, Cleaner] = CLEANERS) -> Swept:
    """Do the tasks that are due. One that fails stays on the queue and does not hold up the others."""
    finished = remaining = waiting = lag = 0
    for task in store.cleanups.tasks():
        if task.due > utc_text(now):
            waiting += 1
            continue
        lag = max(lag, int((now - datetime.fromisoformat(task.due)).total_seconds()))
        if deadline.remaining() > 0 and _done(store, task, deadline, cleaners):
            finished += 1
        else:
            remaining += 1
    return Swept(finished, remaining, waiting, lag)


def _done(store: Writes, task: Task, deadline: Deadline, cleaners: Mapping[str, Cleaner]) -> bool:
    cleaner = cleaners.get(task.kind)
    if cleaner is None:
        _logger.error("no cleaner for a task", extra={"task": task.kind})
        return False
    try:
        if not cleaner(store, task, deadline):
            return False
        store.cleanups.drop(task)
    except Unavailable:
        _logger.warning("a clean-up is put off", extra={"task": task.kind})
        return False
    return True
