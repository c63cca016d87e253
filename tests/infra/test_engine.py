"""The embedded store keeps its rows, stays on the loopback interface, and never outlives its parent."""

import os
import subprocess
import sys
import time
from pathlib import Path

import boto3
import pytest

from infra.local.engine import DUMMY_CREDENTIALS, create_tables, embedded_store
from infra.local.template import TEMPLATE, Template

pytestmark = pytest.mark.integration

ROW = {"PK": {"S": "N#1"}, "SK": {"S": "K"}}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in DUMMY_CREDENTIALS.items():
        monkeypatch.setenv(name, value)


def test_rows_are_there_after_a_restart(tmp_path: Path, template: Template, monkeypatch: pytest.MonkeyPatch) -> None:
    table = template.tables()[0]
    for attempt in range(2):
        with embedded_store(tmp_path / "store") as endpoint:
            assert endpoint.startswith("http://127.0.0.1:")
            monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", endpoint)
            create_tables(template.tables())
            client = boto3.client("dynamodb")
            found = client.get_item(TableName=table.name, Key=ROW, ConsistentRead=True).get("Item")
            assert found == (ROW if attempt else None)
            client.put_item(TableName=table.name, Item=ROW)


_PARENT = """
import sys, time
from pathlib import Path
from infra.local.engine import _start
child, endpoint = _start(Path(sys.argv[1]))
print(child.pid, endpoint, flush=True)
time.sleep(60)
"""


def test_a_killed_parent_takes_its_store_along_and_loses_nothing(
    tmp_path: Path, template: Template, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = subprocess.Popen([sys.executable, "-c", _PARENT, tmp_path], cwd=TEMPLATE.parent, stdout=subprocess.PIPE)
    assert parent.stdout
    pid, endpoint = parent.stdout.readline().decode().split()
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", endpoint)
    create_tables(template.tables())
    boto3.client("dynamodb").put_item(TableName=template.tables()[0].name, Item=ROW)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    give_up = time.monotonic() + 15
    while _is_running(int(pid)) and time.monotonic() < give_up:
        time.sleep(0.05)
    assert not _is_running(int(pid))
    assert (tmp_path / "dynamodb.json").exists()


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # An orphan that nobody has reaped yet has ended all the same.
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"
