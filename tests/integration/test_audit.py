"""Counting under concurrency, and after a lost answer, where transactions are real."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ReadTimeoutError

from shared.engine.grants import GrantId, revoke_grant
from shared.store.dynamo import Store
from shared.store.table import Table
from tests.support.records import aggregates, counted, expand, grant, member, reader
from tests.support.writing import load, note, session

PARALLEL = 200
pytestmark = pytest.mark.needs_concurrency


@pytest.fixture
def store(table_name: str, tenant: str) -> Store:
    built = Store.from_environment(table_name)
    report = load(built, tenant, member("root", "p2"), member("bob", "p1"), note("far", project_id="p2"))
    assert report["rejected"] == 0, report
    return built


def use(store: Store, tenant: str, grant_id: str) -> Any:
    return expand(store, reader("bob", tenant=tenant), "far", project="p1", accessId=grant_id)


def test_parallel_presentations_are_all_counted(store: Store, tenant: str) -> None:
    held = grant(store, "bob", "p2", tenant=tenant)["id"]
    with ThreadPoolExecutor(PARALLEL) as pool:
        answers = list(pool.map(lambda _: use(store, tenant, held), range(PARALLEL)))
    assert [answer["record"]["id"] for answer in answers] == ["far"] * PARALLEL
    (row,) = aggregates(store, tenant=tenant)
    assert (row["count"], row["records_returned_total"], row["revision"]) == (PARALLEL, PARALLEL, PARALLEL)
    assert row["outcome"] == "used"
    assert row["first_at"] <= row["samples"][0]["at"] <= row["last_at"]


def test_nothing_is_served_through_a_grant_once_its_revocation_has_returned(store: Store, tenant: str) -> None:
    held = grant(store, "bob", "p2", tenant=tenant)["id"]
    with ThreadPoolExecutor(24) as pool:
        early = [pool.submit(use, store, tenant, held) for _ in range(20)]
        revoke_grant(store, session(tenant), GrantId(held))
        late = [pool.submit(use, store, tenant, held) for _ in range(20)]
        served = sum(future.result()["record"] is not None for future in early)
        assert [future.result()["record"] for future in late] == [None] * 20
    found = {outcome: count for _, outcome, count in counted(store, tenant=tenant)}
    assert found.get("used", 0) == served
    assert sum(found.values()) == 40


def losing(send: Callable[[Any], Any], lost: list[str]) -> Callable[[Any], Any]:
    """Sends, but loses the answer of the first transaction, and notes that in `lost`."""

    def lose(request: Any) -> Any:
        answer = send(request)
        if not lost and b"TransactWriteItems" in request.headers.get("X-Amz-Target", b""):
            lost.append("one")
            raise ReadTimeoutError(endpoint_url=request.url)
        return answer

    return lose


def test_a_retry_after_a_lost_answer_counts_once(store: Store, tenant: str, table_name: str) -> None:
    held = grant(store, "bob", "p2", tenant=tenant)["id"]
    config = Config(retries={"mode": "standard", "total_max_attempts": 4})
    client: Any = boto3.client("dynamodb", config=config)
    http = client._endpoint.http_session
    lost: list[str] = []
    http.send = losing(http.send, lost)
    with ThreadPoolExecutor(4) as pool:
        answer = use(Store(Table(client, table_name, pool)), tenant, held)
    assert answer["record"]["id"] == "far"
    assert lost == ["one"]
    assert counted(store, tenant=tenant) == [(held, "used", 1)]
