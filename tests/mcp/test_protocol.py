"""The MCP door, message by message: both protocol eras, the transport's refusals, and the verbs' own."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from shared.boundary.mcp import McpEndpoint, ToolBox
from shared.boundary.tools import EXPAND_NEIGHBORS, FETCH_SLICE, TOOLS
from shared.domain.errors import Conflict, NotFound, Unavailable
from shared.domain.principal import Surface
from shared.engine.session import Session
from tests.support.lambda_events import CLAIMS, Context, v1, v2

ANSWER = {"origins": ["a"], "neighbors": [{"id": "é", "project_id": None, "score": 1.0, "metadata": {"x": None}}]}
VERSION = "io.modelcontextprotocol/protocolVersion"
META = {"_meta": {VERSION: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}
CALL = {"name": "expand_neighbors", "arguments": {"entity_ids": ["a"]}}
Reply = tuple[int, Any]


def answering(result: Any) -> McpEndpoint:
    """An endpoint whose first tool gives `result`, or raises it."""

    def run(_store: Any, session: Session, _query: Any) -> Mapping[str, Any]:
        assert session.surface is Surface.MCP
        if isinstance(result, Exception):
            raise result
        return dict(result)

    return McpEndpoint(ToolBox(lambda _: "store", (replace(EXPAND_NEIGHBORS, run=run), replace(FETCH_SLICE, run=run))))


def post(
    body: Any,
    headers: Mapping[str, str] | None = None,
    *,
    result: Any = ANSWER,
    claims: Mapping[str, Any] | None = CLAIMS,
    route: str = "POST /mcp",
) -> Reply:
    text = body if isinstance(body, str | bytes) else json.dumps(body)
    answer = answering(result)(v2(route, text, headers=headers, claims=claims), Context())
    assert answer["headers"]["Content-Type"] in ("application/json", "application/problem+json")
    return answer["statusCode"], json.loads(answer["body"]) if answer["body"] else None


def ask(method: str, params: Any = None, headers: Mapping[str, str] | None = None, **options: Any) -> Reply:
    body = {"jsonrpc": "2.0", "id": 7, "method": method}
    return post(body if params is None else {**body, "params": params}, headers, **options)


def ask_modern(method: str, params: Mapping[str, Any], **headers: str) -> Reply:
    named = {"mcp-protocol-version": "2026-07-28", "mcp-method": method}
    if "name" in params:
        named["mcp-name"] = params["name"]
    return ask(method, {**META, **params}, {**named, **{k.replace("_", "-"): v for k, v in headers.items()}})


# --- the transport


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_only_post_is_served(method: str) -> None:
    answer = answering(ANSWER)(v2(f"{method} /mcp"), Context())
    assert (answer["statusCode"], answer["headers"]["Allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 403),
        ({"host": ""}, 403),
        ({"host": "API.example:443"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "https://app.example"}, 200),
        ({"origin": "https://api.example"}, 200),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "Application/JSON; charset=utf-8"}, 200),
        ({"accept": "text/html"}, 200),
    ],
)
def test_host_origin_and_content_type(headers: dict[str, str], status: int) -> None:
    assert ask("ping", headers=headers)[0] == status


def test_no_principal_is_a_401_before_anything_is_read() -> None:
    assert post("{", claims=None)[0] == 401
    assert post("{", {"content-type": "text/plain"}, claims={"sub": "ann"})[0] == 401


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("{", -32700),
        (b"\xff", -32700),
        ("", -32700),
        ("[" * 100_000, -32700),
        ('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}', -32700),
        ("[]", -32600),
        ('"ping"', -32600),
        ([{"jsonrpc": "2.0", "id": 1, "method": "ping"}], -32600),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1.0, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": [1], "method": "ping"}, -32600),
        ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "result": {}}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}, -32600),
    ],
)
def test_what_is_no_request_is_a_400(body: Any, code: int) -> None:
    status, answer = post(body)
    assert (status, answer["error"]["code"]) == (400, code)


def test_a_notification_is_acknowledged_and_not_executed() -> None:
    body = {"jsonrpc": "2.0", "method": "tools/call", "params": CALL}
    assert post(body, result=AssertionError("must not run")) == (202, None)


def test_base64_and_rest_events_are_served() -> None:
    message = {"jsonrpc": "2.0", "id": "x", "method": "ping"}
    assert post(json.dumps(message).encode()) == (200, {"jsonrpc": "2.0", "id": "x", "result": {}})
    rest = answering(ANSWER)(v1("POST /mcp", message, authorizer={"claims": CLAIMS}), Context())
    assert json.loads(rest["body"])["result"] == {}


# --- the handshake era


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ],
)
def test_initialize_answers_a_version_it_knows_and_no_session(asked: str, given: str) -> None:
    client = {"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    status, answer = ask("initialize", client)
    assert (status, answer["result"]["protocolVersion"]) == (200, given)
    assert answer["result"]["serverInfo"]["name"] == "hopscope"


def test_a_tool_works_without_a_handshake_and_gives_the_same_json_twice() -> None:
    status, answer = ask("tools/call", CALL)
    result = answer["result"]
    assert status == 200
    assert result["structuredContent"] == json.loads(result["content"][0]["text"]) == ANSWER
    assert result.get("isError", False) is False
    assert "resultType" not in result


def test_older_headers_get_no_later_fields() -> None:
    old = {"mcp-protocol-version": "2025-03-26"}
    tools = ask("tools/list", headers=old)[1]["result"]["tools"]
    assert [tool["name"] for tool in tools] == ["expand_neighbors", "fetch_slice"]
    assert not {"outputSchema", "title"} & {key for tool in tools for key in tool}
    called = ask("tools/call", CALL, old)[1]["result"]
    assert "structuredContent" not in called
    assert json.loads(called["content"][0]["text"]) == ANSWER


def test_errors_of_the_handshake_era_ride_on_200() -> None:
    assert ask("nope")[0] == 200
    assert ask("nope")[1]["error"]["code"] == -32601
    assert ask("tools/call", {"name": "nope", "arguments": {}})[1]["error"]["code"] == -32602


# --- the stateless era


def test_discover_and_list_may_be_cached_by_all() -> None:
    for method in ("server/discover", "tools/list"):
        status, answer = ask_modern(method, {})
        assert status == 200
        assert answer["result"]["resultType"] == "complete"
        assert (answer["result"]["cacheScope"], answer["result"]["ttlMs"] > 0) == ("public", True)


def test_a_modern_call_is_complete() -> None:
    status, answer = ask_modern("tools/call", CALL)
    assert (status, answer["result"]["resultType"], answer["result"]["structuredContent"]) == (200, "complete", ANSWER)


@pytest.mark.parametrize(
    ("params", "headers", "status", "code"),
    [
        pytest.param({**META, **CALL}, {"mcp-name": "fetch_slice"}, 400, -32020, id="another name"),
        pytest.param({**META, **CALL}, {"mcp-method": "tools/list"}, 400, -32020, id="another method"),
        pytest.param({**META, **CALL}, {"mcp-protocol-version": "2025-11-25"}, 400, -32020, id="another version"),
        pytest.param(CALL, {}, 400, -32602, id="no envelope"),
        pytest.param({"_meta": {VERSION: "2026-07-28"}, **CALL}, {}, 400, -32602, id="no capabilities"),
    ],
)
def test_headers_and_body_must_agree(params: Any, headers: dict[str, str], status: int, code: int) -> None:
    named = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "expand_neighbors"}
    answer = ask("tools/call", params, {**named, **headers})
    assert (answer[0], answer[1]["error"]["code"], answer[1]["id"]) == (status, code, 7)


def test_headers_may_have_blanks_and_be_encoded() -> None:
    encoded = "=?base64?ZXhwYW5kX25laWdoYm9ycw==?="
    assert ask_modern("tools/call", CALL, mcp_name=f" {encoded} ", mcp_method=" tools/call")[0] == 200


def test_an_unsupported_version_names_those_there_are() -> None:
    meta = {"_meta": {**META["_meta"], VERSION: "2031-01-01"}}
    headers = {"mcp-protocol-version": "2031-01-01", "mcp-method": "server/discover"}
    status, answer = ask("server/discover", meta, headers)
    assert (status, answer["error"]["code"]) == (400, -32022)
    assert answer["error"]["data"] == {"supported": ["2026-07-28"], "requested": "2031-01-01"}


@pytest.mark.parametrize("method", ["initialize", "ping", "prompts/list", "nope"])
def test_a_method_that_modern_servers_do_not_have_is_a_404(method: str) -> None:
    status, answer = ask_modern(method, {})
    assert (status, answer["error"]["code"]) == (404, -32601)


def test_the_envelope_alone_makes_a_request_modern() -> None:
    status, answer = ask("tools/call", {**META, **CALL})
    assert (status, answer["error"]["code"]) == (400, -32020)


# --- refusals of the verbs


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (NotFound(), "Take ids from"),
        (Conflict("The revision is stale."), "The revision is stale."),
        (Unavailable(7), "Wait 7 s"),
    ],
)
def test_a_refusal_is_a_result_that_says_what_to_do(error: Exception, words: str) -> None:
    status, answer = ask("tools/call", CALL, result=error)
    assert (status, answer["result"]["isError"]) == (200, True)
    assert words in answer["result"]["content"][0]["text"]
    assert "structuredContent" not in answer["result"]


def test_bad_arguments_name_the_field() -> None:
    for arguments, field in (({}, "entity_ids"), ({"entity_ids": ["a"], "depth": True}, "depth")):
        answer = ask("tools/call", {"name": "expand_neighbors", "arguments": arguments})[1]
        assert answer["result"]["isError"] is True
        assert field in answer["result"]["content"][0]["text"]


def test_a_missing_role_is_a_result_too() -> None:
    answer = ask("tools/call", CALL, claims={**CLAIMS, "roles": "writer"})[1]
    assert answer["result"]["isError"] is True
    assert "reader" in answer["result"]["content"][0]["text"]


def test_a_fault_is_generic(caplog: pytest.LogCaptureFixture) -> None:
    status, answer = ask("tools/call", CALL, result=RuntimeError("canary in table"))
    assert (status, answer["error"]) == (200, {"code": -32603, "message": "Internal error."})
    assert [vars(record)["error"] for record in caplog.records if record.levelname == "ERROR"] == ["RuntimeError"]
    assert not any("canary" in str(vars(record)) for record in caplog.records)


def test_an_answer_over_the_gateways_limit_asks_for_less() -> None:
    answer = ask("tools/call", CALL, result={"text": "x" * 3_000_000})[1]
    assert answer["result"]["isError"] is True
    assert "content_max_chars" in answer["result"]["content"][0]["text"]


def test_arguments_named_like_a_principal_have_no_effect() -> None:
    seen: list[Session] = []

    def run(_store: Any, session: Session, _query: Any) -> Mapping[str, Any]:
        seen.append(session)
        return {}

    endpoint = McpEndpoint(ToolBox(lambda _: "store", (replace(EXPAND_NEIGHBORS, run=run),)))
    extra = {"tenant_id": "other", "principal_id": "root", "roles": ["admin"], "scope_keys": ["organization:*"]}
    params = {"name": "expand_neighbors", "arguments": {"entity_ids": ["a"], **extra}, "_meta": extra}
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    endpoint(v2("POST /mcp", message), Context())
    assert (seen[0].principal.tenant_id, seen[0].principal.principal_id) == ("acme", "ann")
    assert [role.value for role in seen[0].principal.roles] == ["reader"]
    assert seen[0].principal.scope_keys is None


def test_tools_are_listed_alike_for_everyone_and_in_order() -> None:
    listed = [
        ask("tools/list", claims={**CLAIMS, "sub": sub, "roles": roles}) for sub, roles in (("a", ""), ("b", "admin"))
    ]
    assert listed[0] == listed[1]
    names: Callable[[Any], list[str]] = lambda answer: [tool["name"] for tool in answer["result"]["tools"]]  # noqa: E731
    assert names(listed[0][1]) == [tool.name for tool in TOOLS][:2]
