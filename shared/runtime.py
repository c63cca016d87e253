"""The composition root: the one place that joins the verbs and the store. Keeps a connection, never an authority."""

import os
from functools import cache

from shared.store.dynamo import Store


@cache
def store() -> Store:
    """The store of this process, on the table that TABLE_NAME names."""
    return Store.from_environment(os.environ["TABLE_NAME"])
