"""What no client sends by mistake: nothing is a 5xx, nothing hangs, and every 400 names its field."""
# ruff: noqa: E501 - a request a line

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infra.local.template import Template
from shared.boundary.schemas import input_schema
from shared.boundary.tools import TOOLS, Tool
from tests.hardening.requests import ITEMS, WRITES, first_passage, reads, seed
from tests.hardening.world import ANN, ROOT, Answer, Ask, World, claims
from tests.support.scripted import Rows

RIVAL = claims("root", tenant="rival")
DEEP = "[" * 10_000 + "]" * 10_000
SEPARATORS = (
    "m1\x1fABOUT",
    "m1#m2",
    "m1␟m2",
    "K",
    "J#0#1",
    "N#a",
    "..",
    "a/b",
    "%2F",
    "\u202em1\u202c",
    "m1\x00",
    "\x7f",
    "\x85",
    "\ufeff",
    "\u2028",
)
MINTED = (
    "ent_" + "a" * 32,
    "rel_" + "b" * 32,
    "psg_" + "c" * 32 + "_" + "0" * 16 + "_00000",
    "psg_x",
    "grant_" + "z" * 26,
    "unknown",
)
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 3.0, 10**30, -(10**400), "", " ", "3", "3.0", "-0", "1e3", "NaN", "😀" * 300),
    *([], [[]], {}, {"a": 1}, [None], [True], ["x"] * 1_000, [{"name": None}], [{}], "[]", "[1", "null", "x" * 70_000),
    *(SEPARATORS + MINTED),
)  # fmt: skip
RAW: dict[str, str | bytes] = {
    "not a number": '{"%s": NaN}', "infinite": '{"%s": -Infinity}', "beyond doubles": '{"%s": 1e999}',
    "a million digits": '{"%s": ' + "9" * 1_000_000 + "}", "a million digits after": '{"%s": 0.' + "9" * 1_000_000 + "}",
    "deep": '{"%s": ' + DEEP + "}", "deep objects": '{"%s": ' + '{"a":' * 10_000 + "1" + "}" * 10_001,
    "deep in a text": '{"%s": "' + DEEP + '"}', "a lone surrogate": '{"%s": "\\ud800"}', "a surrogate name": '{"%s": {"\\udc00": 1}}',
    "nul": '{"%s": "a\\u0000b"}', "twice": '{"%s": 1, "%s": 2}', "torn": '{"%s": "', "a list": "[1]", "a text": '"%s"', "nothing": "", "null": "null",
    "no utf-8": b'{"a": "\xff\xfe"}', "utf-16": '{"a": 1}'.encode("utf-16"), "bom": b'\xef\xbb\xbf{"a": 1}', "blank": " \n ",
}  # fmt: skip
HUGE = b'{"name": "' + b"x" * (10 * 1024 * 1024 - 20) + b'"}'
STEPS = pytest.mark.parametrize("step", [41, pytest.param(1, marks=pytest.mark.long)])


@pytest.fixture
def rows(world: World) -> Rows:
    return seed(world)


def fine(answer: Answer) -> bool:
    """Not a 5xx; a 400 names its fields; an MCP error is no internal one."""
    if answer.status == 400 and answer.headers["content-type"] == "application/problem+json":
        return bool(answer.body["errors"]) and all(
            fault["field"] and fault["message"] for fault in answer.body["errors"]
        )
    if answer.text.startswith('{"jsonrpc"'):
        told = answer.body.get("error", {}).get("code")
        return answer.status < 500 and told != -32603 and "did not answer in time" not in answer.text
    return answer.status < 500


def everything(world: World) -> list[Ask]:
    return [*reads(first_passage(world)), *WRITES, *ITEMS]


def mutated(ask: Ask) -> Iterator[Ask]:
    """The request with each of its fields odd in each way; nested ones too."""
    if isinstance(ask.body, dict):
        for name, value in [*ask.body.items(), ("other", 1)]:
            yield from (replace(ask, body={**ask.body, name: odd}) for odd in ODD)
            inner = value[0] if isinstance(value, list) and value and isinstance(value[0], dict) else value
            for part in inner if isinstance(inner, dict) else ():
                odd_parts = ({**inner, part: odd} for odd in ODD)
                yield from (
                    replace(ask, body={**ask.body, name: [one] if inner is not value else one}) for one in odd_parts
                )
    for name in ask.query:
        yield from (replace(ask, query={**ask.query, name: odd}) for odd in ODD if isinstance(odd, str))


@STEPS
def test_odd_values(world: World, rows: Rows, step: int) -> None:
    asks = (one for ask in everything(world) for one in mutated(ask))
    for ask in islice(asks, 0, None, step):
        with world.at(rows):
            answer = world.http(ask)
            assert fine(answer), f"{ask}: {answer}"
            if ask.tool:
                assert fine(world.mcp(ask)), ask


@STEPS
def test_raw_bodies(world: World, rows: Rows, step: int) -> None:
    """Each refused body of each route, twice over: in a field that the route has, and in one that it has not."""
    wrong = [
        replace(ask, body=raw if isinstance(raw, bytes) else raw.replace("%s", str(name)), query={})
        for ask in everything(world)
        if ask.method != "GET"
        for name in [*(ask.body if isinstance(ask.body, dict) else ()), "other"][:3]
        for raw in RAW.values()
    ]
    for ask in islice(wrong, 0, None, step):
        with world.at(rows):
            answer = world.http(ask)
        assert fine(answer), f"{ask.name}, {str(ask.body)[:60]}: {answer.status} {answer.text[:300]}"


@pytest.mark.parametrize("name", RAW)
def test_raw_messages(world: World, rows: Rows, name: str) -> None:
    raw = RAW[name]
    text = raw if isinstance(raw, bytes) else raw.replace("%s", "id").encode()
    call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fetch_slice","arguments":%s}}' % text
    with world.at(rows):
        for body in (text, call):
            assert fine(world._send("POST", "/mcp", ANN, body)), name


def test_huge_bodies(world: World, rows: Rows) -> None:
    """Ten MiB pass the gateway and are refused by every route, in either shape of event."""
    routes = [
        route
        for route in Template.load().routes()
        if route.method in {"POST", "PUT", "PATCH", "DELETE"} and route.key != "DELETE /mcp"
    ]
    assert len(routes) > 12
    with world.at(rows):
        for route in routes:
            path = route.path.replace("{id}", "m1").replace("{id+}", "m1")
            media = "application/x-ndjson" if path == "/api/import" else "application/json"
            answer = world.http(Ask(name="huge", method=route.method, path=path, body=HUGE, who=ROOT, media=media))
            assert answer.status == (401 if route.is_open else 413), f"{route}: {answer.status} {answer.text[:200]}"
        assert world.client.calls == []


@pytest.mark.parametrize("identity", [*SEPARATORS, *MINTED, "m1 ", "x" * 256, "x" * 257, "𐀀" * 256])
def test_odd_ids_in_paths(world: World, rows: Rows, identity: str) -> None:
    from urllib.parse import quote

    path = f"/api/memories/{quote(identity, safe='')}"
    for rest in (False, True):
        with world.at(rows):
            got = world.http(Ask(name="get", method="GET", path=path), rest=rest)
            assert got.status in {200, 400, 404}
            assert fine(got)
            put = world.http(Ask(name="put", method="PUT", path=path, body={"type": "note", "name": "N"}), rest=rest)
            assert put.status in {200, 400}, put
            assert fine(put)
            if put.status == 200:
                again = world.http(Ask(name="get", method="GET", path=path), rest=rest)
                assert (again.status, again.body["id"]) == (200, identity.strip())


def test_ids_of_another_tenant_open_nothing(world: World, rows: Rows) -> None:
    """Passage, entity, relation and grant ids of a tenant, presented in another."""
    world.load({"kind": "membership", "principal_id": "root", "project_id": "atlas"}, who=RIVAL)
    passage = first_passage(world)
    exported = world.http(Ask(name="export", method="GET", path="/api/export", who=ROOT)).text
    traversed = world.http(reads(passage)[4]).body
    minted = [
        passage,
        *(entity["id"] for entity in traversed["entities"]),
        *(one["id"] for one in traversed["relations"]),
    ]
    assert len(minted) > 2
    assert "We ship" in exported
    for ask in reads(passage):
        for identity in ("m1", *minted):
            odd = replace(ask, who=RIVAL)
            if isinstance(odd.body, dict):
                names = [
                    name for name in odd.body if name in {"entity_ids", "entity_id", "recordId", "recordIds", "entity"}
                ]
                odd = replace(
                    odd, body=odd.body | {name: [identity] if name.endswith("s") else identity for name in names}
                )
            answer = world.http(odd)
            assert answer.status in {200, 404}, answer
            assert not {"We ship", "A sentence", "Ada", "Countess"} & {
                word for word in ("We ship", "A sentence", "Ada", "Countess") if word in answer.text
            }, ask


def arguments_of(tool: Tool) -> st.SearchStrategy[dict[str, Any]]:
    """Arguments under the tool's own names, of the right type or of any."""
    anything = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(ODD),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
        max_leaves=4,
    )
    ids = st.sampled_from(("m1", "m2", "gaps", "mine", "atlas", "planner", "Ada", "2026-01-01T00:00:00Z", *MINTED))
    right = {
        "integer": st.integers(-5, 10**6),
        "string": ids,
        "array": st.lists(ids, max_size=4),
        "boolean": st.booleans(),
        "object": st.dictionaries(st.text(max_size=4), anything, max_size=2),
    }
    schema = input_schema(tool.request)
    fields = {
        name: right.get(part.get("type", "string"), anything) | anything for name, part in schema["properties"].items()
    }
    return st.fixed_dictionaries({}, optional=fields)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_tools_take_anything(world: World, rows: Rows, tool: Tool) -> None:
    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(arguments=arguments_of(tool))
    def hold(arguments: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                           "params": {"name": tool.name, "arguments": arguments}})  # fmt: skip
        with world.at(rows):
            answer = world._send("POST", "/mcp", ANN, body.encode())
        assert fine(answer), answer

    hold()
