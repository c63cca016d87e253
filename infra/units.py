"""What each call costs in DynamoDB's units, counted over the sample by DynamoDB's rules: `python -m infra.units`.

The numbers are in infra/operations.md. A strongly consistent unit reads up to 4 KB; a unit writes up to 1 KB.
"""

import json
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import boto3

from infra.local.events import HttpRequest, dev_token
from infra.local.gateway import Gateway
from infra.local.serve import ANA, Options, running
from shared.runtime import connected

_NOTE = {"type": "note", "name": "N", "content": "A few words."}
_READ, _WRITE = 4096, 1024
_LATER = "2999-01-01T00:00:00Z"
_GRANT = {"grantee": "ana", "surfaces": ["http"], "expires_at": _LATER, "reason": "units"}
_ADMIN = {**ANA, "roles": ["admin"]}
_SEED = "decision-single-table"


class Units:
    """Counts, by DynamoDB's rules, what calls of clients cost that are made after it."""

    def __init__(self) -> None:
        self.used: Counter[str] = Counter()
        boto3.setup_default_session()
        events = boto3._get_default_session().events  # noqa: SLF001 - what clients are made of
        events.register("provide-client-params.dynamodb", self._asked)
        events.register("after-call.dynamodb", self._answered)

    def _asked(self, params: Mapping[str, Any], model: Any, **_: Any) -> None:
        match model.name:
            case "BatchGetItem":  # a key that is not there costs a unit
                self.used["read"] += sum(len(one["Keys"]) for one in params["RequestItems"].values())
            case "TransactWriteItems":
                for part in params["TransactItems"]:
                    self.used["write"] += 2 * _units(next(iter(part.values())).get("Item", {}), _WRITE)
            case "BatchWriteItem":
                for one in (one for ones in params["RequestItems"].values() for one in ones):
                    self.used["write"] += _units(one.get("PutRequest", {}).get("Item", {}), _WRITE)

    def _answered(self, parsed: Mapping[str, Any], model: Any, **_: Any) -> None:
        if model.name == "BatchGetItem":
            items = [item for found in parsed["Responses"].values() for item in found]
            self.used["read"] += sum(_units(item, _READ) - 1 for item in items)
        elif model.name == "Query":
            self.used["read"] += max(1, -(-sum(map(_size, parsed["Items"])) // _READ))


def _units(item: Mapping[str, Any], step: int) -> int:
    """Of an item, or of one whose size is not told: those that are updated, deleted and checked here are small."""
    return max(1, -(-_size(item) // step))


def _size(item: Mapping[str, Any]) -> int:
    return sum(len(name.encode()) + sum(map(_value_size, value.values())) for name, value in item.items())


def _value_size(value: Any) -> int:
    if isinstance(value, list | set | tuple):
        return sum(map(_value_size, value)) + 3
    return len(value) if isinstance(value, bytes) else len(str(value).encode())


def calls(gateway: Gateway) -> list[tuple[str, str, Mapping[str, Any], Any]]:
    """A call of each kind: what it is, its route, who asks, and the body."""
    lines = json.loads(_asked(gateway, "POST /api/records/lines", ANA, {"recordIds": [_SEED]}))["lines"]
    handle = {
        "recordId": _SEED,
        "digest": lines[0]["expansion"]["digest"],
        "project": lines[0]["expansion"]["scope"]["project"],
    }
    grant = json.loads(_asked(gateway, "POST /api/grants", _ADMIN, {**_GRANT, "projects": [handle["project"]]}))["id"]
    return [
        ("expand_neighbors, depth 1", "POST /api/search/expand", ANA, {"entity_ids": [_SEED]}),
        ("expand_neighbors, depth 3", "POST /api/search/expand", ANA, {"entity_ids": [_SEED], "depth": 3}),
        ("fetch_slice, window 3", "POST /api/search/slice", ANA, {"entity_id": "guide-order-store"}),
        ("traverse, 2 hops", "POST /api/search/traverse", ANA, {"agent_id": "planner", "entity": "ana", "max_hops": 2}),
        ("context_lines, one record", "POST /api/records/lines", ANA, {"recordIds": [_SEED]}),
        ("expand_record", "POST /api/records/expand", ANA, handle),
        ("expand_record, under a grant", "POST /api/records/expand", ANA, {**handle, "accessId": grant}),
        ("a memory read whole", f"GET /api/memories/{_SEED}", ANA, None),
        ("a short memory written", "PUT /api/memories/units-note", ANA, _NOTE),
        ("an edge written", "PUT /api/edges", ANA, {"source": "units-note", "relationship": "ABOUT", "target": _SEED}),
        ("a memory deleted", "DELETE /api/memories/units-note", ANA, None),
    ]


def _asked(gateway: Gateway, route: str, who: Mapping[str, Any], body: Any) -> bytes:
    method, _, path = route.partition(" ")
    headers = (("authorization", f"Bearer {dev_token(who)}"), ("content-type", "application/json"))
    data = b"" if body is None else json.dumps(body).encode()
    answer = gateway.handle(HttpRequest(method=method, path=path, headers=headers, body=data))
    if answer.status != 200:  # noqa: PLR2004
        raise AssertionError(f"{route}: {answer.body.decode()}")
    return answer.body


def main() -> None:
    with running(Options(store=Path(tempfile.mkdtemp()))) as gateway:
        units = Units()
        connected.cache_clear()
        for name, route, who, body in calls(gateway):
            units.used.clear()
            _asked(gateway, route, who, body)
            print(f"{name:32} {units.used['read']:4} read {units.used['write']:4} write")


if __name__ == "__main__":
    main()
