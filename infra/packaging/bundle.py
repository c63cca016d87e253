"""Makes one function's bundle: locked wheels for the deployed platform, our code, bytecode, and nothing else.

Two builds of one revision are byte-identical. It must never take a wheel that the lock does not name.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from infra.local.template import TEMPLATE, Function, Template

ROOT = TEMPLATE.parent
RUNTIME = "3.13"
PLATFORMS = {"arm64": "aarch64-manylinux2014", "x86_64": "x86_64-manylinux2014"}
GROUPS = {"mcp": ("mcp",)}
"""Dependency groups that only these functions carry."""

_PARTLY_KEPT = {
    "botocore/data": {"dynamodb", "endpoints.json", "partitions.json", "sdk-default-configuration.json", "_retry.json"},
    "boto3/data": {"dynamodb"},
    "aws_lambda_powertools/utilities": {"__init__.py", "data_classes", "jmespath_utils", "typing"},
}
_UNUSED = (
    *("bin", ".lock", "aws_lambda_powertools/event_handler", "pydantic/v1", "dateutil/zoneinfo", "boto3/examples"),
    # What the MCP SDK needs as a client, to sign, or to be built; its server imports none of it.
    *("attr", "attrs", "cffi", "httpcore2", "jsonschema", "jsonschema_specifications", "jwt", "pycparser"),
    *("referencing", "rpds", "h11", "uvicorn/protocols", "uvicorn/supervisors", "anyio/_backends/_trio.py"),
    *("urllib3/contrib/emscripten", "cryptography/x509", "pydantic/mypy.py", "anyio/pytest_plugin.py"),
    *("mcp/client/auth", "mcp/cli", "click/shell_completion.py", "s3transfer/processpool.py", "truststore/_macos.py"),
    *("click/testing.py", "starlette/testclient.py", "dateutil/rrule.py", "httpx2/_main.py"),
)
_OURS = ("functions", "shared")
_DIST_INFO = {"METADATA", "entry_points.txt"}
# 1980-01-02, the first day that a zip can hold in every time zone.
_EPOCH = 315_619_200


_BESIDE = Path(sys.executable).with_name("uv")
# The lock alone decides what is installed, whatever a machine's own settings say.
_UV = (str(_BESIDE) if _BESIDE.exists() else "uv", "--quiet", "--no-config")


class NoRuntimeError(RuntimeError):
    """There is no interpreter of the deployed version to compile bytecode with."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """What goes into one function's folder."""

    function: Function
    architecture: str = "arm64"

    def build(self, target: Path) -> None:
        """Fill `target`, which may exist and must be empty."""
        target.mkdir(parents=True, exist_ok=True)
        self._install(target)
        _prune(target)
        ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
        shutil.copytree(ROOT / "shared", target / "shared", ignore=ignored)
        (target / "functions").mkdir()
        shutil.copy(ROOT / "functions/__init__.py", target / "functions")
        shutil.copytree(
            ROOT / "functions" / self.function.name, target / "functions" / self.function.name, ignore=ignored
        )
        _compile(target)
        for path in (target, *target.rglob("*")):
            os.utime(path, (_EPOCH, _EPOCH))

    def _install(self, target: Path) -> None:
        groups = [part for group in GROUPS.get(self.function.name, ()) for part in ("--group", group)]
        with tempfile.TemporaryDirectory() as folder:
            requirements = Path(folder, "requirements.txt")
            _uv("export", "--frozen", "--no-default-groups", *groups, "--output-file", str(requirements))
            _uv(
                *("pip", "install", "--no-deps", "--only-binary", ":all:", "--require-hashes"),
                *("--python-platform", PLATFORMS[self.architecture], "--python-version", RUNTIME),
                *("--target", str(target), "--requirement", str(requirements)),
            )


def _uv(*arguments: str) -> None:
    subprocess.run([*_UV, *arguments], cwd=ROOT, check=True)


def _unwanted(target: Path) -> Iterator[Path]:
    yield from (target / name for name in _UNUSED)
    for folder, kept in _PARTLY_KEPT.items():
        yield from (path for path in (target / folder).iterdir() if path.name not in kept)
    for info in target.glob("*.dist-info"):
        yield from (path for path in info.iterdir() if path.name not in _DIST_INFO)
    yield from target.rglob("*.pyi")
    yield from target.rglob("__pycache__")


def _prune(target: Path) -> None:
    """Drop other services' data, unused parts and installers' notes: most of what the wheels hold."""
    for path in list(_unwanted(target)):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    for metadata in target.glob("*.dist-info/METADATA"):
        headers, _, _readme = metadata.read_text(encoding="utf-8").partition("\n\n")
        metadata.write_text(f"{headers}\n\n", encoding="utf-8")


def runtime_python() -> Path:
    """An interpreter of the deployed version, on this machine."""
    # Where pyenv's shim is first on the path it runs only the version that it is told to.
    environment = {**os.environ, "PYENV_VERSION": RUNTIME}
    script = "import sys; print('%d.%d' % sys.version_info[:2], sys.executable)"
    for name in filter(None, map(shutil.which, (sys.executable, f"python{RUNTIME}"))):
        asked = subprocess.run([name, "-c", script], env=environment, capture_output=True, text=True, check=False)
        version, _, path = asked.stdout.strip().partition(" ")
        if version == RUNTIME:
            return Path(path)
    raise NoRuntimeError(f"Python {RUNTIME} is needed to compile bytecode")


def _compile(target: Path) -> None:
    """Bytecode beside our sources, and in place of the sources of the wheels.

    `/var/task` cannot be written to: without bytecode every cold start compiles anew. Its hash is not checked there,
    since nothing can change the source, and file times mean nothing in a bundle.
    """
    compiler = [str(runtime_python()), "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
    compiler += ["-s", str(target), "-p", "/var/task"]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    ours = [target / name for name in _OURS]
    subprocess.run([*compiler, *ours], check=True, env=environment)
    theirs = [path for path in target.iterdir() if path not in ours]
    subprocess.run([*compiler, "-b", *theirs], check=True, env=environment)
    for part in theirs:
        for source in part.rglob("*.py") if part.is_dir() else (part,):
            if source.with_suffix(".pyc").exists():
                source.unlink()


def main() -> None:
    logical_id, target = sys.argv[1:]
    function = Template.load().functions()[logical_id]
    Bundle(function, os.environ.get("ARCHITECTURE", "arm64")).build(Path(target))


if __name__ == "__main__":
    main()
