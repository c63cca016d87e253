"""One command serves: the sample is loaded, the printed calls answer, and a signal ends it with its store."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from infra.local.events import HttpRequest, dev_token
from infra.local.gateway import Gateway
from infra.local.serve import ANA, OPERATOR, load_sample, sample_calls
from infra.local.template import TEMPLATE, Template

pytestmark = pytest.mark.integration


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple["subprocess.Popen[str]", str, Path]]:
    """A server of its own, its address, and the file that holds what it printed."""
    port = free_port()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "DYNAMODB_"))}
    printed = tmp_path / "printed"
    with printed.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "infra.local"],
            cwd=TEMPLATE.parent,
            env={**kept, "PORT": str(port), "HOPSCOPE_STORE": str(tmp_path / "store")},
            stdout=out,
            stderr=subprocess.STDOUT,
            text=True,
        )
    base = f"http://127.0.0.1:{port}"
    give_up = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < give_up:
        try:
            if httpx.get(f"{base}/health", timeout=2).status_code == 200:
                break
        except httpx.TransportError:
            time.sleep(0.05)
    try:
        assert process.poll() is None, printed.read_text()
        yield process, base, printed
    finally:
        process.kill()
        process.wait()


def calls(text: str) -> list[tuple[str, dict[str, str], str]]:
    """The curl commands of a text: address, headers, body."""
    found = []
    for command in re.findall(r"^curl .*?(?=^\s*$|\Z)", text, flags=re.MULTILINE | re.DOTALL):
        words = shlex.split(command)
        headers = dict(words[at + 1].split(": ", 1) for at, word in enumerate(words) if word == "-H")
        found.append((words[2], headers, words[words.index("-d") + 1]))
    return found


def test_the_printed_calls_answer_and_a_signal_ends_it(served: tuple["subprocess.Popen[str]", str, Path]) -> None:
    process, base, printed = served
    answers = [
        httpx.post(address, headers=headers, content=body, timeout=20)
        for address, headers, body in calls(printed.read_text())
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 200]
    expanded, sliced, traversed, recorded = (answer.json() for answer in answers)
    assert expanded["origins"] == ["decision-single-table"]
    distances = {found["id"]: found["distance"] for found in expanded["neighbors"]}
    assert distances["task-migrate"] == 1
    assert distances["task-backfill"] == 2
    assert [passage["passage_index"] for passage in sliced["passages"]] == [0, 1]
    assert traversed["entities"][0]["hops"] == 0
    assert "Order store" in {entity["name"] for entity in traversed["entities"]}
    assert (recorded["status"], recorded["record"]["name"]) == ("current", "One table for orders and their lines")
    readme = calls((TEMPLATE.parent / "README.md").read_text().replace("$TOKEN", dev_token(ANA)))
    assert [(body, headers) for _, headers, body in readme[:3]] == [
        (body, headers) for _, headers, body in calls(printed.read_text())[:3]
    ]
    address, headers, body = readme[3]
    again = httpx.post(address.replace("http://127.0.0.1:3000", base), headers=headers, content=body, timeout=20)
    assert again.json()["status"] == "current"
    assert json.loads(httpx.get(f"{base}/openapi.json").text)["openapi"].startswith("3.")

    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    assert "Stopped." in printed.read_text()
    assert (printed.parent / "store" / "dynamodb.json").exists()


def children_of(parent: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            if int(stat.read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(stat.parent.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds the store's process in /proc")
def test_a_store_that_ends_by_itself_ends_the_server(served: tuple["subprocess.Popen[str]", str, Path]) -> None:
    process, _, printed = served
    (store,) = children_of(process.pid)
    os.kill(store, signal.SIGKILL)
    assert process.wait(30) == 1
    assert "The embedded store ended by itself (exit code -9)" in printed.read_text()
    assert "Stopped." not in printed.read_text()


def test_a_sample_that_was_changed_stays_so(engine: str, template: Template) -> None:
    assert engine
    gateway = Gateway(template.routes())
    load_sample(gateway)
    bearer = ("authorization", f"Bearer {dev_token(OPERATOR)}")
    path = "/api/memories/decision-single-table"
    assert gateway.handle(HttpRequest(method="DELETE", path=path, headers=(bearer,))).status == 200
    load_sample(gateway)
    assert gateway.handle(HttpRequest(method="GET", path=path, headers=(bearer,))).status == 404
    assert [path for _, path, _ in sample_calls(gateway)] == [
        *("/api/search/expand", "/api/search/slice", "/api/search/traverse")
    ]


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("PORT={port}", "can't be used"),
        ("HOPSCOPE_STORE={store}", "Another server keeps its rows in"),
        ("PORT=many", "PORT must be a number, not 'many'."),
    ],
)
def test_a_second_server_says_what_is_in_its_way(
    served: tuple["subprocess.Popen[str]", str, Path], tmp_path: Path, setting: str, said: str
) -> None:
    _, base, printed = served
    name, _, value = setting.format(port=base.rpartition(":")[2], store=printed.parent / "store").partition("=")
    mine = {"PORT": str(free_port()), "HOPSCOPE_STORE": str(tmp_path / "mine"), name: value}
    done = subprocess.run(
        [sys.executable, "-m", "infra.local"],
        cwd=TEMPLATE.parent,
        env={**os.environ, **mine},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr
