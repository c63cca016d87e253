"""Takes each right from each role in turn: a call of the function must then fail, or the right is not needed.

The emulator decides by action and table. It knows no leading keys: the letters of the partitions are held to what the
functions do by the integration tests (tests/rights.py).
"""

import base64
import json
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from infra.e2e.cases import NDJSON, Answer, ask
from infra.e2e.stack import NAME, Cloud
from shared.store.table import to_item
from shared.store.tasks import cut_task, task_item

_POLICY = "table"
_LONG = " ".join(f"word{index}" for index in range(2_000))
_ALL = ("reader", "writer", "admin")
_LATER = "2999-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class World:
    """A tenant of its own with a little of everything in project `p`, and the calls of its people."""

    cloud: Cloud
    url: str
    tenant: str

    @classmethod
    def made(cls, cloud: Cloud, url: str) -> "World":
        world = cls(cloud, url, f"t-{_new()}")
        loaded = world.load(*_rows("p", ""))
        if loaded.status != HTTPStatus.OK or loaded.body["rejected"]:
            raise AssertionError(f"the probes' rows were not loaded: {loaded}")
        return world

    def call(
        self, route: str, body: Any = None, media: str = "application/json", roles: Sequence[str] = _ALL
    ) -> Answer:
        who = {"sub": "root", "tenant_id": self.tenant, "roles": list(roles), "agents": ["*"]}
        return ask(self.url, route, who, body, media)

    def load(self, *lines: Mapping[str, Any]) -> Answer:
        return self.call("POST /api/import", "\n".join(map(json.dumps, lines)).encode(), NDJSON)

    def tool(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """A tool's result; one that is an error counts as refused, as over HTTP."""
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        answer = self.call("POST /mcp", message)
        result = answer.body.get("result", {}) if isinstance(answer.body, dict) else {}
        failed = "structuredContent" not in result
        return Answer(HTTPStatus.SERVICE_UNAVAILABLE if failed else answer.status, result.get("structuredContent"))

    def grant(self) -> str:
        terms = {"grantee": "root", "projects": ["p"], "surfaces": ["http", "mcp"], "expires_at": _LATER, "reason": "r"}
        return str(self.call("POST /api/grants", terms).body["id"])

    def swept(self) -> Answer:
        """What a sweep did; one that the store refused anything, or that finished nothing, counts as refused."""
        function = _physical(self.cloud, "SweepFunction")
        client = self.cloud.client("lambda")
        answer = client.invoke(FunctionName=f"{function}:live", Payload=b"{}", LogType="Tail")
        told = json.loads(answer["Payload"].read())
        refused = b"the store refused" in base64.b64decode(answer["LogResult"])
        clean = not refused and told.get("finished", 0) > 0
        return Answer(HTTPStatus.OK if clean else HTTPStatus.SERVICE_UNAVAILABLE, told)

    def leave_a_cut(self) -> None:
        """Put on the queue what a writer leaves that ends before its cut becomes current."""
        task = cut_task(self.tenant, "a", "0000000000000", "2026-01-01T00:00:00.000Z", (1, 0))
        item = to_item(task_item(task))
        self.cloud.client("dynamodb").put_item(TableName=_physical(self.cloud, "MemoryTable"), Item=item)


def _new() -> str:
    return uuid.uuid4().hex[:12]


def _rows(project: str, mark: str) -> tuple[Mapping[str, Any], ...]:
    note = {"kind": "memory", "type": "note", "project_id": project, "key": "k"}
    declared = {"agent_id": "x", "project_id": project}
    return (
        {"kind": "membership", "principal_id": "root", "project_id": project},
        {**note, "id": f"a{mark}", "name": "A", "content": _LONG},
        {**note, "id": f"b{mark}", "name": "B", "content": "short"},
        {"kind": "edge", "source": f"a{mark}", "relationship": "REQUIRES", "target": f"b{mark}"},
        {"kind": "entity", **declared, "name": "Ann", "aliases": ["Annie"], "mentions": [f"a{mark}"]},
        {
            "kind": "relation",
            **declared,
            "subject": "Ann",
            "predicate": "owns",
            "object": "Bob",
            "anchor_ref": f"a{mark}",
        },
    )


def _declaration(declare: Callable[[Mapping[str, Any]], Answer]) -> Iterator[Answer]:
    """A declaration with an alias and an anchor, and its retraction."""
    name = _new()
    scope = {"agent_id": "x", "project_id": "p"}
    relation = {"subject": name, "predicate": "knows", "object": "Ann"}
    entities = [{"name": name, "aliases": [f"alias-{name}"]}]
    declared = declare({**scope, "anchor_ref": "a", "entities": entities, "relations": [relation]})
    yield declared
    if declared.status == HTTPStatus.OK:
        retracted = {
            "relations": declared.body["relations"],
            "aliases": [{"entity": name, "alias": f"alias-{name}"}],
            "mentions": [{"entity": name, "ref": "a"}],
        }
        yield declare({**scope, "retract": retracted})


def _expand(world: World) -> Iterator[Answer]:
    yield world.call("POST /api/search/expand", {"entity_ids": ["a"]})


def _slice(world: World) -> Iterator[Answer]:
    yield world.call("POST /api/search/slice", {"entity_id": "a"})


def _traverse(world: World) -> Iterator[Answer]:
    yield world.call("POST /api/search/traverse", {"agent_id": "x", "entity": "ann", "project": "p"})


def _record(world: World) -> Iterator[Answer]:
    asked = {"recordId": "a", "digest": "0", "project": "p", "accessId": world.grant()}
    yield world.call("POST /api/records/expand", asked)


def _lines(world: World) -> Iterator[Answer]:
    yield world.call("POST /api/records/lines", {"project": "p", "accessId": world.grant()})


def _declare(world: World) -> Iterator[Answer]:
    yield from _declaration(lambda body: world.call("POST /api/associations", body))


def _memories(world: World) -> Iterator[Answer]:
    path = f"/api/memories/{_new()}"
    note = {"type": "note", "name": "N", "project_id": "p", "key": "k"}
    associations = {"agent_id": "x", "entities": [{"name": _new()}]}
    yield world.call(f"PUT {path}", {**note, "content": _LONG, "associations": associations})
    yield world.call(f"GET {path}")
    yield world.call(f"PUT {path}", {**note, "content": f"{_LONG} more"})
    yield world.call(f"DELETE {path}")


def _edges(world: World) -> Iterator[Answer]:
    edge = {"source": "b", "relationship": "ABOUT", "target": "a"}
    for weight in (0.2, 0.4):
        yield world.call("PUT /api/edges", {**edge, "weight": weight})
    yield world.call("DELETE /api/edges", edge)


def _memberships(world: World) -> Iterator[Answer]:
    one = {"principal_id": _new(), "team_id": "t"}
    yield world.call("PUT /api/memberships", one)
    yield world.call("DELETE /api/memberships", one)


def _import(world: World) -> Iterator[Answer]:
    mark = _new()
    note = {
        "kind": "memory",
        "id": f"a{mark}",
        "type": "note",
        "name": "A",
        "project_id": "p",
        "content": f"{_LONG} more",
    }
    member = {"kind": "membership", "principal_id": mark, "project_id": "p"}
    for lines in ((*_rows("p", mark), member), (note,)):
        answer = world.load(*lines)
        rejected = answer.status == HTTPStatus.OK and answer.body["rejected"]
        yield Answer(HTTPStatus.SERVICE_UNAVAILABLE, answer.body) if rejected else answer


def _export(world: World) -> Iterator[Answer]:
    yield world.call("GET /api/export")


def _grants(world: World) -> Iterator[Answer]:
    terms = {"grantee": _new(), "projects": ["p"], "surfaces": ["http"], "expires_at": _LATER, "reason": "r"}
    yield world.call("POST /api/grants", terms)
    yield world.call("GET /api/grants")


def _recheck(world: World) -> Iterator[Answer]:
    yield world.call(f"POST /api/grants/{world.grant()}/recheck", {})


def _audit(world: World) -> Iterator[Answer]:
    yield world.call("GET /api/audit")
    yield world.call(f"GET /api/audit?grant_id={world.grant()}", roles=("reader",))


def _purge(world: World) -> Iterator[Answer]:
    project = _new()
    world.load({"kind": "membership", "principal_id": "root", "project_id": project})
    yield world.call(f"POST /api/projects/{project}/purge", {"mode": "hard", "reason": "r"})


def _sweep(world: World) -> Iterator[Answer]:
    project = _new()
    world.load(*_rows(project, project))
    world.call(
        "POST /api/grants",
        {"grantee": "g", "projects": [project], "surfaces": ["http"], "expires_at": _LATER, "reason": "r"},
    )
    world.call(f"POST /api/projects/{project}/purge", {"mode": "hard", "reason": "r"})
    world.leave_a_cut()
    yield world.swept()


def _mcp(world: World) -> Iterator[Answer]:
    yield world.tool("expand_neighbors", {"entity_ids": ["a"]})
    yield world.tool("expand_record", {"recordId": "a", "digest": "0", "project": "p", "accessId": world.grant()})
    yield from _declaration(lambda body: world.tool("declare_associations", body))


PROBES: Mapping[str, Callable[[World], Iterator[Answer]]] = {
    "ExpandNeighbors": _expand,
    "FetchSlice": _slice,
    "Traverse": _traverse,
    "ExpandRecord": _record,
    "ContextLines": _lines,
    "DeclareAssociations": _declare,
    "Memories": _memories,
    "Edges": _edges,
    "Memberships": _memberships,
    "ImportLines": _import,
    "ExportLines": _export,
    "Grants": _grants,
    "GrantRecheck": _recheck,
    "Audit": _audit,
    "Purge": _purge,
    "Sweep": _sweep,
    "Mcp": _mcp,
}
"""By function: calls that together need every right of its role, and fail when one is missing."""


_UNMISSED = {("ImportLines", "dynamodb:Query")}
"""With it an import removes at once what it made obsolete; without it that waits for the sweep, and nobody notices."""


def necessary(cloud: Cloud, url: str) -> list[str]:
    """The rights that no probe missed. Prints what was tried."""
    faults = []
    world = World.made(cloud, url)
    for function, probe in PROBES.items():
        whole = list(probe(world))
        if any(answer.status != HTTPStatus.OK for answer in whole):
            faults.append(f"{function} fails with all its rights: {whole}")
            continue
        for action in _actions(cloud, function):
            with _without(cloud, function, action):
                missed = any(answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR for answer in probe(world))
            sys.stdout.write(f"{function:20} {action:28} {'needed' if missed else 'NOT MISSED'}\n")
            sys.stdout.flush()
            if not missed and (function, action) not in _UNMISSED:
                faults.append(f"{function} did not miss {action}")
    return faults


def _physical(cloud: Cloud, logical: str) -> str:
    found = cloud.client("cloudformation").describe_stack_resource(StackName=NAME, LogicalResourceId=logical)
    return str(found["StackResourceDetail"]["PhysicalResourceId"])


def _policy(cloud: Cloud, role: str) -> dict[str, Any]:
    document = cloud.client("iam").get_role_policy(RoleName=role, PolicyName=_POLICY)["PolicyDocument"]
    parsed: dict[str, Any] = json.loads(document) if isinstance(document, str) else document
    return parsed


def _actions(cloud: Cloud, function: str) -> list[str]:
    statements = _policy(cloud, _physical(cloud, f"{function}Role"))["Statement"]
    return sorted({action for statement in statements for action in statement["Action"]})


@contextmanager
def _without(cloud: Cloud, function: str, action: str) -> Iterator[None]:
    role = _physical(cloud, f"{function}Role")
    whole = _policy(cloud, role)
    left = [statement for statement in whole["Statement"] if action not in statement["Action"]]
    left = left or [{"Effect": "Deny", "Action": [action], "Resource": "*"}]
    iam = cloud.client("iam")
    iam.put_role_policy(RoleName=role, PolicyName=_POLICY, PolicyDocument=json.dumps({**whole, "Statement": left}))
    try:
        yield
    finally:
        iam.put_role_policy(RoleName=role, PolicyName=_POLICY, PolicyDocument=json.dumps(whole))
