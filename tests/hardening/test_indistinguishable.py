"""What is absent and what one may not see: the same status, body, headers and the same calls of the store."""
# ruff: noqa: E501 - a request a line

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from tests.hardening.requests import DIGEST, seed
from tests.hardening.world import ANN, LONG, ROOT, Ask, World, claims, edge, membership, memory, settled
from tests.support.scripted import Rows

RIVAL = claims("root", tenant="rival")
X = "x/1"


def rich(project: str | None = None, **fields: Any) -> list[dict[str, Any]]:
    """A memory with everything that can stand on one."""
    return [
        memory(X, project_id=project, content=LONG, key="day", value="tue", **fields),
        edge(X, "ABOUT", "m1"),
        edge("m1", "DEPENDS_ON", X),
        edge(X, "SUPERSEDES", "m1"),
        edge(X, "BELONGS_TO", "club"),
        {"kind": "entity", "agent_id": "planner", "name": "Zed", "project_id": project, "mentions": [X]},
        {"kind": "relation", "agent_id": "planner", "subject": "Zed", "predicate": "is", "object": "Zero",
         "project_id": project, "anchor_ref": X},
    ]  # fmt: skip


CAPTURED = {"kind": "capture_status", "project_id": "zeta", "pending": 2, "priorSetup": 0, "gaps": []}


def purged(world: World, project: str, mode: str) -> None:
    body = {"mode": mode, "reason": "over"}
    assert world.http(Ask(name="purge", path=f"/api/projects/{project}/purge", body=body, who=ROOT)).status == 200


def at_rival() -> list[dict[str, Any]]:
    return [memory("m1"), memory("club", type="community"), *rich()]


@pytest.fixture(params=[timedelta(0), timedelta(days=1)], ids=["settled", "fresh"])
def freshness(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows so young that the authority is read again for them tell no more than old ones."""
    monkeypatch.setattr("shared.engine.reading.CLOCK_ALLOWANCE", request.param)


pytestmark = pytest.mark.usefixtures("freshness")


@pytest.fixture
def states(world: World) -> dict[str, Rows]:
    """The same store but for one memory, `x/1`: not there, or there for others."""
    seed(world)
    world.load(
        *(membership("root", project_id=project) for project in ("zeta", "gone")), membership("ann", project_id="gone")
    )
    base = dict(world.client.rows)
    found = {"absent": base}

    def state(name: str, *lines: Mapping[str, Any]) -> None:
        with world.at(base):
            world.load(*lines)
            found[name] = dict(world.client.rows)

    state("other owner", *rich(scope="private", owner="bob")[:5])
    state("other project", *rich("zeta"), CAPTURED)
    with world.at(found["other project"]):
        purged(world, "zeta", "logical")
        found["other project, purged"] = dict(world.client.rows)
    state("other team", *rich(scope="team", scope_key="else")[:5])
    with world.at(base):
        world.load(*at_rival(), who=RIVAL)
        found["other tenant"] = dict(world.client.rows)
    with world.at(base):
        world.load(*rich("gone"))
        purged(world, "gone", "hard")
        found["purged"] = dict(world.client.rows)
        world.sweep()
        found["swept"] = dict(world.client.rows)
    state("archived", *rich(state="archived")[:5])
    return found


def hidden(passage: str) -> list[Ask]:
    """Requests for what archived memories too are absent from."""
    expand, slices = "/api/search/expand", "/api/search/slice"
    return [
        Ask(name="expand", path=expand, body={"entity_ids": [X]}, tool="expand_neighbors"),
        Ask(name="expand both", path=expand, body={"entity_ids": ["m3", X], "depth": 2}, tool="expand_neighbors"),
        Ask(name="expand passage", path=expand, body={"entity_ids": [passage]}, tool="expand_neighbors"),
        Ask(name="slice", path=slices, body={"entity_id": X}, tool="fetch_slice"),
        Ask(name="slice passage", path=slices, body={"entity_id": passage}, tool="fetch_slice"),
        Ask(name="slice of", path=slices, body={"entity_id": X, "project": "zeta"}, tool="fetch_slice"),
    ]


def denied() -> list[Ask]:
    """Requests that name a memory which this caller may not see."""
    record, path = "/api/records/expand", "/api/memories/x%2F1"
    handle = {"recordId": X, "digest": DIGEST, "project": "atlas"}
    out, into = (
        {"source": X, "relationship": "ABOUT", "target": "m1"},
        {"source": "m1", "relationship": "DEPENDS_ON", "target": X},
    )
    named = {
        "agent_id": "planner",
        "anchor_ref": X,
        "relations": [{"subject": "Ada", "predicate": "is", "object": "Ada"}],
    }
    taken = {
        "agent_id": "planner",
        "retract": {"mentions": [{"entity": "Zed", "ref": X}], "aliases": [{"entity": "Zed", "alias": "Z"}]},
    }
    return [
        Ask(name="record", path=record, body=handle, tool="expand_record"),
        Ask(name="record elsewhere", path=record, body={**handle, "project": "zeta", "derivedAt": "2026-01-01T00:00:00Z"}, tool="expand_record"),
        Ask(name="record granted", path=record, body={**handle, "accessId": "grant_" + "q" * 26}, tool="expand_record"),
        Ask(name="lines", path="/api/records/lines", body={"recordIds": [X, "m3"]}, tool="context_lines"),
        Ask(name="lines of", path="/api/records/lines", body={"project": "zeta"}, tool="context_lines"),
        Ask(name="traverse", path="/api/search/traverse", body={"agent_id": "planner", "entity": "zed"}, tool="traverse"),
        Ask(name="traverse in", path="/api/search/traverse", body={"agent_id": "planner", "entity": "zed", "project_id": "zeta"}, tool="traverse"),
        Ask(name="get", method="GET", path=path),
        Ask(name="patch", method="PATCH", path=path, body={"name": "Mine"}),
        Ask(name="patch stale", method="PATCH", path=path, body={"name": "Mine", "if_revision": 1}),
        Ask(name="put stale", method="PUT", path=path, body={"type": "note", "name": "N", "if_revision": 1}),
        Ask(name="delete", method="DELETE", path=path),
        Ask(name="edge out", method="PUT", path="/api/edges", body=out),
        Ask(name="edge into", method="PUT", path="/api/edges", body=into),
        Ask(name="no edge out", method="DELETE", path="/api/edges", body=out),
        Ask(name="no edge into", method="DELETE", path="/api/edges", body=into),
        Ask(name="declare", path="/api/associations", body=named, tool="declare_associations"),
        Ask(name="retract", path="/api/associations", body=taken, tool="declare_associations"),
        Ask(name="declare in", path="/api/associations", body={**named, "project_id": "zeta"}, tool="declare_associations"),
        Ask(name="purge", path="/api/projects/zeta/purge", body={"mode": "hard", "reason": "r"}, who=claims("eve", "admin")),
    ]  # fmt: skip


def around() -> list[Ask]:
    """Requests for what stands beside it: the answer is the same, whatever is read for it."""
    return [
        Ask(name="expand near", path="/api/search/expand", body={"entity_ids": ["m1", "club"], "depth": 3, "limit": 24}, tool="expand_neighbors"),
        Ask(name="record near", path="/api/records/expand", body={"recordId": "m1", "digest": DIGEST, "project": "atlas"}, tool="expand_record"),
        Ask(name="lines near", path="/api/records/lines", body={"project": "atlas"}, tool="context_lines"),
        Ask(name="traverse near", path="/api/search/traverse", body={"agent_id": "planner", "entity": "Ada", "max_hops": 5}, tool="traverse"),
        Ask(name="get near", method="GET", path="/api/memories/m1"),
    ]  # fmt: skip


def watched(world: World, rows: Rows, ask: Ask, door: str) -> dict[str, Any]:
    with world.at(rows):
        answer = world.mcp(ask) if door == "mcp" else world.http(ask, rest=door == "rest")
        calls = [call.shape for call in world.client.calls]
    return {"status": answer.status, "body": settled(answer.text), "headers": answer.headers, "calls": calls}


def passage_of(world: World, rows: Rows) -> str:
    with world.at(rows):
        found = world.http(Ask(name="slice", path="/api/search/slice", body={"entity_id": X}, who=claims("bob")))
    identity: str = found.body["passages"][1]["id"]
    return identity


@pytest.mark.parametrize("door", ["http", "rest", "mcp"])
def test_absent_and_forbidden_are_one(world: World, states: dict[str, Rows], door: str) -> None:
    passage = passage_of(world, states["other owner"])
    asks = [ask for ask in (*hidden(passage), *denied()) if door != "mcp" or ask.tool]
    told = []
    for ask in asks:
        expected = watched(world, states["absent"], ask, door)
        for name, rows in states.items():
            if name == "archived" and ask in denied():
                continue
            found = watched(world, rows, ask, door)
            told += [
                (ask.name, name, part, found[part], expected[part]) for part in found if found[part] != expected[part]
            ]
    assert told == [], "\n" + "\n".join(map(str, told))


@pytest.mark.parametrize("door", ["http", "rest", "mcp"])
def test_what_stands_beside_it_tells_nothing(world: World, states: dict[str, Rows], door: str) -> None:
    for ask in (ask for ask in around() if door != "mcp" or ask.tool):
        expected = watched(world, states["absent"], ask, door)["body"]
        for name, rows in states.items():
            if name != "archived" or ask.name.startswith(("expand", "traverse")):
                assert watched(world, rows, ask, door)["body"] == expected, f"{ask.name}, {name}"


@pytest.mark.parametrize("door", ["http", "mcp"])
def test_a_grant_of_another_is_no_grant(world: World, door: str) -> None:
    """Absent, another principal's, and another tenant's, through every use that is open to anyone."""
    base = seed(world)
    line = {"kind": "grant", "id": "grant_" + "q" * 26, "projects": ["atlas"], "surfaces": ["http", "mcp"],
            "expires_at": "2099-01-01T00:00:00Z", "issued_at": "2026-01-01T00:00:00Z", "reason": "r"}  # fmt: skip
    states = {"absent": base}
    for name, grantee, who in (("another's", "bob", ROOT), ("another tenant's", "ann", RIVAL)):
        with world.at(base):
            world.load({**line, "grantee": grantee}, who=who)
            states[name] = dict(world.client.rows)
    presented = {"accessId": line["id"], "project": "zeta"}
    asks = [
        Ask(name="show", method="GET", path=f"/api/grants/{line['id']}"),
        Ask(name="recheck", path=f"/api/grants/{line['id']}/recheck"),
        Ask(name="audit", method="GET", path="/api/audit", query={"grant_id": str(line["id"])}),
        Ask(name="record", path="/api/records/expand", body={"recordId": "m1", "digest": DIGEST, **presented}, tool="expand_record"),
        Ask(name="lines", path="/api/records/lines", body={"recordIds": ["m1"], **presented}, tool="context_lines"),
    ]  # fmt: skip
    for ask in (ask for ask in asks if door != "mcp" or ask.tool):
        assert ask.who == ANN
        expected = watched(world, states["absent"], ask, door)
        for name, rows in states.items():
            assert watched(world, rows, ask, door) == expected, f"{ask.name}, {name}"
