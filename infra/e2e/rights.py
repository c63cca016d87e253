"""Takes each right from each role in turn: a call of the function must then fail, or the right is not needed.

The emulator decides by action and table. It knows no leading keys: the letters of the partitions are held to what the
functions do by the integration tests (tests/rights.py).
"""

import json
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from infra.e2e.cases import NDJSON, Answer, ask
from infra.e2e.stack import NAME, Cloud

_POLICY = "table"
_LONG = " ".join(f"word{index}" for index in range(2_000))
_UNAVAILABLE = 503


@dataclass(frozen=True, slots=True)
class Caller:
    """Everybody's calls, in a tenant of their own."""

    url: str
    tenant: str

    def __call__(self, route: str, body: Any = None, media: str = "application/json") -> Answer:
        who = {"sub": "root", "tenant_id": self.tenant, "roles": ["reader", "writer", "admin"], "agents": ["*"]}
        return ask(self.url, route, who, body, media)

    def load(self, *lines: Mapping[str, Any]) -> Answer:
        return self("POST /api/import", "\n".join(map(json.dumps, lines)).encode(), NDJSON)


Probe = Callable[[Caller], Iterator[Answer]]
"""Calls that need every right of one function; a right that is missing makes one of them fail."""

_WORLD: tuple[Mapping[str, Any], ...] = (
    {"kind": "membership", "principal_id": "root", "project_id": "p"},
    {"kind": "memory", "id": "a", "type": "note", "name": "A", "content": _LONG, "project_id": "p", "key": "k"},
    {"kind": "memory", "id": "b", "type": "note", "name": "B", "content": "short", "project_id": "p", "key": "k"},
    {"kind": "edge", "source": "a", "relationship": "REQUIRES", "target": "b"},
    {"kind": "entity", "agent_id": "x", "name": "Ann", "aliases": ["Annie"], "mentions": ["a"], "project_id": "p"},
    {
        "kind": "relation",
        "agent_id": "x",
        "subject": "Ann",
        "predicate": "owns",
        "object": "Bob",
        "anchor_ref": "a",
        "project_id": "p",
    },
)
_GRANT = {"grantee": "root", "projects": ["p"], "reason": "r", "ttl_seconds": 600}


def _expand(call: Caller) -> Iterator[Answer]:
    yield call("POST /api/search/expand", {"entity_ids": ["a"]})


def _slice(call: Caller) -> Iterator[Answer]:
    yield call("POST /api/search/slice", {"entity_id": "a"})


def _traverse(call: Caller) -> Iterator[Answer]:
    yield call("POST /api/search/traverse", {"agent_id": "x", "entity": "ann", "project": "p"})


def _records(call: Caller) -> Iterator[Answer]:
    yield call("POST /api/records/expand", {"recordId": "a", "project": "p", "accessId": "none"})


def _lines(call: Caller) -> Iterator[Answer]:
    yield call("POST /api/records/lines", {"project": "p", "accessId": "none"})


PROBES: Mapping[str, Probe] = {
    "ExpandNeighbors": _expand,
    "FetchSlice": _slice,
    "Traverse": _traverse,
    "ExpandRecord": _records,
    "ContextLines": _lines,
}


def necessary(cloud: Cloud, url: str) -> list[str]:
    """The rights that no probe missed. Prints the table of what failed without which."""
    faults = []
    for function, probe in PROBES.items():
        call = Caller(url, f"t-{uuid.uuid4().hex[:12]}")
        loaded = call.load(*_WORLD)
        if loaded.status != 200 or loaded.body["rejected"]:  # noqa: PLR2004
            return [f"the probes' rows were not loaded: {loaded}"]
        whole = [answer.status for answer in probe(call)]
        if max(whole) >= _UNAVAILABLE:
            faults.append(f"{function} fails with all its rights: {whole}")
        for action in _actions(cloud, function):
            with _without(cloud, function, action):
                missed = any(answer.status == _UNAVAILABLE for answer in probe(call))
            sys.stdout.write(f"{function:20} {action:28} {'needed' if missed else 'NOT MISSED'}\n")
            sys.stdout.flush()
            if not missed:
                faults.append(f"{function} did not miss {action}")
    return faults


def _role(cloud: Cloud, function: str) -> str:
    found = cloud.client("cloudformation").describe_stack_resource(StackName=NAME, LogicalResourceId=f"{function}Role")
    return str(found["StackResourceDetail"]["PhysicalResourceId"])


def _policy(cloud: Cloud, role: str) -> dict[str, Any]:
    document = cloud.client("iam").get_role_policy(RoleName=role, PolicyName=_POLICY)["PolicyDocument"]
    parsed: dict[str, Any] = json.loads(document) if isinstance(document, str) else document
    return parsed


def _actions(cloud: Cloud, function: str) -> list[str]:
    statements = _policy(cloud, _role(cloud, function))["Statement"]
    return sorted({action for statement in statements for action in statement["Action"]})


@contextmanager
def _without(cloud: Cloud, function: str, action: str) -> Iterator[None]:
    role = _role(cloud, function)
    whole = _policy(cloud, role)
    left = [statement for statement in whole["Statement"] if action not in statement["Action"]]
    left = left or [{"Effect": "Deny", "Action": [action], "Resource": "*"}]
    iam = cloud.client("iam")
    iam.put_role_policy(RoleName=role, PolicyName=_POLICY, PolicyDocument=json.dumps({**whole, "Statement": left}))
    try:
        yield
    finally:
        iam.put_role_policy(RoleName=role, PolicyName=_POLICY, PolicyDocument=json.dumps(whole))
