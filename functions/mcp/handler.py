"""Wire of the MCP endpoint."""

from shared.boundary.mcp import McpEndpoint, ToolBox
from shared.boundary.tools import TOOLS
from shared.runtime import store

handler = McpEndpoint(ToolBox(store, TOOLS))
