"""The store over DynamoDB: joins the table with the reads and writes that the engine's port asks for."""

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

from shared.engine.port import Clock
from shared.store.audit import AuditRows
from shared.store.callers import CallerRows
from shared.store.captures import CaptureRows
from shared.store.cleanup import CleanUps
from shared.store.declared import Declared
from shared.store.edges import Edges
from shared.store.grants import GrantRows
from shared.store.listing import Exports
from shared.store.memberships import MembershipRows
from shared.store.memories import Memories
from shared.store.purges import PurgeRows
from shared.store.records import RecordWave
from shared.store.table import Table

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

CONNECTIONS = 32
"""Calls in flight: threads do not add CPU, they only hide the store's latency."""

_CONFIG = Config(
    connect_timeout=1,
    read_timeout=3,
    retries={"mode": "standard", "total_max_attempts": 4},
    max_pool_connections=CONNECTIONS,
    tcp_keepalive=True,
)


class Store:
    """Reads and writes of one table."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.memories = Memories(table)
        self.edges = Edges(table)
        self.declared = Declared(table)
        self.memberships = MembershipRows(table)
        self.cleanups = CleanUps(table)
        self.exports = Exports(table)
        self.grants = GrantRows(table)
        self.audit = AuditRows(table)
        self.purges = PurgeRows(table)
        self.captures = CaptureRows(table)
        self.callers = CallerRows(table)

    @classmethod
    def from_environment(cls, table_name: str) -> "Store":
        """A store on `table_name`; endpoint, region and credentials are the SDK's to find."""
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
        client: DynamoDBClient = boto3.client("dynamodb", config=_CONFIG, region_name=region)
        return cls(Table(client, table_name, ThreadPoolExecutor(CONNECTIONS, thread_name_prefix="store")))

    def disconnect(self) -> None:
        """Close idle connections; the next call opens new ones."""
        self.table.disconnect()

    def within(self, clock: Clock) -> "Store":
        """This store for one request, whose time bounds every call."""
        return Store(self.table.within(clock))

    def wave(self, tenant_id: str, principal_id: str, clock: Clock) -> RecordWave:
        return RecordWave(self.table, tenant_id, principal_id, clock)
