"""The local schedule calls its function again and again, survives a failing call, and stops with its context."""

import sys
import threading
from types import ModuleType
from typing import Any

import pytest

from infra.local.schedule import scheduled
from infra.local.template import Function


def test_a_function_is_called_until_the_context_ends_though_a_call_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    called = threading.Semaphore(0)
    remaining: list[int] = []

    def handler(event: dict[str, Any], context: Any) -> None:
        assert event == {}
        remaining.append(context.get_remaining_time_in_millis())
        called.release()
        raise RuntimeError("one bad run")

    module = ModuleType("a_scheduled_function")
    vars(module)["handler"] = handler
    monkeypatch.setitem(sys.modules, "a_scheduled_function", module)
    with scheduled(Function("a", "a_scheduled_function.handler", 128, 30), 0.01):
        assert called.acquire(timeout=5)
        assert called.acquire(timeout=5)
    calls = len(remaining)
    assert all(29_000 < left <= 30_000 for left in remaining)
    assert not [thread for thread in threading.enumerate() if thread.name == "schedule-a"]
    assert len(remaining) == calls
