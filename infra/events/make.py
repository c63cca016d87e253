"""Writes the events of `sam local invoke`: one for each function's first route, as the HTTP API would send it.

`python -m infra.events.make` rewrites the files beside it; a test holds them to what the local gateway makes.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from infra.local.events import Call, HttpRequest, http_api_event
from infra.local.serve import ANA, OPERATOR
from infra.local.template import Route, Template

HERE = Path(__file__).parent
_AT = datetime(2026, 1, 1, tzinfo=UTC)
_MCP = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
_LINE = {"kind": "memory", "id": "m1", "type": "note", "name": "A note"}
_ID = {"id": "decision-single-table"}
EVENTS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, str], Any]] = {
    "POST /api/search/expand": (ANA, {}, {"entity_ids": ["decision-single-table"], "depth": 2}),
    "POST /api/search/slice": (ANA, {}, {"entity_id": "guide-order-store", "window": 2}),
    "POST /api/search/traverse": (ANA, {}, {"agent_id": "planner", "entity": "ana", "max_hops": 2}),
    "POST /api/records/expand": (ANA, {}, {"recordId": "decision-single-table", "digest": "0"}),
    "POST /api/records/lines": (ANA, {}, {"recordIds": ["decision-single-table"]}),
    "POST /api/associations": (ANA, {}, {"agent_id": "planner", "entities": [{"name": "Ana"}]}),
    "GET /api/memories/{id+}": (ANA, _ID, None),
    "PUT /api/edges": (ANA, {}, {"source": "a", "relationship": "ABOUT", "target": "b"}),
    "PUT /api/memberships": (OPERATOR, {}, {"principal_id": "ana", "project_id": "atlas"}),
    "POST /api/import": (OPERATOR, {}, _LINE),
    "GET /api/export": (OPERATOR, {}, None),
    "GET /api/grants": (OPERATOR, {}, None),
    "POST /api/grants/{id}/recheck": (ANA, {"id": "grant_none"}, {}),
    "GET /api/audit": (OPERATOR, {}, None),
    "POST /api/projects/{id}/purge": (OPERATOR, {"id": "atlas"}, {"mode": "logical", "reason": "an example"}),
    "POST /mcp": (ANA, {}, _MCP),
    "GET /health": ({}, {}, None),
}
"""By route: who asks, the path's values, and the body."""


def event_of(route: Route) -> dict[str, Any]:
    """The event of a route in `EVENTS`."""
    claims, parameters, body = EVENTS[route.key]
    media = "application/x-ndjson" if route.key == "POST /api/import" else "application/json"
    path = route.path
    for name, value in parameters.items():
        path = path.replace(f"{{{name}+}}", value).replace(f"{{{name}}}", value)
    request = HttpRequest(
        method=route.method,
        path=path,
        headers=(("host", "127.0.0.1:3000"), ("content-type", media)),
        body=b"" if body is None else json.dumps(body).encode(),
    )
    call = Call(
        request=request,
        route=route,
        parameters=parameters,
        claims=None if route.is_open else claims,
        request_id="local-1",
        at=_AT,
    )
    return http_api_event(call)


def events() -> dict[str, str]:
    """The files by name."""
    routes = {route.key: route for route in Template.load().routes()}
    found = {f"{routes[key].function.name}.json": event_of(routes[key]) for key in EVENTS}
    return {name: json.dumps(event, indent=2) + "\n" for name, event in {**found, "sweep.json": {}}.items()}


def main() -> None:
    for name, text in events().items():
        (HERE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
