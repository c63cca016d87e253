"""HTTP and MCP are two doors to one verb: through the real handlers, the same question has the same answer."""

import json
from typing import Any

import pytest

from shared.boundary.models.base import Answer
from shared.boundary.models.expand import ExpandAnswer
from shared.boundary.models.memories import MemoryAnswer
from shared.boundary.models.slice import SliceAnswer
from tests.conftest import Caller, ClaimsOf, Reply

MODERN = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
}


@pytest.fixture
def graph(call: Caller, claims_of: ClaimsOf) -> dict[str, Any]:
    """Two notes and an edge, and the claims of who wrote them."""
    ann = claims_of("ann")
    notes = {"a": "Short.", "b/ä": "Long. " * 600}
    for path, content in (("a", notes["a"]), ("b%2F%C3%A4", notes["b/ä"])):
        reply = call("PUT", f"/api/memories/{path}", ann, {"type": "note", "name": path, "content": content})
        assert reply.status == 200, reply
    assert call("PUT", "/api/edges", ann, {"source": "a", "relationship": "about", "target": "b/ä"}).status == 200
    return ann


def tool(call: Caller, claims: dict[str, Any], name: str, arguments: Any, *, modern: bool = False) -> Reply:
    params = {"name": name, "arguments": arguments, **(MODERN if modern else {})}
    named = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": name} if modern else {}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return call("POST", "/mcp", claims, message, headers=named)


QUESTIONS = [
    ("expand_neighbors", "/api/search/expand", {"entity_ids": ["a", "gone"], "depth": "2", "types": None}),
    ("fetch_slice", "/api/search/slice", {"entity_id": "b/ä", "window": 99}),
]


@pytest.mark.parametrize(("name", "path", "arguments"), QUESTIONS)
@pytest.mark.parametrize("modern", [False, True])
def test_one_answer(call: Caller, graph: dict[str, Any], name: str, path: str, arguments: Any, modern: bool) -> None:
    over_http = call("POST", path, graph, arguments)
    assert over_http.status == 200, over_http
    over_rest = call("POST", path, graph, arguments, rest=True)
    result = tool(call, graph, name, arguments, modern=modern).body["result"]
    assert result["structuredContent"] == over_http.body == over_rest.body
    assert json.loads(result["content"][0]["text"]) == over_http.body


def test_answers_are_as_their_models_say(call: Caller, graph: dict[str, Any]) -> None:
    models: tuple[type[Answer], ...] = (ExpandAnswer, SliceAnswer)
    for (_, path, arguments), model in zip(QUESTIONS, models, strict=True):
        model.model_validate(call("POST", path, graph, arguments).body, strict=True)
    for rest in (False, True):
        read = call("GET", "/api/memories/b%2F%C3%A4", graph, rest=rest)
        assert MemoryAnswer.model_validate(read.body, strict=True).id == "b/ä"


def test_absent_and_malformed_are_tool_results(call: Caller, graph: dict[str, Any]) -> None:
    for arguments in ({"entity_id": "gone"}, {"entity_id": " "}):
        result = tool(call, graph, "fetch_slice", arguments).body["result"]
        assert result["isError"] is True
    assert call("POST", "/api/search/slice", graph, {"entity_id": "gone"}).status == 404


def test_nobody_is_refused_at_both_doors(call: Caller, claims_of: ClaimsOf) -> None:
    stranger = {**claims_of("ann"), "tenant_id": None}
    for path in ("/api/search/expand", "/mcp"):
        for claims in (None, stranger):
            assert call("POST", path, claims, {"entity_ids": ["a"]}).status == 401
