"""The audit: one aggregate for each grant, surface, outcome and day, its bounds and samples, its pages, its end."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest

from shared.domain.errors import Forbidden, Malformed
from shared.domain.principal import Surface
from shared.engine.audit import AuditQuery, read_audit
from shared.store.dynamo import Store
from tests.support.records import TENANT, aggregates, counted, expand, grant, lines, member, memory_store, reader
from tests.support.writing import link, load, note, session

NOON = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
BASE = (
    member("root", "p2"),
    member("bob", "p1"),
    note("own", project_id="p1"),
    note("far", project_id="p2", key="k"),
    note("twin", project_id="p2", key="k"),
)


@pytest.fixture
def store() -> Store:
    built = memory_store()
    assert load(built, TENANT, *BASE)["rejected"] == 0
    return built


@pytest.fixture
def held(store: Store) -> str:
    """A grant of bob's that was issued long ago."""
    grant_id: str = grant(store, "bob", "p2")["id"]
    rows: Any = store.table
    rows.rows = {
        key: {**item, "issued_at": "2020-01-01T00:00:00.000Z"} if "issued_at" in item else item
        for key, item in rows.rows.items()
    }
    return grant_id


def use(store: Store, grant_id: str, record_id: str = "far", **fields: Any) -> None:
    expand(store, reader("bob", **fields), record_id, project="p1", accessId=grant_id)


def test_a_line_that_names_what_only_the_grant_opens_has_used_it(store: Store, held: str) -> None:
    load(store, TENANT, note("heir", project_id="p2"), note("kin", project_id="p1"))
    load(store, TENANT, link("heir", "own", "SUPERSEDES"), link("kin", "kin", "SUPERSEDES"))
    for record, said, outcomes in (("kin", "", ["unneeded"]), ("own", "superseded by heir", ["unneeded", "used"])):
        (line,) = lines(store, reader("bob"), recordIds=[record], accessId=held)["lines"]
        assert said in line["line"]
        assert [outcome for _, outcome, _ in counted(store)] == outcomes


def test_surfaces_outcomes_and_days_are_counted_apart(store: Store, held: str) -> None:
    yesterday = NOON - timedelta(days=1)
    use(store, held, at=NOON)
    use(store, held, at=NOON)
    use(store, held, "own", at=NOON)
    use(store, held, "absent", at=NOON)
    use(store, held, at=NOON, surface=Surface.MCP)
    use(store, held, at=yesterday)
    found = [(row["day"], row["surface"], row["outcome"], row["count"]) for row in aggregates(store)]
    today, before = NOON.date().isoformat(), yesterday.date().isoformat()
    assert found == [
        (before, "http", "used", 1),
        (today, "http", "unneeded", 2),
        (today, "http", "used", 2),
        (today, "mcp", "used", 1),
    ]
    assert aggregates(store)[2]["records_returned_total"] == 4


@pytest.mark.parametrize("order", list(permutations(range(4))), ids=str)
def test_bounds_and_samples_hold_whatever_the_order_of_arrival(store: Store, held: str, order: tuple[int, ...]) -> None:
    for minutes in order:
        use(store, held, at=NOON + timedelta(minutes=minutes))
    (row,) = aggregates(store)
    assert (row["count"], row["revision"]) == (4, 4)
    assert row["first_at"] == NOON.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    assert row["last_at"].endswith("12:03:00.000Z")
    assert [sample["at"][14:16] for sample in row["samples"]] == [f"{minutes:02}" for minutes in sorted(order[1:])]
    assert row["samples"][0]["project"] == "p1"
    assert row["samples"][0]["records_returned"] == 2


def test_an_aggregate_is_shown_for_thirty_days_exactly(store: Store, held: str) -> None:
    use(store, held, at=NOON - timedelta(days=30))
    admin = replace(session(TENANT), arrived=NOON)
    later = replace(admin, arrived=NOON + timedelta(milliseconds=1))
    assert len(read_audit(store, admin, AuditQuery())["aggregates"]) == 1  # type: ignore[arg-type]
    assert read_audit(store, later, AuditQuery()) == {"aggregates": []}
    (kept,) = [item["ttl"] for item in store.table.rows.values() if "ttl" in item]  # type: ignore[attr-defined]
    assert NOON.timestamp() < kept <= NOON.timestamp() + 1


def test_days_are_bounds_both_included(store: Store, held: str) -> None:
    days = [(NOON - timedelta(days=back)).date().isoformat() for back in (3, 2, 1, 0)]
    for back in (3, 2, 1, 0):
        use(store, held, at=NOON - timedelta(days=back))
    assert [row["day"] for row in aggregates(store, first_day=days[1], last_day=days[2])] == days[1:3]
    assert aggregates(store, first_day=days[2], last_day=days[1]) == []
    assert [row["day"] for row in aggregates(store, grant_id=held)] == days
    assert aggregates(store, grant_id="other") == []


def test_pages_hold_every_aggregate_once_in_order(store: Store) -> None:
    held = [grant(store, "bob", "p2")["id"] for _ in range(120)]
    for grant_id in held:
        use(store, grant_id)
        use(store, grant_id, "own")
    found = counted(store)
    assert len(found) == 240
    assert found == sorted(found)
    page = read_audit(store, session(TENANT), AuditQuery())
    for other in (AuditQuery(grant_id=held[0]), AuditQuery(first_day="2020-01-01")):
        with pytest.raises(Malformed):
            read_audit(store, session(TENANT), replace(other, cursor=str(page["cursor"])))


def test_a_grantee_sees_its_own_grants_alone(store: Store, held: str) -> None:
    use(store, held)
    theirs = grant(store, "cyd", "p2")["id"]
    use(store, theirs)
    assert [row["grant_id"] for row in read_of(store, "bob", held)] == [held]
    assert read_of(store, "bob", theirs) == []
    assert [row["outcome"] for row in read_of(store, "cyd", theirs)] == ["grant_not_found"]
    assert read_of(store, "bob", "unknown") == []
    with pytest.raises(Forbidden):
        read_audit(store, reader("bob"), AuditQuery())


def read_of(store: Store, who: str, grant_id: str) -> Any:
    return read_audit(store, reader(who), AuditQuery(grant_id=grant_id))["aggregates"]


def test_guesses_share_one_aggregate_that_keeps_none_of_them(store: Store) -> None:
    for guess in ("grant_guess_1", "grant_guess_2", "unknown", "\U0001f511"):
        use(store, guess)
    assert counted(store) == [("unknown", "grant_not_found", 4)]
    assert "guess" not in str(store.table.rows)  # type: ignore[attr-defined]
