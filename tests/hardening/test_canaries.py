"""Whatever is printed, logged or answered in trouble holds no content, name, token, id, key or table name."""

import base64
import json
import logging
import re
from dataclasses import replace
from typing import Any

import pytest

from infra.local.events import dev_token
from tests.hardening.client import Apply, Called
from tests.hardening.faults import FAULTS
from tests.hardening.requests import DIGEST, GRANT, ITEMS, WRITES, first_passage, reads, seed
from tests.hardening.world import ANN, Answer, Ask, World

_WORDS = (
    *("canary", "Name of", "We ship", "A sentence of", "Another sentence", "secret", "Countess", "Babbage", "Byron"),
    *("planner", "atlas", "doomed", "acme", "m1", "m2", "m3", "gaps", "ann", "bob", "root", "n1", "tue", GRANT, DIGEST),
)
CANARIES = re.compile(r"\b(?:" + "|".join(map(re.escape, _WORDS)) + r")\b|[A-Z]#[a-z2-7]{32}|psg_|ent_|rel_|Traceback")
SAID = "canary said by the caller"


def printed(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> str:
    """All that left the process besides answers: every attribute of every log record, and both streams."""
    records = [str({**vars(record), "pathname": ""}) for record in caplog.records]
    return "\n".join([*records, *capfd.readouterr()])


def tell_tales(text: str) -> set[str]:
    return set(CANARIES.findall(text))


def asked(world: World, ask: Ask) -> list[Answer]:
    return [world.http(ask), *([world.mcp(ask)] if ask.tool else [])]


def defect(_: Called, __: Apply) -> Any:
    raise RuntimeError("canary of a defect, m1 of acme")


def test_trouble_tells_nothing(
    world: World, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    rows = seed(world)
    passage = first_passage(world)
    acts = [None, defect, *(fault.act for fault in FAULTS if not fault.passing and fault.operations[-1:] != ("query",))]
    for number, ask in enumerate([*reads(passage), *WRITES, *ITEMS]):
        for act in (acts[0], acts[1], acts[2 + number % (len(acts) - 2)]):
            world.seconds = 0.6 if act else 29.0
            with world.at(rows, act and _where_it_fits(act)):
                for answer in asked(world, ask):
                    if act is not None:
                        assert tell_tales(answer.text.replace("\\", "")) == set(), f"{ask.name}: {answer}"
    told = printed(caplog, capfd)
    assert "RuntimeError" in told
    assert tell_tales(told) == set()


def _where_it_fits(act: Any) -> Any:
    def hook(called: Called, apply: Apply) -> Any:
        try:
            return act(called, apply)
        except KeyError:
            return defect(called, apply)

    return hook


def test_what_is_refused_is_not_repeated(
    world: World, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """A value at fault is named by its field alone, in the answer and in the log."""
    caplog.set_level(logging.DEBUG)
    seed(world)
    refused = 0
    for ask in [*reads(first_passage(world)), *WRITES, *ITEMS]:
        if not isinstance(ask.body, dict):
            continue
        for name in ask.body:
            for value in ({SAID: SAID}, [[SAID]], SAID * 300, f"\x00{SAID}"):
                for answer in asked(world, _with(ask, name, value)):
                    if answer.status == 400:
                        refused += 1
                        assert SAID not in answer.text, f"{ask.name}.{name}: {answer}"
    assert refused > 100
    assert SAID not in printed(caplog, capfd)


def _with(ask: Ask, name: str, value: Any) -> Ask:
    return replace(ask, body={**ask.body, name: value})


def test_a_token_is_never_printed(
    world: World, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    seed(world)
    for who in (ANN, {**ANN, "tenant_id": "canary\x00"}, {**ANN, "sub": ""}):
        for ask in reads("gone")[::4]:
            asked(world, replace(ask, who=who))
    token = dev_token(ANN)
    assert json.loads(base64.urlsafe_b64decode(token.removeprefix("dev.") + "==")) == ANN
    assert token not in printed(caplog, capfd)
