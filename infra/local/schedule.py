"""Plays the scheduler: calls a function again and again beside the server, until the server stops."""

import threading
import traceback
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from infra.local.gateway import context_for, imported
from infra.local.template import Function

_PATIENCE_SECONDS = 5.0
"""A call that goes on longer is left: what it did not finish, the next run takes up."""


@contextmanager
def scheduled(function: Function, seconds: float) -> Iterator[None]:
    """Call `function` every `seconds` while the context lasts; a call under way is waited for a little."""
    stopped = threading.Event()

    def call_until_stopped() -> None:
        while not stopped.wait(seconds):
            try:
                imported(function)({}, context_for(function, str(uuid.uuid4())))
            except Exception:  # noqa: BLE001 - a failed call is tried again at the next turn, as the scheduler does
                traceback.print_exc()

    caller = threading.Thread(target=call_until_stopped, name=f"schedule-{function.name}", daemon=True)
    caller.start()
    try:
        yield
    finally:
        stopped.set()
        caller.join(_PATIENCE_SECONDS)
