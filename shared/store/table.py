"""The one table as calls: point reads, queries, writes and transactions, retried, bounded in time, and counted.

It alone speaks boto3. It knows no key grammar and no domain value.
"""

import logging
import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future, wait
from concurrent.futures import TimeoutError as FutureTimeout
from copy import copy
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from shared.domain.errors import Unavailable
from shared.engine.port import Clock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

T = TypeVar("T")
Key: TypeAlias = tuple[str, str]
Value: TypeAlias = str | int | bool | frozenset[str] | bytes | None
Item: TypeAlias = dict[str, Value]

MAX_BATCH_GET = 100
MAX_BATCH_WRITE = 25
MAX_TRANSACTION = 100
_ATTEMPTS = 8
"""Rounds for unprocessed keys and conflicting transactions; with the backoff below about three seconds in all."""

_WRITERS = 8
"""Batches of one write under way together."""

_PASSING = frozenset({"None", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})
"""Reasons of a cancelled transaction that say nothing about what is stored."""

_logger = logging.getLogger("hopscope.store")


class Cancelled(Exception):
    """A transaction was refused by a condition. `reasons` has one code an operation, "None" where it held."""

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__(", ".join(reasons))
        self.reasons = tuple(reasons)


@dataclass(frozen=True, slots=True)
class Page:
    """Rows of one query, and the sort key to go on after (None at the end)."""

    items: list[Item]
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A range of one partition: sort keys between `low` and `high`, both included; `limit` rows at most."""

    partition: str
    low: str
    high: str
    limit: int
    after: str | None = None
    backward: bool = False
    index: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """One operation of a transaction: put an item, update, delete a key, or only check it.

    `condition` is a DynamoDB condition expression over `names` (#…) and `values` (:…); `update` an update expression.
    """

    put: Item | None = None
    delete: Key | None = None
    check: Key | None = None
    change: Key | None = None
    update: str | None = None
    condition: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Value] = field(default_factory=dict)


@dataclass(slots=True)
class Meter:
    """Counts of what was asked of the store, for budgets asserted in tests and for metrics."""

    waves: int = 0
    reads: int = 0
    writes: int = 0
    items: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, *, waves: int = 0, reads: int = 0, writes: int = 0, items: int = 0) -> None:
        with self._lock:
            self.waves += waves
            self.reads += reads
            self.writes += writes
            self.items += items

    def reset(self) -> None:
        self.waves = self.reads = self.writes = self.items = 0


def marshal(value: Value) -> dict[str, Any]:
    """A plain value as a DynamoDB attribute."""
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, int):
        return {"N": str(value)}
    if isinstance(value, frozenset):
        return {"SS": sorted(value)}
    if isinstance(value, bytes):
        return {"B": value}
    msg = f"not storable: {type(value).__name__}"
    raise TypeError(msg)


def unmarshal(attribute: Mapping[str, Any]) -> Value:
    """The inverse of `marshal`."""
    ((kind, value),) = attribute.items()
    match kind:
        case "S" | "BOOL" | "B":
            return value  # type: ignore[no-any-return]
        case "N":
            return int(value)
        case "SS":
            return frozenset(value)
        case _:
            msg = f"unknown attribute type {kind}"
            raise TypeError(msg)


def to_item(values: Mapping[str, Value]) -> dict[str, Any]:
    return {name: marshal(value) for name, value in values.items() if value is not None and value != frozenset()}


def from_item(item: Mapping[str, Any]) -> Item:
    return {name: unmarshal(value) for name, value in item.items()}


class Table:
    """Calls on one DynamoDB table. Threads may share it; `clock` bounds the waiting of the request in hand."""

    def __init__(self, client: "DynamoDBClient", name: str, pool: Executor) -> None:
        self._client = client
        self._name = name
        self._pool = pool
        self._clock: Clock | None = None
        self.meter = Meter()

    def within(self, clock: Clock) -> "Table":
        """This table for one request: no call is waited for beyond its time."""
        bounded = copy(self)
        bounded._clock = clock  # noqa: SLF001 - its own class
        return bounded

    def disconnect(self) -> None:
        """Close the client's idle connections."""
        self._client.close()

    def submit(self, call: Callable[..., T], *args: Any) -> "Future[T]":
        return self._pool.submit(_on_the_pool, call, *args)

    def awaited(self, futures: Sequence["Future[Any]"], clock: Clock | None) -> list[Any]:
        """The results of `futures`, or `Unavailable` when one failed or time ran out; none is left waiting."""
        try:
            return [future.result(timeout=clock.remaining() if clock else None) for future in futures]
        except FutureTimeout:
            raise Unavailable from None
        finally:
            for future in futures:
                future.cancel()

    def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        """Strongly consistent point reads of at most 100 distinct keys; absent ones are left out."""
        found: dict[Key, Item] = {}
        wanted = [{"PK": {"S": pk}, "SK": {"S": sk}} for pk, sk in keys]
        for attempt in range(_ATTEMPTS):
            request = {self._name: {"Keys": wanted, "ConsistentRead": True}}
            answer = self._call(self._client.batch_get_item, RequestItems=request)
            for raw in answer["Responses"].get(self._name, []):
                item = from_item(raw)
                found[str(item["PK"]), str(item["SK"])] = item
            self.meter.count(reads=1, items=len(answer["Responses"].get(self._name, [])))
            wanted = answer.get("UnprocessedKeys", {}).get(self._name, {}).get("Keys", [])
            if not wanted:
                return found
            _back_off(attempt)
        raise Unavailable

    def query(self, query: Query) -> Page:
        """Rows of a range in order. Reads on through empty pages; strongly consistent but on an index."""
        items: list[Item] = []
        after = query.after
        while True:
            answer = self._call(self._client.query, **self._query_arguments(query, after, query.limit - len(items)))
            items += [from_item(raw) for raw in answer["Items"]]
            self.meter.count(reads=1, items=len(answer["Items"]))
            last = answer.get("LastEvaluatedKey")
            after = last[_sort_attribute(query)]["S"] if last else None
            if after is None or len(items) >= query.limit:
                return Page(items, after)

    def _query_arguments(self, query: Query, after: str | None, limit: int) -> dict[str, Any]:
        partition, sort = ("x1", "x2") if query.index else ("PK", "SK")
        arguments: dict[str, Any] = {
            "TableName": self._name,
            "KeyConditionExpression": "#p = :p AND #s BETWEEN :low AND :high",
            "ExpressionAttributeNames": {"#p": partition, "#s": sort},
            "ExpressionAttributeValues": {
                ":p": {"S": query.partition},
                ":low": {"S": query.low},
                ":high": {"S": query.high},
            },
            "Limit": limit,
            "ScanIndexForward": not query.backward,
        }
        if query.index:
            arguments["IndexName"] = query.index
            self._narrow_after(arguments, query, after)
        else:
            arguments["ConsistentRead"] = True
            if after is not None:
                arguments["ExclusiveStartKey"] = {"PK": {"S": query.partition}, "SK": {"S": after}}
        return arguments

    @staticmethod
    def _narrow_after(arguments: dict[str, Any], query: Query, after: str | None) -> None:
        """On the index the sort key alone is the cursor (it is unique there): go on just above it."""
        if after is not None:
            arguments["ExpressionAttributeValues"][":low"] = {"S": max(query.low, after + "\x01")}

    def write_many(self, puts: Iterable[Item], deletes: Iterable[Key] = ()) -> None:
        """Unconditional puts and deletes of distinct keys, not atomic together: for rows that nothing shows yet."""
        requests: list[Any] = [{"PutRequest": {"Item": to_item(item)}} for item in puts]
        requests += [{"DeleteRequest": {"Key": {"PK": {"S": pk}, "SK": {"S": sk}}}} for pk, sk in deletes]
        for start in range(0, len(requests), MAX_BATCH_WRITE):
            self._write_batch(requests[start : start + MAX_BATCH_WRITE])

    def write_in_parallel(self, puts: Sequence[Item], deletes: Sequence[Key] = ()) -> None:
        """`write_many` for many rows: batches beside one another, all finished on return or out of time.

        Not from the pool.
        """
        step = max(MAX_BATCH_WRITE, -(-(len(puts) + len(deletes)) // _WRITERS))
        calls = [self.submit(self.write_many, puts[at : at + step]) for at in range(0, len(puts), step)]
        calls += [self.submit(self.write_many, (), deletes[at : at + step]) for at in range(0, len(deletes), step)]
        wait(calls, timeout=self._clock.remaining() if self._clock else None)
        self.awaited(calls, self._clock)

    def _write_batch(self, requests: list[Any]) -> None:
        for attempt in range(_ATTEMPTS):
            answer = self._call(self._client.batch_write_item, RequestItems={self._name: requests})
            self.meter.count(writes=1, items=len(requests))
            requests = answer.get("UnprocessedItems", {}).get(self._name, [])
            if not requests:
                return
            _back_off(attempt)
        raise Unavailable

    def transact(self, ops: Sequence[Op], clock: Clock | None = None) -> None:
        """All of `ops` (≤ 100) or none. Raises `Cancelled` when a condition does not hold, and for nothing else.

        The SDK adds one ClientRequestToken a call and keeps it over its own retries, so a lost answer cannot apply
        twice. Passing trouble is tried again: a few times, or with `clock` while time is left.
        """
        entries = [self._transaction_entry(op) for op in ops]
        for attempt in count() if clock else range(_ATTEMPTS):
            if clock and clock.remaining() <= 0:
                break
            try:
                self._call(self._client.transact_write_items, TransactItems=entries)
            except Cancelled as cancelled:
                if "ConditionalCheckFailed" in cancelled.reasons:
                    raise
                if not _PASSING.issuperset(cancelled.reasons):
                    _logger.warning("the store refused", extra={"reasons": sorted(set(cancelled.reasons))})
                    raise Unavailable from None
                _back_off(attempt)
            else:
                self.meter.count(writes=1, items=len(ops))
                return
        raise Unavailable

    def held(self, ops: Sequence[Op], clock: Clock | None = None) -> bool:
        """`transact`; False, and nothing applied, when a condition does not hold."""
        try:
            self.transact(ops, clock)
        except Cancelled:
            return False
        return True

    def _transaction_entry(self, op: Op) -> dict[str, Any]:
        body: dict[str, Any] = {"TableName": self._name}
        if op.put is not None:
            verb, body["Item"] = "Put", to_item(op.put)
        else:
            key = op.delete or op.check or op.change
            if key is None:
                msg = "an operation needs a put or a key"
                raise TypeError(msg)
            body["Key"] = {"PK": {"S": key[0]}, "SK": {"S": key[1]}}
            verb = "Delete" if op.delete else "ConditionCheck" if op.check else "Update"
        if op.update:
            body["UpdateExpression"] = op.update
        if op.condition:
            body["ConditionExpression"] = op.condition
        if op.names:
            body["ExpressionAttributeNames"] = dict(op.names)
        if op.values:
            body["ExpressionAttributeValues"] = {name: marshal(value) for name, value in op.values.items()}
        return {verb: body}

    def _call(self, call: Callable[..., Any], **arguments: Any) -> Any:
        """One call of the SDK. Its own retries may outlast a request: off the pool it is waited for as time allows."""
        if self._clock is None or getattr(_thread, "is_pooled", False):
            return self._called(call, arguments)
        (answer,) = self.awaited([self.submit(self._called, call, arguments)], self._clock)
        return answer

    @staticmethod
    def _called(call: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        try:
            return call(**arguments)
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code == "TransactionCanceledException":
                reasons = error.response.get("CancellationReasons", [])
                raise Cancelled([reason.get("Code", "None") for reason in reasons]) from None
            if code == "TransactionConflictException":
                raise Cancelled(["TransactionConflict"]) from None
            _logger.warning("the store refused", extra={"operation": error.operation_name, "code": code})
            raise Unavailable from None
        except BotoCoreError as error:
            _logger.warning("the store did not answer", extra={"code": type(error).__name__})
            raise Unavailable from None


_thread = threading.local()


def _on_the_pool(call: Callable[..., T], *args: Any) -> T:
    """`call`, which whoever submitted it waits for: it may not wait for a place on the pool itself."""
    before, _thread.is_pooled = getattr(_thread, "is_pooled", False), True
    try:
        return call(*args)
    finally:
        _thread.is_pooled = before


def _sort_attribute(query: Query) -> str:
    return "x2" if query.index else "SK"


def _back_off(attempt: int) -> None:
    """Full jitter, doubling from 20 ms, at most one second."""
    time.sleep(random.uniform(0, min(1.0, 0.02 * 2 ** min(attempt, 10))))  # noqa: S311 - jitter, not a secret
