"""Seven hundred real documents through the real handlers; what is expected is computed from the file alone."""

import gzip
import json
import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from typing import Any

import pytest

from infra.importer import import_file
from infra.local.gateway import Gateway
from infra.local.template import TEMPLATE, Template
from tests.conftest import Caller
from tests.rights import Watch

FILE = TEMPLATE.parents[1] / "shared/data/peps.jsonl.gz"
NDJSON = "application/x-ndjson"
WEIGHTS = {"REFERENCES": 0.86, "DEPENDS_ON": 0.98, "SUPERSEDES": 0.95, "MENTIONS": 0.58}
READERS = ("ana", "ben")
COVERED = 50_000
"""Characters that one slice returns at most."""

pytestmark = [
    pytest.mark.long,
    pytest.mark.needs_concurrency,
    pytest.mark.skipif(not FILE.exists(), reason=f"needs {FILE}"),
]


@dataclass
class Peps:
    """The file, in a tenant of its own."""

    call: Caller
    lines: list[dict[str, Any]]
    tenant: str = field(default_factory=lambda: f"t-{uuid.uuid4().hex[:12]}")

    def claims(self, who: str, *roles: str) -> dict[str, Any]:
        return {"sub": who, "tenant_id": self.tenant, "roles": roles or ["reader"], "agents": ["editor"]}

    def ask(self, who: str, verb: str, **fields: Any) -> Any:
        reply = self.call("POST", f"/api/search/{verb}", self.claims(who), fields)
        assert reply.status == 200, reply
        return reply.body

    def load(self, text: bytes) -> Mapping[str, Any]:
        admin = self.claims("root", "writer", "admin")

        def send(body: bytes) -> Any:
            reply = self.call("POST", "/api/import", admin, body, content_type=NDJSON)
            assert reply.status == 200, reply
            return reply.body

        return import_file(BytesIO(text), send, lambda *_: None).as_json()

    def export(self) -> str:
        pages = []
        query: dict[str, str] = {}
        while True:
            reply = self.call("GET", "/api/export", self.claims("root", "admin"), query=query)
            assert reply.status == 200, reply
            pages.append(reply.body)
            if "x-next-cursor" not in reply.headers:
                return "".join(pages)
            query = {"cursor": reply.headers["x-next-cursor"]}

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["kind"] == kind]

    @cached_property
    def memories(self) -> dict[str, dict[str, Any]]:
        return {line["id"]: line for line in self.of("memory")}

    def readable(self, who: str) -> set[str]:
        member = {line["project_id"] for line in self.of("membership") if line["principal_id"] == who}

        def may(line: Mapping[str, Any]) -> bool:
            match line["scope"]:
                case "organization":
                    return True
                case "project":
                    return line["project_id"] in member
                case "private":
                    return bool(line["owner"] == who)
            raise AssertionError(line["scope"])

        return {memory_id for memory_id, line in self.memories.items() if may(line)}

    def ways(self) -> dict[str, set[tuple[float, str, int, str]]]:
        """From each node: weight, relationship, 0 for outgoing or 1 for incoming, and where it leads."""
        found: dict[str, set[tuple[float, str, int, str]]] = defaultdict(set)
        mentions = [(ref, "MENTIONS", f"~{line['name']}") for line in self.of("entity") for ref in line["mentions"]]
        stored = [(line["source"], line["relationship"], line["target"]) for line in self.of("edge")]
        for source, relationship, target in [*stored, *mentions]:
            weight = WEIGHTS[relationship]
            if relationship != "SUPERSEDES":
                found[source].add((-weight, relationship, 0, target))
            found[target].add((-weight, relationship, 1, source))
        return found

    def around(self, seed: str, depth: int, who: str) -> list[tuple[str, str, str, int, float]]:
        """All documents within `depth` hops, best first. Passages lead nowhere new, and bounds are not known here."""
        active = {ref for ref in self.readable(who) if self.memories[ref].get("state", "active") == "active"}
        ways, reached, frontier, found = self.ways(), {seed}, [seed], []
        for distance in range(1, depth + 1):
            rows = sorted((way[:3], way[3]) for near in frontier for way in ways[near])
            frontier = []
            for (negative, relationship, incoming), node in rows:
                if node in reached or not (node in active or node.startswith("~")):
                    continue
                reached.add(node)
                frontier.append(node)
                if node in active:
                    direction = "incoming" if incoming else "outgoing"
                    found.append((node, relationship, direction, distance, -negative * 0.72 ** (distance - 1)))
        return sorted(found, key=lambda one: (-one[4], one[3], one[0]))


@pytest.fixture(scope="module")
def text() -> bytes:
    return gzip.decompress(FILE.read_bytes())


@pytest.fixture(scope="module")
def call(watch: Watch, template: Template) -> Caller:
    return Caller(Gateway(template.routes()), watch)


@pytest.fixture(scope="module")
def peps(call: Caller, text: bytes) -> Peps:
    """Imported with nothing rejected; edges that stand in the file twice count once."""
    found = Peps(call, [json.loads(line) for line in text.splitlines()])
    edges = found.of("edge")
    twice = len(edges) - len({(line["source"], line["relationship"], line["target"]) for line in edges})
    applied = len(found.lines) - twice
    assert found.load(text) == {"applied": applied, "unchanged": twice, "rejected": 0, "errors": []}
    return found


def test_a_second_import_changes_nothing(peps: Peps, text: bytes) -> None:
    total = len(peps.lines)
    assert peps.load(text) == {"applied": 0, "unchanged": total, "rejected": 0, "errors": []}


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_what_surrounds_pep_484_is_another_thing_for_each_reader(peps: Peps, depth: int) -> None:
    answers = {}
    for who in READERS:
        asked = {"entity_ids": ["pep-0484"], "depth": depth, "limit": 24, "types": ["document"]}
        answer = peps.ask(who, "expand", **asked)
        fields = ("id", "relationship", "direction", "distance", "score")
        answers[who] = [tuple(found[name] for name in fields) for found in answer["neighbors"]]
        expected = peps.around("pep-0484", depth, who)
        assert answers[who] == expected[:24]
        assert answer["truncated"] == (len(expected) > 24 or "bounded_by" in answer["filters"])
    assert answers["ana"] != answers["ben"]


def windows(peps: Peps, who: str, memory_id: str) -> Iterator[dict[str, Any]]:
    """Slices from the beginning to the end, none of them cut: 24 passages are within 50,000 characters."""
    asked = memory_id
    while True:
        answer = peps.ask(who, "slice", entity_id=asked, window=24, content_max_chars=COVERED)
        yield answer
        if not answer["sliced"] or answer["window_start"] + answer["total"] == answer["passage_total"]:
            return
        asked = answer["passages"][-1]["id"]


def test_slices_give_every_body_back(peps: Peps) -> None:
    cut = 0
    for memory_id, line in peps.memories.items():
        pieces: dict[int | None, str] = {}
        answer: dict[str, Any] = {}
        for answer in windows(peps, line["owner"], memory_id):
            assert not any(passage["truncated"] for passage in answer["passages"])
            pieces |= {passage["passage_index"]: passage["content"] for passage in answer["passages"]}
        assert "".join(pieces.values()) == line["content"], memory_id
        assert answer["sliced"] == (len(line["content"]) > 2_000)
        total = answer["passage_total"] or 1
        assert len(pieces) == total
        cut += answer["sliced"]
        if total <= 64:
            whole = peps.ask(line["owner"], "slice", entity_id=memory_id, window=64, content_max_chars=COVERED)
            assert (whole["covers_parent"], whole["content_chars"]) == (True, len(line["content"])), memory_id
    assert cut > 600


def test_documents_of_others_are_not_found(peps: Peps) -> None:
    for who in READERS:
        hidden = peps.memories.keys() - peps.readable(who)
        assert hidden
        for memory_id in sorted(hidden)[:20]:
            reply = peps.call("POST", "/api/search/slice", peps.claims(who), {"entity_id": memory_id})
            assert reply.status == 404


def test_an_author_by_alias_has_the_documents_that_one_may_read(peps: Peps) -> None:
    relations = peps.of("relation")
    differing = 0
    for author in peps.of("entity"):
        stated = [line for line in relations if author["name"] in (line["subject"], line["object"])]
        if not author["aliases"] or not stated:
            continue
        answers = []
        for who in READERS:
            asked = {"agent_id": "editor", "entity": author["aliases"][0], "limit": 100}
            answer = peps.ask(who, "traverse", **asked)
            readable = peps.readable(who)
            start = answer["entities"][0]
            names = {found["id"]: found["name"] for found in answer["entities"]}
            assert start["name"] == author["name"]
            assert start.get("mentions", []) == sorted(readable & set(author["mentions"]))
            assert sorted(found["name"] for found in answer["entities"][1:]) == sorted(
                {line["subject"] if line["object"] == author["name"] else line["object"] for line in stated}
            )
            told = {
                (names[found["subject"]], found["predicate"], names[found["object"]], found.get("anchor_ref"))
                for found in answer["relations"]
            }
            wanted = {
                (r["subject"], r["predicate"], r["object"], r["anchor_ref"] if r["anchor_ref"] in readable else None)
                for r in stated
            }
            assert told == wanted
            answers.append(start.get("mentions", []))
        differing += answers[0] != answers[1]
    assert differing > 0


def test_an_export_reproduces_the_store(peps: Peps) -> None:
    exported = peps.export()
    copy = Peps(peps.call, peps.lines)
    done = copy.load(exported.encode())
    assert (done["applied"], done["rejected"]) == (len(exported.splitlines()), 0)
    assert copy.export() == exported
