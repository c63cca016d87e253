"""Many at once, on an engine with real transactions: a revocation closes at once, and every presentation is counted."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from shared.engine.grants import GrantId, revoke_grant
from shared.store.dynamo import Store
from tests.support.records import counted, expand, grant, member, reader
from tests.support.writing import load, note, session

pytestmark = [pytest.mark.needs_concurrency, pytest.mark.long]
READS = 1_000
PRESENTED = 200


@pytest.fixture
def opened(store: Store, tenant: str) -> str:
    """A grant for bob of a project of root's."""
    load(store, tenant, member("root", "p"), note("m", content="Secret.", project_id="p"))
    issued: Any = grant(store, "bob", "p", tenant=tenant)
    identity: str = issued["id"]
    return identity


def reading(store: Store, tenant: str, grant_id: str) -> Callable[[], str]:
    def read() -> str:
        answer = expand(store, reader("bob", tenant=tenant), "m", accessId=grant_id)
        status: str = answer["status"]
        return status

    return read


def test_no_read_after_a_revocation_is_widened(store: Store, tenant: str, opened: str) -> None:
    """Of a thousand reads on eight threads those that began after the answer of the revocation find nothing."""
    read, revoked = reading(store, tenant, opened), Event()
    told: list[tuple[bool, str]] = []

    def once(number: int) -> None:
        if number == READS // 2:
            revoke_grant(store, session(tenant), GrantId(opened))
            revoked.set()
        after = revoked.is_set()
        told.append((after, read()))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(once, range(READS)))
    assert len(told) == READS
    assert {status for after, status in told if after} == {"unavailable"}
    assert sum(after for after, _ in told) > READS // 4
    assert "revision_changed" in {status for after, status in told if not after}
    outcomes = {outcome: count for _, outcome, count in counted(store, tenant=tenant)}
    assert sum(outcomes.values()) == READS
    assert outcomes["used"] == sum(status == "revision_changed" for _, status in told)


def test_two_hundred_presentations_at_once_are_all_counted(store: Store, tenant: str, opened: str) -> None:
    read = reading(store, tenant, opened)
    with ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(lambda _: read(), range(PRESENTED)))
    assert statuses == ["revision_changed"] * PRESENTED
    assert counted(store, tenant=tenant) == [(opened, "used", PRESENTED)]
