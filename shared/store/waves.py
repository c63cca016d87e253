"""A wave of reads over the table: point reads merged into batches, queries beside them, all awaited together."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from shared.domain.declared import DeclaredScope, Naming
from shared.domain.model import Edge, Memberships, Memory, Node, Passage, Relation
from shared.engine.port import Clock, EdgePage, Lane, Pending, RelationPage
from shared.store import keys, rows
from shared.store.table import MAX_BATCH_GET, Item, Key, Page, Query, Table

T = TypeVar("T")


class Wave:
    """Collects reads of one tenant and principal; `run` sends them. Each is used once."""

    def __init__(self, table: Table, tenant_id: str, principal_id: str, clock: Clock) -> None:
        self._table = table
        self._tenant = tenant_id
        self._principal = principal_id
        self._clock = clock
        self._points: dict[Key, list[Callable[[Item | None], None]]] = {}
        self._queries: list[tuple[Query, Callable[[Page], None]]] = []
        self._calls: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []

    def point(self, key: Key, read: Callable[[Item | None], T]) -> Pending[T]:
        """One item by its whole key, through `read`."""
        pending: Pending[T] = Pending()
        self._points.setdefault(key, []).append(lambda item: pending.settle(read(item)))
        return pending

    def query(self, query: Query, read: Callable[[Page], T]) -> Pending[T]:
        """One range, through `read`."""
        pending: Pending[T] = Pending()
        self._queries.append((query, lambda page: pending.settle(read(page))))
        return pending

    def memberships(self) -> Pending[Memberships]:
        return self.point((keys.memberships(self._tenant, self._principal), keys.MEMBERSHIPS), rows.memberships_from)

    def purges(self) -> Pending[Mapping[str, int]]:
        return self.point((keys.purge_board(self._tenant), keys.ACTIVE_PURGES), rows.purges_from)

    def epoch(self, project_id: str) -> Pending[int]:
        key = (keys.project(self._tenant, project_id), keys.EPOCH)
        return self.point(key, lambda item: 0 if item is None else int(str(item["epoch"])))

    def node(self, node_id: str) -> Pending[Node | None]:
        partition = keys.node(self._tenant, node_id)
        return self.point((partition, keys.HINGE), lambda item: self._node(item, partition))

    def _node(self, item: Item | None, partition: str) -> Node | None:
        if item is None or item["tenant"] != self._tenant:
            return None
        return rows.memory_from(item, keys.ref(partition)) if item["kind"] == "memory" else rows.entity_from(item)

    def edges(self, node_id: str, lane: Lane, *, limit: int, after: str | None = None) -> Pending[EdgePage]:
        prefix = keys.lane_prefix(lane)
        query = Query(
            partition=keys.node(self._tenant, node_id), low=prefix, high=prefix + keys.AFTER, limit=limit, after=after
        )
        return self.query(query, lambda page: EdgePage([rows.edge_from(item) for item in page.items], page.after))

    def edge(self, source: str, relationship: str, target: str) -> Pending[Edge | None]:
        key = (keys.node(self._tenant, source), keys.edge_identity(relationship, target))
        return self.point(key, lambda item: None if item is None else rows.edge_from(item))

    def memberships_of(self, principal_id: str) -> Pending[Memberships]:
        return self.point((keys.memberships(self._tenant, principal_id), keys.MEMBERSHIPS), rows.memberships_from)

    def passage(self, ref: str, cut: str, index: int) -> Pending[Passage | None]:
        key = (keys.partition_of(ref), keys.passage(cut, index))
        return self.point(key, lambda item: None if item is None else rows.passage_from(item))

    def passages(self, ref: str, cut: str, first: int, count: int) -> Pending[Sequence[Passage]]:
        query = Query(
            partition=keys.partition_of(ref),
            low=keys.passage(cut, first + count - 1),
            high=keys.passage(cut, first),
            limit=count,
            backward=True,
        )
        return self.query(query, lambda page: [rows.passage_from(item) for item in page.items])

    def newest_passages(self, memory_id: str, count: int) -> Pending[tuple[str | None, Sequence[Passage]]]:
        query = Query(
            partition=keys.node(self._tenant, memory_id),
            low=keys.passages(""),
            high=keys.HINGE,
            limit=count + 1,
            backward=True,
        )
        return self.query(query, _newest_cut)

    def body(self, memory: Memory, upto: int) -> Pending[str | None]:
        pending: Pending[str | None] = Pending()
        if memory.cut is None or upto <= len(memory.text):
            pending.settle(memory.text)
        else:
            self._calls.append((lambda: read_body(self._table, memory, upto), pending.settle))
        return pending

    def naming(self, scope: DeclaredScope, normal_name: str) -> Pending[Naming | None]:
        key = (keys.names(self._tenant, scope.agent_id, normal_name), keys.scope(scope.project_id, scope.channel))
        return self.point(key, lambda item: None if item is None else rows.naming_from(item))

    def names(self, agent_id: str, normal_name: str) -> Pending[Sequence[Naming]]:
        pending: Pending[Sequence[Naming]] = Pending()
        partition = keys.names(self._tenant, agent_id, normal_name)
        self._calls.append((lambda: read_names(self._table, partition), pending.settle))
        return pending

    def relation(self, relation_id: str) -> Pending[Relation | None]:
        key = (keys.relation(self._tenant, relation_id), keys.HINGE)
        return self.point(key, lambda item: None if item is None else rows.relation_from(item))

    def relations(self, entity_id: str, *, limit: int, after: str | None = None) -> Pending[RelationPage]:
        return self._relations(keys.relations_of(self._tenant, entity_id), limit, after)

    def relations_between(self, one: str, other: str, *, limit: int, after: str | None = None) -> Pending[RelationPage]:
        return self._relations(keys.relations_between(self._tenant, one, other), limit, after)

    def _relations(self, partition: str, limit: int, after: str | None) -> Pending[RelationPage]:
        low, high = keys.RELATIONS, keys.RELATIONS + keys.AFTER
        return self.query(Query(partition=partition, low=low, high=high, limit=limit, after=after), _relation_page)

    def operating_context(self) -> Pending[Mapping[str, str] | None]:
        return self.point((keys.context(self._tenant), keys.CONTEXT), rows.context_from)

    def run(self) -> None:
        wanted = list(self._points)
        batches = [wanted[start : start + MAX_BATCH_GET] for start in range(0, len(wanted), MAX_BATCH_GET)]
        self._table.meter.count(waves=1)
        futures: list[Any] = [self._table.submit(self._table.get_many, batch) for batch in batches]
        calls = [(partial(self._table.query, query), settle) for query, settle in self._queries] + self._calls
        futures += [self._table.submit(call) for call, _ in calls]
        answers = self._table.awaited(futures, self._clock)
        for batch, found in zip(batches, answers, strict=False):
            for key in batch:
                for settle in self._points[key]:
                    settle(found.get(key))
        for (_, settle_call), answer in zip(calls, answers[len(batches) :], strict=True):
            settle_call(answer)


_BODY_ROWS = 256
"""Rows of a body in one query: at 2,000 code points each under DynamoDB's page of 1 MB in most scripts."""


def _relation_page(page: Page) -> RelationPage:
    return RelationPage([rows.relation_from(item) for item in page.items], page.after)


def read_names(table: Table, partition: str) -> list[Naming]:
    """What a name leads to in every scope: few small rows."""
    found: list[Naming] = []
    after: str | None = None
    while True:
        page = table.query(Query(partition=partition, low="\x01", high=keys.AFTER, limit=_BODY_ROWS, after=after))
        found += [rows.naming_from(item) for item in page.items]
        after = page.after
        if after is None:
            return found


def read_body(table: Table, memory: Memory, upto: int) -> str | None:
    """The first `upto` code points of a cut body: its passages where they cover it, else its own chunks."""
    cut = memory.cut or ""
    low, backward = (keys.passages(cut), True) if memory.covers else (keys.body_chunks(cut), False)
    texts: list[str] = []
    length, after = 0, None
    while length < min(upto, memory.length):
        query = Query(
            partition=keys.partition_of(memory.ref),
            low=low,
            high=low + keys.AFTER,
            limit=_BODY_ROWS,
            after=after,
            backward=backward,
        )
        page = table.query(query)
        for item in page.items:
            if item["start"] != length:
                return None
            texts.append(str(item.get("content", "")))
            length += len(texts[-1])
        after = page.after
        if after is None:
            break
    return "".join(texts) if length >= min(upto, memory.length) else None


def _newest_cut(page: Page) -> tuple[str | None, Sequence[Passage]]:
    """The rows read backward from the hinge belong to the newest cut until another cut's begin."""
    rows_of_cuts = [item for item in page.items if item["SK"] != keys.HINGE]
    if not rows_of_cuts:
        return None, []
    cut = keys.cut_of(str(rows_of_cuts[0]["SK"]))
    return cut, [rows.passage_from(item) for item in rows_of_cuts if keys.cut_of(str(item["SK"])) == cut]
