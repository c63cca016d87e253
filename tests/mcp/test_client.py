"""The official client, in each of its modes, against the handler behind an in-process HTTP bridge."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from shared.boundary.mcp import McpEndpoint, ToolBox
from shared.boundary.tools import EXPAND_NEIGHBORS, TOOLS
from shared.domain.errors import NotFound
from shared.engine.session import Session
from tests.support.lambda_events import Context, v2

ANSWER = {
    "origins": ["a"],
    "unresolved": [],
    "neighbors": [
        {
            "id": "b",
            "type": "note",
            "name": "B",
            "relationship": "ABOUT",
            "direction": "incoming",
            "distance": 1,
            "score": 0.78,
            "content": "",
            "project_id": None,
            "metadata": {"content_truncated": False},
        }
    ],
    "total": 1,
    "depth": 1,
    "limit": 8,
    "truncated": False,
    "filters": {"depth": 1, "limit": 8, "content_max_chars": 500, "include_incoming": True, "round_budget": 3},
}


def run(_store: Any, _session: Session, query: Any) -> Mapping[str, Any]:
    if query.entity_ids == ("gone",):
        raise NotFound
    return ANSWER


def bridge() -> Starlette:
    """The handler as an ASGI application."""
    tools = tuple(replace(tool, run=run) if tool.name == EXPAND_NEIGHBORS.name else tool for tool in TOOLS)
    handler = McpEndpoint(ToolBox(lambda _: None, tools))

    async def serve(request: Request) -> Response:
        event = v2(f"{request.method} /mcp", await request.body(), headers=dict(request.headers))
        answer = await anyio.to_thread.run_sync(handler, event, Context())
        return Response(answer["body"], answer["statusCode"], answer["headers"])

    return Starlette(routes=[Route("/mcp", serve, methods=["GET", "POST", "DELETE"])])


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
def test_the_official_client_lists_and_calls(mode: Any) -> None:
    async def talk() -> None:
        transport = httpx2.ASGITransport(app=bridge())
        async with (
            httpx2.AsyncClient(transport=transport, base_url="https://api.example") as http_client,
            Client(streamable_http_client("https://api.example/mcp", http_client=http_client), mode=mode) as client,
        ):
            listed = await client.list_tools()
            assert [tool.name for tool in listed.tools] == [tool.name for tool in TOOLS]
            assert all(tool.output_schema and tool.annotations and tool.title for tool in listed.tools)
            result = await client.call_tool("expand_neighbors", {"entity_ids": ["a"]})
            assert result.is_error is False
            assert result.structured_content == ANSWER
            refused = await client.call_tool("expand_neighbors", {"entity_ids": ["gone"]})
            assert refused.is_error is True

    anyio.run(talk)
