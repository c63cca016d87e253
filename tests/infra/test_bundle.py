"""Bundles as deployed: each handler imports from its own alone, they are small, and two builds are one."""

import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from infra.events.make import events
from infra.local.serve import Options, running
from infra.local.template import TEMPLATE, Function, Template
from infra.packaging import bundle
from infra.packaging.bundle import Bundle, NoRuntimeError, runtime_python
from shared.boundary.settings import settings
from shared.runtime import connected

pytestmark = pytest.mark.long

MB = 1_000_000
HERE = "arm64" if platform.machine() in {"aarch64", "arm64"} else "x86_64"
STATUS = {"edges": 404, "purge": 404}
"""What the events of infra/events are answered over the sample; 200 where nothing is said."""

_INVOKE = """
import json, sys
sys.path.insert(0, {bundle!r})

class Context:
    def get_remaining_time_in_millis(self):
        return 29_000

import {module} as deployed
answers = [deployed.{attribute}(event, Context()) for event in json.load(sys.stdin)]
loaded = {{name: getattr(module, "__file__", None) or "" for name, module in sys.modules.items()}}
outside = [name for name, path in loaded.items() if "site-packages" in path]
assert not outside, outside
print("\\n" + json.dumps(answers))
"""


@pytest.fixture(scope="module", autouse=True)
def _runtime() -> None:
    try:
        runtime_python()
    except NoRuntimeError as absent:
        pytest.skip(str(absent))


def built() -> dict[str, Function]:
    """The functions that have a handler."""
    return {function.name: function for function in Template.load().functions().values()}


def zipped(folder: Path, target: Path) -> int:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, path.relative_to(folder))
    return target.stat().st_size


def digest(folder: Path) -> str:
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        whole.update(f"{path.relative_to(folder)} {path.stat().st_mtime_ns}\n".encode())
        whole.update(path.read_bytes() if path.is_file() else b"")
    return whole.hexdigest()


@pytest.fixture(scope="module")
def environment() -> Iterator[dict[str, str]]:
    """What a function is given, with a store that has the sample."""
    options = Options(store=Path(tempfile.mkdtemp()))
    before = dict(os.environ)
    for name in [known for known in os.environ if known.startswith("AWS_")]:
        del os.environ[name]
    _forget()
    with running(options):
        yield {**Template.load().environment(), **{k: v for k, v in os.environ.items() if k.startswith("AWS_")}}
    os.environ.clear()
    os.environ.update(before)
    _forget()


def _forget() -> None:
    settings.cache_clear()
    connected.cache_clear()


def invoked(function: Function, environment: Mapping[str, str], folder: Path, *events: Any) -> list[Any]:
    """The answers of a handler that has nothing but its bundle and the standard library."""
    Bundle(function, HERE).build(folder)
    module, _, attribute = function.handler.rpartition(".")
    script = _INVOKE.format(bundle=str(folder), module=module, attribute=attribute)
    ended = subprocess.run(
        [runtime_python(), "-I", "-S", "-c", script],
        env=dict(environment),
        input=json.dumps(events),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    answers: list[Any] = json.loads(ended.stdout.splitlines()[-1])
    return answers


@pytest.mark.parametrize("name", sorted(built()))
def test_a_handler_answers_from_its_bundle(name: str, environment: dict[str, str], tmp_path: Path) -> None:
    event = json.loads(Path(TEMPLATE.parent, f"infra/events/{name}.json").read_text(encoding="utf-8"))
    (answer,) = invoked(built()[name], environment, tmp_path / "bundle", event)
    if name == "sweep":
        assert answer["remaining"] == 0
    else:
        assert answer["statusCode"] == STATUS.get(name, 200), answer


def test_both_eras_of_the_protocol_call_a_tool_from_the_bundle(environment: dict[str, str], tmp_path: Path) -> None:
    event = json.loads(Path(TEMPLATE.parent, "infra/events/mcp.json").read_text(encoding="utf-8"))
    call = {"name": "expand_neighbors", "arguments": {"entity_ids": ["decision-single-table"]}}
    start = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    named = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "expand_neighbors"}
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }

    def message(method: str, params: Mapping[str, Any], headers: Mapping[str, str]) -> dict[str, Any]:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        return {**event, "headers": {**event["headers"], **headers}, "body": body, "isBase64Encoded": False}

    shaken, legacy, modern, unknown = (
        json.loads(answer["body"])
        for answer in invoked(
            built()["mcp"],
            environment,
            tmp_path / "bundle",
            message("initialize", start, {}),
            message("tools/call", call, {"mcp-protocol-version": "2025-06-18"}),
            message("tools/call", {**call, "_meta": meta}, named),
            message("tools/call", {**call, "name": "none"}, {}),
        )
    )
    assert shaken["result"]["protocolVersion"] == "2025-11-25"
    assert legacy["result"]["structuredContent"]["origins"]
    assert modern["result"]["structuredContent"] == legacy["result"]["structuredContent"]
    assert modern["result"]["resultType"] == "complete"
    assert unknown["error"]["code"] == -32602


@pytest.mark.parametrize(("name", "most"), [*((name, 6) for name in sorted(built()) if name != "mcp"), ("mcp", 8)])
def test_a_bundle_is_small(name: str, most: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Bundle(built()[name], "arm64").build(tmp_path / "bundle")
    size = zipped(tmp_path / "bundle", tmp_path / "bundle.zip")
    with capsys.disabled():
        sys.stdout.write(f"\n{name}: {size / MB:.2f} MB zipped\n")
    assert size <= most * MB


@pytest.mark.parametrize("name", ["meta", "mcp"])
def test_two_builds_are_byte_identical(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digests = set()
    for attempt in ("a", "b"):
        monkeypatch.setattr(bundle, "LIBRARIES", tmp_path / f"libraries-{attempt}")
        Bundle(built()[name], "arm64").build(tmp_path / attempt)
        digests.add(digest(tmp_path / attempt))
    assert len(digests) == 1


def test_a_bundle_is_compiled_and_has_no_other_services_data(tmp_path: Path) -> None:
    Bundle(built()["mcp"], "arm64").build(tmp_path)
    ours = [path for part in ("functions", "shared") for path in (tmp_path / part).rglob("*.py")]
    assert ours
    assert all((path.parent / "__pycache__" / f"{path.stem}.cpython-313.pyc").exists() for path in ours)
    assert {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*.py")} == {"functions", "shared"}
    services = {path.name for path in (tmp_path / "botocore/data").iterdir() if path.is_dir()}
    assert services == {"dynamodb"}


def test_the_events_are_those_that_the_gateway_makes() -> None:
    found = {name: Path(TEMPLATE.parent, "infra/events", name).read_text(encoding="utf-8") for name in events()}
    assert found == events()
    assert {name.removesuffix(".json") for name in found} == set(built())


def test_a_bundle_holds_wheels_of_the_deployed_platform(tmp_path: Path) -> None:
    Bundle(built()["meta"], "arm64").build(tmp_path)
    (library,) = tmp_path.glob("pydantic_core/*.so")
    assert "cpython-313-aarch64" in library.name
