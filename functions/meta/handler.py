"""Wire of what anyone may read: health, the OpenAPI document, the protected-resource metadata."""

from shared.boundary.http import Page, endpoint, no_store
from shared.boundary.meta import health, openapi, protected_resource

handler = endpoint(
    no_store,
    Page(route="GET /health", show=health, summary="Whether the service answers"),
    Page(route="GET /openapi.json", show=openapi, summary="This document"),
    Page(route="GET /.well-known/oauth-protected-resource", show=protected_resource, summary="RFC 9728 metadata"),
    Page(route="GET /.well-known/oauth-protected-resource/mcp", show=protected_resource, summary="RFC 9728 metadata"),
)
