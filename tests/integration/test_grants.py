"""Grants, records, the audit and purges through the real handlers, over HTTP and MCP."""

from typing import Any

import pytest

from tests.conftest import Caller, ClaimsOf, Load
from tests.integration.test_doors import tool

LINES: tuple[dict[str, Any], ...] = (
    {"kind": "membership", "principal_id": "root", "project_id": "p2"},
    {"kind": "membership", "principal_id": "bob", "project_id": "p1"},
    {"kind": "memory", "id": "own", "type": "note", "name": "Ours", "project_id": "p1"},
    {"kind": "memory", "id": "far", "type": "note", "name": "Theirs", "project_id": "p2", "content": "Long. " * 800},
)
TERMS = {
    "grantee": "bob",
    "projects": ["p2"],
    "surfaces": ["http", "mcp"],
    "expires_at": "2099-01-01T00:00:00Z",
    "reason": "joint review",
}


@pytest.fixture
def grant_id(call: Caller, claims_of: ClaimsOf, load: Load) -> str:
    load(*LINES)
    reply = call("POST", "/api/grants", claims_of("root"), TERMS)
    assert reply.status == 200, reply
    found: str = reply.body["id"]
    return found


def test_a_grant_is_issued_used_counted_and_revoked(call: Caller, claims_of: ClaimsOf, grant_id: str) -> None:
    bob, root = claims_of("bob", "reader"), claims_of("root")
    asked = {"recordId": "far", "digest": "d", "project": "p1", "accessId": grant_id}
    over_http = call("POST", "/api/records/expand", bob, asked)
    assert over_http.body["record"]["content"] == "Long. " * 800
    over_mcp = tool(call, bob, "expand_record", asked).body["result"]["structuredContent"]
    assert over_mcp["completeness"]["scope"]["grant"]["surface"] == "mcp"
    over_mcp["completeness"]["scope"]["grant"]["surface"] = "http"
    assert over_mcp == over_http.body
    lines = call("POST", "/api/records/lines", bob, {"recordIds": ["far", "own"], "grantId": grant_id})
    assert [line["recordId"] for line in lines.body["lines"]] == ["far", "own"]
    audit = call("GET", "/api/audit", root, query={"grant_id": grant_id})
    assert [(row["surface"], row["count"]) for row in audit.body["aggregates"]] == [("http", 2), ("mcp", 1)]
    assert call("POST", f"/api/grants/{grant_id}/recheck", bob).body == {"valid": True, "reason": None}
    assert call("DELETE", f"/api/grants/{grant_id}", root).status == 200
    assert call("POST", f"/api/grants/{grant_id}/recheck", bob).body == {"valid": False, "reason": "grant_revoked"}
    assert call("POST", "/api/records/expand", bob, asked).body["status"] == "unavailable"


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/api/grants", TERMS, 403),
        ("GET", "/api/grants", None, 403),
        ("DELETE", "/api/grants/{id}", None, 403),
        ("GET", "/api/audit", None, 403),
        ("POST", "/api/projects/p2/purge", {"mode": "logical", "reason": "r"}, 403),
        ("GET", "/api/grants/{id}", None, 200),
        ("GET", "/api/grants/none", None, 404),
        ("POST", "/api/grants/none/recheck", None, 200),
    ],
)
def test_what_a_grantee_without_a_role_may_do(
    call: Caller, claims_of: ClaimsOf, grant_id: str, method: str, path: str, body: Any, status: int
) -> None:
    claims = claims_of("bob", "nothing")
    reply = call(method, path.replace("{id}", grant_id), claims, body)
    assert reply.status == status, reply
    if status == 403:
        assert "admin" in reply.body["detail"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        ({"expires_at": "tomorrow"}, "expires_at"),
        ({"grantee": " "}, "grantee"),
        ({"projects": []}, "projects"),
        ({"surfaces": ["pigeon"]}, "surfaces"),
        ({"issued_at": "2020-01-01T00:00:00Z"}, "issued_at"),
        ({"id": "mine"}, "id"),
        ({"more": 1}, "more"),
    ],
)
def test_a_malformed_grant_is_refused_by_field(
    call: Caller, claims_of: ClaimsOf, change: dict[str, Any], field: str
) -> None:
    reply = call("POST", "/api/grants", claims_of("root"), {**TERMS, **change})
    assert reply.status == 400, reply
    assert field in str([error["field"] for error in reply.body["errors"]])


@pytest.mark.parametrize(("day", "status"), [("2026-01-02", 200), ("2026-1-2", 400), ("2026-02-30", 400), ("now", 400)])
def test_an_audit_is_of_days(call: Caller, claims_of: ClaimsOf, day: str, status: int) -> None:
    assert call("GET", "/api/audit", claims_of("root"), query={"from": day}).status == status


def test_a_purge_is_for_members_and_takes_every_verb_at_once(call: Caller, claims_of: ClaimsOf, grant_id: str) -> None:
    root = claims_of("root")
    order = {"mode": "logical", "reason": "over"}
    assert call("POST", "/api/projects/p1/purge", root, order).status == 404
    assert call("POST", "/api/projects/p2/purge", root, {"mode": "soft", "reason": "over"}).status == 400
    reply = call("POST", "/api/projects/p2/purge", root, order)
    assert (reply.status, reply.body["project_id"], reply.body["mode"]) == (200, "p2", "logical")
    assert call("GET", "/api/memories/far", root).status == 404
    assert call("POST", "/api/search/slice", root, {"entity_id": "far"}).status == 404
    assert call("GET", f"/api/grants/{grant_id}", root).body["revoked_at"] == reply.body["at"]
