"""What may happen to one call of the store, as the SDK tells of it once its own retries are over."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ConnectionClosedError, ReadTimeoutError

from tests.hardening.client import Apply, Called, cancelled, refusal

BATCHES = ("batch_get_item", "batch_write_item")
ANY = (*BATCHES, "query", "transact_write_items")
_ENDPOINT = "https://canary-table.example"

Act = Callable[[Called, Apply], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One kind of trouble.

    `passing` trouble must not be seen in the answer; `lasting` trouble meets every later call of that operation too;
    after `ends` there is no store any more.
    """

    name: str
    act: Act
    operations: tuple[str, ...] = ANY
    passing: bool = False
    lasting: bool = False
    ends: bool = False

    def at(self, number: int) -> Act:
        """A hook that lets this happen to the call of that number."""
        struck: list[str] = []

        def hook(called: Called, apply: Apply) -> Any:
            if called.number == number and called.operation in self.operations:
                struck.append(called.operation)
                return self.act(called, apply)
            if called.number > number and struck and self.ends:
                raise ConnectionClosedError(endpoint_url=_ENDPOINT)
            if called.number > number and self.lasting and called.operation in struck:
                return self.act(called, apply)
            return apply()

        return hook


def _refused(code: str) -> Act:
    def act(called: Called, _: Apply) -> Any:
        raise refusal(code, called.operation)

    return act


def _cancelled(reason: str) -> Act:
    def act(called: Called, _: Apply) -> Any:
        others = ["None"] * (len(called.arguments["TransactItems"]) - 1)
        raise cancelled(reason, *others)

    return act


def _unreached(_: Called, __: Apply) -> Any:
    raise ReadTimeoutError(endpoint_url=_ENDPOINT)


def _answer_lost(_: Called, apply: Apply) -> Any:
    apply()
    raise ConnectionClosedError(endpoint_url=_ENDPOINT)


def _half(called: Called, apply: Apply) -> Any:
    """The first half is done, the other comes back."""
    requests: dict[str, Any] = called.arguments["RequestItems"]
    ((table, asked),) = requests.items()
    if called.operation == "batch_get_item":
        keys = asked["Keys"]
        done = len(keys) // 2
        requests[table] = {**asked, "Keys": keys[:done]}
        answer = apply() if done else {"Responses": {}}
        return {**answer, "UnprocessedKeys": {table: {**asked, "Keys": keys[done:]}}}
    done = len(asked) // 2
    requests[table] = asked[:done]
    if done:
        apply()
    return {"UnprocessedItems": {table: asked[done:]}}


def _none_of_it(called: Called, _: Apply) -> Any:
    if called.operation == "batch_get_item":
        return {"Responses": {}, "UnprocessedKeys": called.arguments["RequestItems"]}
    return {"UnprocessedItems": called.arguments["RequestItems"]}


def _empty_page(called: Called, apply: Apply) -> Any:
    """No row yet, and a place to go on from that lies just before the first."""
    answer = apply()
    sort = called.arguments["ExpressionAttributeNames"]["#s"]
    if not answer["Items"]:
        return answer
    first = answer["Items"][0]
    text = first[sort]["S"]
    forward = called.arguments["ScanIndexForward"]
    before = f"{text[:-1]}{chr(ord(text[-1]) - 1)}\U0010ffff" if forward else text + "\x01"
    place = {name: first[name] for name in ("PK", "SK", "x1", "x2") if name in first}
    return {"Items": [], "LastEvaluatedKey": {**place, sort: {"S": before}}}


def _short_page(called: Called, apply: Apply) -> Any:
    """One row of those asked for: the page is full of bytes."""
    answer = apply()
    names = {"PK", "SK", *called.arguments["ExpressionAttributeNames"].values()}
    if len(answer["Items"]) < 2:
        return answer
    first = answer["Items"][0]
    return {"Items": [first], "LastEvaluatedKey": {name: first[name] for name in names}}


def _faults() -> Iterator[Fault]:
    for code in (
        "ThrottlingException",
        "ProvisionedThroughputExceededException",
        "InternalServerError",
        "AccessDeniedException",
        "ValidationException",
    ):
        yield Fault(name=code, act=_refused(code))
    yield Fault(name="read timeout", act=_unreached)
    yield Fault(name="answer lost", act=_answer_lost)
    yield Fault(name="half unprocessed", act=_half, operations=BATCHES, passing=True)
    yield Fault(name="unprocessed", act=_none_of_it, operations=BATCHES, passing=True)
    yield Fault(name="unprocessed for ever", act=_none_of_it, operations=BATCHES, lasting=True)
    yield Fault(name="empty page", act=_empty_page, operations=("query",), passing=True)
    yield Fault(name="short page", act=_short_page, operations=("query",), passing=True)
    yield Fault(name="short pages", act=_short_page, operations=("query",), passing=True, lasting=True)
    transactions = ("transact_write_items",)
    for reason in ("TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"):
        yield Fault(name=reason, act=_cancelled(reason), operations=transactions, passing=True)
        yield Fault(name=f"{reason} for ever", act=_cancelled(reason), operations=transactions, lasting=True)
    for reason in ("ValidationError", "ItemCollectionSizeLimitExceeded"):
        yield Fault(name=f"cancelled by {reason}", act=_cancelled(reason), operations=transactions)


FAULTS = tuple(_faults())
ENDS = (
    Fault(name="the process ends before", act=_unreached, ends=True),
    Fault(name="the process ends after", act=_answer_lost, ends=True),
)
