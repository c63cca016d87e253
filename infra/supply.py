"""What is shipped besides our own code, as the lock has it: a bill of materials, and the licences with their page.

    python -m infra.supply sbom PATH      CycloneDX, the same bytes for the same lock
    python -m infra.supply licences       writes docs/licences.md

It reads the lock and the installed packages' own words; it never asks a registry.
"""

import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from infra.local.template import TEMPLATE

ROOT = TEMPLATE.parent
PAGE = ROOT / "docs/licences.md"
ALLOWED = frozenset(
    {"Apache-2.0", "MIT", "MIT-0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "PSF-2.0", "MPL-2.0", "Unlicense"}
)
"""Licences that may be shipped with a closed or open product, unchanged and with their notices."""

_EXPRESSIONS = {
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "Apache-2.0 OR BSD-3-Clause": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "Dual License": "Apache-2.0",
    "MIT License": "MIT",
    "MIT No Attribution": "MIT-0",
    "MIT-0 License": "MIT-0",
}
"""Older ways of saying it; of a choice the one that is taken."""

_HEAD = """# Licences of what is shipped

Made by `make licences` from the lock; a test fails when it is behind. Wheels are shipped with their licence texts.

| package | version | licence |
|---|---|---|
"""
_BESIDE = Path(sys.executable).with_name("uv")
_UV = (str(_BESIDE) if _BESIDE.exists() else "uv", "--quiet", "--no-config")
_NOT_DEPLOYED = ("emscripten", "win32")
"""Words of markers of packages that no function can load."""


def bill() -> dict[str, Any]:
    """The bill of materials of all functions: CycloneDX, without the moment and the serial number of its making."""
    command = (*_UV, "export", "--frozen", "--no-dev", "--group", "mcp", "--format", "cyclonedx1.5")
    made = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(made.stdout)
    found.pop("serialNumber", None)
    found["metadata"].pop("timestamp", None)
    found["metadata"].pop("tools", None)
    found["components"] = [one for one in found["components"] if not _is_elsewhere(one)]
    return found


def _is_elsewhere(component: dict[str, Any]) -> bool:
    said = [one["value"] for one in component.get("properties", ()) if one["name"] == "uv:package:marker"]
    return any(word in value and "!=" not in value for value in said for word in _NOT_DEPLOYED)


def shipped() -> list[tuple[str, str]]:
    """Names and versions of what is shipped, in the order of names."""
    return sorted((one["name"], one["version"]) for one in bill()["components"])


def licence_of(package: str) -> str:
    """The SPDX expression of an installed package, or its own words where it has none; "" when it is not installed."""
    try:
        said = distribution(package).metadata
    except PackageNotFoundError:
        return ""
    classified = [one.rpartition(" :: ")[2] for one in said.get_all("Classifier") or () if one.startswith("License ::")]
    told = [*(said.get_all("License-Expression") or ()), *(said.get_all("License") or ()), *classified]
    words = next((line.strip() for text in told for line in text.splitlines()), "")
    return _EXPRESSIONS.get(words, words)


def listed() -> list[tuple[str, str, str]]:
    """The rows of the page as it is."""
    rows = [line.strip("| \n").split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines()[6:]]
    return [(name, version, licence) for name, version, licence in rows]


def _write_licences() -> None:
    rows = [f"| {name} | {version} | {licence_of(name)} |\n" for name, version in shipped()]
    PAGE.write_text(_HEAD + "".join(rows), encoding="utf-8")


def main(arguments: list[str]) -> None:
    match arguments:
        case ["sbom", path]:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(json.dumps(bill(), indent=2, sort_keys=True) + "\n", encoding="utf-8")
        case ["licences"]:
            _write_licences()
        case _:
            sys.exit("usage: python -m infra.supply sbom PATH | licences")


if __name__ == "__main__":
    main(sys.argv[1:])
