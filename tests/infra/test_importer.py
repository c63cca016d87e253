"""How a file of any size becomes requests, and their answers one."""

import json
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import pytest

from infra import importer
from infra.importer import Chunk, chunks, import_file, plan
from tests.support.writing import link, ndjson, note


def sent_in(file: bytes) -> list[Chunk]:
    stream = BytesIO(file)
    return list(chunks(stream, plan(stream).places))


def kinds(chunk: Chunk) -> list[str]:
    return [json.loads(line)["kind"] for line in chunk.body.splitlines()]


def test_kinds_go_in_an_order_in_which_each_finds_what_it_names() -> None:
    relation = {"kind": "relation", "agent_id": "x", "subject": "A", "predicate": "is", "object": "B"}
    lines = [
        relation,
        link("a", "b"),
        note("a"),
        {"kind": "membership", "principal_id": "ann", "project_id": "p"},
        note("b"),
        {"kind": "entity", "agent_id": "x", "name": "A"},
    ]
    sent = sent_in(ndjson(*lines))
    assert [kinds(chunk) for chunk in sent] == [
        ["membership"],
        ["memory", "memory"],
        ["entity"],
        ["edge"],
        ["relation"],
    ]
    assert [chunk.numbers for chunk in sent] == [(4,), (3, 5), (6,), (2,), (1,)]


def test_lines_that_others_replace_stay_behind() -> None:
    planned = plan(BytesIO(ndjson(note("a"), link("a", "a"), note("a", name="Last"), link("a", "a", weight=0.5))))
    assert sorted(planned.overtaken) == [1, 2]
    assert [place.number for place in planned.places] == [3, 4]


def test_bodies_are_bounded_and_a_long_line_goes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "CHUNK_BYTES", 300)
    monkeypatch.setattr(importer, "CHUNK_LINES", 3)
    sent = sent_in(ndjson(note("a"), note("b", content="x" * 1_000), *(note(f"n{number}") for number in range(4))))
    assert [chunk.numbers for chunk in sent] == [(1,), (2,), (3, 4, 5), (6,)]


def test_odd_line_ends_and_a_byte_order_mark() -> None:
    file = b"\xef\xbb\xbf" + ndjson(note("a")) + b"\r\n\r\n  \n" + ndjson(note("b"))
    (chunk,) = sent_in(file)
    assert chunk.numbers == (1, 4)
    assert [json.loads(line)["id"] for line in chunk.body.splitlines()] == ["a", "b"]


def test_answers_become_one_with_the_files_own_line_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "MAX_LINE_BYTES", 500)
    file = ndjson(link("a", "ghost"), note("a"), {"kind": "wonder"}, note("a"), note("long", content="x" * 1_000))

    def answer(body: bytes) -> Mapping[str, Any]:
        (line,) = [json.loads(text) for text in body.splitlines()]
        if line["kind"] == "memory":
            return {"applied": 1, "unchanged": 0, "rejected": 0, "errors": []}
        return {"applied": 0, "unchanged": 0, "rejected": 1, "errors": [{"line": 1, "reason": line["kind"]}]}

    told: list[tuple[int, int]] = []
    result = import_file(BytesIO(file), answer, lambda done, total: told.append((done, total)))
    assert result.as_json() == {
        "applied": 1,
        "unchanged": 1,
        "rejected": 3,
        "errors": [
            {"line": 1, "reason": "edge"},
            {"line": 3, "reason": "wonder"},
            {"line": 5, "reason": "is too long for a request"},
        ],
    }
    assert told == [(2, 5), (3, 5), (4, 5), (5, 5)]
