"""From an API Gateway event to a verb and back: the only way into a function that answers HTTP.

A function is a tuple of operations:

    handler = endpoint(
        store,                                                   # shared.runtime.store
        Operation(
            route="POST /api/search/expand",                     # as in the template; path values are fields
            needs=Role.READER,                                   # or ANY_CALLER: the verb decides
            request=ExpandRequest,                               # `read` makes the engine's query
            answer=ExpandAnswer,                                 # for the OpenAPI document
            run=expand_neighbors,                                # (store, session, query) -> dict | Content
        ),
    )

A `Page` is a route that anyone may read.
Refusals leave in the contract's order: 401, 415, 413, 403, 400, then what the verb itself raises.
"""

import gzip
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, NoReturn, Protocol

from pydantic import BaseModel

from shared.boundary.event import Event, Incoming, incoming
from shared.boundary.models.base import Request
from shared.boundary.principal import mapped_principal, principal_of
from shared.boundary.problems import UnsupportedMedia, problem
from shared.boundary.settings import AuthMode, Misdeployed, Settings, settings
from shared.boundary.telemetry import Trace
from shared.domain import jsontext
from shared.domain.errors import FieldError, Forbidden, Malformed, NotFound, Refusal, TooLarge
from shared.domain.principal import Principal, Role, Surface
from shared.engine.session import Deadline, Session

JSON = "application/json"
NDJSON = "application/x-ndjson"
MAX_JSON_BYTES = 6 * 1024 * 1024 - 256 * 1024
"""A function is invoked with at most 6 MiB, the event around the body included."""
MAX_NDJSON_BYTES = 5 * 1024 * 1024
MAX_ANSWER_BYTES = 5_500_000
"""As sent, that is as JSON text inside JSON: the gateway takes 6 MB."""
DEADLINE_RESERVE_SECONDS = 0.5

Response = dict[str, Any]


class Context(Protocol):
    """What is used of the Lambda context."""

    def get_remaining_time_in_millis(self) -> int: ...


ANY_CALLER = None
"""What an operation needs that is open to every principal: the verb decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """An answer that is not a JSON object, or that carries headers of its own."""

    body: str
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


Result = Mapping[str, Any] | Content
StoreSource = Callable[[Deadline], Any]
"""Gives the store for a request of this deadline."""
_NO_COUNTS: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One route. An NDJSON operation's request model has the field `body`, the raw bytes.

    `refuses` tells the OpenAPI document what the verb itself may raise, besides what the door does.
    """

    route: str
    needs: Role | None
    request: type[Request]
    run: Callable[[Any, Session, Any], Result]
    answer: type[BaseModel] | None = None
    refuses: tuple[type[Refusal], ...] = ()
    media: str = JSON

    @property
    def takes_body(self) -> bool:
        return not self.route.startswith("GET ")

    @property
    def max_bytes(self) -> int:
        return MAX_NDJSON_BYTES if self.media == NDJSON else MAX_JSON_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One route without a principal: it shows the same to everyone and reaches no store."""

    route: str
    show: Callable[[Incoming], Result]
    summary: str


class Endpoint:
    """The handler of one function; `operations` is read by the OpenAPI generator."""

    def __init__(self, store: StoreSource, *operations: Operation | Page) -> None:
        self._store = store
        self.operations = operations
        self._by_route = {operation.route: operation for operation in operations}
        self._settings = settings()

    def __call__(self, event: Event, context: Context) -> Response:
        request = incoming(event)
        trace = Trace(request.request_id, request.route)
        counts = _NO_COUNTS
        try:
            result = self._run(event, request, context)
            response = _success(result, request)
            counts = _counts(result)
        except Exception as error:  # noqa: BLE001 - here every error becomes an answer
            trace.failed(error)
            response = refused(error, request.request_id)
        trace.done(response["statusCode"], counts)
        return response

    def _run(self, event: Event, request: Incoming, context: Context) -> Result:
        operation = self._by_route.get(request.route)
        if operation is None:
            raise NotFound
        if isinstance(operation, Page):
            return operation.show(request)
        principal = authenticated(event, context, self._settings, self._store)
        query = _query(operation, request, principal)
        asked = session(principal, Surface.HTTP, context)
        return operation.run(self._store(asked.deadline), asked, query)


endpoint = Endpoint


def no_store(_: Deadline) -> NoReturn:
    """The store of a function that has only pages."""
    raise Misdeployed("This function has no store.")


def authenticated(event: Event, context: Context, given: Settings, store: StoreSource) -> Principal:
    """Who asks, by the deployment's way of telling it."""
    if given.auth_mode is AuthMode.IAM:
        return mapped_principal(event, store(_deadline(context)).callers)
    return principal_of(event, given.claims)


def session(principal: Principal, surface: Surface, context: Context) -> Session:
    """The session of a request that is being answered now."""
    return Session(principal=principal, surface=surface, deadline=_deadline(context))


def _deadline(context: Context) -> Deadline:
    return Deadline(monotonic() + context.get_remaining_time_in_millis() / 1000 - DEADLINE_RESERVE_SECONDS)


def require(needs: Role | None, principal: Principal) -> None:
    """Raise `Forbidden` when `principal` lacks the role."""
    if needs is not None and needs not in principal.roles:
        raise Forbidden(needs.value)


def parse_object(data: bytes) -> dict[str, object]:
    """The JSON object that `data` holds, or `Malformed`."""
    try:
        value = jsontext.parse(data)
    except jsontext.NotJson as fault:
        raise Malformed(FieldError(fault.field or "body", str(fault))) from None
    if not isinstance(value, dict):
        raise Malformed(FieldError("body", "must be a JSON object"))
    return value


def respond(status: int, body: str, headers: Mapping[str, str]) -> Response:
    """A response in the form that both event shapes take."""
    return {
        "statusCode": status,
        "headers": {"Cache-Control": "no-store", **headers},
        "body": body,
        "isBase64Encoded": False,
    }


def refused(error: Exception, request_id: str) -> Response:
    """The problem document for `error`."""
    answer = problem(error, request_id)
    return respond(answer.status, jsontext.encode(answer.body), answer.headers)


def fits(body: str) -> bool:
    """Whether `body` passes the gateway, whose envelope escapes it once more."""
    return len(body) * 4 <= MAX_ANSWER_BYTES or len(jsontext.encode(body).encode("utf-8")) <= MAX_ANSWER_BYTES


def _query(operation: Operation, request: Incoming, principal: Principal) -> Any:
    """The verb's query. A malformed request waits for the role check: 413 goes before 403, and 403 before 400."""
    _check_media(operation, request)
    malformed: Malformed | None = None
    query = None
    try:
        query = operation.request.read(_members(operation, request))
    except Malformed as fault:
        malformed = fault
    require(operation.needs, principal)
    if malformed is not None:
        raise malformed
    return query


def _check_media(operation: Operation, request: Incoming) -> None:
    has_body = request.body != b"" or operation.media != JSON
    if operation.takes_body and has_body and request.content_type != operation.media:
        raise UnsupportedMedia(f"This operation takes {operation.media}.")
    if request.body is not None and len(request.body) > operation.max_bytes:
        raise TooLarge(f"The body is over {operation.max_bytes} bytes.")


def _members(operation: Operation, request: Incoming) -> dict[str, object]:
    """The fields of a request: its body's, its query's, and its path's, which no other may contradict."""
    members: dict[str, object] = dict(request.query) if request.method in ("GET", "DELETE") else {}
    if operation.takes_body:
        members |= _body_members(operation, request.body)
    for name, value in request.path.items():
        given = members.get(name)
        if given is not None and (not isinstance(given, str) or given.strip() != value.strip()):
            raise Malformed(FieldError(name, "differs from the path's"))
        members[name] = value
    return members


def _body_members(operation: Operation, body: bytes | None) -> dict[str, object]:
    if body is None:
        raise Malformed(FieldError("body", "is not valid base64"))
    if operation.media == NDJSON:
        return {"body": body}
    return parse_object(body) if body else {}


def _success(result: Result, request: Incoming) -> Response:
    """The answer; one that is too large for the gateway is packed, where the caller takes that."""
    content = result if isinstance(result, Content) else Content(body=jsontext.encode(result))
    headers = {"Content-Type": content.content_type, **content.headers}
    if fits(content.body):
        return respond(200, content.body, headers)
    if not request.accepts_gzip:
        raise TooLarge("The answer is too large to send. Ask for less, or accept gzip.")
    packed = b64encode(gzip.compress(content.body.encode(), mtime=0)).decode()
    if len(packed) > MAX_ANSWER_BYTES:
        raise TooLarge("The answer is too large to send. Ask for less.")
    return respond(200, packed, {**headers, "Content-Encoding": "gzip"}) | {"isBase64Encoded": True}


def _counts(result: Result) -> dict[str, int]:
    """The numbers of rows in an answer, which are all of it that a log may hold."""
    if isinstance(result, Content):
        return {}
    return {f"count_{name}": len(value) for name, value in result.items() if isinstance(value, list)}
