"""What an operator is told: that the use of a grant could not be recorded, and how far the sweep lags behind."""

import json
from typing import Any

import pytest

from infra.local.gateway import context_for, imported
from infra.local.template import Template
from shared.domain.errors import Unavailable
from shared.runtime import connected
from shared.store.audit import AuditRows
from shared.store.tasks import cut_task, task_item
from shared.store.waves import Wave
from tests.conftest import Caller, ClaimsOf


@pytest.fixture(autouse=True)
def _metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("POWERTOOLS_METRICS_DISABLED", "POWERTOOLS_DEV"):
        monkeypatch.delenv(name, raising=False)


def emitted(text: str, name: str) -> list[Any]:
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return [value for line in lines if "_aws" in line for value in line.get(name, [])]


def test_a_use_that_cannot_be_recorded_is_refused_and_told(
    call: Caller, claims_of: ClaimsOf, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object) -> bool:
        raise Unavailable

    monkeypatch.setattr(AuditRows, "count", refused)
    asked = {"recordId": "m", "digest": "0", "accessId": "none"}
    assert call("POST", "/api/records/expand", claims_of("ann"), asked).status == 503
    assert emitted(capsys.readouterr().out, "AuditFailed") == [1.0]


def test_trouble_of_the_store_elsewhere_is_no_audit_failure(
    call: Caller, claims_of: ClaimsOf, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object) -> None:
        raise Unavailable

    monkeypatch.setattr(Wave, "run", refused)
    assert call("POST", "/api/search/expand", claims_of("ann"), {"entity_ids": ["m"]}).status == 503
    assert emitted(capsys.readouterr().out, "AuditFailed") == []


def test_the_sweep_tells_how_long_the_oldest_task_was_due(
    engine: str, tenant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert engine
    task = cut_task(tenant, "m", "0", "2026-01-01T00:00:00.000Z", (0, 0))
    connected().table.write_many([task_item(task)])
    sweep = Template.load().functions()["SweepFunction"]
    imported(sweep)({}, context_for(sweep, "r"))
    (lag,) = emitted(capsys.readouterr().out, "SweepLag")
    assert lag > 3600
    imported(sweep)({}, context_for(sweep, "r"))
    (lag,) = emitted(capsys.readouterr().out, "SweepLag")
    assert lag < 3600
