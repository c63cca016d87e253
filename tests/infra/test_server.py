"""Over a real socket: the wire's path and body reach the handler untouched, and the answer comes back whole."""

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import uvicorn

from infra.local.events import dev_token
from infra.local.gateway import MAX_BODY, Gateway
from infra.local.server import application
from infra.local.template import Function, Route

FUNCTION = Function("memories", "functions.memories.handler.handler", 512, 29)
ROUTES = (
    Route("GET", "/api/memories/{id+}", FUNCTION, is_open=False),
    Route("POST", "/api/import", FUNCTION, is_open=False),
)
TOKEN = {"authorization": f"Bearer {dev_token({'sub': 'ana'})}"}


def echo(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    seen = {name: event.get(name) for name in ("pathParameters", "rawQueryString", "isBase64Encoded")}
    seen["size"] = len(event.get("body", ""))
    return {"statusCode": 200, "headers": {"X-Next-Cursor": "c1"}, "body": json.dumps(seen)}


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    gateway = Gateway(ROUTES, find_handler=lambda _: echo)
    server = uvicorn.Server(
        uvicorn.Config(application(gateway), host="127.0.0.1", port=0, http="h11", ws="none", log_level="warning")
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


def test_the_path_is_decoded_exactly_once(base: str) -> None:
    answer = httpx.get(f"{base}/api/memories/a%2Fb%2541%3F?x=%20y", headers=TOKEN)
    assert answer.http_version == "HTTP/1.1"
    assert answer.headers["x-next-cursor"] == "c1"
    assert answer.json()["pathParameters"] == {"id": "a/b%41?"}
    assert answer.json()["rawQueryString"] == "x=%20y"


def test_lines_go_as_base64(base: str) -> None:
    answer = httpx.post(
        f"{base}/api/import", headers={**TOKEN, "content-type": "application/x-ndjson"}, content=b"{}\n"
    )
    assert answer.json() == {"pathParameters": None, "rawQueryString": "", "isBase64Encoded": True, "size": 4}


@pytest.mark.parametrize(("size", "status"), [(MAX_BODY, 200), (MAX_BODY + 1, 413), (MAX_BODY * 2, 413)])
def test_the_gateways_bound_on_bodies(base: str, size: int, status: int) -> None:
    answer = httpx.post(
        f"{base}/api/import", headers={**TOKEN, "content-type": "text/plain"}, content=b"x" * size, timeout=30
    )
    assert answer.status_code == status


def test_refusals_are_problem_documents(base: str) -> None:
    assert httpx.get(f"{base}/nothing").status_code == 404
    refused = httpx.get(f"{base}/api/memories/a")
    assert refused.status_code == 401
    assert refused.headers["content-type"] == "application/problem+json"


def test_a_line_break_in_a_path_reaches_the_gateway(base: str) -> None:
    answer = httpx.get(f"{base}/api/memories/a%0Ab", headers=TOKEN)
    assert (answer.status_code, answer.json()["pathParameters"]) == (200, {"id": "a\nb"})
    lost = httpx.get(f"{base}/else%0A", headers=TOKEN)
    assert (lost.status_code, lost.headers["content-type"]) == (404, "application/problem+json")
