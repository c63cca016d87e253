"""Bundles as deployed: each handler imports from its own alone, they are small, and two builds are one."""

import hashlib
import platform
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from infra.local.template import Function, Template
from infra.packaging.bundle import Bundle, NoRuntimeError, runtime_python

pytestmark = pytest.mark.long

MB = 1_000_000
HERE = {"aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), "x86_64")
_IMPORT = """
import sys
sys.path.insert(0, {bundle!r})
import {module}
outside = [name for name, module in sys.modules.items()
           if "site-packages" in (getattr(module, "__file__", None) or "")]
assert not outside, outside
assert callable({module}.{attribute})
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


@pytest.mark.parametrize("name", sorted(built()))
def test_a_handler_imports_from_its_bundle(name: str, tmp_path: Path) -> None:
    function = built()[name]
    Bundle(function, HERE).build(tmp_path)
    module, _, attribute = function.handler.rpartition(".")
    script = _IMPORT.format(bundle=str(tmp_path), module=module, attribute=attribute)
    environment = {"TABLE_NAME": "t", "AWS_DEFAULT_REGION": "us-east-1"}
    ended = subprocess.run(
        [runtime_python(), "-I", "-S", "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize(("name", "most"), [("memories", 6), ("mcp", 12)])
def test_a_bundle_is_small(name: str, most: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Bundle(built()[name], "arm64").build(tmp_path / "bundle")
    size = zipped(tmp_path / "bundle", tmp_path / "bundle.zip")
    with capsys.disabled():
        sys.stdout.write(f"\n{name}: {size / MB:.2f} MB zipped\n")
    assert size <= most * MB


def test_two_builds_are_byte_identical(tmp_path: Path) -> None:
    function = built()["meta"]
    digests = set()
    for attempt in ("a", "b"):
        Bundle(function, "arm64").build(tmp_path / attempt)
        digests.add(digest(tmp_path / attempt))
    assert len(digests) == 1


def test_a_bundle_holds_wheels_of_the_deployed_platform(tmp_path: Path) -> None:
    Bundle(built()["meta"], "arm64").build(tmp_path)
    (library,) = tmp_path.glob("pydantic_core/*.so")
    assert "cpython-313-aarch64" in library.name
