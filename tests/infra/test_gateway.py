"""The local gateway routes, authorizes and refuses as the deployed one does, before a handler runs."""

import json
from typing import Any

import pytest

from infra.local.events import HttpRequest, HttpResponse, dev_token
from infra.local.gateway import MAX_BODY, Gateway, Handler
from infra.local.template import Function, Route

OPEN = Function("meta", "functions.meta.handler.handler", 512, 29)
CLOSED = Function("grants", "functions.grants.handler.handler", 512, 29)
ROUTES = (
    Route("GET", "/health", OPEN, is_open=True),
    Route("GET", "/api/grants/{id}", CLOSED, is_open=False),
    Route("GET", "/api/grants", CLOSED, is_open=False),
    Route("GET", "/api/memories/{id+}", CLOSED, is_open=False),
    Route("POST", "/api/grants", CLOSED, is_open=False),
)


def echo(event: dict[str, Any], context: Any) -> dict[str, Any]:
    seen = {
        "route": event["routeKey"],
        "parameters": event.get("pathParameters"),
        "function": context.function_name,
        "left": context.get_remaining_time_in_millis(),
    }
    return {"statusCode": 200, "body": json.dumps(seen)}


def answer(
    method: str, path: str, handler: Handler = echo, body: bytes = b"", token: str | None = None
) -> HttpResponse:
    headers = (("authorization", f"Bearer {token}"),) if token else ()
    gateway = Gateway(ROUTES, find_handler=lambda _: handler)
    return gateway.handle(HttpRequest(method=method, path=path, headers=headers, body=body))


TOKEN = dev_token({"sub": "ana"})


@pytest.mark.parametrize(
    ("path", "key", "parameters"),
    [
        ("/api/grants", "GET /api/grants", None),
        ("/api/grants/g%2F1", "GET /api/grants/{id}", {"id": "g/1"}),
        ("/api/memories/a%2Fb", "GET /api/memories/{id+}", {"id": "a/b"}),
        ("/api/memories/a/b", "GET /api/memories/{id+}", {"id": "a/b"}),
    ],
)
def test_the_most_specific_route_answers(path: str, key: str, parameters: dict[str, str] | None) -> None:
    seen = json.loads(answer("GET", path, token=TOKEN).body)
    assert (seen["route"], seen["parameters"], seen["function"]) == (key, parameters, "hopscope-grants")
    assert 0 < seen["left"] <= 29_000


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/"), ("GET", "/api/grants/a/b"), ("PUT", "/api/grants"), ("GET", "/health/")]
)
def test_an_unknown_route_is_the_gateways_404(method: str, path: str) -> None:
    refused = answer(method, path, token=TOKEN)
    assert refused.status == 404
    assert json.loads(refused.body)["message"] == "Not Found"


def test_a_closed_route_needs_a_token() -> None:
    refused = answer("GET", "/api/grants")
    assert refused.status == 401
    assert dict(refused.headers) == {"content-type": "application/problem+json", "www-authenticate": "Bearer"}
    assert json.loads(refused.body)["status"] == 401


def test_an_open_route_needs_none() -> None:
    assert answer("GET", "/health").status == 200


def test_a_body_over_the_gateways_bound_is_413() -> None:
    assert answer("POST", "/api/grants", body=b"x" * MAX_BODY, token=TOKEN).status == 200
    assert answer("POST", "/api/grants", body=b"x" * (MAX_BODY + 1), token=TOKEN).status == 413


def test_a_crash_is_a_500_that_tells_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    def crash(_event: dict[str, Any], _context: Any) -> None:
        raise RuntimeError("secret detail")

    refused = answer("GET", "/health", handler=crash)
    assert refused.status == 500
    assert b"secret" not in refused.body
    assert "secret detail" in capsys.readouterr().err
