"""The composition root: the one place that joins the verbs and the store. Keeps a connection, never an authority."""

import os
from functools import cache

from shared.engine.port import Clock
from shared.store.dynamo import Store


@cache
def connected() -> Store:
    """The store of this process, on the table that TABLE_NAME names."""
    return Store.from_environment(os.environ["TABLE_NAME"])


def store(clock: Clock) -> Store:
    """The store for one request, which no call of it outlasts."""
    return connected().within(clock)
