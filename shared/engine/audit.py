"""The audit as it is read: aggregates of grant use, day by day (contract, section 10). It changes nothing."""

from dataclasses import dataclass
from datetime import date, timedelta

from shared.domain.audit import KEPT_DAYS, kept_since
from shared.domain.errors import Forbidden
from shared.domain.model import Json
from shared.domain.principal import Role
from shared.engine.cursors import decoded, encoded
from shared.engine.reading import LiveAuthority
from shared.engine.record_port import AuditPage, Records
from shared.engine.session import Session

PAGE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditQuery:
    """Of which grant (None: all), of which days (None: all that are kept), and from where on."""

    grant_id: str | None = None
    first_day: str | None = None
    last_day: str | None = None
    cursor: str | None = None

    @property
    def bound(self) -> str:
        return f"{self.first_day}/{self.last_day}/{self.grant_id or ''}"


def read_audit(store: Records, session: Session, query: AuditQuery) -> dict[str, Json]:
    """A page of aggregates by day, grant, surface, outcome; of its own grants alone to whoever is no admin."""
    is_admin = Role.ADMIN in session.principal.roles
    if query.grant_id is None and not is_admin:
        raise Forbidden(Role.ADMIN.value)
    place = decoded(query.cursor, query.bound)
    if not is_admin and not _is_own(store, session, query.grant_id or ""):
        return {"aggregates": []}
    aggregates, after = _page(store, session, query, place)
    answer: dict[str, Json] = {"aggregates": aggregates}
    if after is not None:
        answer["cursor"] = encoded(after, query.bound)
    return answer


def _is_own(store: Records, session: Session, grant_id: str) -> bool:
    wave = LiveAuthority(session).new_wave(store)
    grant = wave.grant(grant_id)
    wave.run()
    return grant.value is not None and grant.value.grantee == session.principal.principal_id


def _page(store: Records, session: Session, query: AuditQuery, place: str | None) -> tuple[list[Json], str | None]:
    """At most `PAGE` aggregates after `place` (a day, a blank, the store's own cursor), and the next place."""
    since = kept_since(session.arrived)
    found: list[Json] = []
    start, _, after = (place or "").partition(" ")
    for day in _days(session, query):
        if day < start:
            continue
        page = _read(store, session, query, day, (after or None) if day == start else None, PAGE - len(found))
        found += [aggregate.as_json() for aggregate in page.aggregates if aggregate.last_at >= since]
        if page.after is not None:
            return found, f"{day} {page.after}"
        if len(found) >= PAGE:
            return found, f"{_next(day)} "
    return found, None


def _read(store: Records, session: Session, query: AuditQuery, day: str, after: str | None, limit: int) -> AuditPage:
    wave = LiveAuthority(session).new_wave(store)
    page = wave.aggregates(day, query.grant_id, limit, after)
    wave.run()
    return page.value


def _days(session: Session, query: AuditQuery) -> list[str]:
    """The days asked for that may still have aggregates, ascending."""
    today = session.arrived.date()
    kept = [(today - timedelta(days=back)).isoformat() for back in range(KEPT_DAYS, -2, -1)]
    first, last = query.first_day or kept[0], query.last_day or kept[-1]
    return [day for day in kept if first <= day <= last]


def _next(day: str) -> str:
    return (date.fromisoformat(day) + timedelta(days=1)).isoformat()
