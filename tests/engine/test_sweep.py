"""The sweep takes what is due, and lets nothing hold up the rest."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import inf
from typing import Any, cast

from shared.domain.errors import Unavailable
from shared.engine.port import Task, Writes
from shared.engine.session import Deadline
from shared.engine.sweep import CLEANERS, Swept, sweep

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
AMPLE = Deadline(inf)


def task(mark: str, kind: str = "life", due: str = "2026-01-01T12:00:00.000Z") -> Task:
    return Task(kind=kind, tenant="t", subject="m", mark=mark, due=due)


@dataclass
class Queue:
    """The clean-ups of a store, and what was done with each."""

    queued: list[Task]
    failing: str = ""
    unfinished: str = ""
    gone: str = ""
    done: list[str] = field(default_factory=list)

    def tasks(self) -> Iterator[Task]:
        yield from list(self.queued)

    def claim(self, task: Task) -> bool:
        self.done.append(f"claim {task.mark}")
        return task.mark != self.gone

    def perform(self, task: Task, clock: Deadline) -> bool:  # noqa: ARG002 - as the port has it
        if task.mark == self.failing:
            raise Unavailable
        self.done.append(f"perform {task.mark}")
        return task.mark != self.unfinished

    def drop(self, task: Task) -> None:
        self.queued.remove(task)


@dataclass
class Stored:
    cleanups: Queue


def run(queue: Queue, deadline: Deadline = AMPLE, cleaners: Any = CLEANERS) -> Swept:
    return sweep(cast("Writes", Stored(queue)), NOW, deadline, cleaners)


def test_only_what_is_due_is_done() -> None:
    queue = Queue([task("a"), task("b", due="2026-01-01T12:00:00.001Z")])
    assert run(queue) == Swept(finished=1, remaining=0, waiting=1)
    assert (queue.done, [left.mark for left in queue.queued]) == (["perform a"], ["b"])


def test_a_failing_or_unfinished_task_stays_and_the_others_are_done() -> None:
    queue = Queue([task("a"), task("b"), task("c"), task("d", kind="wonder")], failing="a", unfinished="b")
    assert run(queue) == Swept(finished=1, remaining=3)
    assert [left.mark for left in queue.queued] == ["a", "b", "d"]


def test_a_cut_is_claimed_before_it_is_removed() -> None:
    queue = Queue([task("a", kind="cut"), task("b", kind="cut")], gone="b")
    assert run(queue) == Swept(finished=2)
    assert queue.done == ["claim a", "perform a", "claim b"]


def test_nothing_is_begun_when_the_time_is_over() -> None:
    queue = Queue([task("a")])
    assert run(queue, Deadline(-inf)) == Swept(remaining=1)
    assert queue.done == []


def test_the_lag_is_that_of_the_oldest_task_that_is_due() -> None:
    queue = Queue([task("a", due="2026-01-01T11:59:00.500Z"), task("b", due="2026-01-01T11:58:00.000Z"), task("c")])
    assert run(queue) == Swept(finished=3, lag=120)
    assert run(Queue([task("a", due="2026-01-01T12:00:01.000Z")])) == Swept(waiting=1, lag=0)
