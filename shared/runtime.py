"""The composition root: the one place that joins the verbs and the store. Keeps a connection, never an authority."""

import os
import random
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from shared.engine.port import Clock
from shared.store.dynamo import Store


@cache
def connected() -> Store:
    """The store of this process, on the table that TABLE_NAME names."""
    return Store.from_environment(os.environ["TABLE_NAME"])


def store(clock: Clock) -> Store:
    """The store for one request, which no call of it outlasts."""
    return connected().within(clock)


def _before_snapshot() -> None:
    connected()


def _after_restore() -> None:
    """No socket of the snapshot is alive, and every restored copy would back off in step with the others."""
    connected().disconnect()
    random.seed()


def _use_snapshots() -> None:
    """Prepare for SnapStart, where the runtime offers it."""
    if find_spec("snapshot_restore_py"):
        hooks = import_module("snapshot_restore_py")
        hooks.register_before_snapshot(_before_snapshot)
        hooks.register_after_restore(_after_restore)


_use_snapshots()
