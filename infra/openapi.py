"""Writes the OpenAPI 3.1 document of every HTTP operation, from the models that the handlers validate with.

python -m infra.openapi          writes shared/boundary/openapi.json
python -m infra.openapi --check  fails when that file is not what would be written
"""

import importlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from infra.local.template import Template
from shared.boundary.http import NDJSON, Operation, Page
from shared.boundary.meta import OPENAPI
from shared.boundary.problems import KINDS, PROBLEM_TYPE, Throttled, UnsupportedMedia
from shared.domain.errors import Forbidden, Malformed, Refusal, TooLarge, Unauthenticated, Unavailable

Schema = dict[str, Any]
FUNCTIONS = Path(__file__).resolve().parents[1] / "functions"
_REF = "#/components/schemas/{model}"
_PATH_FIELD = re.compile(r"\{(\w+)\}")
_STRING: Schema = {"type": "string"}

PROBLEM: Schema = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "instance"],
    "properties": {
        "type": _STRING,
        "title": _STRING,
        "status": {"type": "integer"},
        "detail": _STRING,
        "instance": {"type": "string", "description": "The request id."},
        "errors": {
            "type": "array",
            "description": "For a 400: the faults, each by its field as the caller spelled it.",
            "items": {
                "type": "object",
                "required": ["field", "message"],
                "properties": {"field": _STRING, "message": _STRING},
            },
        },
    },
}


def operations() -> Iterator[Operation | Page]:
    """The operations of every function, in the order of their folders."""
    for key, value in Template.load().environment().items():
        os.environ.setdefault(key, value)
    for path in sorted(FUNCTIONS.glob("*/handler.py")):
        module = importlib.import_module(f"functions.{path.parent.name}.handler")
        yield from getattr(module.handler, "operations", ())


def document() -> Schema:
    """The whole document."""
    schemas: dict[str, Schema] = {"Problem": PROBLEM}
    paths: dict[str, Schema] = {"/mcp": {"post": _mcp()}}
    for operation in operations():
        method, _, path = operation.route.partition(" ")
        described = _page(operation) if isinstance(operation, Page) else _operation(operation, schemas)
        paths.setdefault(path, {})[method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Hopscope",
            "version": "1",
            "description": "A memory graph, read in bounded, authorized hops.",
        },
        "security": [{"token": []}],
        "paths": dict(sorted(paths.items())),
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
            "responses": _problem_responses(),
            "schemas": dict(sorted(schemas.items())),
        },
    }


def _operation(operation: Operation, schemas: dict[str, Schema]) -> Schema:
    request = _schema(operation.request, schemas)
    in_path = _PATH_FIELD.findall(operation.route)
    in_query = operation.route.startswith(("GET ", "DELETE "))
    properties: dict[str, Schema] = request["properties"]
    described: Schema = {
        "operationId": operation.run.__name__,
        "summary": _first_line(operation.request),
        "description": f"Needs the role {operation.needs}." if operation.needs else "Any principal; the verb decides.",
        "parameters": [
            {
                "name": name,
                "in": "path" if name in in_path else "query",
                "required": name in in_path or name in request.get("required", ()),
                "schema": {key: value for key, value in properties[name].items() if key != "description"},
                **({"description": text} if (text := properties[name].get("description")) else {}),
            }
            for name in properties
            if name in in_path or in_query
        ],
        "responses": {"200": _success(operation, schemas), **_refusals(operation)},
    }
    body = {name: property_ for name, property_ in properties.items() if name not in in_path}
    if operation.media == NDJSON:
        described["requestBody"] = {"required": True, "content": {NDJSON: {"schema": _STRING}}}
    elif body and not in_query:
        required = [name for name in request.get("required", ()) if name in body]
        content = {**request, "properties": body, **({"required": required} if required else {})}
        schemas[operation.request.__name__] = content
        described["requestBody"] = {
            "required": True,
            "content": {operation.media: {"schema": _reference(operation.request)}},
        }
    return described


def _success(operation: Operation, schemas: dict[str, Schema]) -> Schema:
    if operation.answer is None:
        return {
            "description": "Interchange lines.",
            "headers": {"X-Next-Cursor": {"schema": _STRING, "description": "Absent on the last page."}},
            "content": {NDJSON: {"schema": _STRING}},
        }
    schemas[operation.answer.__name__] = _schema(operation.answer, schemas)
    schema = _reference(operation.answer)
    return {"description": _first_line(operation.answer), "content": {"application/json": {"schema": schema}}}


def _refusals(operation: Operation) -> dict[str, Schema]:
    kinds: list[type[Refusal]] = [Malformed, Unauthenticated, Throttled, Unavailable, *operation.refuses]
    if operation.needs is not None:
        kinds.append(Forbidden)
    if operation.takes_body:
        kinds += [TooLarge, UnsupportedMedia]
    statuses = {KINDS[kind].status for kind in kinds}
    return {str(status): {"$ref": f"#/components/responses/Problem{status}"} for status in sorted(statuses)}


def _problem_responses() -> dict[str, Schema]:
    retry = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds."}}
    return {
        f"Problem{kind.status}": {
            "description": kind.title,
            **({"headers": retry} if kind.status in (429, 503) else {}),
            "content": {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for kind in KINDS.values()
    }


def _page(page: Page) -> Schema:
    return {
        "operationId": "_".join(re.findall(r"\w+", page.route)).lower(),
        "summary": page.summary,
        "security": [],
        "responses": {"200": {"description": page.summary, "content": {"application/json": {"schema": {}}}}},
    }


def _mcp() -> Schema:
    return {
        "operationId": "mcp",
        "summary": "The Model Context Protocol endpoint, stateless Streamable HTTP: one JSON-RPC message in, one out.",
        "requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}},
        "responses": {
            "200": {
                "description": "A JSON-RPC response.",
                "content": {"application/json": {"schema": {"type": "object"}}},
            },
            "202": {"description": "A notification was received."},
            "400": {
                "description": "A JSON-RPC error: not one message, or headers that differ from it.",
                "content": {"application/json": {"schema": {"type": "object"}}},
            },
            "404": {
                "description": "A JSON-RPC error: an unknown method of the stateless protocol.",
                "content": {"application/json": {"schema": {"type": "object"}}},
            },
            **{str(s): {"$ref": f"#/components/responses/Problem{s}"} for s in (401, 403, 413, 415, 429, 503)},
        },
    }


def _schema(model: type[BaseModel], schemas: dict[str, Schema]) -> Schema:
    """The model's schema; what it refers to goes to `schemas`."""
    schema: Schema = _without_nulls(model.model_json_schema(ref_template=_REF))
    schemas.update(schema.pop("$defs", {}))
    return schema


def _without_nulls(node: Any) -> Any:
    """A default of null says that the field may be left out, which `required` says already."""
    if isinstance(node, Mapping):
        return {
            key: _without_nulls(value)
            for key, value in node.items()
            if not (key == "default" and value is None) and not (key == "title" and isinstance(value, str))
        }
    return [_without_nulls(item) for item in node] if isinstance(node, list) else node


def _reference(model: type[BaseModel]) -> Schema:
    return {"$ref": _REF.format(model=model.__name__)}


def _first_line(model: type[BaseModel]) -> str:
    return (model.__doc__ or "").strip().splitlines()[0]


def text() -> str:
    return json.dumps(document(), ensure_ascii=False, indent=1) + "\n"


def main() -> int:
    if "--check" in sys.argv:
        return int(not OPENAPI.exists() or OPENAPI.read_text(encoding="utf-8") != text())
    OPENAPI.write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
