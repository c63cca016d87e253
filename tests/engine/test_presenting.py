"""A grant as it is presented and settled: what it opens under a limit, and what is counted with which check."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from shared.domain.audit import Presentation
from shared.domain.errors import Unaudited, Unavailable
from shared.domain.grants import UNKNOWN, Grant, Limit, Outcome
from shared.engine.grants import Credentials, Presented, Served, credentials, present, settle
from shared.engine.session import Session
from tests.support.records import reader

LATE, LATER, LATEST = (f"2999-01-0{day}T00:00:00.000Z" for day in (1, 2, 3))
GRANT = Grant(
    id="g",
    grantee="bob",
    projects={"p1": 0, "p2": 1},
    surfaces=frozenset({"http", "mcp"}),
    expires_at=LATER,
    issued_at="2020-01-01T00:00:00.000Z",
)
LIMIT = Limit(projects=frozenset({"p2", "p3"}), surfaces=frozenset({"http"}), expires_at=LATEST)
ASKED = Credentials(grant_id="asked")
BOB = reader("bob")


def test_a_grant_opens_its_projects_that_were_not_purged_since() -> None:
    whole = Presented(
        id="g",
        grant=GRANT,
        refused=None,
        projects=frozenset({"p1", "p2"}),
        surfaces=GRANT.surfaces,
        expires_at=LATER,
    )
    assert present(ASKED, GRANT, BOB, {}) == whole
    assert present(ASKED, GRANT, BOB, {"p1": 1, "p2": 1}) == replace(whole, projects=frozenset({"p2"}))


def test_a_limit_narrows_what_a_grant_opens() -> None:
    opened = present(replace(ASKED, limit=LIMIT), GRANT, BOB, {})
    assert (opened.refused, opened.projects, opened.surfaces) == (None, frozenset({"p2"}), frozenset({"http"}))
    assert opened.expires_at == LATER
    earlier = replace(LIMIT, expires_at=LATE)
    assert present(replace(ASKED, limit=earlier), GRANT, BOB, {}).expires_at == LATE


@pytest.mark.parametrize(
    ("asked", "grant", "who", "outcome"),
    [
        (ASKED, None, "bob", Outcome.NOT_FOUND),
        (ASKED, GRANT, "cyd", Outcome.NOT_FOUND),
        (ASKED, replace(GRANT, revoked_at=LATE), "bob", Outcome.REVOKED),
        (replace(ASKED, conflicting=True), GRANT, "bob", Outcome.IDENTITY_CONFLICT),
        (replace(ASKED, conflicting=True), None, "bob", Outcome.IDENTITY_CONFLICT),
        (replace(ASKED, limit=replace(LIMIT, surfaces=frozenset({"mcp"}))), GRANT, "bob", Outcome.SURFACE_REFUSED),
        (replace(ASKED, limit=replace(LIMIT, expires_at=GRANT.issued_at)), GRANT, "bob", Outcome.EXPIRED),
    ],
)
def test_a_refused_grant_opens_nothing(asked: Credentials, grant: Grant | None, who: str, outcome: Outcome) -> None:
    assert present(asked, grant, reader(who), {}) == Presented(id="asked", grant=grant, refused=outcome)


@pytest.mark.parametrize(
    ("access_id", "grant_id", "found"),
    [
        (None, None, None),
        ("a", None, Credentials(grant_id="a")),
        (None, "g", Credentials(grant_id="g")),
        ("a", "a", Credentials(grant_id="a")),
        ("a", "g", Credentials(grant_id="a", conflicting=True)),
    ],
)
def test_two_names_must_agree(access_id: str | None, grant_id: str | None, found: Credentials | None) -> None:
    assert credentials(access_id, grant_id) == found
    assert credentials(access_id, grant_id, LIMIT) == (None if found is None else replace(found, limit=LIMIT))


@dataclass
class Audit:
    """Keeps what it was asked to count, and says what it is told to."""

    says: bool | Unavailable = True
    counted: tuple[Any, ...] = ()

    def count(self, tenant: str, presentation: Presentation, decided_on: Grant | None, clock: object) -> bool:
        del clock
        self.counted = (tenant, presentation.grant_id, presentation.outcome, decided_on)
        assert (presentation.records, presentation.project, presentation.surface) == (2, "p1", BOB.surface)
        if isinstance(self.says, Unavailable):
            raise self.says
        return self.says


def settled(presented: Presented, session: Session = BOB, *, through_grant: bool = True) -> tuple[Any, ...]:
    audit = Audit()
    assert settle(audit, session, presented, Served(records=2, project="p1", through_grant=through_grant))
    return audit.counted


def test_a_use_is_counted_with_a_check_of_the_grant_that_it_was_decided_on() -> None:
    opened = present(ASKED, GRANT, BOB, {})
    tenant = BOB.principal.tenant_id
    assert settled(opened) == (tenant, "g", Outcome.USED, GRANT)
    assert settled(opened, through_grant=False) == (tenant, "g", Outcome.UNNEEDED, GRANT)


def test_a_refusal_is_counted_without() -> None:
    tenant = BOB.principal.tenant_id
    assert settled(present(ASKED, None, BOB, {})) == (tenant, UNKNOWN, Outcome.NOT_FOUND, None)
    revoked = present(ASKED, replace(GRANT, revoked_at=LATE), BOB, {})
    assert settled(revoked, through_grant=False) == (tenant, "g", Outcome.REVOKED, None)


def test_what_changed_is_decided_anew_and_what_cannot_be_counted_is_not_served() -> None:
    opened, served = present(ASKED, GRANT, BOB, {}), Served(records=2, project="p1", through_grant=True)
    assert settle(Audit(says=False), BOB, opened, served) is False
    with pytest.raises(Unaudited):
        settle(Audit(says=Unavailable()), BOB, opened, served)
