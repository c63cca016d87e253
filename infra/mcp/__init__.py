"""Checks of the MCP endpoint by the protocol's own tools."""
