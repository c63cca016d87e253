"""`expand_record` and `context_lines`: status, scope, counterparts, completeness, over real store code."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.boundary.models.records import ContextLinesAnswer, ExpandRecordAnswer
from shared.domain.errors import Malformed
from shared.domain.purges import PurgeMode
from shared.engine.purge import PurgeQuery, purge_project
from shared.store.dynamo import Store
from tests.support.records import TENANT, expand, grant, lines, member, memory_store, reader
from tests.support.writing import link, load, note, session

BASE = (member("ann", "p1"), member("root", "p1"), member("root", "p2"))


@pytest.fixture
def store() -> Store:
    built = memory_store()
    assert load(built, TENANT, *BASE)["rejected"] == 0
    return built


def opened(store: Store, record_id: str, who: str = "ann", **fields: Any) -> Any:
    answer = expand(store, reader(who), record_id, **{"project": "p1", **fields})
    ExpandRecordAnswer.model_validate(answer)
    return answer


def pairs(answer: Any) -> list[tuple[str, str, list[str]]]:
    return [(pair["recordId"], pair["relation"], pair["basis"]) for pair in answer["investigation"]["pairs"]]


def dated(memory_id: str, day: str | None = None, **fields: Any) -> dict[str, Any]:
    """A setting of one key in p1, valid from a day of 2025."""
    start = {} if day is None else {"valid_from": f"2025-{day}T00:00:00Z"}
    return note(memory_id, project_id="p1", key="region", **start, **fields)


def test_a_digest_is_of_the_whole_body_and_of_the_view(store: Store) -> None:
    body = "One line of a long text. " * 400
    load(
        store,
        TENANT,
        note("long", project_id="p1", content=body),
        note(
            "gaps",
            project_id="p1",
            content=body,
            spans=[{"start": 0, "end": 500, "label": "a"}, {"start": 600, "end": 900, "label": "b"}],
        ),
    )
    for record_id in ("long", "gaps"):
        plain = opened(store, record_id)
        assert plain["record"]["content"] == body
        digest = plain["currentRevision"]["digest"]
        assert opened(store, record_id, digest=digest)["status"] == "current"
        then = opened(store, record_id, digest=digest, asOf="2025-01-01T00:00:00+01:00")
        assert then["status"] == "revision_changed"
        seen = then["currentRevision"]["digest"]
        assert seen != digest
        assert opened(store, record_id, digest=seen, asOf="2024-12-31T23:00:00.000Z")["status"] == "current"
        line = lines(store, reader("ann"), recordIds=[record_id], asOf="2024-12-31T23:00:00Z")["lines"][0]
        assert line["boundRevision"]["digest"] == seen
    digest = opened(store, "long")["currentRevision"]["digest"]
    assert opened(store, "long", digest=digest, derivationVersion="line-v1")["status"] == "current"
    assert opened(store, "long", digest=digest, derivationVersion="line-v0")["status"] == "revision_changed"


def test_counterparts_are_found_once_in_order_with_their_bases(store: Store) -> None:
    load(
        store,
        TENANT,
        dated("now", "06-01", value=1),
        dated("same", "03-01", value=1.0),
        dated("ended", "01-01", value=2, valid_to="2025-02-01T00:00:00Z", state="superseded"),
        dated("early", "02-01", value=3),
        note("heir", project_id="p1", valid_from="2025-09-01T00:00:00Z"),
        note("other", project_id="p1", key="region", type="hint"),
        link("now", "ended", "SUPERSEDES"),
        link("now", "early", "SUPERSEDES"),
        link("heir", "now", "SUPERSEDES"),
    )
    answer = opened(store, "now")
    assert pairs(answer) == [
        ("heir", "superseded_by", ["explicit_supersession"]),
        ("same", "same_key", ["same_value"]),
        ("early", "same_key", ["explicit_supersession"]),
        ("ended", "same_key", ["explicit_supersession", "different_times"]),
    ]
    assert answer["record"]["links"] == {"supersedes": ["early", "ended"], "superseded_by": ["heir"]}
    assert "superseded by now" in answer["investigation"]["pairs"][3]["position"]["line"]


def test_a_budget_limits_what_is_investigated_and_what_is_listed(store: Store) -> None:
    load(store, TENANT, *(dated(f"m{number:02}", "01-01") for number in range(14)))
    answer = opened(store, "m00", maxExpansions=2)
    found = answer["investigation"]
    assert (found["total"], found["omitted"], len(found["pairs"])) == (13, 3, 10)
    assert found["budget"] == {"maxExpansions": 2, "used": 2, "outcome": "exhausted"}
    assert ["record" in pair for pair in found["pairs"]] == [True] * 2 + [False] * 8
    assert opened(store, "m00", maxExpansions=12)["investigation"]["omitted"] == 1
    assert opened(store, "m00", maxExpansions=13)["investigation"]["budget"]["outcome"] == "within_budget"


def test_counterparts_outside_the_view_set_no_count_but_readable_links_do(store: Store) -> None:
    load(
        store,
        TENANT,
        member("ann", "p3"),
        dated("mine", "01-01"),
        dated("hidden", "01-01", scope="private", owner="root"),
        note("elsewhere", project_id="p3"),
        note("unreadable", project_id="p2"),
        *(link("mine", target, "SUPERSEDES") for target in ("hidden", "elsewhere", "unreadable")),
    )
    answer = opened(store, "mine")
    assert answer["investigation"]["total"] == 0
    assert answer["investigation"]["unreachableLinks"] == 1
    digest = answer["currentRevision"]["digest"]
    assert opened(store, "mine", digest=digest)["completeness"]["limitation"]["code"] == "links_unavailable"


def test_many_links_are_all_counted(store: Store) -> None:
    many = [f"old{number:03}" for number in range(130)]
    load(store, TENANT, note("new", project_id="p1"), *(note(name, project_id="p1") for name in many))
    load(store, TENANT, *(link("new", name, "SUPERSEDES") for name in many))
    answer = opened(store, "new")
    assert answer["investigation"]["total"] == 130
    assert answer["record"]["links"]["supersedes"] == many


@pytest.mark.parametrize(
    ("scope", "fields", "held"),
    [
        ({"project": "p1"}, {"project_id": "p1"}, True),
        ({"project": "p1", "originId": "laptop"}, {"origin_id": "laptop"}, False),
        ({"originId": "laptop"}, {"origin_id": "laptop"}, True),
        ({"originId": "laptop"}, {"origin_id": "laptop", "project_id": "p1"}, False),
        ({"originId": "phone"}, {"origin_id": "laptop"}, False),
        ({"project": "p2", "originId": "laptop"}, {"origin_id": "laptop"}, True),
        ({}, {"origin_id": "laptop"}, False),
        ({"originId": "laptop"}, {"origin_id": "laptop", "scope": "private", "owner": "root"}, False),
    ],
)
def test_a_project_or_else_an_origin_is_the_view(
    store: Store, scope: dict[str, str], fields: dict[str, str], held: bool
) -> None:
    load(store, TENANT, note("m", **fields))
    answer = expand(store, reader("ann"), "m", **scope)
    assert (answer["status"] == "revision_changed") is held


@pytest.mark.parametrize("odd", ["psg_" + "a" * 32 + "_" + "0" * 16 + "_00000", "x" * 256, "ent_" + "a" * 32])
def test_ids_of_other_things_are_unavailable(store: Store, odd: str) -> None:
    assert opened(store, odd)["status"] == "unavailable"


def capture(pending: int = 0, **gaps: int) -> dict[str, Any]:
    found = [{"reason": reason, "count": count} for reason, count in gaps.items()]
    return {"kind": "capture_status", "project_id": "p1", "pending": pending, "priorSetup": 2, "gaps": found}


def test_capture_limits_a_project_that_is_otherwise_complete(store: Store) -> None:
    load(store, TENANT, note("m", project_id="p1"))
    digest = opened(store, "m")["currentRevision"]["digest"]
    for line, complete in ((capture(), True), (capture(pending=1), False), (capture(raw_expired=3), False)):
        load(store, TENANT, line)
        answer = opened(store, "m", digest=digest)["completeness"]
        assert answer["complete"] is complete
        assert answer["capture"]["priorSetup"] == 2
    answer = opened(store, "m", digest=digest)["completeness"]
    assert answer["capture"]["gaps"] == [{"reason": "raw_expired", "count": 3}]
    assert answer["limitation"]["code"] == "capture_gap"
    assert "capture" not in expand(store, reader("bob"), "m", project="p1")["completeness"]


@pytest.mark.parametrize(
    ("modes", "derived", "status"),
    [
        (("logical",), -1, "purged"),
        (("logical",), 0, "unavailable"),
        (("hard",), -1, "unavailable"),
        (("logical", "hard"), -1, "purged"),
        (("hard", "logical"), -1, "unavailable"),
    ],
)
def test_only_a_first_logical_purge_after_the_line_is_told(
    store: Store, modes: tuple[str, ...], derived: int, status: str
) -> None:
    at = []
    for hours, mode in enumerate(modes):
        asker = replace(session(TENANT), arrived=datetime.now(UTC) + timedelta(hours=hours))
        purge = purge_project(store, asker, PurgeQuery(project_id="p1", mode=PurgeMode(mode)))
        at.append(str(purge["at"]))
    moment = at[0] if derived == 0 else "2020-01-01T00:00:00Z"
    answer = opened(store, "anything", derivedAt=moment)
    assert answer["status"] == status
    assert answer["completeness"]["limitation"]["reason"] == status
    assert expand(store, reader("bob"), "anything", project="p1", derivedAt=moment)["status"] == "unavailable"


def test_purges_of_one_instant_are_told_only_if_all_are_logical(store: Store) -> None:
    asker = session(TENANT)
    for mode in (PurgeMode.LOGICAL, PurgeMode.HARD):
        purge_project(store, asker, PurgeQuery(project_id="p1", mode=mode))
    assert opened(store, "x", derivedAt="2020-01-01T00:00:00Z")["status"] == "unavailable"


def test_own_scope_reads_take_two_waves_and_write_nothing(store: Store) -> None:
    load(store, TENANT, dated("a", "01-01"), note("plain", project_id="p1"))
    store.table.meter.reset()
    opened(store, "plain")
    lines(store, reader("ann"), recordIds=["plain"])
    assert store.table.meter.writes == 0
    store.table.rows = {  # type: ignore[attr-defined]
        key: {**item, **({"updated_at": "2020-01-01T00:00:00.000Z"} if "updated_at" in item else {})}
        for key, item in store.table.rows.items()  # type: ignore[attr-defined]
    }
    for record_id, waves in (("plain", 1), ("a", 2), ("absent", 1)):
        store.table.meter.reset()
        opened(store, record_id)
        assert store.table.meter.waves == waves, record_id


def test_provenance_limits_and_never_permits(store: Store) -> None:
    load(store, TENANT, note("far", project_id="p2"), note("near", project_id="p1"), member("bob", "p1"))
    held = grant(store, "bob", "p2")
    given = opened(store, "far", "bob", accessId=held["id"])["readProvenance"]
    again = expand(store, reader("bob"), "far", readProvenance=given)
    assert again["record"]["id"] == "far"
    assert again["readProvenance"] == given
    snake = {
        "version": 1,
        "request": {"project": "p1", "origin_id": None},
        "access_id": held["id"],
        "projects": ["p1", "p2"],
        "surfaces": ["http"],
        "expires_at": "2030-01-01T00:00:00Z",
    }
    narrow = expand(store, reader("bob"), "far", project="p2", read_provenance=snake)["readProvenance"]
    assert narrow["projects"] == ["p2"]
    assert narrow["surfaces"] == ["http"]
    assert narrow["expiresAt"] == "2030-01-01T00:00:00.000Z"
    assert narrow["request"] == {"project": "p1", "originId": None}
    closed = expand(store, reader("bob"), "far", readProvenance={**given, "projects": []})
    assert closed["status"] == "unavailable"
    for change, reason in (
        ({"expiresAt": "2020-01-01T00:00:00Z"}, "grant_expired"),
        ({"surfaces": ["mcp"]}, "grant_surface_refused"),
        ({"accessId": "grant_none"}, "grant_not_found"),
    ):
        refused = expand(store, reader("bob"), "near", readProvenance={**given, **change})
        assert refused["record"]["id"] == "near"
        assert reason in str(refused["completeness"]["limitation"])


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"version": 2}, "readProvenance.version"),
        ({"version": True}, "readProvenance.version"),
        ({"request": "p1"}, "readProvenance.request"),
        ({"request": {"project": " "}}, "readProvenance.request.project"),
        ({"projects": "p1"}, "readProvenance.projects"),
        ({"surfaces": ["pigeon"]}, "readProvenance.surfaces"),
        ({"expiresAt": "soon"}, "readProvenance.expiresAt"),
        ({"accessId": None}, "readProvenance.accessId"),
    ],
)
def test_a_malformed_provenance_is_refused(store: Store, change: dict[str, Any], field: str) -> None:
    whole = {
        "version": 1,
        "request": {"project": "p1", "originId": None},
        "accessId": "g",
        "projects": [],
        "surfaces": [],
        "expiresAt": "2099-01-01T00:00:00Z",
    }
    assert expand(store, reader("ann"), "m", readProvenance=whole)["status"] == "unavailable"
    with pytest.raises(Malformed) as refused:
        expand(store, reader("ann"), "m", readProvenance={**whole, **change})
    assert [error.field for error in refused.value.errors] == [field]


def test_two_spellings_with_two_values_are_refused(store: Store) -> None:
    with pytest.raises(Malformed):
        expand(store, reader("ann"), "m", record_id="n")
    assert expand(store, reader("ann"), "m", record_id="m")["recordId"] == "m"


def test_lines_of_a_project_are_its_latest_readable_ones(store: Store) -> None:
    load(store, TENANT, *(note(f"m{number:03}", project_id="p1") for number in range(130)))
    load(store, TENANT, *(note(f"h{number:03}", project_id="p1", scope="private") for number in range(130)))
    load(store, TENANT, note("ruled", scope="project", scope_key="p1"), note("last", project_id="p1"))
    answer = lines(store, reader("ann"), project="p1", limit=3)
    ContextLinesAnswer.model_validate(answer)
    every = lines(store, reader("ann"), project="p1", limit=50)["lines"]
    assert [line["recordId"] for line in answer["lines"]] == [line["recordId"] for line in every[:3]]
    assert answer["lines"][0]["recordId"] == "last"
    assert len(every) == 50
    assert all(line["recordId"].startswith(("m", "last")) for line in every)
    assert lines(store, reader("bob"), project="p1") == {"lines": [], "unresolved": []}


def test_lines_by_id_name_their_own_scope_and_what_replaced_them(store: Store) -> None:
    load(
        store,
        TENANT,
        note("old", project_id="p1", state="superseded"),
        note("new", project_id="p1"),
        note("hidden", project_id="p2"),
        note("loose", origin_id="laptop"),
        link("new", "old", "SUPERSEDES"),
        link("hidden", "old", "SUPERSEDES"),
    )
    answer = lines(store, reader("ann"), recordIds=["loose", "hidden", "old", "\x00", "absent"])
    assert [line["recordId"] for line in answer["lines"]] == ["loose", "old"]
    assert answer["unresolved"] == ["hidden", "\x00", "absent"]
    loose, old = answer["lines"]
    assert loose["expansion"]["scope"] == {"project": None, "originId": "laptop", "grantId": None}
    assert old["expansion"]["scope"] == {"project": "p1", "originId": None, "grantId": None}
    assert "superseded by new;" in old["line"]
    assert lines(store, reader("ann"), recordIds=["loose", "old"], project="p1")["unresolved"] == ["loose"]
    with pytest.raises(Malformed):
        lines(store, reader("ann"))
