"""API Gateway events and a Lambda context, as small as the handlers need them."""

import base64
import json
from collections.abc import Mapping
from typing import Any

CLAIMS = {"sub": "ann", "tenant_id": "acme", "roles": "reader"}


class Context:
    """A Lambda context with ten seconds left."""

    def get_remaining_time_in_millis(self) -> int:
        return 10_000


def v2(
    route: str,
    body: bytes | str | Mapping[str, Any] | None = None,
    *,
    claims: Mapping[str, Any] | None = CLAIMS,
    headers: Mapping[str, str] | None = None,
    path: Mapping[str, str] | None = None,
    query: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """An HTTP API event."""
    method, _, resource = route.partition(" ")
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": route,
        "rawPath": resource,
        "rawQueryString": "",
        "headers": {"content-type": "application/json", "host": "api.example", **(headers or {})},
        "requestContext": {
            "requestId": "r-1",
            "domainName": "api.example",
            "stage": "$default",
            "http": {"method": method, "path": resource},
        },
        "isBase64Encoded": False,
    }
    if claims is not None:
        event["requestContext"]["authorizer"] = {"jwt": {"claims": dict(claims), "scopes": None}}
    if path:
        event["pathParameters"] = dict(path)
    if query:
        event["queryStringParameters"] = dict(query)
    match body:
        case None:
            pass
        case bytes():
            event |= {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}
        case str():
            event["body"] = body
        case _:
            event["body"] = json.dumps(body)
    return event


def v1(
    route: str,
    body: Mapping[str, Any] | None = None,
    *,
    authorizer: Mapping[str, Any] | None = None,
    path: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A REST API event."""
    method, _, resource = route.partition(" ")
    return {
        "resource": resource,
        "path": resource,
        "httpMethod": method,
        "headers": {"Content-Type": "application/json", "Host": "api.example"},
        "multiValueHeaders": {"Content-Type": ["application/json"], "Host": ["api.example"]},
        "queryStringParameters": None,
        "multiValueQueryStringParameters": None,
        "pathParameters": dict(path) if path else None,
        "stageVariables": None,
        "requestContext": {
            "requestId": "r-1",
            "domainName": "api.example",
            "stage": "v1",
            "httpMethod": method,
            "authorizer": dict(authorizer) if authorizer is not None else None,
        },
        "body": None if body is None else json.dumps(body),
        "isBase64Encoded": False,
    }
