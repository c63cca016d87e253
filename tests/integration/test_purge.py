"""The sweep of a purge through its own handler, within its role, until the table holds nothing of the project."""

from datetime import timedelta
from typing import Any

import pytest

from functions.sweep.handler import handler
from shared.engine import purge
from shared.store import keys
from tests.conftest import Caller, ClaimsOf, Load
from tests.rights import Watch
from tests.support.writing import link, note, table_rows


class LambdaContext:
    """A function with five minutes left."""

    def get_remaining_time_in_millis(self) -> int:
        return 300_000


def declared(kind: str, **fields: Any) -> dict[str, Any]:
    return {"kind": kind, "agent_id": "a1", **fields}


def test_the_sweep_removes_all_that_the_purge_passed_over(
    call: Caller,
    claims_of: ClaimsOf,
    load: Load,
    watch: Watch,
    tenant: str,
    table_name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = claims_of("root")
    project, other = f"p-{tenant}", f"q-{tenant}"
    load(*({"kind": "membership", "principal_id": "root", "project_id": name} for name in (project, other)))
    load(note("stays"), declared("entity", name="Gate", mentions=["stays"]))
    terms = {"surfaces": ["http"], "expires_at": "2099-01-01T00:00:00Z", "reason": "r", "grantee": "bob"}
    held = call("POST", "/api/grants", root, {**terms, "projects": [project, other]}).body["id"]
    before = table_rows(table_name).keys()
    load(
        note("goes", project_id=project, key="k", content="A sentence. " * 400),
        note("too", project_id=project),
        link("stays", "goes"),
        link("goes", "too"),
        declared("entity", name="Vault", project_id=project, aliases=["Safe"], mentions=["stays"]),
        declared("entity", name="Gate", mentions=["goes"]),
        declared("relation", subject="Vault", predicate="by", object="Gate", project_id=project),
    )
    assert call("POST", f"/api/projects/{project}/purge", root, {"mode": "hard", "reason": "over"}).status == 200
    monkeypatch.setattr(purge, "IN_FLIGHT", timedelta(seconds=-1))
    with watch.running("sweep"):
        handler({}, LambdaContext())
        handler({}, LambdaContext())
    watch.check()
    after = table_rows(table_name)
    new = {key for key in after.keys() - before if after[key].get("tenant", {}).get("S", tenant) == tenant}
    kinds = {(pk[:2], sk.partition("#")[0]) for pk, sk in new if pk[:2] != "Q#" or "life" not in sk}
    assert kinds == {("P#", "PURGE"), ("P#", "EPOCH"), ("B#", "ACTIVE")}
    assert after[keys.purge_board(tenant), keys.ACTIVE_PURGES]["active"] == {"S": "{}"}
    assert after[keys.grants(tenant), f"G#{held}"]["projects"] == {"S": f'{{"{other}": 0}}'}
