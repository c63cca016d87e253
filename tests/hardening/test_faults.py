"""Trouble at any call of any verb: the answer is the undisturbed one or a 503, and the store is whole."""

from collections.abc import Iterator, Sequence
from itertools import islice

import pytest

from tests.hardening.client import Called
from tests.hardening.faults import ENDS, FAULTS, Fault
from tests.hardening.requests import ITEMS, WRITES, first_passage, reads, seed
from tests.hardening.world import Answer, Ask, World, settled, shown, standing
from tests.support.scripted import Rows

BRIEF_SECONDS = 0.75
"""A function's whole time where trouble lasts: a grant's use is tried again until it is over."""


@pytest.fixture
def rows(world: World) -> Rows:
    return seed(world)


def strokes(calls: Sequence[Called], faults: Sequence[Fault], step: int) -> Iterator[tuple[Fault, int]]:
    """Every fault at every call that can meet it, or each `step`th of these."""
    every = ((fault, call.number) for call in calls for fault in faults if call.operation in fault.operations)
    return islice(every, 0, None, step)


def is_503(answer: Answer) -> bool:
    return answer.status == 503 and int(answer.headers["retry-after"]) > 0 and answer.body["title"] == "Unavailable"


def undisturbed(world: World, rows: Rows, ask: Ask) -> tuple[Answer, list[Called]]:
    with world.at(rows):
        return world.http(ask), list(world.client.calls)


STEPS = pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.long)])
READS = [ask.name for ask in reads("")]


@STEPS
@pytest.mark.parametrize("number", range(len(READS)), ids=READS)
def test_a_read_is_right_or_refused(world: World, rows: Rows, number: int, step: int) -> None:
    ask = reads(first_passage(world))[number]
    right, calls = undisturbed(world, rows, ask)
    assert right.status == 200
    assert calls
    for fault, at in strokes(calls, [*FAULTS, ENDS[0]], step):
        world.seconds = BRIEF_SECONDS if fault.lasting and not fault.passing else 29.0
        with world.at(rows, fault.at(at)):
            answer = world.http(ask)
        told = f"{fault.name} at call {at}: {answer}"
        if fault.passing:
            assert settled(answer.text) == settled(right.text), told
        else:
            assert is_503(answer) or settled(answer.text) == settled(right.text), told


@STEPS
@pytest.mark.parametrize("ask", [*WRITES, *ITEMS], ids=lambda ask: ask.name)
def test_a_write_is_whole_or_nothing_and_can_be_repeated(world: World, rows: Rows, ask: Ask, step: int) -> None:
    right, calls = undisturbed(world, rows, ask)
    assert right.status == 200
    with world.at(rows):
        assert world.http(ask).status == 200
        before, after = shown(rows), shown(world.client.rows)
        world.sweep()
        swept = standing(world.client.rows)
    assert before != after
    for fault, at in strokes(calls, [*FAULTS, *ENDS], step):
        told = f"{fault.name} at call {at}"
        world.seconds = BRIEF_SECONDS if fault.lasting and not fault.passing else 29.0
        with world.at(rows, fault.at(at)):
            answer = world.http(ask)
            world.client.hook = None
            world.seconds = 29.0
            if fault.passing or not is_503(answer):
                assert settled(answer.text) == settled(right.text), f"{told}: {answer}"
            else:
                assert ask in ITEMS or shown(world.client.rows) in (before, after), told
                again = world.http(ask)
                already_gone = ask.method == "DELETE" and again.status == 404
                assert again.status == 200 or already_gone, f"{told}: {again}"
            assert shown(world.client.rows) == after or ask.name == "purge", told
            world.sweep()
            assert standing(world.client.rows) == swept or ask.name == "purge", told
