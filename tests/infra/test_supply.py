"""What is shipped is locked by hashes, listed with licences that allow it, and told in a bill of materials."""

import json
import tomllib
from pathlib import Path

from infra.supply import ALLOWED, ROOT, licence_of, listed, main, shipped


def test_every_locked_package_has_hashes() -> None:
    locked = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))["package"]
    files = {one["name"]: [*one.get("wheels", ()), *([one["sdist"]] if "sdist" in one else ())] for one in locked}
    bare = [name for name, found in files.items() if not found or not all("hash" in file for file in found)]
    assert bare == ["hopscope"]


def test_the_licences_page_is_current() -> None:
    assert [(name, version) for name, version, _ in listed()] == shipped()


def test_every_licence_allows_shipping() -> None:
    assert {name: licence for name, _, licence in listed() if licence not in ALLOWED} == {}
    installed = {name: licence_of(name) for name, _, _ in listed()}
    assert {name: said for name, said in installed.items() if said and said not in ALLOWED} == {}


def test_the_bill_of_materials_is_whole_and_repeatable(tmp_path: Path) -> None:
    for name in ("one.json", "two.json"):
        main(["sbom", str(tmp_path / name)])
    text = (tmp_path / "one.json").read_text(encoding="utf-8")
    assert text == (tmp_path / "two.json").read_text(encoding="utf-8")
    bill = json.loads(text)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    names = {one["name"] for one in bill["components"]}
    assert {"boto3", "pydantic", "mcp", "rfc8785"} <= names
    assert not {"pytest", "moto", "ministack"} & names
    hashed = [file.get("hashes") for one in bill["components"] for file in one["externalReferences"]]
    assert hashed
    assert all(hashed)
