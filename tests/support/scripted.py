"""A table in memory whose reads are scheduled against a writer's steps, so that every interleaving can be tried.

The real store code runs over it. Each point of a batch, each page of a query and each transaction is a step of its own:
it sees the table as it was after so many of the writer's steps. Steps of one wave may lie anywhere between those; the
next wave begins where the last one ended.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from copy import copy
from dataclasses import dataclass, field
from operator import eq, ge, gt, itemgetter, le, lt
from threading import Lock
from typing import Any, TypeVar

from shared.engine.port import Clock
from shared.store.table import Cancelled, Item, Key, Meter, Op, Page, Query, Table

T = TypeVar("T")
Rows = dict[Key, Item]
_COMPARISONS = {"=": eq, "<": lt, ">": gt, "<=": le, ">=": ge}


class MemoryTable(Table):
    """A table that is only there in this process. `states` keeps it as it was after each write."""

    def __init__(self, rows: Rows | None = None) -> None:
        self.rows: Rows = rows or {}
        self.states: list[Rows] = []
        self.meter = Meter()
        self._lock = Lock()
        self._clock = None

    def submit(self, call: Callable[..., T], *args: Any) -> "Future[T]":
        future: Future[T] = Future()
        try:
            future.set_result(call(*args))
        except Exception as error:  # noqa: BLE001 - handed on, as by a pool
            future.set_exception(error)
        return future

    def awaited(self, futures: Sequence["Future[Any]"], clock: Clock | None) -> list[Any]:  # noqa: ARG002 - no waiting
        return [future.result() for future in futures]

    def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        self.meter.count(reads=1)
        return {key: item for key in keys if (item := self.point(key)) is not None}

    def query(self, query: Query) -> Page:
        self.meter.count(reads=1)
        return self.page(query)

    def point(self, key: Key) -> Item | None:
        return _point(self.rows, key)

    def page(self, query: Query) -> Page:
        return _page(self.rows, query)

    def write_many(self, puts: Iterable[Item], deletes: Iterable[Key] = ()) -> None:
        ops = [*(Op(put=item) for item in puts), *(Op(delete=key) for key in deletes)]
        with self._lock:
            self._write(ops)

    def transact(self, ops: Sequence[Op], clock: Clock | None = None) -> None:  # noqa: ARG002
        with self._lock:
            reasons = ["None" if holds(op, self.rows) else "ConditionalCheckFailed" for op in ops]
            if set(reasons) != {"None"}:
                raise Cancelled(reasons)
            self._write(ops)

    def _write(self, ops: Sequence[Op]) -> None:
        self.meter.count(writes=1)
        self.rows = applied(ops, self.rows)
        self.states.append(self.rows)


@dataclass(slots=True)
class Script:
    """The choices of one schedule: those given, then the first of each; `options` counts them."""

    given: Sequence[int] = ()
    options: list[int] = field(default_factory=list)

    def choose(self, options: int) -> int:
        at = len(self.options)
        self.options.append(options)
        return self.given[at] if at < len(self.given) else 0


class ScriptedTable(MemoryTable):
    """A reader's table: `states` are the writer's, and the script places each step after so many of its writes."""

    def __init__(self, states: Sequence[Rows], script: Script) -> None:
        super().__init__()
        self.states = [dict(rows) for rows in states]
        self.script = script
        self.done = 0
        """Of the writer's steps, those that the reader's last wave certainly came after."""
        self._latest = 0
        self._from = 0

    def submit(self, call: Callable[..., T], *args: Any) -> "Future[T]":
        self._from = self.done
        return super().submit(call, *args)

    def awaited(self, futures: Sequence["Future[Any]"], clock: Clock | None) -> list[Any]:
        self.done = max(self.done, self._latest)
        return super().awaited(futures, clock)

    def point(self, key: Key) -> Item | None:
        return self._seen(lambda rows: _point(rows, key))

    def page(self, query: Query) -> Page:
        page = self._seen(lambda rows: _page(rows, query))
        self._from = self._placed  # pages of one query come one after another
        return page

    def _seen(self, read: Callable[[Rows], T]) -> T:
        """What the step sees, placed by the script where that makes a difference."""
        seen = [read(rows) for rows in self.states[self._from :]]
        places = [0] + [at for at in range(1, len(seen)) if seen[at] != seen[at - 1]]
        chosen = places[self.script.choose(len(places))] if len(places) > 1 else 0
        self._placed = self._from + chosen
        self._latest = max(self._latest, self._placed)
        return seen[chosen]

    def transact(self, ops: Sequence[Op], clock: Clock | None = None) -> None:  # noqa: ARG002
        self._from = self.done = max(self.done, self._latest)
        reasons = self._seen(lambda rows: ["None" if holds(op, rows) else "ConditionalCheckFailed" for op in ops])
        self.done = self._latest
        if set(reasons) != {"None"}:
            raise Cancelled(reasons)
        self.meter.count(writes=1)
        self.states[self._placed :] = [applied(ops, rows) for rows in self.states[self._placed :]]


def schedules(run: Callable[[Script], T], *, most: int) -> Iterator[T]:
    """The results of every schedule, in a fixed order. Where a step sees the same at several places, one is tried."""
    given: list[int] | None = []
    for _ in range(most):
        script = Script(given or ())
        yield run(script)
        given = _following(script)
        if given is None:
            return
    msg = f"there are more than {most} schedules"
    raise AssertionError(msg)


def _following(script: Script) -> list[int] | None:
    """The choices of the next schedule, the last choice counting up first; None after the last one."""
    chosen = [*script.given, *([0] * len(script.options))][: len(script.options)]
    while chosen and chosen[-1] + 1 == script.options[len(chosen) - 1]:
        chosen.pop()
    if not chosen:
        return None
    chosen[-1] += 1
    return chosen


def _point(rows: Rows, key: Key) -> Item | None:
    item = rows.get(key)
    return None if item is None else copy(item)


def _page(rows: Rows, query: Query) -> Page:
    partition, sort = ("x1", "x2") if query.index else ("PK", "SK")
    found = sorted(
        (row for row in rows.values() if row.get(partition) == query.partition and _within(query, str(row[sort]))),
        key=itemgetter(sort),
        reverse=query.backward,
    )
    items = [copy(item) for item in found[: query.limit]]
    return Page(items, str(items[-1][sort]) if len(found) > query.limit else None)


def _within(query: Query, sort: str) -> bool:
    if query.after is not None and (sort == query.after or (sort < query.after) != query.backward):
        return False
    return query.low <= sort <= query.high


def holds(op: Op, rows: Rows) -> bool:
    """Whether the condition of an operation holds."""
    if op.condition is None:
        return True
    return bool(_Condition(op.condition, rows.get(_key(op), {}), op).value())


def applied(ops: Iterable[Op], rows: Rows) -> Rows:
    """The table after all of `ops`."""
    after = dict(rows)
    for op in ops:
        key = _key(op)
        if op.put is not None:
            after[key] = {name: value for name, value in op.put.items() if value is not None and value != frozenset()}
        elif op.delete is not None:
            after.pop(key, None)
        elif op.change is not None:
            after[key] = _changed(op, after.get(key, {"PK": key[0], "SK": key[1]}))
    return after


def _key(op: Op) -> Key:
    if op.put is not None:
        return str(op.put["PK"]), str(op.put["SK"])
    key = op.delete or op.check or op.change
    assert key is not None
    return key


class _Condition:
    """The part of DynamoDB's condition language that the store speaks."""

    def __init__(self, text: str, item: Mapping[str, Any], op: Op) -> None:
        self._tokens = re.findall(r"[#:]?\w+|<=|>=|<>|[()<>=,]", text)
        self._item = item
        self._op = op

    def value(self) -> bool:
        found = self._all()
        while self._next("OR"):
            found = self._all() or found
        return found

    def _all(self) -> bool:
        found = self._one()
        while self._next("AND"):
            found = self._one() and found
        return found

    def _one(self) -> bool:
        if self._next("("):
            found = self.value()
            assert self._next(")")
            return found
        word = self._tokens.pop(0)
        if word in ("attribute_exists", "attribute_not_exists", "contains"):
            return self._call(word)
        operator, other = self._tokens.pop(0), self._operand(self._tokens.pop(0))
        left = self._operand(word)
        if left is None or other is None:
            return False
        return bool(_COMPARISONS[operator](left, other))

    def _call(self, function: str) -> bool:
        assert self._next("(")
        attribute = self._operand(self._tokens.pop(0))
        member = self._operand(self._tokens.pop(0)) if self._next(",") else None
        assert self._next(")")
        if function == "contains":
            return attribute is not None and bool(member in attribute)
        return (attribute is not None) == (function == "attribute_exists")

    def _operand(self, word: str) -> Any:
        return self._op.values[word] if word[0] == ":" else self._item.get(self._op.names.get(word, word))

    def _next(self, token: str) -> bool:
        if self._tokens[:1] == [token]:
            self._tokens.pop(0)
            return True
        return False


def _changed(op: Op, item: Item) -> Item:
    """The item after an update expression; its right sides see the item as it was."""
    after: dict[str, Any] = dict(item)
    clauses = re.split(r"\b(SET|ADD|DELETE|REMOVE)\b", op.update or "")[1:]
    for verb, body in zip(clauses[::2], clauses[1::2], strict=True):
        for part in re.split(r",(?![^(]*\))", body):
            if verb == "SET":
                name, _, right = (piece.strip() for piece in part.partition("="))
                after[op.names.get(name, name)] = _right(op, item, right)
                continue
            name, value = part.split()
            present, given = item.get(name := op.names.get(name, name)), op.values[value]
            if isinstance(given, frozenset):
                old = present if isinstance(present, frozenset) else frozenset[str]()
                after[name] = old | given if verb == "ADD" else old - given
            else:
                after[name] = int(str(present or 0)) + int(str(given))
    return {name: value for name, value in after.items() if value is not None and value != frozenset()}


def _right(op: Op, item: Item, text: str) -> Any:
    called = re.fullmatch(r"if_not_exists\((\S+), (\S+)\)", text)
    if called is None:
        return op.values[text] if text[0] == ":" else item.get(op.names.get(text, text))
    present = item.get(op.names.get(called[1], called[1]))
    return _right(op, item, called[2]) if present is None else present
