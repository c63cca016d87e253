"""Grants: issue, revocation, recheck, presentation, import; over the real store code in memory."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.domain.errors import Conflict, Malformed, NotFound, Unavailable
from shared.domain.instants import utc_text
from shared.domain.principal import Role, Surface
from shared.domain.purges import PurgeMode
from shared.engine import purge
from shared.engine.grants import (
    GrantId,
    GrantsOf,
    list_grants,
    recheck_grant,
    revoke_grant,
    show_grant,
)
from shared.engine.importing import import_lines
from shared.engine.purge import PurgeQuery, purge_project
from shared.store.dynamo import Store
from shared.store.table import Op
from tests.support.records import FAR, TENANT, aggregates, counted, expand, grant, lines, member, memory_store, reader
from tests.support.writing import exported, load, ndjson, note, session, swept

BASE = (
    member("root", "p2"),
    member("root", "p3"),
    member("bob", "p1"),
    note("own", project_id="p1"),
    note("far", project_id="p2"),
    note("said", project_id="p2", scope="project"),
    note("team", project_id="p2", scope="team", scope_key="crew"),
    note("split", project_id="p2", scope="project", scope_key="p3"),
    note("everyones", project_id="p2", scope="organization"),
)


@pytest.fixture
def store() -> Store:
    built = memory_store()
    assert load(built, TENANT, *BASE)["rejected"] == 0
    return built


def reason_of(store: Store, grant_id: str, **fields: Any) -> str | None:
    """Why bob's grant was refused in an expansion, if it was."""
    answer = expand(store, reader("bob", **fields), "own", project="p1", accessId=grant_id)
    assert answer["record"]["id"] == "own"
    accepted = answer["completeness"]["scope"]["grant"] is not None
    assert ("readProvenance" in answer) is accepted
    text = str(answer["completeness"]["limitation"]["detail"])
    return None if accepted else text.rpartition(": ")[2].rstrip(".")


def recheck(store: Store, grant_id: str, who: str = "bob", **fields: Any) -> Any:
    return recheck_grant(store, reader(who, **fields), GrantId(grant_id))


def test_each_check_names_its_reason(store: Store) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    held = grant(store, "bob", "p2", surfaces=["http"], expires_at=utc_text(soon))["id"]
    other = grant(store, "cyd", "p2")["id"]
    before, exactly = soon - timedelta(milliseconds=1), datetime.fromisoformat(utc_text(soon))
    expected: list[tuple[str, dict[str, Any], str | None]] = [
        (held, {}, None),
        (held, {"at": before}, None),
        (held, {"at": exactly}, "grant_expired"),
        (held, {"surface": Surface.MCP}, "grant_surface_refused"),
        (held, {"surface": Surface.MCP, "at": exactly}, "grant_expired"),
        (held, {"at": datetime.now(UTC) - timedelta(hours=1)}, "grant_invalid"),
        (other, {}, "grant_not_found"),
        ("grant_made_up", {}, "grant_not_found"),
    ]
    for grant_id, fields, reason in expected:
        assert reason_of(store, grant_id, **fields) == reason, (grant_id, fields)
        assert recheck(store, grant_id, **fields) == {"valid": reason is None, "reason": reason}
    revoke_grant(store, session(TENANT), GrantId(held))
    assert reason_of(store, held, at=exactly) == "grant_revoked"
    assert recheck(store, held, "cyd")["reason"] == "grant_not_found"


def test_a_recheck_changes_nothing(store: Store) -> None:
    held = grant(store, "bob", "p2")["id"]
    store.table.meter.reset()
    recheck(store, held)
    assert store.table.meter.writes == 0
    assert aggregates(store) == []


def test_a_grant_opens_project_rows_of_its_projects_alone(store: Store) -> None:
    held = grant(store, "bob", "p2")["id"]
    opened = {
        name: expand(store, reader("bob"), name, project="p1", grantId=held)["status"] != "unavailable"
        for name in ("own", "far", "said", "team", "split", "everyones")
    }
    assert opened == {"own": True, "far": True, "said": True, "team": False, "split": False, "everyones": False}
    both = grant(store, "bob", "p2", "p3")["id"]
    assert expand(store, reader("bob"), "split", grantId=both)["record"]["id"] == "split"


def test_lines_honour_a_grant_and_hand_it_on(store: Store) -> None:
    held = grant(store, "bob", "p2")["id"]
    answer = lines(store, reader("bob"), recordIds=["own", "far", "team"], accessId=held)
    assert [line["recordId"] for line in answer["lines"]] == ["own", "far"]
    assert [line["expansion"]["scope"]["grantId"] for line in answer["lines"]] == [None, held]
    assert {line["recordId"] for line in lines(store, reader("bob"), project="p2", accessId=held)["lines"]} == {
        "far",
        "said",
    }
    assert lines(store, reader("bob"), project="p2", accessId="nothing")["lines"] == []
    assert counted(store) == [(held, "used", 2), ("unknown", "grant_not_found", 1)]
    assert [row["records_returned_total"] for row in aggregates(store)] == [4, 0]


def test_two_names_of_two_grants_are_counted_under_the_first(store: Store) -> None:
    one, other = grant(store, "bob", "p2")["id"], grant(store, "bob", "p2")["id"]
    for first in (one, "no_such"):
        answer = expand(store, reader("bob"), "far", project="p1", accessId=first, grantId=other)
        assert answer["status"] == "unavailable"
    assert sorted(counted(store)) == sorted(
        [(one, "grant_identity_conflict", 1), ("unknown", "grant_identity_conflict", 1)]
    )


def test_a_read_whose_use_cannot_be_counted_is_not_answered(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    held = grant(store, "bob", "p2")["id"]

    def refuse(ops: list[Op], clock: object = None) -> None:
        raise Unavailable

    monkeypatch.setattr(store.table, "transact", refuse)
    for grant_id in (held, "unknown_one"):
        with pytest.raises(Unavailable):
            expand(store, reader("bob"), "own", project="p1", accessId=grant_id)
    assert expand(store, reader("bob"), "own", project="p1")["record"]["id"] == "own"


def test_an_idempotency_key_gives_one_grant_for_its_bounds(store: Store) -> None:
    first = grant(store, "bob", "p2", "p3", idempotency_key="k")
    assert grant(store, "bob", "p3", "p2", idempotency_key="k") == first
    with pytest.raises(Conflict):
        grant(store, "bob", "p2", idempotency_key="k")
    assert grant(store, "bob", "p2", "p3")["id"] != first["id"]


def test_an_admin_opens_only_projects_of_its_own_and_only_for_a_time(store: Store) -> None:
    with pytest.raises(NotFound):
        grant(store, "bob", "p2", "p1")
    with pytest.raises(Malformed):
        grant(store, "bob", "p2", expires_at=utc_text(datetime.now(UTC)))


def test_a_grant_is_shown_to_admins_and_to_its_grantee(store: Store) -> None:
    held = grant(store, "bob", "p2")
    assert show_grant(store, session(TENANT), GrantId(held["id"])) == held
    assert show_grant(store, reader("bob"), GrantId(held["id"])) == held
    for who, grant_id in (("cyd", held["id"]), ("bob", "none")):
        with pytest.raises(NotFound):
            show_grant(store, reader(who), GrantId(grant_id))
    with pytest.raises(NotFound):
        show_grant(store, session("other"), GrantId(held["id"]))


def test_grants_are_listed_by_id_page_after_page(store: Store) -> None:
    mine = sorted(grant(store, "bob", "p2")["id"] for _ in range(60))
    other = grant(store, "cyd", "p2")["id"]
    for grantee, wanted in (("bob", mine), ("cyd", [other]), ("dan", []), (None, sorted([*mine, other]))):
        found: list[str] = []
        cursor = None
        while True:
            page: Any = list_grants(store, session(TENANT), GrantsOf(grantee, cursor))
            found += [row["id"] for row in page["grants"]]
            cursor = page.get("cursor")
            if cursor is None:
                break
        assert found == wanted
    first: Any = list_grants(store, session(TENANT), GrantsOf("bob"))
    for grantee, bad in ((None, first["cursor"]), ("bob", "!"), ("bob", "e30")):
        with pytest.raises(Malformed):
            list_grants(store, session(TENANT), GrantsOf(grantee, bad))


def test_revoking_again_changes_nothing(store: Store) -> None:
    held = grant(store, "bob", "p2")["id"]
    revoked = revoke_grant(store, session(TENANT), GrantId(held))
    assert revoked["revoked_at"]
    assert revoke_grant(store, session(TENANT), GrantId(held)) == revoked
    with pytest.raises(NotFound):
        revoke_grant(store, session(TENANT), GrantId("none"))


LINE = {
    "kind": "grant",
    "id": "g1",
    "grantee": "bob",
    "projects": ["p2"],
    "surfaces": ["http"],
    "expires_at": FAR,
    "reason": "restored",
    "issued_at": "2024-01-01T00:00:00Z",
}


def test_a_line_may_carry_the_past_and_is_applied_once(store: Store) -> None:
    assert load(store, TENANT, LINE)["applied"] == 1
    assert load(store, TENANT, LINE)["unchanged"] == 1
    assert reason_of(store, "g1") is None
    load(store, TENANT, {**LINE, "id": "g2", "revoked_at": "2024-02-01T00:00:00Z"})
    load(store, TENANT, {**LINE, "id": "g3", "expires_at": "2024-02-01T00:00:00Z"})
    load(store, TENANT, {**LINE, "id": "g4", "issued_at": "2098-01-01T00:00:00Z"})
    assert [reason_of(store, name) for name in ("g2", "g3", "g4")] == [
        "grant_revoked",
        "grant_expired",
        "grant_invalid",
    ]
    anonymous = {name: value for name, value in LINE.items() if name != "id"}
    assert [load(store, TENANT, anonymous)[count] for count in ("applied", "unchanged")] == [1, 1]
    bad = load(store, TENANT, {**LINE, "id": "unknown"}, {**LINE, "id": "g5", "projects": []})
    assert bad["rejected"] == 2


def test_a_revocation_outlives_the_line_that_was_imported_before_it(store: Store) -> None:
    load(store, TENANT, LINE)
    revoke_grant(store, session(TENANT), GrantId("g1"))
    load(store, TENANT, LINE)
    assert reason_of(store, "g1") == "grant_revoked"


def test_a_line_meets_a_grant_as_a_purge_has_left_it_swept_or_not(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    both, one = grant(store, "bob", "p2", "p3")["id"], grant(store, "bob", "p2")["id"]
    earlier = [line for line in map(json.loads, exported(store, TENANT)) if line.get("id") == one]
    at = purge_project(store, session(TENANT), PurgeQuery(project_id="p2", mode=PurgeMode.HARD))["at"]
    monkeypatch.setattr(purge, "IN_FLIGHT", timedelta(seconds=-1))
    for _ in ("before the sweep", "after it"):
        own = [line for line in map(json.loads, exported(store, TENANT)) if line["kind"] == "grant"]
        assert load(store, TENANT, *own)["unchanged"] == len(own) == 2
        load(store, TENANT, *earlier)
        shown = show_grant(store, session(TENANT), GrantId(one))
        assert (shown["projects"], shown["revoked_at"]) == (["p2"], at)
        assert show_grant(store, session(TENANT), GrantId(both))["projects"] == ["p3"]
        swept(store, TENANT)


def test_grants_survive_an_export_and_its_import(store: Store) -> None:
    grant(store, "bob", "p2", "p3")
    load(store, TENANT, {**LINE, "projects": [], "revoked_at": "2024-02-01T00:00:00Z"})
    text = exported(store, TENANT)
    copy = memory_store()
    assert load(copy, TENANT, *map(json.loads, text))["rejected"] == 0
    assert exported(copy, TENANT) == text


def test_a_grant_of_another_tenant_is_unknown(store: Store) -> None:
    held = grant(store, "bob", "p2")["id"]
    load(store, "t2", note("own", project_id="p1"), member("bob", "p1"))
    answer = expand(store, reader("bob", tenant="t2"), "own", project="p1", accessId=held)
    assert answer["completeness"]["scope"]["grant"] is None
    assert counted(store, tenant="t2") == [("unknown", "grant_not_found", 1)]
    assert counted(store) == []


def test_only_an_admin_may_import_grants(store: Store) -> None:
    asker = session(TENANT, "wil", Role.WRITER)
    assert import_lines(store, asker, ndjson(LINE))["rejected"] == 1
