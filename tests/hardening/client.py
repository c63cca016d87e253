"""A DynamoDB client over a table in memory, under the real `Table`: it notes every call, and a hook may disturb it."""

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from botocore.exceptions import ClientError

from shared.store.table import Item, Key, Op, from_item, to_item
from tests.support.scripted import Rows, applied, holds

T = TypeVar("T")
Apply: TypeAlias = Callable[[], Any]
Hook: TypeAlias = Callable[["Called", Apply], Any]
_PARTITION, _SORT = "PK", "SK"


class Inline(Executor):
    """A pool that does at once what it is given, so that calls have an order."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> "Future[T]":
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - handed on, as by a pool
            future.set_exception(error)
        return future


@dataclass(frozen=True, slots=True)
class Called:
    """One call: which of all it was, its operation and its arguments."""

    number: int
    operation: str
    arguments: Mapping[str, Any]

    @property
    def shape(self) -> tuple[str, Any]:
        """What somebody who watches the store from outside could tell of it: the operation and how much it asks."""
        arguments = self.arguments
        match self.operation:
            case "batch_get_item":
                return self.operation, sum(len(asked["Keys"]) for asked in arguments["RequestItems"].values())
            case "batch_write_item":
                return self.operation, sum(len(asked) for asked in arguments["RequestItems"].values())
            case "transact_write_items":
                return self.operation, tuple(next(iter(entry)) for entry in arguments["TransactItems"])
            case _:
                return self.operation, (arguments["Limit"], arguments["ScanIndexForward"], "IndexName" in arguments)


@dataclass(slots=True)
class MemoryClient:
    """The calls of the SDK's client that the store makes."""

    rows: Rows = field(default_factory=dict)
    hook: Hook | None = None
    calls: list[Called] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def batch_get_item(self, **arguments: Any) -> Any:
        return self._answer("batch_get_item", arguments, self._get)

    def query(self, **arguments: Any) -> Any:
        return self._answer("query", arguments, self._query)

    def batch_write_item(self, **arguments: Any) -> Any:
        return self._answer("batch_write_item", arguments, self._write)

    def transact_write_items(self, **arguments: Any) -> Any:
        return self._answer("transact_write_items", arguments, self._transact)

    def _answer(self, operation: str, arguments: Mapping[str, Any], apply: Callable[[Mapping[str, Any]], Any]) -> Any:
        with self._lock:
            called = Called(len(self.calls), operation, arguments)
            self.calls.append(called)

        def locked() -> Any:
            with self._lock:
                return apply(called.arguments)

        return locked() if self.hook is None else self.hook(called, locked)

    def _get(self, arguments: Mapping[str, Any]) -> Any:
        responses = {}
        for table, asked in arguments["RequestItems"].items():
            assert 0 < len(asked["Keys"]) <= 100
            assert asked["ConsistentRead"] is True
            found = (self.rows.get(_key(key)) for key in asked["Keys"])
            responses[table] = [to_item(item) for item in found if item is not None]
        return {"Responses": responses, "UnprocessedKeys": {}}

    def _query(self, arguments: Mapping[str, Any]) -> Any:
        values = {name: value["S"] for name, value in arguments["ExpressionAttributeValues"].items()}
        partition, sort = (arguments["ExpressionAttributeNames"][name] for name in ("#p", "#s"))
        found = [
            item
            for item in self.rows.values()
            if item.get(partition) == values[":p"] and values[":low"] <= str(item.get(sort, "")) <= values[":high"]
        ]
        backward = not arguments["ScanIndexForward"]
        found.sort(key=lambda item: str(item[sort]), reverse=backward)
        start = arguments.get("ExclusiveStartKey")
        if start is not None:
            after = start[sort]["S"]
            found = [item for item in found if (str(item[sort]) < after if backward else str(item[sort]) > after)]
        page = found[: arguments["Limit"]]
        answer: dict[str, Any] = {"Items": [to_item(item) for item in page]}
        if len(page) == arguments["Limit"]:  # as DynamoDB does, whether or not more follows
            names = {_PARTITION, _SORT, partition, sort}
            answer["LastEvaluatedKey"] = {name: {"S": str(page[-1][name])} for name in names}
        return answer

    def _write(self, arguments: Mapping[str, Any]) -> Any:
        (requests,) = arguments["RequestItems"].values()
        assert 0 < len(requests) <= 25
        self.rows = applied([_request_op(request) for request in requests], self.rows)
        return {"UnprocessedItems": {}}

    def _transact(self, arguments: Mapping[str, Any]) -> Any:
        ops = [_entry_op(entry) for entry in arguments["TransactItems"]]
        assert 0 < len(ops) <= 100
        reasons = ["None" if holds(op, self.rows) else "ConditionalCheckFailed" for op in ops]
        if set(reasons) != {"None"}:
            raise cancelled(*reasons)
        self.rows = applied(ops, self.rows)
        return {}


def refusal(code: str, operation: str, reasons: list[Any] | None = None) -> ClientError:
    response: Any = {"Error": {"Code": code, "Message": f"{code} of table canary-table"}}
    if reasons is not None:
        response["CancellationReasons"] = reasons
    return ClientError(response, operation)


def cancelled(*reasons: str) -> ClientError:
    found = [{"Code": reason, "Message": reason} for reason in reasons]
    return refusal("TransactionCanceledException", "TransactWriteItems", found)


def _key(raw: Mapping[str, Any]) -> Key:
    return raw[_PARTITION]["S"], raw[_SORT]["S"]


def _request_op(request: Mapping[str, Any]) -> Op:
    ((kind, body),) = request.items()
    return Op(put=from_item(body["Item"])) if kind == "PutRequest" else Op(delete=_key(body["Key"]))


def _entry_op(entry: Mapping[str, Any]) -> Op:
    ((kind, body),) = entry.items()
    given: dict[str, Any] = {
        "update": body.get("UpdateExpression"),
        "condition": body.get("ConditionExpression"),
        "names": body.get("ExpressionAttributeNames", {}),
        "values": from_item(body.get("ExpressionAttributeValues", {})),
    }
    match kind:
        case "Put":
            return Op(put=from_item(body["Item"]), **given)
        case "Delete":
            return Op(delete=_key(body["Key"]), **given)
        case "ConditionCheck":
            return Op(check=_key(body["Key"]), **given)
        case _:
            return Op(change=_key(body["Key"]), **given)


def items_of(rows: Rows, partition_letter: str) -> Iterator[Item]:
    return (item for (pk, _), item in rows.items() if pk.startswith(partition_letter))
