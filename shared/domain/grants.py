"""Grants: what one opens, and why one is refused (contract, section 9).

Says nothing about the rows that a grant opens; that is the read rule's (`shared.domain.authority`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

UNKNOWN = "unknown"
"""Stands in the audit for every id that names no grant; so no grant may have it."""

MAX_PROJECTS = 50


class Outcome(StrEnum):
    """How a presentation of a grant ended: it opened something, it was not needed, or why it was refused."""

    USED = "used"
    UNNEEDED = "unneeded"
    NOT_FOUND = "grant_not_found"
    REVOKED = "grant_revoked"
    EXPIRED = "grant_expired"
    INVALID = "grant_invalid"
    SURFACE_REFUSED = "grant_surface_refused"
    IDENTITY_CONFLICT = "grant_identity_conflict"


@dataclass(frozen=True, slots=True)
class ActivePurge:
    """A purge whose sweep has not finished: the project's purge count after it, and its instant."""

    epoch: int
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A permission of one principal to read project rows of others; `projects` has the purge count at issue of each.

    Instants are UTC milliseconds text. `well_formed` is false for a stored row that this product would not write.
    """

    id: str
    grantee: str
    projects: Mapping[str, int]
    surfaces: frozenset[str]
    expires_at: str
    issued_at: str
    reason: str = ""
    revoked_at: str | None = None
    revision: int = 1
    well_formed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """What a caller brought along as the most that a grant may open for it. Never a permission."""

    projects: frozenset[str]
    surfaces: frozenset[str]
    expires_at: str


def effective_projects(grant: Grant, purges: Mapping[str, int]) -> list[str]:
    """The projects that no purge since has taken from the grant, ascending. `purges` are the unfinished ones."""
    return sorted(project for project, epoch in grant.projects.items() if epoch >= purges.get(project, 0))


def narrowed(grant: Grant, purges: Mapping[str, ActivePurge]) -> Grant:
    """The grant as the purges leave it: without their projects, and revoked when none remains."""
    counts = {project: purge.epoch for project, purge in purges.items()}
    kept = {project: grant.projects[project] for project in effective_projects(grant, counts)}
    if len(kept) == len(grant.projects):
        return grant
    revoked_at = grant.revoked_at
    if not kept and revoked_at is None:
        revoked_at = max(purges[project].at for project in grant.projects)
    return Grant(
        id=grant.id,
        grantee=grant.grantee,
        projects=kept,
        surfaces=grant.surfaces,
        expires_at=grant.expires_at,
        issued_at=grant.issued_at,
        reason=grant.reason,
        revoked_at=revoked_at,
        revision=grant.revision + 1,
        well_formed=grant.well_formed,
    )


def refusal(
    grant: Grant | None,
    *,
    principal_id: str,
    surface: str,
    now: str,
    purges: Mapping[str, int],
    limit: Limit | None = None,
) -> Outcome | None:
    """Why the grant is refused to this principal, or None: the first check that fails names the reason."""
    if grant is None or grant.grantee != principal_id:
        return Outcome.NOT_FOUND
    projects = effective_projects(grant, purges)
    expires_at = grant.expires_at if limit is None else min(grant.expires_at, limit.expires_at)
    surfaces = grant.surfaces if limit is None else grant.surfaces & limit.surfaces
    checks = (
        (grant.revoked_at is not None or (grant.projects and not projects), Outcome.REVOKED),
        (not grant.issued_at or now < grant.issued_at, Outcome.INVALID),
        (now >= expires_at, Outcome.EXPIRED),
        (not (grant.well_formed and grant.projects and grant.surfaces), Outcome.INVALID),
        (surface not in surfaces, Outcome.SURFACE_REFUSED),
    )
    return next((reason for failed, reason in checks if failed), None)
