"""The pages that need no principal. They show the deployment's public face and reach no store."""

from pathlib import Path

from shared.boundary.event import Incoming
from shared.boundary.http import Content, Result
from shared.boundary.settings import settings
from shared.domain.errors import NotFound

OPENAPI = Path(__file__).with_name("openapi.json")
"""Written by infra.openapi from the operations of every function; a test keeps it current."""


def health(_request: Incoming) -> Result:
    return {"status": "ok"}


def openapi(_request: Incoming) -> Result:
    return Content(body=OPENAPI.read_text(encoding="utf-8"))


def protected_resource(request: Incoming) -> Result:
    """RFC 9728: where clients of the MCP endpoint get their tokens. Absent where no issuer is set."""
    issuer = settings().issuer
    if issuer is None:
        raise NotFound
    return {
        "resource": settings().resource or f"https://{request.domain_name}/mcp",
        "authorization_servers": [issuer],
        "bearer_methods_supported": ["header"],
        "resource_name": "Hopscope",
    }
