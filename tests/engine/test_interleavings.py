"""No schedule of a reader's calls against a writer's steps shows what was written after the reader was shut out.

The real engine and store run over a scripted table. Readers whose check was moved earlier must be caught by the same
enumeration: a test that cannot fail proves nothing.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.domain.lines import MembershipLine, grant_line
from shared.domain.principal import Role
from shared.domain.purges import PurgeMode
from shared.engine.expand import ExpandQuery, expand_neighbors
from shared.engine.grants import GrantId, credentials, issue_grant, revoke_grant
from shared.engine.lines import LinesQuery, context_lines
from shared.engine.purge import PurgeQuery, purge_project
from shared.engine.reading import LiveAuthority
from shared.engine.records import RecordQuery, expand_record
from shared.engine.session import Session
from shared.engine.slice import SliceQuery, fetch_slice
from shared.engine.views import ReadScope
from shared.engine.walk import _Walk
from shared.engine.writes import delete_membership
from shared.store.audit import AuditRows
from shared.store.dynamo import Store
from shared.store.records import RecordWave
from tests.support.scripted import MemoryTable, Rows, Script, ScriptedTable, schedules
from tests.support.writing import link, load, note, patch, put, session

SECRET = "the new secret"
TENANT = "t"
Answer = Mapping[str, Any]
Reader = Callable[[Store, Session], Answer]
Writer = Callable[[Store], None]


def member(principal: str, project: str) -> dict[str, Any]:
    return {"kind": "membership", "principal_id": principal, "project_id": project}


LINES = (
    member("root", "p1"),
    member("root", "p2"),
    member("bob", "p1"),
    member("ann", "p2"),
    note("seed"),
    note("door", project_id="p2", scope="project", key="k"),
    note("shut", project_id="p2", scope="project", key="k", content="as it was"),
    note("open", project_id="p2", scope="project"),
    link("seed", "door"),
    link("door", "shut"),
    link("shut", "door", "SUPERSEDES"),
)
"""ann reads p2 as a member, bob under a grant. A writer shuts one of them out, then writes the secret into `shut`."""


@dataclass(frozen=True, slots=True)
class World:
    """The table before the writer's steps and after each, and the grant that bob holds."""

    states: list[Rows]
    grant_id: str


def world(writer: Writer) -> World:
    """What `writer` does to the lines, write by write.

    A writer first shuts readers out, then writes what they must not see; all else is older than the reader.
    """
    table = MemoryTable()
    store = Store(table)
    report = load(store, TENANT, *LINES)
    assert report["rejected"] == 0, report
    terms = {
        "grantee": "bob",
        "projects": ["p2"],
        "surfaces": ["http"],
        "expires_at": "2099-01-01T00:00:00Z",
        "reason": "review",
    }
    grant_id = str(issue_grant(store, session(TENANT), grant_line(terms))["id"])
    table.rows = {key: _aged(item) for key, item in table.rows.items()}
    table.states = [table.rows]
    GRANTS["bob"] = grant_id
    writer(store)
    return World(table.states, grant_id)


GRANTS: dict[str, str] = {}


def _aged(item: dict[str, Any]) -> dict[str, Any]:
    """The row as one written an hour ago."""
    ago = (datetime.now(UTC) - timedelta(hours=1)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {**item, **{name: ago for name in ("updated_at", "written_at") if name in item}}


def secret(store: Store, **fields: Any) -> None:
    put(store, session(TENANT), "shut", name=SECRET, content=SECRET, key="k", **fields)


def revoked(store: Store) -> None:
    revoke_grant(store, session(TENANT), GrantId(GRANTS["bob"]))
    secret(store, project_id="p2", scope="project")


def left(store: Store) -> None:
    delete_membership(store, session(TENANT), MembershipLine("ann", project_id="p2"))
    secret(store, project_id="p2", scope="project")


def hidden(store: Store) -> None:
    patch(store, session(TENANT), "shut", scope="private", owner="root")
    secret(store, project_id="p2", scope="private")


def purged(store: Store) -> None:
    purge_project(store, session(TENANT), PurgeQuery(project_id="p2", mode=PurgeMode.LOGICAL))
    secret(store, project_id="p2", scope="project")


def linked(store: Store) -> None:
    """The secret is an edge: that a row which was hidden leads to an open one."""
    patch(store, session(TENANT), "door", scope="private", owner="root")
    load(store, TENANT, link("door", "open", "SUPERSEDES"), link("open", "door", "SUPERSEDES"))


def expanding(store: Store, asker: Session) -> Answer:
    query = ExpandQuery(entity_ids=("seed",), depth=2, limit=8, relationship_types=("RELATED_TO", "SUPERSEDES"))
    return expand_neighbors(store, asker, query)


def slicing(store: Store, asker: Session) -> Answer:
    try:
        return fetch_slice(store, asker, SliceQuery(entity_id="shut"))
    except Exception as refusal:  # noqa: BLE001 - a refusal shows nothing
        return {"refused": type(refusal).__name__}


def opening(store: Store, asker: Session) -> Answer:
    return expand_record(
        store, asker, RecordQuery(record_id="shut", digest="d", scope=ReadScope("p2"), credentials=presented(asker))
    )


def comparing(store: Store, asker: Session) -> Answer:
    return expand_record(
        store, asker, RecordQuery(record_id="door", digest="d", scope=ReadScope("p2"), credentials=presented(asker))
    )


def stating(store: Store, asker: Session) -> Answer:
    query = LinesQuery(record_ids=("door", "shut"), as_of="2020-01-01T00:00:00.000Z", credentials=presented(asker))
    return context_lines(store, asker, query)


def presented(asker: Session) -> Any:
    return credentials(GRANTS["bob"], None) if asker.principal.principal_id == "bob" else None


CASES = [
    *((reader, "bob", revoked) for reader in (opening, comparing, stating)),
    *((reader, "bob", writer) for reader in (opening, comparing, stating) for writer in (hidden, purged)),
    *(
        (reader, "ann", writer)
        for reader in (expanding, slicing, opening, comparing, stating)
        for writer in (left, hidden)
    ),
    (expanding, "ann", purged),
    (comparing, "ann", purged),
    *((reader, "ann", linked) for reader in (expanding, comparing, stating)),
]
every_case = pytest.mark.parametrize(
    ("reader", "who", "writer"), CASES, ids=[f"{r.__name__}-{who}-{w.__name__}" for r, who, w in CASES]
)


def answers(reader: Reader, who: str, writer: Writer) -> list[Answer]:
    """The answers of every schedule."""
    before = world(writer)
    arrived = datetime.now(UTC)

    def run(script: Script) -> Answer:
        store = Store(ScriptedTable(before.states, script))
        return reader(store, replace(session(TENANT, who, Role.READER), arrived=arrived))

    return list(schedules(run, most=10_000))


def shows(answer: Answer, writer: Writer) -> bool:
    text = json.dumps(answer)
    return '"open"' in text if writer is linked else SECRET in text


@every_case
def test_no_schedule_shows_what_was_written_after_the_reader_was_shut_out(
    reader: Reader, who: str, writer: Writer
) -> None:
    found = answers(reader, who, writer)
    assert len({json.dumps(answer) for answer in found}) > 1, "the writer must make a difference"
    assert not [answer for answer in found if shows(answer, writer)]


@pytest.mark.parametrize("reader", [opening, comparing, stating], ids=lambda reader: reader.__name__)
def test_a_grant_read_with_the_content_is_caught(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    count = AuditRows.count
    monkeypatch.setattr(
        AuditRows, "count", lambda self, tenant, presentation, _, clock: count(self, tenant, presentation, None, clock)
    )
    assert any(shows(answer, revoked) for answer in answers(reader, "bob", revoked))


@pytest.mark.parametrize(
    "reader", [expanding, slicing, opening, comparing, stating], ids=lambda reader: reader.__name__
)
def test_memberships_that_are_never_read_again_are_caught(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LiveAuthority, "settles", lambda _self, _written: True)
    assert any(shows(answer, left) for answer in answers(reader, "ann", left))


@pytest.mark.parametrize("reader", [opening, comparing, stating], ids=lambda reader: reader.__name__)
def test_purges_that_are_never_read_again_are_caught(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LiveAuthority, "settles", lambda _self, _written: True)
    assert any(shows(answer, purged) for answer in answers(reader, "bob", purged))


def test_hinges_that_are_not_read_again_in_the_last_wave_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Walk, "_use", lambda _self, _node_id, _reached: None)
    assert any(shows(answer, linked) for answer in answers(expanding, "ann", linked))


def test_a_record_that_is_not_read_again_after_its_links_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    read = RecordWave.node

    def early(store: Store, asker: Session) -> Answer:
        first: dict[str, Any] = {}
        with monkeypatch.context() as patched:
            patched.setattr(RecordWave, "node", lambda wave, name: first.setdefault(name, read(wave, name)))
            return comparing(store, asker)

    assert any(shows(answer, linked) for answer in answers(early, "ann", linked))
