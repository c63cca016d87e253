"""A small store with one of everything, and each of the product's requests against it."""
# ruff: noqa: E501 - a request a line

import json
from typing import Any

from tests.hardening.world import ANN, BOB, LONG, LONGER, ROOT, Ask, World, edge, membership, memory
from tests.support.scripted import Rows

SPANS = [{"start": 5, "end": 900, "label": "part"}, {"start": 1_000, "end": 2_500, "label": "more"}]
SEED: tuple[dict[str, Any], ...] = (
    membership("ann", project_id="atlas"),
    membership("ann", project_id="doomed"),
    membership("ann", team_id="core"),
    membership("root", project_id="atlas"),
    membership("root", project_id="doomed"),
    memory("m1", project_id="atlas", content="We ship on Tuesday.", key="day", value="tue", valid_from="2026-01-01T00:00:00Z"),
    memory("m2", project_id="atlas", content=LONG, source_id="s:1", channel="general"),
    memory("m3", project_id="atlas", content="We ship on Friday.", key="day", value="fri", valid_from="2026-02-01T00:00:00Z"),
    memory("mine", scope="private", owner="ann", content="A secret."),
    memory("gaps", content=LONG, spans=SPANS),
    memory("club", type="community", content=""),
    memory("d1", project_id="doomed", content=LONG, key="k"),
    memory("d2", project_id="doomed", content="Short."),
    edge("m3", "SUPERSEDES", "m1"),
    edge("m1", "ABOUT", "m2", weight=0.9),
    edge("m2", "BELONGS_TO", "club"),
    edge("m1", "BELONGS_TO", "club"),
    edge("gaps", "REFERENCES", "m2"),
    edge("d1", "ABOUT", "d2"),
    edge("m2", "MENTIONS", "d1"),
    {"kind": "entity", "agent_id": "planner", "name": "Ada", "aliases": ["Countess"], "project_id": "atlas", "mentions": ["m1", "m2"]},
    {"kind": "entity", "agent_id": "planner", "name": "Engine", "project_id": "doomed", "mentions": ["d1"]},
    {"kind": "relation", "agent_id": "planner", "subject": "Ada", "predicate": "wrote", "object": "Notes", "project_id": "atlas", "anchor_ref": "m2"},
    {"kind": "relation", "agent_id": "planner", "subject": "Engine", "predicate": "has", "object": "Mill", "project_id": "doomed", "anchor_ref": "d1"},
    {"kind": "capture_status", "project_id": "atlas", "pending": 0, "priorSetup": 0, "gaps": []},
    {"kind": "operating_context", "agents": {"planner": "atlas"}},
    {"kind": "grant", "id": "grant_" + "a" * 26, "grantee": "bob", "projects": ["atlas"], "surfaces": ["http", "mcp"],
     "expires_at": "2099-01-01T00:00:00Z", "issued_at": "2026-01-01T00:00:00Z", "reason": "help"},
)  # fmt: skip
GRANT = "grant_" + "a" * 26
DIGEST = "0" * 64


_SEEDED: list[Rows] = []


def seed(world: World) -> Rows:
    """The store as SEED makes it: made once, then the very rows again."""
    if not _SEEDED:
        world.load(*SEED)
        _SEEDED.append(world.client.rows)
    world.client.rows = dict(_SEEDED[0])
    return dict(_SEEDED[0])


def first_passage(world: World, memory_id: str = "m2") -> str:
    answer = world.http(Ask(name="slice", path="/api/search/slice", body={"entity_id": memory_id, "window": 1}))
    identity: str = answer.body["passages"][0]["id"]
    return identity


def reads(passage: str) -> list[Ask]:
    expand, lines, record = "/api/search/expand", "/api/records/lines", "/api/records/expand"
    granted = {"recordId": "m1", "digest": DIGEST, "project": "atlas", "accessId": GRANT}
    return [
        Ask(name="expand", path=expand, body={"entity_ids": ["m1", "gone", passage], "depth": 3}, tool="expand_neighbors"),
        Ask(name="expand one", path=expand, body={"entity_ids": ["gaps"], "relationship_types": ["references"]}, tool="expand_neighbors"),
        Ask(name="slice", path="/api/search/slice", body={"entity_id": "m2"}, tool="fetch_slice"),
        Ask(name="slice at", path="/api/search/slice", body={"entity_id": passage}, tool="fetch_slice"),
        Ask(name="traverse", path="/api/search/traverse", body={"agent_id": "planner", "entity": "countess", "max_hops": 2}, tool="traverse"),
        Ask(name="traverse auto", path="/api/search/traverse", body={"agent_id": "planner", "entity": "Ada", "project_id": "@auto"}, tool="traverse"),
        Ask(name="record", path=record, body={"recordId": "m1", "digest": DIGEST, "project": "atlas", "derivedAt": "2026-01-01T00:00:00Z"}, tool="expand_record"),
        Ask(name="record long", path=record, body={"recordId": "m2", "digest": DIGEST, "project": "atlas"}, tool="expand_record"),
        Ask(name="record granted", path=record, body=granted, tool="expand_record", who=BOB),
        Ask(name="lines", path=lines, body={"recordIds": ["m1", "m2", "gone"]}, tool="context_lines"),
        Ask(name="lines of", path=lines, body={"project": "atlas", "limit": 2}, tool="context_lines"),
        Ask(name="lines granted", path=lines, body={"project": "atlas", "grantId": GRANT}, tool="context_lines", who=BOB),
        Ask(name="get", method="GET", path="/api/memories/m2"),
        Ask(name="get gaps", method="GET", path="/api/memories/gaps"),
        Ask(name="grant", method="GET", path=f"/api/grants/{GRANT}", who=ROOT),
        Ask(name="grants", method="GET", path="/api/grants", query={"grantee": "bob"}, who=ROOT),
        Ask(name="recheck", path=f"/api/grants/{GRANT}/recheck", who=BOB),
        Ask(name="audit", method="GET", path="/api/audit", query={"grant_id": GRANT}, who=ROOT),
        Ask(name="export", method="GET", path="/api/export", who=ROOT),
    ]  # fmt: skip


_NOTE = {"type": "note", "name": "A name"}
_IMPORT = (
    memory("m2", project_id="atlas", content=LONGER),
    memory("i1", project_id="atlas", content=LONG, key="k",
           associations={"agent_id": "planner", "entities": [{"name": "Babbage"}]}),
    memory("i2", content="Short."),
    edge("i1", "ABOUT", "i2"),
    edge("m1", "ABOUT", "m2", weight=0.5),
    {"kind": "entity", "agent_id": "planner", "name": "Byron", "aliases": ["Lord"], "mentions": ["i1"]},
    {"kind": "relation", "agent_id": "planner", "subject": "Byron", "predicate": "father of", "object": "Ada"},
    membership("bob", project_id="zeta"),
    {"kind": "capture_status", "project_id": "atlas", "pending": 2, "priorSetup": 0, "gaps": []},
)  # fmt: skip
_DECLARED = {
    "agent_id": "planner", "project_id": "atlas", "anchor_ref": "m1",
    "entities": [{"name": "Byron", "aliases": ["Lord"]}, {"name": "Ada", "aliases": ["Lovelace"]}],
    "relations": [{"subject": "Byron", "predicate": "father of", "object": "Ada"}],
}  # fmt: skip
_RETRACTED = {
    "agent_id": "planner", "project_id": "atlas",
    "retract": {"mentions": [{"entity": "Ada", "ref": "m1"}], "aliases": [{"entity": "Ada", "alias": "Countess"}]},
}  # fmt: skip

WRITES: tuple[Ask, ...] = (
    Ask(name="put new", method="PUT", path="/api/memories/n1", body={**_NOTE, "content": "Short.", "project_id": "atlas", "key": "k"}),
    Ask(name="put long", method="PUT", path="/api/memories/n2", body={**_NOTE, "content": LONG}),
    Ask(name="put gaps", method="PUT", path="/api/memories/n3", body={**_NOTE, "content": LONG, "spans": SPANS}),
    Ask(name="recut", method="PUT", path="/api/memories/m2", body={**_NOTE, "content": LONGER, "project_id": "atlas"}),
    Ask(name="uncut", method="PUT", path="/api/memories/gaps", body={**_NOTE, "content": "Short now."}, who=ROOT),
    Ask(name="patch", method="PATCH", path="/api/memories/m2", body={"scope": "team", "scope_key": "core"}),
    Ask(name="patch move", method="PATCH", path="/api/memories/m1", body={"project_id": "doomed", "state": "superseded"}),
    Ask(name="delete", method="DELETE", path="/api/memories/m2"),
    Ask(name="delete gaps", method="DELETE", path="/api/memories/gaps"),
    Ask(name="edge new", method="PUT", path="/api/edges", body={"source": "m2", "relationship": "supports", "target": "m1"}),
    Ask(name="edge changed", method="PUT", path="/api/edges", body={"source": "m1", "relationship": "about", "target": "m2", "weight": 0.25}),
    Ask(name="edge member", method="PUT", path="/api/edges", body={"source": "gaps", "relationship": "BELONGS_TO", "target": "club"}),
    Ask(name="edge gone", method="DELETE", path="/api/edges", body={"source": "m2", "relationship": "BELONGS_TO", "target": "club"}),
    Ask(name="let in", method="PUT", path="/api/memberships", body={"principal_id": "bob", "project_id": "atlas"}, who=ROOT),
    Ask(name="let out", method="DELETE", path="/api/memberships", body={"principal_id": "ann", "team_id": "core"}, who=ROOT),
    Ask(name="issue", path="/api/grants", body={"grantee": "bob", "projects": ["doomed"], "surfaces": ["mcp"],
        "expires_at": "2099-01-01T00:00:00Z", "reason": "r", "idempotency_key": "once"}, who=ROOT),
    Ask(name="revoke", method="DELETE", path=f"/api/grants/{GRANT}", who=ROOT),
    Ask(name="purge", path="/api/projects/doomed/purge", body={"mode": "logical", "reason": "over"}, who=ROOT),
)  # fmt: skip
"""Writes of one step for whoever looks on: stored whole, or not at all."""

ITEMS: tuple[Ask, ...] = (
    Ask(name="put with names", method="PUT", path="/api/memories/n4", body={**_NOTE, "content": LONG, "project_id": "atlas",
        "associations": {"agent_id": "planner", "entities": [{"name": "Babbage"}],
                         "relations": [{"subject": "Babbage", "predicate": "knew", "object": "Ada"}]}}),
    Ask(name="declare", path="/api/associations", body=_DECLARED, tool="declare_associations"),
    Ask(name="retract", path="/api/associations", body=_RETRACTED, tool="declare_associations"),
    Ask(name="import", path="/api/import", body="\n".join(map(json.dumps, _IMPORT)), media="application/x-ndjson", who=ROOT),
)  # fmt: skip
"""Writes of independent items: each is stored whole or not at all, and running them again finishes them."""

assert {ask.who["sub"] for ask in WRITES} == {ANN["sub"], ROOT["sub"]}
