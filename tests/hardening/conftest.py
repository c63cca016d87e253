"""The product over a table in memory, without waiting between attempts."""

from collections.abc import Iterator

import pytest

from shared import runtime
from shared.boundary.settings import settings
from shared.store.dynamo import Store
from tests.hardening.world import World, template, template_gateway


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    for name, value in {**template().environment(), "POWERTOOLS_TRACE_DISABLED": "true"}.items():
        monkeypatch.setenv(name, value)
    settings.cache_clear()
    made = World(template_gateway())
    monkeypatch.setattr(Store, "from_environment", lambda _: made.store)
    monkeypatch.setattr("shared.store.table._back_off", lambda _: None)
    monkeypatch.setattr("shared.engine.writes.time.sleep", lambda _: None)
    runtime.connected.cache_clear()
    yield made
    runtime.connected.cache_clear()
    settings.cache_clear()
