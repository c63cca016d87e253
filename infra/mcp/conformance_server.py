"""Serves the MCP handler for the official conformance suite: no token is asked for, and its fixture tools are added.

Listens on the loopback interface alone; reaches no store. Never deployed.

    python -m infra.mcp.conformance_server 3120
"""

import os
import sys
from dataclasses import replace
from typing import Any

import uvicorn

from infra.local.events import http_api_event
from infra.local.gateway import Gateway
from infra.local.server import application
from infra.local.template import Template

CLAIMS = {"sub": "conformance", "tenant_id": "conformance", "roles": ["reader", "writer"], "agents": ["*"]}


def _handler() -> Any:
    """The deployed handler with the suite's fixture tools beside the real ones."""
    import mcp_types as types
    from mcp.server.context import ServerRequestContext
    from mcp.shared.exceptions import MCPError

    from shared.boundary.http import no_store
    from shared.boundary.mcp import McpEndpoint, ToolBox
    from shared.boundary.tools import EXPAND_NEIGHBORS, TOOLS

    names = ("test_missing_capability", "test_streaming_elicitation", "test_logging_tool")
    fixtures = [replace(EXPAND_NEIGHBORS, name=name, title="Fixture", description="A fixture.") for name in names]

    class Fixtures(ToolBox):
        async def call_tool(
            self, ctx: ServerRequestContext[None, Any], params: types.CallToolRequestParams
        ) -> types.CallToolResult:
            if params.name == "test_missing_capability":
                needed: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
                raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "Sampling is needed", needed)
            if params.name in names:
                return types.CallToolResult(content=[types.TextContent(text="ok")], structured_content={})
            return await super().call_tool(ctx, params)

    return McpEndpoint(Fixtures(no_store, (*TOOLS, *fixtures)))


def main(port: int) -> None:
    template = Template.load()
    os.environ.update(template.environment())
    os.environ["ALLOWED_HOSTS"] = "127.0.0.1 localhost"
    os.environ["LOG_LEVEL"] = "ERROR"
    os.environ["POWERTOOLS_METRICS_DISABLED"] = "true"
    handler = _handler()
    routes = tuple(replace(route, is_open=True) for route in template.routes() if route.path == "/mcp")
    gateway = Gateway(
        routes,
        find_handler=lambda _: handler,
        make_event=lambda call: http_api_event(replace(call, claims=CLAIMS)),
    )
    uvicorn.run(application(gateway), host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    main(int(sys.argv[1]))
