"""Makes one function's bundle: locked wheels for the deployed platform, our code, bytecode, and nothing else.

Two builds of one revision are byte-identical. It must never take a wheel that the lock does not name.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from infra.local.template import TEMPLATE, Function, Template

ROOT = TEMPLATE.parent
LIBRARIES = ROOT / ".aws-sam/libraries"
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
    *("attr", "attrs", "cffi", "_cffi_backend*.so", "httpcore2", "jsonschema", "jsonschema_specifications", "jwt"),
    *("pycparser", "referencing", "rpds", "h11", "uvicorn/protocols", "uvicorn/supervisors"),
    *("anyio/_backends/_trio.py",),
    *("urllib3/contrib/emscripten", "pydantic/mypy.py", "anyio/pytest_plugin.py"),
    *("mcp/client/auth", "mcp/cli", "click/shell_completion.py", "s3transfer/processpool.py", "truststore/_macos.py"),
    *("click/testing.py", "starlette/testclient.py", "dateutil/rrule.py", "httpx2/_main.py"),
)
_REPLACED = {
    # The MCP SDK imports it to seal the state of calls of several rounds, which no tool here has: 40 % of the bundle.
    "cryptography": (
        *("__init__", "exceptions", "hazmat/__init__", "hazmat/primitives/__init__", "hazmat/primitives/hashes"),
        *("hazmat/primitives/ciphers/__init__", "hazmat/primitives/ciphers/aead"),
        *("hazmat/primitives/kdf/__init__", "hazmat/primitives/kdf/hkdf"),
    ),
}
"""Libraries that are imported and never used, and their modules that stand-ins replace."""
_OURS = ("functions", "shared")
_DIST_INFO = {"METADATA", "entry_points.txt"}
# 1980-01-02, the first day that a zip can hold in every time zone.
_EPOCH = 315_619_200
_HERE = Path(__file__).parent


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
        shutil.copytree(self._libraries(), target, dirs_exist_ok=True)
        ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
        shutil.copytree(ROOT / "shared", target / "shared", ignore=ignored)
        (target / "functions").mkdir()
        shutil.copy(ROOT / "functions/__init__.py", target / "functions")
        shutil.copytree(
            ROOT / "functions" / self.function.name, target / "functions" / self.function.name, ignore=ignored
        )
        _compile(target, [target / name for name in _OURS])
        for path in (target, *target.rglob("*")):
            os.utime(path, (_EPOCH, _EPOCH))

    def _libraries(self) -> Path:
        """A folder with the wheels, pruned and compiled; made once for all functions that have the same."""
        groups = GROUPS.get(self.function.name, ())
        made_from = ((ROOT / "uv.lock").read_bytes(), *(path.read_bytes() for path in sorted(_HERE.glob("*.py"))))
        digest = hashlib.sha256(b"".join(made_from)).hexdigest()[:16]
        ready = LIBRARIES / "-".join((digest, self.architecture, *groups))
        if not ready.exists():
            LIBRARIES.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=LIBRARIES) as folder:
                made = Path(folder, "made")
                self._install(made, groups)
                _prune(made)
                _compile_in_place(made)
                with suppress(OSError):  # another build was first
                    made.rename(ready)
        return ready

    def _install(self, target: Path, groups: Sequence[str]) -> None:
        chosen = [part for group in groups for part in ("--group", group)]
        with tempfile.TemporaryDirectory() as folder:
            requirements = Path(folder, "requirements.txt")
            _uv(
                *("export", "--frozen", "--no-emit-project", "--no-default-groups", *chosen),
                *("--output-file", str(requirements)),
            )
            _uv(
                *("pip", "install", "--no-deps", "--only-binary", ":all:", "--require-hashes"),
                *("--python-platform", PLATFORMS[self.architecture], "--python-version", RUNTIME),
                *("--target", str(target), "--requirement", str(requirements)),
            )


def _uv(*arguments: str) -> None:
    subprocess.run([*_UV, *arguments], cwd=ROOT, check=True)


def _unwanted(target: Path) -> Iterator[Path]:
    for name in _UNUSED:
        yield from target.glob(name)
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
    for name, modules in _REPLACED.items():
        if (target / name).exists():
            shutil.rmtree(target / name)
            for module in modules:
                path = target / name / f"{module}.py"
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(_HERE / "stand_in.py", path)
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


def _compile(root: Path, parts: Sequence[Path], *options: str) -> None:
    """Bytecode beside the sources of `parts`.

    `/var/task` cannot be written to: without bytecode every cold start compiles anew. Its hash is not checked there,
    since nothing can change the source, and file times mean nothing in a bundle.
    """
    compiler = [str(runtime_python()), "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
    compiler += ["-s", str(root), "-p", "/var/task", *options]
    subprocess.run([*compiler, *parts], check=True, env={**os.environ, "PYTHONHASHSEED": "0"})


def _compile_in_place(root: Path) -> None:
    """Bytecode instead of the sources: nobody debugs a library in a bundle."""
    _compile(root, list(root.iterdir()), "-b")
    for source in list(root.rglob("*.py")):
        if source.with_suffix(".pyc").exists():
            source.unlink()


def main() -> None:
    logical_id, target = sys.argv[1:]
    function = Template.load().functions()[logical_id]
    Bundle(function, os.environ.get("ARCHITECTURE", "arm64")).build(Path(target))


if __name__ == "__main__":
    main()
