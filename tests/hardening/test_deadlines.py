"""A store that does not answer: every request is refused before its function's time is over, and nothing stays."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from time import monotonic

import pytest

from shared import runtime
from tests.hardening.client import Apply, Called
from tests.hardening.requests import ITEMS, WRITES, first_passage, reads, seed
from tests.hardening.world import Answer, Ask, World

SECONDS = 2.5
"""The whole time of a function; half a second of it is kept back for the answer."""

ALL = ("batch_get_item", "query", "batch_write_item", "transact_write_items")


@pytest.fixture
def pool(world: World) -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(128, thread_name_prefix="stuck") as made:
        world.pool = made
        runtime.connected.cache_clear()
        seed(world)
        yield made


@pytest.mark.parametrize("slow", [ALL, ("batch_write_item", "transact_write_items")], ids=["all", "writes"])
def test_a_slow_store_is_a_503_in_time(world: World, pool: ThreadPoolExecutor, slow: tuple[str, ...]) -> None:
    passage = first_passage(world)
    asks = [*reads(passage), *WRITES, *ITEMS] if slow == ALL else [*WRITES, *ITEMS]
    awake = threading.Event()
    before = {thread for thread in threading.enumerate() if not thread.name.startswith("stuck")}

    def hook(called: Called, apply: Apply) -> object:
        if called.operation in slow:
            awake.wait(10)
        return apply()

    def asked(ask: Ask) -> tuple[Answer, float]:
        began = monotonic()
        return world.http(ask), monotonic() - began

    world.client.hook, world.seconds = hook, SECONDS
    with ThreadPoolExecutor(len(asks)) as callers:
        answers = dict(zip((ask.name for ask in asks), callers.map(asked, asks), strict=True))
    awake.set()
    assert {name: answer.status for name, (answer, _) in answers.items()} == dict.fromkeys(answers, 503)
    assert all("retry-after" in answer.headers for answer, _ in answers.values())
    late = {name: took for name, (_, took) in answers.items() if took > SECONDS}
    assert late == {}
    pool.shutdown()
    assert [thread.name for thread in threading.enumerate() if thread not in before] == []


def test_a_slow_clean_up_is_left_to_the_sweep(world: World, pool: ThreadPoolExecutor) -> None:
    """The deletion has taken effect; what it leaves behind may take long."""
    awake = threading.Event()
    world.seconds = SECONDS
    world.client.hook = lambda called, apply: (called.operation == "batch_write_item" and awake.wait(10), apply())[1]
    (delete,) = (ask for ask in WRITES if ask.name == "delete")
    began = monotonic()
    answer = world.http(delete)
    took = monotonic() - began
    awake.set()
    pool.shutdown()
    assert (answer.status, answer.body) == (200, {"id": "m2", "deleted": True})
    assert took < SECONDS
