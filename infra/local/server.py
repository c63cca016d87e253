"""The HTTP/1.1 front of the local gateway, on the loopback interface only."""

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, request_response

from infra.local.events import HttpRequest
from infra.local.gateway import MAX_BODY, Gateway

_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
_THREADS = 16


async def _bounded_body(request: Request) -> bytes:
    """The body, read no further than one byte past what the gateway accepts."""
    read = bytearray()
    async for chunk in request.stream():
        if len(read) <= MAX_BODY:
            read += chunk[: MAX_BODY + 1 - len(read)]
    return bytes(read)


def application(gateway: Gateway) -> Starlette:
    """An ASGI application that passes every request to the gateway, each on a thread of a small pool."""
    limiter = CapacityLimiter(_THREADS)

    async def serve(request: Request) -> Response:
        raw_path: bytes = request.scope["raw_path"]
        wire = HttpRequest(
            method=request.method,
            path=raw_path.partition(b"?")[0].decode("latin-1"),
            query=request.scope["query_string"].decode("latin-1"),
            headers=tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw),
            body=await _bounded_body(request),
            source_ip=request.client.host if request.client else "127.0.0.1",
        )
        answer = await run_sync(gateway.handle, wire, limiter=limiter)
        response = Response(answer.body, status_code=answer.status)
        for name, value in answer.headers:
            if name != "content-length":
                response.headers.append(name, value)
        return response

    app = Starlette(routes=[Route("/{path:path}", serve, methods=_METHODS)])
    app.router.default = request_response(serve)  # a path with a line break matches no route of Starlette's
    return app
