"""Reads for records: counterparts of one key, a project's latest memories, its capture status and its purges."""

from collections.abc import Mapping, Sequence
from functools import partial

from shared.domain.completeness import CaptureStatus
from shared.domain.grants import ActivePurge, Grant
from shared.domain.model import Memory
from shared.domain.purges import Marker
from shared.engine.port import Pending
from shared.engine.record_port import AuditPage, GrantPage, Note, RecentPage
from shared.store import audit, captures, grants, keys, purges, rows
from shared.store.table import Item, Page, Query, Table
from shared.store.waves import Wave

_MARKERS = 8
"""Purges of one project within a millisecond: more than can be."""

_PAGE = 200
_LATEST = "U#"


class RecordWave(Wave):
    """A wave that reads what records, grants, the audit and purges need besides."""

    def grant(self, grant_id: str) -> Pending[Grant | None]:
        key = grants.grant_key(self._tenant, grant_id)
        return self.point(key, lambda item: None if item is None else grants.grant_from(item))

    def same_key(self, project_id: str | None, type_: str, key: str) -> Pending[Sequence[Memory]]:
        pending: Pending[Sequence[Memory]] = Pending()
        read = partial(_read_same_key, self._table, self._tenant, keys.same_key(self._tenant, project_id, type_, key))
        self._calls.append((read, pending.settle))
        return pending

    def recent(self, project_id: str, limit: int, after: str | None = None) -> Pending[RecentPage]:
        partition = keys.project_rows(self._tenant, project_id)
        query = Query(partition=partition, low=_LATEST, high=_LATEST + keys.AFTER, limit=limit, after=after)
        return self.query(query, lambda page: RecentPage(_ids(page), page.after))

    def markers(self, project_id: str, after: str) -> Pending[Sequence[Marker]]:
        query = Query(
            partition=keys.project(self._tenant, project_id),
            low=purges.markers_after(after),
            high=purges.markers_after(keys.AFTER),
            limit=_MARKERS,
        )
        return self.query(query, lambda page: [purges.marker_from(item) for item in page.items])

    def capture(self, project_id: str) -> Pending[CaptureStatus | None]:
        return self.point(captures.capture_key(self._tenant, project_id), captures.capture_from)

    def active_purges(self) -> Pending[Mapping[str, ActivePurge]]:
        return self.point(purges.board_key(self._tenant), purges.board_from)

    def grants(self, grantee: str | None, limit: int, after: str | None) -> Pending[GrantPage]:
        prefix = grants.FIRST if grantee is None else grants.pointers(grantee)
        start = None if after is None else prefix + keys.sortable(after)
        query = Query(
            partition=keys.grants(self._tenant), low=prefix, high=prefix + keys.AFTER, limit=limit, after=start
        )
        return self.query(query, lambda page: GrantPage(_ids(page), page.after and _ids(page)[-1]))

    def note(self, idempotency_key: str) -> Pending[Note | None]:
        return self.point(grants.note_key(self._tenant, idempotency_key), grants.note_from)

    def aggregates(self, day: str, grant_id: str | None, limit: int, after: str | None) -> Pending[AuditPage]:
        low, high = audit.rows_of(grant_id)
        start = after if after is not None and low < after < high else None
        query = Query(partition=keys.audit(self._tenant, day), low=low, high=high, limit=limit, after=start)
        return self.query(
            query, lambda page: AuditPage([audit.aggregate_from(item) for item in page.items], page.after)
        )


def _ids(page: Page) -> list[str]:
    return [str(item["id"]) for item in page.items]


def _read_same_key(table: Table, tenant: str, partition: str) -> list[Memory]:
    """Whole copies of hinges, each written in its hinge's transaction."""
    return [
        rows.memory_from(item, keys.ref(keys.node(tenant, str(item["id"]))))
        for item in read_all(table, partition, "\x00", keys.AFTER)
    ]


def read_all(table: Table, partition: str, low: str, high: str) -> list[Item]:
    """All rows of a range, page after page."""
    items: list[Item] = []
    after: str | None = None
    while True:
        page = table.query(Query(partition=partition, low=low, high=high, limit=_PAGE, after=after))
        items += page.items
        after = page.after
        if after is None:
            return items
