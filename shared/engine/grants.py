"""Grants: issued, shown, revoked, rechecked; and presented to a verb that honours them (contract, section 9).

`present` and `settle` are the one way a verb uses a grant: decided on what was read, checked again and counted in one
transaction after the last read of content. Nothing here decides which rows a grant opens.
"""

import hashlib
import secrets
from base64 import b32encode
from collections.abc import Mapping
from dataclasses import dataclass, replace

from shared.domain.audit import Presentation
from shared.domain.canonical import canonical
from shared.domain.errors import Conflict, FieldError, Malformed, NotFound, Unaudited, Unavailable
from shared.domain.grants import UNKNOWN, Grant, Limit, Outcome, effective_projects, narrowed, refusal
from shared.domain.instants import utc_text
from shared.domain.lines import GrantLine
from shared.domain.model import Json
from shared.domain.principal import Role
from shared.engine.cursors import decoded, encoded
from shared.engine.reading import LiveAuthority
from shared.engine.record_port import AuditWrites, Records
from shared.engine.session import Session

PAGE = 50
_ATTEMPTS = 5
"""Times a decision is made anew when what it stood on changed under it."""


@dataclass(frozen=True, slots=True)
class GrantId:
    """Which grant."""

    id: str


@dataclass(frozen=True, slots=True)
class GrantsOf:
    """Whose grants (None: all of the tenant's), and from where on."""

    grantee: str | None = None
    cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """What a caller presents: a grant by one or two names, and a limit that it brought along."""

    grant_id: str
    conflicting: bool = False
    limit: Limit | None = None


def credentials(access_id: str | None, grant_id: str | None, limit: Limit | None = None) -> Credentials | None:
    """What is presented by these ids, if anything."""
    presented = access_id or grant_id
    if presented is None:
        return None
    return Credentials(grant_id=presented, conflicting=grant_id not in (None, presented), limit=limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Presented:
    """A grant as decided on: what it opens, or why it opens nothing."""

    id: str
    grant: Grant | None
    refused: Outcome | None
    projects: frozenset[str] = frozenset()
    surfaces: frozenset[str] = frozenset()
    expires_at: str = ""


def recheck(
    grant: Grant | None, session: Session, purges: Mapping[str, int], limit: Limit | None = None
) -> Outcome | None:
    """Why this grant is refused to the session's principal now, or None. Every use of a grant asks this."""
    return refusal(
        grant,
        principal_id=session.principal.principal_id,
        surface=session.surface.value,
        now=utc_text(session.arrived),
        purges=purges,
        limit=limit,
    )


def present(asked: Credentials, grant: Grant | None, session: Session, purges: Mapping[str, int]) -> Presented:
    """What the presented grant, as read, opens to the session's principal."""
    limit = asked.limit
    refused = Outcome.IDENTITY_CONFLICT if asked.conflicting else recheck(grant, session, purges, limit)
    if grant is None or refused is not None:
        return Presented(id=asked.grant_id, grant=grant, refused=refused)
    projects = frozenset(effective_projects(grant, purges))
    return Presented(
        id=grant.id,
        grant=grant,
        refused=None,
        projects=projects if limit is None else projects & limit.projects,
        surfaces=grant.surfaces if limit is None else grant.surfaces & limit.surfaces,
        expires_at=grant.expires_at if limit is None else min(grant.expires_at, limit.expires_at),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What was served to the presenter of a grant: rows in all, and whether any was reachable only through it."""

    records: int
    project: str | None
    through_grant: bool


def settle(audit: AuditWrites, session: Session, presented: Presented, served: Served) -> bool:
    """Count the presentation, with a last check of the grant. False: it changed since it was read; decide anew."""
    outcome = presented.refused or (Outcome.USED if served.through_grant else Outcome.UNNEEDED)
    presentation = Presentation(
        grant_id=UNKNOWN if presented.grant is None else presented.grant.id,
        surface=session.surface,
        outcome=outcome,
        at=utc_text(session.arrived),
        records=served.records,
        project=served.project,
    )
    decided_on = presented.grant if presented.refused is None else None
    try:
        return audit.count(session.principal.tenant_id, presentation, decided_on, session.deadline)
    except Unavailable as refused:
        raise Unaudited from refused


def issue_grant(store: Records, session: Session, terms: GrantLine) -> dict[str, Json]:
    """Issue a grant, or give the one again that the idempotency key was used for."""
    if terms.expires_at <= utc_text(session.arrived):
        raise Malformed(FieldError("expires_at", "must be in the future"))
    for _ in range(_ATTEMPTS):
        live = LiveAuthority(session)
        wave = live.new_wave(store)
        authority = live.ask(wave)
        epochs = {project: wave.epoch(project) for project in terms.projects}
        note = None if terms.idempotency_key is None else wave.note(terms.idempotency_key)
        wave.run()
        authority.take()
        if not all(live.value.is_member(project) for project in terms.projects):
            raise NotFound
        if note is not None and note.value is not None:
            if note.value.bounds != _bounds(terms):
                raise Conflict("The idempotency key was used with other bounds.")
            return show_grant(store, session, GrantId(note.value.grant_id))
        grant = _granted(terms, {project: epoch.value for project, epoch in epochs.items()}, session)
        if store.grants.issue(session.principal.tenant_id, grant, terms.idempotency_key, _bounds(terms)):
            return shown(grant)
    raise Unavailable


def show_grant(store: Records, session: Session, asked: GrantId) -> dict[str, Json]:
    """A grant, to an admin or to its grantee."""
    grant = _read(store, session, asked.id)
    may_see = Role.ADMIN in session.principal.roles
    if grant is None or not (may_see or grant.grantee == session.principal.principal_id):
        raise NotFound
    return shown(grant)


def list_grants(store: Records, session: Session, asked: GrantsOf) -> dict[str, Json]:
    """A page of grants, by id."""
    bound = asked.grantee or ""
    live = LiveAuthority(session)
    wave = live.new_wave(store)
    page = wave.grants(asked.grantee, PAGE, decoded(asked.cursor, bound))
    purges = wave.active_purges()
    wave.run()
    wave = live.new_wave(store)
    found = [wave.grant(grant_id) for grant_id in page.value.ids]
    wave.run()
    grants: list[Json] = [shown(narrowed(grant.value, purges.value)) for grant in found if grant.value is not None]
    answer: dict[str, Json] = {"grants": grants}
    if page.value.after is not None:
        answer["cursor"] = encoded(page.value.after, bound)
    return answer


def revoke_grant(store: Records, session: Session, asked: GrantId) -> dict[str, Json]:
    """Revoke at once. Again, it changes nothing."""
    for _ in range(_ATTEMPTS):
        wave = LiveAuthority(session).new_wave(store)
        found, purges = wave.grant(asked.id), wave.active_purges()
        wave.run()
        grant = found.value
        if grant is None:
            raise NotFound
        if grant.revoked_at is not None:
            return shown(narrowed(grant, purges.value))
        left = narrowed(grant, purges.value)
        revoked_at = left.revoked_at or max(utc_text(session.arrived), grant.issued_at)
        revoked = replace(left, revoked_at=revoked_at, revision=grant.revision + 1)
        if store.grants.withdraw(session.principal.tenant_id, grant, revoked):
            return shown(revoked)
    raise Unavailable


def recheck_grant(store: Records, session: Session, asked: GrantId) -> dict[str, Json]:
    """Whether the grant would be accepted from this caller now."""
    wave = LiveAuthority(session).new_wave(store)
    grant, purges = wave.grant(asked.id), wave.purges()
    wave.run()
    reason = recheck(grant.value, session, purges.value)
    return {"valid": reason is None, "reason": reason and reason.value}


def shown(grant: Grant) -> dict[str, Json]:
    """A grant as answered: its line's fields."""
    return {
        "id": grant.id,
        "grantee": grant.grantee,
        "projects": [*sorted(grant.projects)],
        "surfaces": [*sorted(grant.surfaces)],
        "expires_at": grant.expires_at,
        "reason": grant.reason,
        "issued_at": grant.issued_at,
        "revoked_at": grant.revoked_at,
    }


def new_grant_id() -> str:
    return _grant_id(secrets.token_bytes(20))


def _grant_id(entropy: bytes) -> str:
    return f"grant_{b32encode(entropy).decode().lower()[:26]}"


def _granted(terms: GrantLine, epochs: Mapping[str, int], session: Session) -> Grant:
    return Grant(
        id=new_grant_id(),
        grantee=terms.grantee,
        projects=epochs,
        surfaces=frozenset(surface.value for surface in terms.surfaces),
        expires_at=terms.expires_at,
        issued_at=utc_text(session.arrived),
        reason=terms.reason,
    )


def _read(store: Records, session: Session, grant_id: str) -> Grant | None:
    wave = LiveAuthority(session).new_wave(store)
    found, purges = wave.grant(grant_id), wave.active_purges()
    wave.run()
    return None if found.value is None else narrowed(found.value, purges.value)


def apply_grant_line(store: Records, session: Session, line: GrantLine) -> bool:
    """Write a grant as a line has it; whether that changed anything. A revocation stays, whatever the line says.

    Without an id it gets one that the same line gets again.
    """
    tenant = session.principal.tenant_id
    grant_id = line.id or _id_of_line(tenant, line)
    for _ in range(_ATTEMPTS):
        wave = LiveAuthority(session).new_wave(store)
        found, purges = wave.grant(grant_id), wave.active_purges()
        epochs = {project: wave.epoch(project) for project in line.projects}
        wave.run()
        before = found.value
        left = None if before is None else narrowed(before, purges.value)
        grant = _lined(line, grant_id, {project: epoch.value for project, epoch in epochs.items()}, left, session)
        if left == grant:
            return False
        if store.grants.replace(tenant, before, replace(grant, revision=grant.revision + 1)):
            return True
    raise Unavailable


def _lined(line: GrantLine, grant_id: str, epochs: Mapping[str, int], before: Grant | None, session: Session) -> Grant:
    kept_issue = before.issued_at if before else utc_text(session.arrived)
    return Grant(
        id=grant_id,
        grantee=line.grantee,
        projects=epochs,
        surfaces=frozenset(surface.value for surface in line.surfaces),
        expires_at=line.expires_at,
        issued_at=line.issued_at or kept_issue,
        reason=line.reason,
        revoked_at=line.revoked_at or (before.revoked_at if before else None),
        revision=before.revision if before else 0,
    )


def _bounds(line: GrantLine) -> str:
    """A digest of what a repeated idempotency key must agree on."""
    terms: dict[str, Json] = {
        "grantee": line.grantee,
        "projects": [*sorted(line.projects)],
        "surfaces": [*sorted(line.surfaces)],
        "expires_at": line.expires_at,
    }
    return hashlib.sha256(canonical(terms)).hexdigest()


def _id_of_line(tenant: str, line: GrantLine) -> str:
    fixed = line.idempotency_key or f"{_bounds(line)}{line.issued_at}{line.reason}"
    return _grant_id(hashlib.sha256(canonical([tenant, fixed])).digest())


def grant_line(grant: Grant) -> dict[str, Json]:
    """A grant as an export has it; what has no value is left out."""
    return {"kind": "grant", **{name: value for name, value in shown(grant).items() if value is not None}}
