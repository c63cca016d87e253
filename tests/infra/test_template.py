"""The template holds what the product promises: its table, its routes, and no right that a function doesn't need."""

import os
from typing import Any

import pytest
import yaml

from infra.local.gateway import imported
from infra.local.template import TEMPLATE, Template, _Loader

OPEN_ROUTES = {
    "GET /health",
    "GET /openapi.json",
    "GET /.well-known/oauth-protected-resource",
    "GET /.well-known/oauth-protected-resource/mcp",
}
ROUTES = OPEN_ROUTES | {
    "POST /api/search/expand",
    "POST /api/search/slice",
    "POST /api/search/traverse",
    "POST /api/records/expand",
    "POST /api/records/lines",
    "POST /api/associations",
    "GET /api/memories/{id+}",
    "PUT /api/memories/{id+}",
    "PATCH /api/memories/{id+}",
    "DELETE /api/memories/{id+}",
    "PUT /api/edges",
    "DELETE /api/edges",
    "PUT /api/memberships",
    "DELETE /api/memberships",
    "POST /api/import",
    "GET /api/export",
    "POST /api/grants",
    "GET /api/grants",
    "GET /api/grants/{id}",
    "DELETE /api/grants/{id}",
    "POST /api/grants/{id}/recheck",
    "GET /api/audit",
    "POST /api/projects/{id}/purge",
    "POST /mcp",
    "GET /mcp",
    "DELETE /mcp",
}


@pytest.fixture(scope="module")
def resources() -> dict[str, Any]:
    document = yaml.load(TEMPLATE.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506
    found: dict[str, Any] = document["Resources"]
    return found


def of_type(resources: dict[str, Any], kind: str) -> dict[str, Any]:
    return {name: found for name, found in resources.items() if found["Type"] == kind}


def test_the_routes_are_exactly_these(template: Template) -> None:
    routes = template.routes()
    assert {route.key for route in routes} == ROUTES
    assert len(routes) == len(ROUTES)
    assert {route.key for route in routes if route.is_open} == OPEN_ROUTES


def test_a_routes_function_is_named_like_its_folder(template: Template) -> None:
    by_key = {route.key: route.function for route in template.routes()}
    assert by_key["POST /api/search/slice"].handler == "functions.fetch_slice.handler.handler"
    assert by_key["GET /mcp"].name == "mcp"
    assert by_key["GET /openapi.json"].name == "meta"


def test_each_function_answers_exactly_its_routes(template: Template, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in template.environment().items():
        monkeypatch.setenv(name, value)
    for function in template.functions().values():
        handler = imported(function)
        routes = {route.key.replace("+}", "}") for route in template.routes() if route.function == function}
        if function.name not in {"mcp", "sweep"}:
            assert {operation.route for operation in getattr(handler, "operations", ())} == routes, function.name


def test_the_table(template: Template, resources: dict[str, Any]) -> None:
    (table,) = template.tables()
    assert table.definition["KeySchema"] == [
        {"AttributeName": "PK", "KeyType": "HASH"},
        {"AttributeName": "SK", "KeyType": "RANGE"},
    ]
    assert [index["IndexName"] for index in table.definition["GlobalSecondaryIndexes"]] == ["ByTenant"]
    assert table.ttl_attribute == "ttl"
    stored = resources["MemoryTable"]
    assert stored["DeletionPolicy"] == stored["UpdateReplacePolicy"] == "Retain"
    properties = stored["Properties"]
    assert properties["DeletionProtectionEnabled"] is True
    assert properties["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert properties["SSESpecification"] == {"SSEEnabled": True, "SSEType": "KMS"}


def test_every_variable_has_a_local_value(template: Template) -> None:
    environment = template.environment()
    assert environment["TABLE_NAME"] == template.tables()[0].name
    assert environment["TENANT_CLAIM"] == "tenant_id"
    assert environment["SCOPE_KEYS_CLAIM"] == "scope_keys"
    assert not [name for name, value in environment.items() if not value]
    assert not {name for name in environment if name.startswith("AWS_")} & os.environ.keys()


def test_every_log_group_is_kept_and_bounded(resources: dict[str, Any]) -> None:
    groups = of_type(resources, "AWS::Logs::LogGroup")
    assert len(groups) == len(of_type(resources, "AWS::Serverless::Function")) + 1
    assert all(group["DeletionPolicy"] == "Retain" for group in groups.values())
    assert all("RetentionInDays" in group["Properties"] for group in groups.values())
