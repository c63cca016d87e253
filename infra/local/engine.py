"""Starts and stops the embedded store, and makes the template's tables in any store.

The embedded store listens on 127.0.0.1 only and never outlives the process that started it.
"""

import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path

import boto3

from infra.local.template import Table

_ROOT = Path(__file__).parents[2]
_START_SECONDS = 60.0
_STOP_SECONDS = 30.0
_ATTEMPTS = 3

DUMMY_CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",  # the emulator wants some, and checks none
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}
"""Enough for a client to sign for a store that checks no signatures."""


class StoreDidNotStartError(RuntimeError):
    """The embedded store ended, or stayed silent, while it was starting."""


def free_port() -> int:
    """A port of the loopback interface that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _child_environment(port: int, state: Path | None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "MINISTACK_"))}
    return kept | {
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "SERVICES": "dynamodb",
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "LOG_LEVEL": "WARNING",
        "PERSIST_STATE": "1" if state else "0",
        "STATE_DIR": str(state or ""),
    }


def is_up(endpoint: str) -> bool:
    """Whether an emulator answers there."""
    try:
        with urllib.request.urlopen(f"{endpoint}/_ministack/health", timeout=2) as answer:  # noqa: S310 - loopback
            return bool(answer.status == HTTPStatus.OK)
    except (urllib.error.URLError, OSError):
        return False


def _start(state: Path | None) -> tuple["subprocess.Popen[bytes]", str]:
    for _ in range(_ATTEMPTS):
        port = free_port()
        endpoint = f"http://127.0.0.1:{port}"
        child = subprocess.Popen(
            [sys.executable, "-m", "infra.local.store_process"],
            cwd=_ROOT,
            env=_child_environment(port, state),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            # A session of its own: Ctrl-C in a terminal is for the server, which then stops its store.
            start_new_session=True,
        )
        give_up = time.monotonic() + _START_SECONDS
        while child.poll() is None and time.monotonic() < give_up:
            if is_up(endpoint):
                return child, endpoint
            time.sleep(0.05)
        stop(child)
    message = "the embedded store did not start"
    raise StoreDidNotStartError(message)


def stop(child: "subprocess.Popen[bytes]", patience: float = _STOP_SECONDS) -> None:
    """End a store or emulator, which does so when its standard input closes; it is killed after `patience` seconds."""
    if child.stdin:
        child.stdin.close()
    try:
        child.wait(patience)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


@contextmanager
def embedded_store(state: Path | None = None, ended: Callable[[int], None] | None = None) -> Iterator[str]:
    """A running store; gives its endpoint. With a folder, its rows are there again at the next start.

    A store that ends before it is told to is reported to `ended`, on another thread, by its exit code.
    """
    if state:
        state.mkdir(parents=True, exist_ok=True)
    child, endpoint = _start(state.resolve() if state else None)
    told = threading.Event()
    if ended:
        threading.Thread(target=_watch, args=(child, told, ended), name="store-watch", daemon=True).start()
    try:
        yield endpoint
    finally:
        told.set()
        stop(child)


def _watch(child: "subprocess.Popen[bytes]", told: threading.Event, ended: Callable[[int], None]) -> None:
    code = child.wait()
    if not told.is_set():
        ended(code)


def local_environment(endpoint: str | None) -> Mapping[str, str]:
    """What makes a plain AWS client talk to a local store; credentials that are set already are kept."""
    found = {name: os.environ.get(name, value) for name, value in DUMMY_CREDENTIALS.items()}
    return found | ({"AWS_ENDPOINT_URL_DYNAMODB": endpoint} if endpoint else {})


def create_tables(tables: tuple[Table, ...]) -> None:
    """Make the tables that aren't there yet, in the store that the environment points to."""
    client = boto3.client("dynamodb")
    present = set(client.list_tables()["TableNames"])
    for table in tables:
        if table.name in present:
            continue
        client.create_table(**table.definition)
        client.get_waiter("table_exists").wait(TableName=table.name, WaiterConfig={"Delay": 1})
        if table.ttl_attribute:
            client.update_time_to_live(
                TableName=table.name,
                TimeToLiveSpecification={"Enabled": True, "AttributeName": table.ttl_attribute},
            )
