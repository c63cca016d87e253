"""Turns an HTTP request into the event API Gateway would send, and a handler's result into the HTTP answer.

The one place that knows development tokens. It must stay as strict and as lossy as the gateway: claims become text,
list claims the text `[a b]`, and an HTTP API decodes the path where a REST API leaves it encoded.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, unquote

from infra.local.template import Route

DEV_PREFIX = "dev."
_ACCOUNT = "000000000000"
_TEXT_TYPES = ("application/json", "application/javascript", "application/xml")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A request as it came over the wire; `path` is still percent-encoded."""

    method: str
    path: str
    query: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    source_ip: str = "127.0.0.1"

    def header(self, name: str) -> str | None:
        """A header's value; repeated ones are joined by a comma."""
        found = [value for key, value in self.headers if key.lower() == name.lower()]
        return ",".join(found) if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpResponse:
    """An answer as it goes over the wire."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request that reached a route: what an event is made of."""

    request: HttpRequest
    route: Route
    parameters: Mapping[str, str]
    claims: Mapping[str, Any] | None
    request_id: str
    at: datetime = field(default_factory=lambda: datetime.now(UTC))


def dev_token(claims: Mapping[str, Any]) -> str:
    """The development token of some claims.

    >>> dev_token({"sub": "ana"})
    'dev.eyJzdWIiOiJhbmEifQ'
    """
    text = json.dumps(claims, separators=(",", ":")).encode()
    return DEV_PREFIX + base64.urlsafe_b64encode(text).decode().rstrip("=")


def claims_of(authorization: str | None) -> dict[str, Any] | None:
    """The claims of a development token; None when there is none, or it is no such token."""
    scheme, _, token = (authorization or "").strip().partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token.startswith(DEV_PREFIX):
        return None
    encoded = token.removeprefix(DEV_PREFIX)
    try:
        claims = json.loads(base64.b64decode(encoded + "=" * (-len(encoded) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        return None
    return claims if isinstance(claims, dict) else None


def flattened(claims: Mapping[str, Any]) -> dict[str, str]:
    """Claims as the HTTP API's authorizer passes them: every value as text, a null not at all.

    >>> flattened({"roles": ["reader", "writer"], "exp": 3, "on": True, "x": None})
    {'roles': '[reader writer]', 'exp': '3', 'on': 'true'}
    """
    return {name: _as_text(value) for name, value in claims.items() if value is not None}


def _as_text(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "<nil>"
        case list():
            return "[" + " ".join(_as_text(item) for item in value) + "]"
        case dict():
            return "map[" + " ".join(f"{key}:{_as_text(value[key])}" for key in sorted(value)) + "]"
        case _:
            return str(value)


def http_api_event(call: Call) -> dict[str, Any]:
    """The event of an HTTP API, payload format 2.0."""
    request = call.request
    path = unquote(request.path)
    headers = {name.lower(): request.header(name) for name, _ in request.headers if name.lower() != "cookie"}
    cookies = [part.strip() for key, value in request.headers if key.lower() == "cookie" for part in value.split(";")]
    context: dict[str, Any] = {
        "accountId": _ACCOUNT,
        "apiId": "local",
        "domainName": request.header("host") or "localhost",
        "domainPrefix": "local",
        "http": {
            "method": request.method,
            "path": path,
            "protocol": "HTTP/1.1",
            "sourceIp": request.source_ip,
            "userAgent": request.header("user-agent") or "",
        },
        "requestId": call.request_id,
        "routeKey": call.route.key,
        "stage": "$default",
        "time": call.at.strftime("%d/%b/%Y:%H:%M:%S +0000"),
        "timeEpoch": int(call.at.timestamp() * 1000),
    }
    if call.claims is not None:
        context["authorizer"] = {"jwt": {"claims": flattened(call.claims), "scopes": None}}
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": call.route.key,
        "rawPath": path,
        "rawQueryString": request.query,
        "headers": headers,
        "requestContext": context,
        **_body(request),
    }
    if cookies:
        event["cookies"] = cookies
    if request.query:
        event["queryStringParameters"] = {name: ",".join(values) for name, values in _query(request.query).items()}
    if call.parameters:
        event["pathParameters"] = {name: unquote(value) for name, value in call.parameters.items()}
    return event


def rest_api_event(call: Call) -> dict[str, Any]:
    """The event of a REST API (format 1.0): the path still encoded, list claims as words, absent parts null."""
    request = call.request
    multi: dict[str, list[str]] = {}
    for name, value in request.headers:
        multi.setdefault(name, []).append(value)
    query = _query(request.query)
    context: dict[str, Any] = {
        "accountId": _ACCOUNT,
        "apiId": "local",
        "domainName": request.header("host") or "localhost",
        "httpMethod": request.method,
        "identity": {"sourceIp": request.source_ip, "userAgent": request.header("user-agent") or ""},
        "path": f"/v1{request.path}",
        "protocol": "HTTP/1.1",
        "requestId": call.request_id,
        "requestTimeEpoch": int(call.at.timestamp() * 1000),
        "resourcePath": call.route.path,
        "stage": "v1",
    }
    if call.claims is not None:
        context["authorizer"] = {"claims": {name: text.strip("[]") for name, text in flattened(call.claims).items()}}
    return {
        "resource": call.route.path,
        "path": request.path,
        "httpMethod": request.method,
        "headers": {name: values[-1] for name, values in multi.items()},
        "multiValueHeaders": multi,
        "queryStringParameters": {name: values[-1] for name, values in query.items()} or None,
        "multiValueQueryStringParameters": query or None,
        "pathParameters": dict(call.parameters) or None,
        "stageVariables": None,
        "requestContext": context,
        "body": None,
        **_body(request),
    }


def _query(raw: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in parse_qsl(raw, keep_blank_values=True):
        found.setdefault(name, []).append(value)
    return found


def _body(request: HttpRequest) -> dict[str, Any]:
    """The body as text where the gateway takes its type for text, else in base64."""
    if not request.body:
        return {"isBase64Encoded": False}
    media = (request.header("content-type") or "text/plain").partition(";")[0].strip().lower()
    if media.startswith("text/") or media in _TEXT_TYPES:
        try:
            return {"body": request.body.decode("utf-8"), "isBase64Encoded": False}
        except UnicodeDecodeError:
            pass
    return {"body": base64.b64encode(request.body).decode("ascii"), "isBase64Encoded": True}


def response_of(result: Any) -> HttpResponse:
    """The HTTP answer of what a handler returned."""
    if not isinstance(result, dict) or "statusCode" not in result:
        return HttpResponse(
            status=200, headers=(("content-type", "application/json"),), body=json.dumps(result).encode()
        )
    headers = [(name.lower(), str(value)) for name, value in (result.get("headers") or {}).items()]
    for name, values in (result.get("multiValueHeaders") or {}).items():
        headers += [(name.lower(), str(value)) for value in values]
    headers += [("set-cookie", cookie) for cookie in result.get("cookies") or ()]
    if not any(name == "content-type" for name, _ in headers):
        headers.append(("content-type", "application/json"))
    text = result.get("body") or ""
    body = base64.b64decode(text) if result.get("isBase64Encoded") else text.encode()
    return HttpResponse(status=int(result["statusCode"]), headers=tuple(headers), body=body)
