"""What a grant opens, and the first check that refuses it (contract, section 9)."""

from dataclasses import replace
from typing import Any

import pytest

from shared.domain.grants import ActivePurge, Grant, Limit, Outcome, effective_projects, narrowed, refusal

NOW = "2026-05-05T00:00:00.000Z"
BEFORE, AFTER = "2026-05-04T23:59:59.999Z", "2026-05-05T00:00:00.001Z"
GRANT = Grant(
    id="g",
    grantee="bob",
    projects={"p": 0, "q": 3},
    surfaces=frozenset({"http"}),
    expires_at=AFTER,
    issued_at=BEFORE,
    reason="why",
    revision=7,
)
LIMIT = Limit(projects=frozenset({"p"}), surfaces=frozenset({"http", "mcp"}), expires_at=AFTER)


def asked(
    grant: Grant | None = GRANT,
    *,
    who: str = "bob",
    surface: str = "http",
    purges: dict[str, int] | None = None,
    limit: Limit | None = None,
) -> Outcome | None:
    return refusal(grant, principal_id=who, surface=surface, now=NOW, purges=purges or {}, limit=limit)


def but(**fields: Any) -> Grant:
    return replace(GRANT, **fields)


@pytest.mark.parametrize(
    ("grant", "reason"),
    [
        (GRANT, None),
        (None, Outcome.NOT_FOUND),
        (but(grantee="eve"), Outcome.NOT_FOUND),
        (but(revoked_at=AFTER), Outcome.REVOKED),
        (but(revoked_at=""), Outcome.REVOKED),
        (but(issued_at=""), Outcome.INVALID),
        (but(issued_at=AFTER), Outcome.INVALID),
        (but(issued_at=NOW), None),
        (but(expires_at=NOW), Outcome.EXPIRED),
        (but(expires_at=BEFORE), Outcome.EXPIRED),
        (but(well_formed=False), Outcome.INVALID),
        (but(projects={}), Outcome.INVALID),
        (but(surfaces=frozenset()), Outcome.INVALID),
        (but(surfaces=frozenset({"mcp"})), Outcome.SURFACE_REFUSED),
        (but(revoked_at=NOW, expires_at=BEFORE, issued_at="", well_formed=False), Outcome.REVOKED),
        (but(grantee="eve", revoked_at=NOW), Outcome.NOT_FOUND),
        (but(issued_at=AFTER, expires_at=NOW), Outcome.INVALID),
        (but(expires_at=NOW, surfaces=frozenset({"mcp"}), well_formed=False), Outcome.EXPIRED),
        (but(well_formed=False, surfaces=frozenset({"mcp"})), Outcome.INVALID),
    ],
)
def test_the_first_failing_check_names_the_reason(grant: Grant | None, reason: Outcome | None) -> None:
    assert asked(grant) is reason


def test_a_limit_narrows_and_never_widens() -> None:
    assert asked(limit=LIMIT) is None
    assert asked(limit=replace(LIMIT, expires_at=NOW)) is Outcome.EXPIRED
    assert asked(but(expires_at=NOW), limit=LIMIT) is Outcome.EXPIRED
    assert asked(limit=replace(LIMIT, surfaces=frozenset({"mcp"}))) is Outcome.SURFACE_REFUSED
    assert asked(surface="mcp", limit=LIMIT) is Outcome.SURFACE_REFUSED
    assert asked(surface="mcp") is Outcome.SURFACE_REFUSED


def test_purges_take_projects_and_at_last_the_grant() -> None:
    assert effective_projects(GRANT, {}) == ["p", "q"]
    assert effective_projects(GRANT, {"q": 3, "z": 9}) == ["p", "q"]
    assert effective_projects(GRANT, {"p": 1, "q": 3}) == ["q"]
    assert effective_projects(GRANT, {"p": 1, "q": 4}) == []
    assert asked(purges={"p": 1}) is None
    assert asked(purges={"p": 1, "q": 4}) is Outcome.REVOKED


def test_narrowing_keeps_all_but_what_was_purged() -> None:
    early, late = ActivePurge(1, BEFORE), ActivePurge(4, AFTER)
    assert narrowed(GRANT, {"q": ActivePurge(3, NOW)}) is GRANT
    assert narrowed(GRANT, {"p": early}) == but(projects={"q": 3}, revision=8)
    assert narrowed(GRANT, {"p": early, "q": late}) == but(projects={}, revision=8, revoked_at=AFTER)
    assert narrowed(but(revoked_at=NOW), {"p": early, "q": late}) == but(projects={}, revision=8, revoked_at=NOW)
    assert narrowed(but(well_formed=False), {"p": early}) == but(projects={"q": 3}, revision=8, well_formed=False)
