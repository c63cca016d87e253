"""The local gateway's events are those that API Gateway sends, as lossy and as decoded."""

import base64
from dataclasses import replace
from typing import Any

import pytest

from infra.local.events import (
    Call,
    HttpRequest,
    claims_of,
    dev_token,
    flattened,
    http_api_event,
    response_of,
    rest_api_event,
)
from infra.local.template import Function, Route

MEMORIES = Function("memories", "functions.memories.handler.handler", 512, 29)
ROUTE = Route("PUT", "/api/memories/{id+}", MEMORIES, is_open=False)
REQUEST = HttpRequest(
    method="PUT",
    path="/api/memories/a%2Fb%20%C3%A9",
    query="a=1&a=2&b=%C3%A9&c=",
    headers=(("Content-Type", "application/json"), ("X-Twice", "1"), ("x-twice", "2"), ("Cookie", "k=v; l=w")),
    body=b'{"n": 1}',
)


def made(**changes: Any) -> Call:
    return Call(
        request=replace(REQUEST, **changes),
        route=ROUTE,
        parameters={"id": "a%2Fb%20%C3%A9"},
        claims={"sub": "ana", "roles": ["reader", "writer"], "scope_keys": [], "x": None},
        request_id="r-1",
    )


def test_http_api_event_decodes_the_path_once_and_flattens_claims() -> None:
    event = http_api_event(made())
    assert event["version"] == "2.0"
    assert event["routeKey"] == "PUT /api/memories/{id+}"
    assert event["rawPath"] == "/api/memories/a/b é"
    assert event["pathParameters"] == {"id": "a/b é"}
    assert event["rawQueryString"] == "a=1&a=2&b=%C3%A9&c="
    assert event["queryStringParameters"] == {"a": "1,2", "b": "é", "c": ""}
    assert event["headers"] == {"content-type": "application/json", "x-twice": "1,2"}
    assert event["cookies"] == ["k=v", "l=w"]
    assert (event["body"], event["isBase64Encoded"]) == ('{"n": 1}', False)
    assert event["requestContext"]["authorizer"]["jwt"]["claims"] == {
        "sub": "ana",
        "roles": "[reader writer]",
        "scope_keys": "[]",
    }


def test_a_percent_sign_is_decoded_once() -> None:
    call = replace(made(path="/api/memories/a%2541"), parameters={"id": "a%2541"})
    assert http_api_event(call)["pathParameters"] == {"id": "a%41"}


def test_rest_api_event_leaves_the_path_encoded() -> None:
    event = rest_api_event(made())
    assert event["path"] == "/api/memories/a%2Fb%20%C3%A9"
    assert event["pathParameters"] == {"id": "a%2Fb%20%C3%A9"}
    assert event["queryStringParameters"] == {"a": "2", "b": "é", "c": ""}
    assert event["multiValueQueryStringParameters"]["a"] == ["1", "2"]
    assert event["requestContext"]["authorizer"]["claims"] == {
        "sub": "ana",
        "roles": "reader writer",
        "scope_keys": "",
    }


@pytest.mark.parametrize("make", [http_api_event, rest_api_event])
@pytest.mark.parametrize(
    ("media", "body"), [("application/x-ndjson", b'{"a": 1}\n'), ("application/json", b"\xff{"), ("image/png", b"\x89")]
)
def test_what_is_no_text_goes_as_base64(make: Any, media: str, body: bytes) -> None:
    event = make(made(headers=(("content-type", media),), body=body))
    assert event["isBase64Encoded"] is True
    assert base64.b64decode(event["body"]) == body


def test_open_routes_carry_no_authorizer() -> None:
    call = replace(made(), claims=None)
    assert "authorizer" not in http_api_event(call)["requestContext"]
    assert "authorizer" not in rest_api_event(call)["requestContext"]


def test_dev_tokens_round_trip() -> None:
    claims = {"sub": "añа?>", "roles": ["reader"], "n": 3}
    assert claims_of(f"Bearer {dev_token(claims)}") == claims
    assert "=" not in dev_token(claims)


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer x", "Bearer dev.", "Bearer dev.!!", "Bearer dev.WzFd", "Basic dev.e30", "dev.e30"],
)
def test_other_tokens_name_nobody(header: str | None) -> None:
    assert claims_of(header) is None


def test_flattened_claims_are_text() -> None:
    assert flattened({"a": True, "b": 1.5, "c": {"y": [1], "x": None}, "d": ["one"]}) == {
        "a": "true",
        "b": "1.5",
        "c": "map[x:<nil> y:[1]]",
        "d": "[one]",
    }


def test_response_of_a_result() -> None:
    result = {"statusCode": 201, "headers": {"X-A": "1"}, "cookies": ["k=v"], "body": "aGk=", "isBase64Encoded": True}
    answer = response_of(result)
    assert (answer.status, answer.body) == (201, b"hi")
    assert answer.headers == (("x-a", "1"), ("set-cookie", "k=v"), ("content-type", "application/json"))


def test_response_of_a_plain_value_is_its_json() -> None:
    assert response_of({"a": 1}).body == b'{"a": 1}'
