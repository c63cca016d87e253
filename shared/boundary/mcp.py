"""The MCP door: one stateless POST that serves both protocol eras from the tools' registry.

The protocol is the SDK's (`Server`, `serve_one`, its inbound checks); this adds only what a Lambda must do itself, and
never streams, keeps a session, or takes a principal from anywhere but the authorizer.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit

import anyio
import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.runner import serve_one
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS, InboundLadderRejection, classify_inbound_request
from mcp.shared.jsonrpc_dispatcher import handler_exception_to_error_data
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION
from pydantic import ValidationError

from shared.boundary.event import Event, Incoming, incoming
from shared.boundary.http import (
    JSON,
    MAX_JSON_BYTES,
    Context,
    Response,
    StoreSource,
    authenticated,
    fits,
    refused,
    require,
    respond,
    session,
)
from shared.boundary.problems import Throttled, UnsupportedMedia
from shared.boundary.schemas import input_schema, output_schema
from shared.boundary.settings import settings
from shared.boundary.telemetry import Trace
from shared.boundary.tools import Tool
from shared.domain import jsontext
from shared.domain.errors import Conflict, Forbidden, Malformed, NotFound, Refusal, TooLarge, Unavailable
from shared.domain.principal import Principal, Surface

ROUTE = "POST /mcp"
VERSION = "1"
INSTRUCTIONS = (
    "Hopscope holds memories, the typed relations between them, and the names declared about them. Find what relates "
    "to an id with expand_neighbors, read text with fetch_slice, look a name up with traverse. Everything is filtered "
    "by your rights: what is missing may exist. Plan three rounds of retrieval at most, then answer and cite its ids."
)
CACHE = CacheHint(ttl_ms=3_600_000, scope="public")
"""All callers see the same tools, and they change only with a deployment."""

_BEFORE_STRUCTURED = HANDSHAKE_PROTOCOL_VERSIONS[: HANDSHAKE_PROTOCOL_VERSIONS.index("2025-06-18")]
_LATER_FIELDS = frozenset({"outputSchema", "structuredContent", "title"})

_ADVICE: Mapping[type, str] = {
    Malformed: "{tool} was not run: {detail} Correct the arguments and call {tool} again.",
    NotFound: "{detail} {instead}",
    Forbidden: "{detail} Your credential does not have it, so do not retry; tell the user.",
    Conflict: "{detail} Read the current state, then decide whether to call {tool} again.",
    TooLarge: "{detail} Call {tool} again with a lower content_max_chars or for fewer items.",
    Unavailable: "{detail} Then call {tool} once more with the same arguments.",
    Throttled: "{detail} Then call {tool} once more with the same arguments.",
    Refusal: "{detail}",
}
_TRANSPORT = TransportContext(kind="streamable-http", can_send_request=False)

logging.getLogger("mcp").setLevel(logging.CRITICAL)  # the SDK logs exceptions with their text; `Trace` does without


@dataclass(slots=True)
class Call:
    """What the tools need of one request, carried through the SDK as its request object."""

    principal: Principal
    context: Context
    trace: Trace
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Exchange:
    """The SDK's dispatch context for a request whose only way back is its own response."""

    request_id: types.RequestId
    message_metadata: ServerMessageMetadata
    transport: TransportContext = _TRANSPORT
    can_send_request: bool = False
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)

    async def send_raw_request(self, method: str, *_: object) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(self, *_: object, **__: object) -> None:
        return None

    async def progress(self, *_: object, **__: object) -> None:
        return None


class ProtocolFault(Exception):
    """A JSON-RPC error and the HTTP status it travels with."""

    def __init__(self, code: int, message: str, *, status: int, data: object = None) -> None:
        super().__init__(message)
        self.code, self.message, self.status, self.data = code, message, status, data


class ToolBox:
    """The SDK's server over a registry of tools."""

    def __init__(self, store: StoreSource, tools: Sequence[Tool]) -> None:
        self.store = store
        self._tools = {tool.name: tool for tool in tools}
        self._listed = types.ListToolsResult(tools=[_listed(tool) for tool in tools])
        self.server: Server[None] = Server(
            "hopscope",
            version=VERSION,
            instructions=INSTRUCTIONS,
            cache_hints={"tools/list": CACHE, "server/discover": CACHE},
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
        )

    async def list_tools(
        self, _ctx: ServerRequestContext[None, Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return self._listed

    async def call_tool(
        self, ctx: ServerRequestContext[None, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        call = cast("Call", ctx.request)
        tool = self._tools.get(params.name)
        if tool is None:
            raise MCPError(code=types.INVALID_PARAMS, message="Unknown tool. tools/list names the tools there are.")
        call.trace.route = f"{ROUTE} {tool.name}"
        try:
            return self._run(tool, call, params.arguments or {})
        except Refusal as refusal:
            call.trace.failed(refusal)
            return _tool_error(advice(tool, refusal))
        except Exception as error:  # noqa: BLE001 - a defect is told to the log, never to the caller
            call.trace.failed(error)
            raise MCPError(code=types.INTERNAL_ERROR, message="Internal error.") from None

    def _run(self, tool: Tool, call: Call, arguments: Mapping[str, object]) -> types.CallToolResult:
        require(tool.needs, call.principal)
        query = tool.request.read(arguments)
        asked = session(call.principal, Surface.MCP, call.context)
        answer = tool.run(self.store(asked.deadline), asked, query)
        text = jsontext.encode(answer)
        if not fits(text + jsontext.encode(text)):
            raise TooLarge("The answer is too large to send.")
        call.counts |= {f"count_{name}": len(rows) for name, rows in answer.items() if isinstance(rows, list)}
        return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=answer)


class McpEndpoint:
    """The handler of the MCP function."""

    def __init__(self, box: ToolBox) -> None:
        self._box = box
        self._settings = settings()

    def __call__(self, event: Event, context: Context) -> Response:
        request = incoming(event)
        trace = Trace(request.request_id, f"{request.method} /mcp")
        counts: dict[str, int] = {}
        try:
            response = self._refused_by_transport(request) or self._serve(event, request, context, trace, counts)
        except Refusal as refusal:
            response = refused(refusal, request.request_id)
        trace.done(response["statusCode"], counts)
        return response

    def _refused_by_transport(self, request: Incoming) -> Response | None:
        if request.method != "POST":
            return _plain(405, "Method Not Allowed", request, {"Allow": "POST"})
        hosts = self._settings.allowed_hosts or {str(_host(f"//{request.domain_name}"))}
        if _host(f"//{request.headers.get('host', '')}") not in hosts:
            return _plain(403, "Forbidden", request)
        origin = request.headers.get("origin")
        if origin is not None and origin not in self._settings.allowed_origins and _host(origin) not in hosts:
            return _plain(403, "Forbidden", request)
        return None

    def _serve(
        self, event: Event, request: Incoming, context: Context, trace: Trace, counts: dict[str, int]
    ) -> Response:
        principal = authenticated(event, context, self._settings, self._box.store)
        call = Call(principal, context, trace, counts)
        if not request.headers.get("content-type", "").strip().lower().startswith(JSON):
            raise UnsupportedMedia(f"This endpoint takes {JSON}.")
        if request.body is not None and len(request.body) > MAX_JSON_BYTES:
            raise TooLarge(f"The body is over {MAX_JSON_BYTES} bytes.")
        request_id: object = None
        try:
            message = _message(request.body)
            if "id" not in message:
                return respond(202, "", {"Content-Type": JSON})
            request_id = message["id"]
            result = self._dispatch(_rpc(message), message, request.headers, call)
        except ProtocolFault as fault:
            return _rpc_error(request_id, fault)
        return respond(
            200, jsontext.encode({"jsonrpc": "2.0", "id": request_id, "result": result}), {"Content-Type": JSON}
        )

    def _dispatch(
        self, rpc: types.JSONRPCRequest, message: Mapping[str, Any], headers: Mapping[str, str], call: Call
    ) -> dict[str, Any]:
        version = headers.get("mcp-protocol-version", LATEST_HANDSHAKE_VERSION).strip()
        if version in HANDSHAKE_PROTOCOL_VERSIONS and not _has_envelope(rpc):
            result = self._ask(rpc, Connection.from_envelope(version, None, None), call, error_status={})
            return _as_before_structured(result) if version in _BEFORE_STRUCTURED else result
        trimmed = {name: value.strip() for name, value in headers.items()}
        route = classify_inbound_request(message, headers=trimmed)
        if isinstance(route, InboundLadderRejection):
            status = ERROR_CODE_HTTP_STATUS.get(route.code, 200)
            raise ProtocolFault(route.code, route.message, status=status, data=route.data)
        connection = Connection.from_envelope(route.protocol_version, route.client_info, route.client_capabilities)
        return self._ask(rpc, connection, call, error_status=ERROR_CODE_HTTP_STATUS)

    def _ask(
        self, rpc: types.JSONRPCRequest, connection: Connection, call: Call, *, error_status: Mapping[int, int]
    ) -> dict[str, Any]:
        exchange = Exchange(rpc.id, ServerMessageMetadata(request_context=call))
        try:
            return asyncio.run(
                serve_one(
                    self._box.server, exchange, rpc.method, rpc.params, connection=connection, lifespan_state=None
                )
            )
        except Exception as error:  # noqa: BLE001 - here every error becomes an answer
            known = handler_exception_to_error_data(error)
            if known is None:
                call.trace.failed(error)
                known = types.ErrorData(code=types.INTERNAL_ERROR, message="Internal error.")
            status = error_status.get(known.code, 200)
            raise ProtocolFault(known.code, known.message, status=status, data=known.data) from None


def advice(tool: Tool, refusal: Refusal) -> str:
    """What a model should do about `refusal`: change something, try another tool, wait, or stop."""
    words = {"detail": str(refusal), "tool": tool.name, "instead": tool.instead}
    if isinstance(refusal, Malformed) and refusal.errors:
        words["detail"] = "; ".join(f"{fault.field} {fault.message}" for fault in refusal.errors) + "."
    if isinstance(refusal, Unavailable | Throttled):
        words["detail"] += f" Wait {refusal.retry_after} s."
    return next(_ADVICE[kind] for kind in type(refusal).__mro__ if kind in _ADVICE).format_map(words)


def _listed(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=input_schema(tool.request),
        output_schema=output_schema(tool.answer),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.hints.read_only,
            destructive_hint=tool.hints.destructive,
            idempotent_hint=tool.hints.idempotent,
            open_world_hint=tool.hints.open_world,
        ),
    )


def _tool_error(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)


def _message(body: bytes | None) -> dict[str, Any]:
    try:
        message = jsontext.parse(body or b"")
    except jsontext.NotJson:
        raise ProtocolFault(types.PARSE_ERROR, "Parse error", status=400) from None
    if not isinstance(message, dict) or not isinstance(message.get("method"), str) or message.get("jsonrpc") != "2.0":
        raise ProtocolFault(types.INVALID_REQUEST, "The body must be one JSON-RPC request or notification", status=400)
    return message


def _rpc(message: Mapping[str, Any]) -> types.JSONRPCRequest:
    if isinstance(message["id"], bool | float | None):
        raise ProtocolFault(types.INVALID_REQUEST, "The id must be a string or an integer", status=400)
    try:
        return types.JSONRPCRequest.model_validate(message)
    except ValidationError:
        raise ProtocolFault(types.INVALID_REQUEST, "The body must be one JSON-RPC request", status=400) from None


def _rpc_error(request_id: object, fault: ProtocolFault) -> Response:
    error = {"code": fault.code, "message": fault.message}
    if fault.data is not None:
        error["data"] = fault.data
    known_id = request_id if isinstance(request_id, str | int) and not isinstance(request_id, bool) else None
    return respond(
        fault.status, jsontext.encode({"jsonrpc": "2.0", "id": known_id, "error": error}), {"Content-Type": JSON}
    )


def _has_envelope(rpc: types.JSONRPCRequest) -> bool:
    meta = (rpc.params or {}).get("_meta")
    return isinstance(meta, Mapping) and types.PROTOCOL_VERSION_META_KEY in meta


def _as_before_structured(result: dict[str, Any]) -> dict[str, Any]:
    """`result` without what clients before 2025-06-18 do not know."""
    kept = {name: value for name, value in result.items() if name not in _LATER_FIELDS}
    if isinstance(tools := kept.get("tools"), list):
        kept["tools"] = [{name: value for name, value in tool.items() if name not in _LATER_FIELDS} for tool in tools]
    return kept


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _plain(status: int, title: str, request: Incoming, headers: Mapping[str, str] | None = None) -> Response:
    body = {"type": "about:blank", "title": title, "status": status, "detail": title, "instance": request.request_id}
    return respond(status, jsontext.encode(body), {"Content-Type": "application/problem+json", **(headers or {})})
