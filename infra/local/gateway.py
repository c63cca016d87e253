"""Plays API Gateway and the Lambda runtime in one process: route, authorize, make the event, call the real handler.

It decides nothing that the deployed gateway would not; every rule of the product stays in the handlers.
"""

import importlib
import json
import re
import traceback
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from time import monotonic
from typing import Any

from infra.local.events import (
    Call,
    HttpRequest,
    HttpResponse,
    claims_of,
    http_api_event,
    response_of,
)
from infra.local.template import Function, Route

MAX_BODY = 10 * 1024 * 1024
"""What API Gateway accepts; more is refused before a handler sees it."""

Handler = Callable[[dict[str, Any], Any], Any]
_SEGMENT = re.compile(r"\{(\w+)(\+?)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LambdaContext:
    """What the Lambda runtime passes beside the event."""

    function_name: str
    memory_limit_in_mb: int
    aws_request_id: str
    ends: float
    function_version: str = "$LATEST"
    log_stream_name: str = "local"
    identity: None = None
    client_context: None = None

    @property
    def invoked_function_arn(self) -> str:
        return f"arn:aws:lambda:us-east-1:000000000000:function:{self.function_name}"

    @property
    def log_group_name(self) -> str:
        return f"/aws/lambda/{self.function_name}"

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((self.ends - monotonic()) * 1000))


def context_for(function: Function, request_id: str) -> LambdaContext:
    """A context whose time starts now."""
    return LambdaContext(
        function_name=f"hopscope-{function.name}",
        memory_limit_in_mb=function.memory_mb,
        aws_request_id=request_id,
        ends=monotonic() + function.timeout_seconds,
    )


def imported(function: Function) -> Handler:
    """The handler that the template names."""
    module, _, attribute = function.handler.rpartition(".")
    handler: Handler = getattr(importlib.import_module(module), attribute)
    return handler


def _pattern(path: str) -> re.Pattern[str]:
    parts = []
    end = 0
    for found in _SEGMENT.finditer(path):
        name, greedy = found.groups()
        parts += [re.escape(path[end : found.start()]), f"(?P<{name}>{'.+' if greedy else '[^/]+'})"]
        end = found.end()
    return re.compile("".join(parts) + re.escape(path[end:]))


@dataclass(frozen=True, slots=True)
class Gateway:
    """Serves requests by a template's routes."""

    routes: tuple[Route, ...]
    find_handler: Callable[[Function], Handler] = imported
    make_event: Callable[[Call], dict[str, Any]] = http_api_event
    _patterns: tuple[tuple[re.Pattern[str], Route], ...] = field(init=False)

    def __post_init__(self) -> None:
        # The most specific route wins: a full match before a variable, a variable before a greedy one.
        ordered = sorted(self.routes, key=lambda route: (route.path.count("+}"), route.path.count("{")))
        object.__setattr__(self, "_patterns", tuple((_pattern(route.path), route) for route in ordered))

    def handle(self, request: HttpRequest) -> HttpResponse:
        """The answer to a request. Runs the handler in the calling thread."""
        request_id = str(uuid.uuid4())
        matched = self._match(request)
        if matched is None:
            return _refusal(HTTPStatus.NOT_FOUND, request_id)
        route, parameters = matched
        claims = None if route.is_open else claims_of(request.header("authorization"))
        if claims is None and not route.is_open:
            return _refusal(HTTPStatus.UNAUTHORIZED, request_id, {"www-authenticate": "Bearer"})
        if len(request.body) > MAX_BODY:
            return _refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, request_id)
        call = Call(request=request, route=route, parameters=parameters, claims=claims, request_id=request_id)
        try:
            handler = self.find_handler(route.function)
            return response_of(handler(self.make_event(call), context_for(route.function, request_id)))
        except Exception:  # noqa: BLE001 - a crash of any handler is a 500 at the gateway
            traceback.print_exc()
            return _refusal(HTTPStatus.INTERNAL_SERVER_ERROR, request_id)

    def _match(self, request: HttpRequest) -> tuple[Route, Mapping[str, str]] | None:
        for pattern, route in self._patterns:
            found = pattern.fullmatch(request.path) if route.method in {request.method, "ANY"} else None
            if found:
                return route, found.groupdict()
        return None


def _refusal(status: HTTPStatus, request_id: str, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """A refusal of the gateway's own: its `message`, within a problem document."""
    problem = {
        "type": "about:blank",
        "title": status.phrase,
        "status": status.value,
        "detail": status.description or status.phrase,
        "instance": request_id,
        "message": status.phrase,
    }
    more = tuple((headers or {}).items())
    body = json.dumps(problem).encode()
    return HttpResponse(status=status, headers=(("content-type", "application/problem+json"), *more), body=body)
