"""Purging a project: at once for every reader, whatever its size; what is left in the store goes by and by.

The sweep of a purge removes only rows written before it, so it may run beside writers and be run again at any time.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from shared.domain.errors import NotFound, Unavailable
from shared.domain.grants import ActivePurge, narrowed
from shared.domain.instants import utc_text
from shared.domain.model import Json
from shared.domain.purges import Marker, PurgeMode
from shared.engine.port import Task
from shared.engine.reading import LiveAuthority
from shared.engine.record_port import Purges
from shared.engine.session import Deadline, Session

IN_FLIGHT = timedelta(seconds=60)
"""A writer that read the purge count before the purge has ended by then, whether its rows came through or not."""

_ATTEMPTS = 50
"""Purges of one tenant take turns at its board: of so many at once the last comes through."""

_PAGE = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeQuery:
    """What to purge, and whether readers of old handles may be told."""

    project_id: str
    mode: PurgeMode
    reason: str = ""


def purge_project(store: Purges, session: Session, query: PurgeQuery) -> dict[str, Json]:
    """Purge a project that the principal is a member of: two waves of nothing but the purge itself."""
    tenant, at = session.principal.tenant_id, utc_text(session.arrived)
    for _ in range(_ATTEMPTS):
        live = LiveAuthority(session)
        wave = live.new_wave(store)
        authority, epoch, board = live.ask(wave), wave.epoch(query.project_id), wave.active_purges()
        wave.run()
        authority.take()
        if not live.value.is_member(query.project_id):
            raise NotFound
        marker = Marker(at=at, mode=query.mode, epoch=epoch.value + 1, reason=query.reason)
        if store.purges.purge(tenant, query.project_id, marker, board.value):
            return {"project_id": query.project_id, "mode": query.mode.value, "at": at}
    raise Unavailable


def clean_purge(store: Purges, task: Task, deadline: Deadline) -> bool:
    """Remove what the purge passed over and narrow the grants; off the board once nothing can come after it."""
    found = False
    for row in store.purges.passed_over(task):
        if deadline.remaining() <= 0:
            return False
        found = True
        store.purges.remove(task, row, deadline)
    found = _narrow_grants(store, task, deadline) or found
    settled = datetime.fromisoformat(task.due) + IN_FLIGHT < datetime.now(UTC)
    return settled and not found and store.purges.finish(task)


def _narrow_grants(store: Purges, task: Task, deadline: Deadline) -> bool:
    """Take the project from every grant that was issued before the purge. Says whether there was one."""
    purge = {task.subject: ActivePurge(int(task.mark), task.due)}
    found = False
    after: str | None = None
    while True:
        wave = store.wave(task.tenant, "", deadline)
        page = wave.grants(None, _PAGE, after)
        wave.run()
        wave = store.wave(task.tenant, "", deadline)
        grants = [wave.grant(grant_id) for grant_id in page.value.ids]
        wave.run()
        for grant in (pending.value for pending in grants):
            if grant is not None and narrowed(grant, purge) != grant:
                found = True
                store.grants.withdraw(task.tenant, grant, narrowed(grant, purge))
        after = page.value.after
        if after is None:
            return found
