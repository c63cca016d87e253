"""The OpenAPI document is what the handlers are, and describes every route that the template has."""

import importlib.util
import json

from infra import openapi
from infra.local.template import Template
from shared.boundary.meta import OPENAPI


def test_the_shipped_document_is_current() -> None:
    assert OPENAPI.read_text(encoding="utf-8") == openapi.text(), "run python -m infra.openapi"


def test_every_route_of_the_template_is_described_and_no_other() -> None:
    described = {
        f"{method.upper()} {path}" for path, methods in openapi.document()["paths"].items() for method in methods
    }
    routes = Template.load().routes()
    served = {
        route.key.replace("+}", "}")
        for route in routes
        if importlib.util.find_spec(f"functions.{route.function.name}") is not None
    }
    refused = {"GET /mcp", "DELETE /mcp"}  # answered 405
    assert described == served - refused


def test_references_lead_somewhere() -> None:
    document = openapi.document()
    references = {part.split('"')[0] for part in json.dumps(document).split('"$ref": "#/')[1:]}
    assert references
    for reference in references:
        node = document
        for step in reference.split("/"):
            node = node[step]


def test_operation_ids_are_unique() -> None:
    ids = [verb["operationId"] for methods in openapi.document()["paths"].values() for verb in methods.values()]
    assert len(ids) == len(set(ids))
