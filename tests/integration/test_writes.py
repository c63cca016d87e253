"""The life of a memory through the doors: write, read, patch, delete; edges and memberships; import and export."""

from typing import Any

import pytest

from tests.conftest import Caller, ClaimsOf, Load
from tests.support.writing import link, ndjson, note, table_rows

LONG = "A paragraph of some length, again and again.\n\n" * 200


def get(call: Caller, claims: dict[str, Any], memory_id: str) -> Any:
    return call("GET", f"/api/memories/{memory_id}", claims)


def seen(call: Caller, claims: dict[str, Any], *seeds: str, **fields: Any) -> list[str]:
    reply = call("POST", "/api/search/expand", claims, {"entity_ids": list(seeds), **fields})
    assert reply.status == 200
    return [neighbor["id"] for neighbor in reply.body["neighbors"]]


def test_put_get_and_a_stale_revision(call: Caller, claims_of: ClaimsOf) -> None:
    ann = claims_of("ann", "reader", "writer")
    put = call("PUT", "/api/memories/berth", ann, {"type": "note", "name": "Berth", "content": "free"})
    assert (put.status, put.body) == (200, {"id": "berth", "revision": 1, "created": True})
    memory = get(call, ann, "berth").body
    assert (memory["content"], memory["owner"], memory["state"], memory["metadata"]) == ("free", "ann", "active", {})
    change = {"type": "note", "name": "Berth", "content": "taken", "if_revision": 1}
    assert call("PUT", "/api/memories/berth", ann, change).body == {"id": "berth", "revision": 2, "created": False}
    assert call("PUT", "/api/memories/berth", ann, {**change, "content": "lost"}).status == 409
    assert call("PUT", "/api/memories/none", ann, change).status == 409
    assert get(call, ann, "berth").body["content"] == "taken"


def test_a_write_without_a_change_keeps_the_revision(call: Caller, claims_of: ClaimsOf) -> None:
    ann = claims_of("ann")
    line = {"type": "note", "name": "N", "content": LONG, "metadata": {"k": [1]}}
    call("PUT", "/api/memories/m", ann, line)
    first = call("POST", "/api/search/slice", ann, {"entity_id": "m"}).body["passages"][0]["id"]
    assert call("PUT", "/api/memories/m", ann, line).body == {"id": "m", "revision": 1, "created": False}
    assert call("PUT", "/api/memories/m", ann, {**line, "name": "O"}).body["revision"] == 2
    assert call("POST", "/api/search/slice", ann, {"entity_id": "m"}).body["passages"][0]["id"] == first


def test_a_patch_moves_a_memory_with_its_passages(call: Caller, claims_of: ClaimsOf, load: Load) -> None:
    load({"kind": "membership", "principal_id": "ann", "project_id": "atlas"}, note("m", content=LONG, owner="ann"))
    ann, ben = claims_of("ann", "reader", "writer"), claims_of("ben", "reader", "writer")
    passage = call("POST", "/api/search/slice", ben, {"entity_id": "m"}).body["passages"][0]["id"]
    assert call("PATCH", "/api/memories/m", ann, {"scope": "project", "project_id": "atlas"}).body["revision"] == 2
    moved = get(call, ann, "m").body
    assert (moved["scope"], moved["scope_key"], moved["project_id"]) == ("project", "atlas", "atlas")
    assert moved["content"] == LONG
    for hidden in ("m", passage):
        assert call("POST", "/api/search/slice", ben, {"entity_id": hidden}).status == 404
    assert call("PATCH", "/api/memories/m", ben, {"name": "Mine"}).status == 404
    assert call("PUT", "/api/memories/m", ben, {"type": "note", "name": "Mine"}).status == 404
    assert call("DELETE", "/api/memories/m", ben).status == 404
    assert call("PATCH", "/api/memories/m", ann, {"scope": None, "project_id": None}).body["revision"] == 3
    assert get(call, ben, "m").body["scope"] is None


def test_a_patch_clears_and_replaces(call: Caller, claims_of: ClaimsOf, load: Load) -> None:
    load(note("m", metadata={"k": 1}, content="kept", state="archived"))
    ann = claims_of("ann")
    assert call("PATCH", "/api/memories/m", ann, {"metadata": {"j": 2}, "state": None}).body["revision"] == 2
    memory = get(call, ann, "m").body
    assert (memory["metadata"], memory["state"], memory["content"]) == ({"j": 2}, "active", "kept")
    assert call("PATCH", "/api/memories/m", ann, {"scope": "project"}).status == 400
    assert call("PATCH", "/api/memories/none", ann, {"name": "q"}).status == 404
    assert call("PATCH", "/api/memories/none", ann, {"name": "q", "if_revision": 1}).status == 409


def test_an_admin_writes_what_it_is_not_shown(call: Caller, claims_of: ClaimsOf) -> None:
    call("PUT", "/api/memories/m", claims_of("ann"), {"type": "note", "name": "Secret", "scope": "private"})
    root = claims_of("root")
    assert get(call, root, "m").status == 404
    assert call("PATCH", "/api/memories/m", root, {"name": "Still"}).body == {
        "id": "m",
        "revision": 2,
        "created": False,
    }
    assert get(call, root, "m").status == 404
    assert get(call, claims_of("ann"), "m").body["name"] == "Still"


def test_a_deleted_memory_takes_its_edges_along(call: Caller, claims_of: ClaimsOf, load: Load) -> None:
    load(note("a"), note("b"), note("c"), link("a", "b"), link("b", "c"))
    ann = claims_of("ann")
    assert call("DELETE", "/api/memories/b", ann).body == {"id": "b", "deleted": True}
    assert call("DELETE", "/api/memories/b", ann).status == 404
    assert seen(call, ann, "a", "c") == []
    call("PUT", "/api/memories/b", ann, {"type": "note", "name": "A new b"})
    assert seen(call, ann, "a", "b", "c") == []
    load(link("a", "b", "BLOCKS"))
    assert seen(call, ann, "a") == ["b"]


def test_edges(call: Caller, claims_of: ClaimsOf, load: Load) -> None:
    load(note("a"), note("b"), note("hidden", scope="private", owner="ben"))
    ann = claims_of("ann", "reader", "writer")
    edge = {"source": "a", "relationship": "blocks", "target": "b", "weight": 0.25}
    stored = {**edge, "kind": "edge", "relationship": "BLOCKS"}
    assert call("PUT", "/api/edges", ann, edge).body == stored
    assert call("PUT", "/api/edges", ann, {**edge, "weight": 0.75}).body == {**stored, "weight": 0.75}
    assert seen(call, ann, "b") == ["a"]
    for end in ("ghost", "hidden"):
        assert call("PUT", "/api/edges", ann, {**edge, "target": end}).status == 404
        assert call("PUT", "/api/edges", ann, {**edge, "source": end}).status == 404
    assert call("PUT", "/api/edges", ann, {**edge, "relationship": "shares_community"}).status == 400
    key = {"source": "a", "relationship": "BLOCKS", "target": "b"}
    assert call("DELETE", "/api/edges", ann, query=key).status == 200
    assert call("DELETE", "/api/edges", ann, key).status == 404
    assert seen(call, ann, "a", "b") == []


def test_memberships(call: Caller, claims_of: ClaimsOf, load: Load) -> None:
    load(note("m", project_id="atlas", owner="ben"))
    ann, root = claims_of("ann"), claims_of("root")
    key = {"principal_id": "ann", "project_id": "atlas"}
    assert get(call, ann, "m").status == 404
    assert call("PUT", "/api/memberships", root, key).body == {"kind": "membership", **key}
    assert get(call, ann, "m").status == 200
    assert call("DELETE", "/api/memberships", root, query=key).status == 200
    assert call("DELETE", "/api/memberships", root, key).status == 404
    assert get(call, ann, "m").status == 404


def test_nothing_is_left_of_deleted_memories(
    call: Caller, claims_of: ClaimsOf, load: Load, table_name: str, tenant: str
) -> None:
    before = table_rows(table_name)
    load(
        note("a", content=LONG, key="k", project_id="atlas"),
        note("b", content=LONG, spans=[{"start": 0, "end": 50, "label": "one"}]),
        link("a", "b"),
        link("b", "a", "BELONGS_TO"),
        {"kind": "entity", "agent_id": "x", "name": "Ann", "mentions": ["a", "b"]},
        {
            "kind": "relation",
            "agent_id": "x",
            "subject": "Ann",
            "predicate": "knows",
            "object": "Ben",
            "anchor_ref": "a",
        },
    )
    for memory_id in ("a", "b"):
        assert call("DELETE", f"/api/memories/{memory_id}", claims_of("root")).status == 200
    left = {f"{partition[0]} {sort[0]}" for partition, sort in table_rows(table_name).keys() - before.keys()}
    names, listed, hinges, second_look = "A \x1f", "J V", "N K", "Q l"
    assert left == {names, listed, hinges, second_look}


def test_import_reports_line_by_line(call: Caller, claims_of: ClaimsOf) -> None:
    lines: list[Any] = [
        note("m", name="One"),
        None,
        note("m", name="Two"),
        link("m", "ghost"),
        {"kind": "membership", "principal_id": "ann", "project_id": "atlas"},
        note("theirs", owner="ben"),
        link("late", "m"),
        note("late"),
    ]
    body = ndjson(*lines).replace(b"null\n", b"{not json\n\n")
    ann = claims_of("ann", "reader", "writer")
    reply = call("POST", "/api/import", ann, body, content_type="application/x-ndjson")
    assert [reply.body[name] for name in ("applied", "unchanged", "rejected")] == [3, 1, 4]
    assert [error["line"] for error in reply.body["errors"]] == [2, 5, 6, 7]
    assert get(call, ann, "m").body["name"] == "Two"
    assert seen(call, ann, "m") == ["late"]


def test_the_last_of_two_lines_wins_every_time(call: Caller, claims_of: ClaimsOf, load: Load) -> None:
    lines = [
        note("m", name="One"),
        note("m", name="Two"),
        note("n"),
        link("m", "n", weight=0.1),
        link("m", "n", weight=0.9),
    ]
    load(*lines)
    again = load(*lines).body
    assert (again["applied"], again["unchanged"]) == (0, 5)
    memory = get(call, claims_of("ann"), "m").body
    assert (memory["name"], memory["revision"]) == ("Two", 1)


@pytest.fixture
def whole(load: Load) -> list[dict[str, Any]]:
    """Lines of every kind."""
    agent = {"agent_id": "x"}
    in_atlas = {**agent, "project_id": "atlas", "channel": "irc"}
    lines = [
        {"kind": "membership", "principal_id": "ann", "project_id": "atlas"},
        {"kind": "membership", "principal_id": "ann", "team_id": "red"},
        note("a", content=LONG, project_id="atlas", key="k", value={"x": [1.5, None]}, valid_to="2026-01-01T00:00:00Z"),
        note("b", content=LONG + "é🙂", spans=[{"start": 3, "end": 90, "label": "seam"}], scope="private", owner="ben"),
        note("c", state="superseded", metadata={"k": {"deep": []}}, origin_id="o", source_id="s:1", channel="irc"),
        link("a", "b", weight=0.123456, expires_at="2099-01-01T00:00:00Z", declared_by="agent", anchor_ref="c"),
        link("c", "a", "SUPERSEDES"),
        {"kind": "entity", **agent, "name": "Ann", "aliases": ["Annie"], "mentions": ["a", "c"]},
        {"kind": "entity", **in_atlas, "name": "Ann"},
        {"kind": "relation", **agent, "subject": "Annie", "predicate": "Knows", "object": "Ben", "anchor_ref": "a"},
        {"kind": "relation", **in_atlas, "subject": "Annie", "predicate": "leads", "object": "Ann"},
        {
            "kind": "capture_status",
            "project_id": "atlas",
            "pending": 2,
            "gaps": [{"reason": "raw_expired", "count": 1}],
        },
        {"kind": "operating_context", "agents": {"x": "atlas"}},
        {
            "kind": "grant",
            "grantee": "cy",
            "projects": ["atlas"],
            "surfaces": ["http"],
            "expires_at": "2099-01-01T00:00:00Z",
            "reason": "review",
        },
    ]
    load(*lines)
    return lines


def test_import_of_an_export_reproduces_the_store(
    call: Caller, claims_of: ClaimsOf, whole: list[dict[str, Any]]
) -> None:
    root = claims_of("root")
    text = call("GET", "/api/export", root).body
    assert len(text.splitlines()) == len(whole) + 1
    elsewhere = {**root, "tenant_id": root["tenant_id"] + "-copy"}
    reply = call("POST", "/api/import", elsewhere, text, content_type="application/x-ndjson")
    assert (reply.body["applied"], reply.body["rejected"], reply.body["errors"]) == (len(whole) + 1, 0, [])
    assert call("GET", "/api/export", elsewhere).body == text
    again = call("POST", "/api/import", elsewhere, text, content_type="application/x-ndjson")
    assert (again.body["applied"], again.body["unchanged"]) == (0, len(whole) + 1)


def test_an_export_is_for_admins_of_the_tenant(call: Caller, claims_of: ClaimsOf, whole: list[dict[str, Any]]) -> None:
    assert call("GET", "/api/export", claims_of("ann", "reader", "writer")).status == 403
    stranger = {**claims_of("root"), "tenant_id": "another"}
    assert call("GET", "/api/export", stranger).body in (None, "")
    assert call("GET", "/api/export", claims_of("root"), query={"cursor": "bogus"}).status == 400


def test_an_import_of_a_writer_declares_and_grants_nothing_it_may_not(call: Caller, claims_of: ClaimsOf) -> None:
    body = ndjson(
        {"kind": "capture_status", "project_id": "atlas", "pending": 1},
        {"kind": "operating_context", "agents": {}},
        {"kind": "entity", "agent_id": "x", "name": "Ann", "project_id": "atlas"},
        note("m", project_id="atlas"),
    )
    ann = claims_of("ann", "reader", "writer")
    reply = call("POST", "/api/import", ann, body, content_type="application/x-ndjson").body
    assert (reply["applied"], reply["rejected"]) == (0, 4)


def test_a_refused_line_does_not_overtake_the_good_one_before_it(call: Caller, claims_of: ClaimsOf) -> None:
    body = ndjson(note("m", name="First"), note("m", name="Good"), note("m", name="Theirs", owner="ben"))
    ann = claims_of("ann", "reader", "writer")
    reply = call("POST", "/api/import", ann, body, content_type="application/x-ndjson").body
    assert [reply[name] for name in ("applied", "unchanged", "rejected")] == [1, 1, 1]
    assert [error["line"] for error in reply["errors"]] == [3]
    assert get(call, ann, "m").body["name"] == "Good"


def test_associations_ride_on_a_memory(call: Caller, claims_of: ClaimsOf) -> None:
    ann = claims_of("ann", "reader", "writer")
    riding = {"agent_id": "x", "entities": [{"name": "Ann"}, {"name": 7}]}
    line = {"type": "note", "name": "N", "associations": riding}
    assert call("PUT", "/api/memories/m", ann, line).body == {"id": "m", "revision": 1, "created": True}
    assert [seed[:4] for seed in seen(call, ann, "m")] == ["ent_"]
    body = ndjson(note("n", associations=riding))
    reply = call("POST", "/api/import", ann, body, content_type="application/x-ndjson").body
    assert (reply["applied"], reply["rejected"]) == (1, 0)
    assert [error["line"] for error in reply["errors"]] == [1]
    assert [seed[:4] for seed in seen(call, ann, "n")] == ["ent_"]
