"""Holds each call of the integration tests to its function's role: what it does to the table must be permitted."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import boto3
import yaml

from infra.local.template import TEMPLATE, _Loader

_TRANSACTED = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem"}


class Right(NamedTuple):
    """An action on the rows whose partition key begins so, of the table or of its index."""

    action: str
    prefix: str
    of_index: str = ""


class NotPermittedError(AssertionError):
    """A function did to the table what its role does not let it do."""


def granted() -> dict[str, list[Right]]:
    """The rights in the table of each function's role, prefixes as patterns."""
    resources = yaml.load(TEMPLATE.read_text(encoding="utf-8"), Loader=_Loader)["Resources"]  # noqa: S506
    found = {}
    for resource in resources.values():
        if resource["Type"] == "AWS::Serverless::Function":
            role = resources[resource["Properties"]["Role"]["Fn::GetAtt"][0]]["Properties"]
            name = resource["Properties"]["Handler"].split(".")[1]
            found[name] = [right for policy in role["Policies"] for right in _of_policy(policy)]
    return found


def _of_policy(policy: Mapping[str, Any]) -> Iterator[Right]:
    for statement in policy["PolicyDocument"]["Statement"]:
        if "Fn::If" in statement:  # the callers' rows, where they sign; these tests have tokens
            continue
        condition = statement.get("Condition", {}).get("ForAllValues:StringLike", {})
        index = str(statement["Resource"]).partition("/index/")[2].rstrip("'}")
        for action in statement["Action"]:
            if action.startswith("dynamodb:"):
                for prefix in condition.get("dynamodb:LeadingKeys", ["*"]):
                    yield Right(action.removeprefix("dynamodb:"), prefix, index)


def needed(operation: str, request: Mapping[str, Any]) -> set[Right]:
    """The rights that a request to DynamoDB needs."""
    match operation:
        case "Query":
            return {Right("Query", _prefix(request["ExpressionAttributeValues"][":p"]), request.get("IndexName", ""))}
        case "BatchGetItem":
            keys = [key for asked in request["RequestItems"].values() for key in asked["Keys"]]
            return {Right(operation, _prefix(key["PK"])) for key in keys}
        case "BatchWriteItem":
            written = [one for asked in request["RequestItems"].values() for one in asked]
            rows = [next(iter(one.values())) for one in written]
            return {Right(operation, _prefix((row.get("Item") or row["Key"])["PK"])) for row in rows}
        case "TransactWriteItems":
            parts = [next(iter(part.items())) for part in request["TransactItems"]]
            return {Right(_TRANSACTED[kind], _prefix((row.get("Item") or row["Key"])["PK"])) for kind, row in parts}
        case _:
            raise NotPermittedError(f"no role has {operation}")


def _prefix(key: Mapping[str, str]) -> str:
    return key["S"][:2]


class Watch:
    """Holds what the functions that are running ask of DynamoDB to their roles.

    The store's client must be made after the watch, since it takes its hooks from the default session.
    """

    def __init__(self) -> None:
        self.granted = granted()
        self.used: dict[str, set[Right]] = {name: set() for name in self.granted}
        self._running: list[str] = []
        self._refused: list[str] = []
        boto3.setup_default_session()
        session = boto3.DEFAULT_SESSION
        assert session
        session.events.register("provide-client-params.dynamodb", self._seen)

    @contextmanager
    def running(self, function: str) -> Iterator[None]:
        self._running.append(function)
        try:
            yield
        finally:
            self._running.remove(function)

    def check(self) -> None:
        """Raise for what was not permitted: the boundary lets no error of a handler pass."""
        if self._refused:
            refused, self._refused = self._refused, []
            raise NotPermittedError("; ".join(refused))

    def _seen(self, params: Mapping[str, Any], model: Any, **_: Any) -> None:
        running = set(self._running)
        if not running:
            return
        for right in needed(model.name, params):
            if len(running) == 1:
                self.used[next(iter(running))].add(right)
            if not any(permits(held, right) for function in running for held in self.granted[function]):
                self._refused.append(f"{' or '.join(sorted(running))} may not {right}")


def permits(held: Right, wanted: Right) -> bool:
    return (held.action, held.of_index) == (wanted.action, wanted.of_index) and fnmatchcase(wanted.prefix, held.prefix)
