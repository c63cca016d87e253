"""Passages partition the body, at the best seams there are."""

import gzip
import json
import time
import unicodedata
from itertools import accumulate, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.domain.cutter import CEILING, MAX_SPAN, TARGET, Piece, checked_spans, covers, cut, pieces_of
from shared.domain.model import Span

PEPS = Path(__file__).parents[3] / "shared" / "data" / "peps.jsonl.gz"
SENTENCE = "The tide table for this berth was read again today. "
FRAGMENTS = st.sampled_from(
    [
        "word ", "Ein Satz. ", "\n", "\r\n", "\n\n", "漢字", "。", "🏳️‍🌈", "👩🏽‍🚀", "🇦🇧", "e\u0301", "\u0301",
        "# Head\n", "## Sub\r\n", "Title\n=====\n\n", "====\nOver\n====\n", "```\ncode\n", "~~~\n",
        "lead::\n\n", "    deep\n",
        ".. note:: x\n", "\t", "\u2028", "x" * 70, SENTENCE * 5, "\x01", " " * 30,
    ]
)  # fmt: skip
BODIES = st.lists(st.one_of(FRAGMENTS, st.text(max_size=9)), max_size=400).map("".join)


def texts(body: str) -> list[str]:
    return [body[piece.start : piece.end] for piece in cut(body)]


def paragraph(length: int) -> str:
    return (SENTENCE * (length // len(SENTENCE) + 1))[: length - 2].rstrip() + "\n\n"


@settings(max_examples=300, deadline=None)
@given(BODIES)
def test_passages_partition_any_body(body: str) -> None:
    pieces = cut(body)
    assert "".join(body[piece.start : piece.end] for piece in pieces) == body
    assert all(1 <= piece.end - piece.start <= CEILING and len(piece.breadcrumb) <= 200 for piece in pieces)
    assert all(one.end == other.start for one, other in pairwise(pieces))
    assert covers(pieces, len(body))
    assert cut(body) == pieces


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["a", " ", "漢", "e\u0301", "👩🏽‍🚀", "🏳️‍🌈", "🇦🇧", "\r\n"]), min_size=7, max_size=40),
    st.integers(100, 200),
)
def test_what_a_reader_sees_as_one_character_is_never_split(some: list[str], times: int) -> None:
    characters = some * times
    seams = set(accumulate(map(len, characters)))
    assert {piece.end for piece in cut("".join(characters))} <= seams


def test_a_single_character_beyond_the_ceiling_is_cut_all_the_same() -> None:
    assert [len(text) for text in texts("a" + "\u0301" * 9_000)] == [1_200] * 6 + [1_801]


@pytest.mark.parametrize("body", ["a" * 2_500, "a\u0301" * 2_000, "漢" * 5_000, " " * 3_000])
def test_bodies_without_a_seam_are_cut_near_the_target(body: str) -> None:
    lengths = [len(text) for text in texts(body)]
    assert sum(lengths) == len(body)
    assert all(TARGET[0] <= length <= TARGET[1] for length in lengths)


def test_an_empty_body_has_no_passages() -> None:
    assert cut("") == ()


def test_a_section_is_preferred_to_a_paragraph_and_a_paragraph_to_a_sentence() -> None:
    body = "# One\n\n" + paragraph(700) + "## Two\n\n" + paragraph(300) + paragraph(500) + paragraph(600)
    assert [text[:6] for text in texts(body)] == ["# One\n", "## Two", "The ti"]
    plain = paragraph(1_000) + paragraph(1_000) + paragraph(1_000)
    assert texts(plain) == [paragraph(1_000)] * 3
    assert all(text.endswith("today. ") for text in texts(SENTENCE * 60)[:-1])
    assert all(text.endswith("\n") for text in texts((SENTENCE + "\n") * 60))
    assert all(text.endswith(" ") for text in texts("several words on " * 300)[:-1])
    assert all(text.endswith("。") for text in texts("潮位表を今日また読んだ。" * 300))


def test_a_heading_stays_with_what_it_opens() -> None:
    body = paragraph(1_150) + "## Next\n\n" + paragraph(1_000)
    assert texts(body)[1].startswith("## Next\n\nThe tide")


def test_breadcrumbs_of_markdown() -> None:
    body = (
        "\n\n# Specification #\n\n" + paragraph(900)
        + "## Grammar\n\n" + paragraph(900) + paragraph(900)
        + "```sh\n# not a heading\n```\n\n" + paragraph(1_000)
        + "Rationale\n=========\n\n" + paragraph(900)
    )  # fmt: skip
    assert [piece.breadcrumb for piece in cut(body)] == [
        "Specification",
        "Specification > Grammar",
        "Specification > Grammar",
        "Specification > Grammar",
        "Rationale",
    ]


def test_breadcrumbs_of_restructuredtext() -> None:
    body = (
        "=======\r\n Title\r\n=======\r\n\r\n" + paragraph(900)
        + "Abstract\r\n--------\r\n\r\n.. note:: hello\r\n\r\n" + paragraph(900)
        + "Detail\n~~~~~~\n\nExample::\n\n  # not a heading\n  Nor this\n  ========\n\n" + paragraph(900)
        + "# a comment in an example\n\n" + paragraph(900)
        + "Copyright\n---------\n\n" + paragraph(900)
    )  # fmt: skip
    assert [piece.breadcrumb for piece in cut(body)] == [
        "Title",
        "Title > Abstract",
        "Title > Abstract > Detail",
        "Title > Abstract > Detail",
        "Title > Copyright",
    ]


def test_rules_tables_and_lists_are_not_headings() -> None:
    body = "# Only\n\n- item\n---\n\n---\n\n| a\n---\n\nwords\nmore words\n---\n\n" + paragraph(1_000) * 3
    assert {piece.breadcrumb for piece in cut(body)} == {"Only"}


def test_a_long_path_gives_up_its_outermost_titles() -> None:
    body = "".join(f"{'#' * n} {str(n) * 60}\n\n" for n in range(1, 5)) + paragraph(1_000) * 3
    assert cut(body)[-1].breadcrumb == f"… > {'2' * 60} > {'3' * 60} > {'4' * 60}"
    assert cut("# " + "t" * 300 + "\n\n" + paragraph(1_000) * 3)[-1].breadcrumb == "t" * 199 + "…"


@pytest.mark.parametrize("fence", ["```", "~~~~"])
@pytest.mark.parametrize("before", [10, 300, 590, 900, 1_190])
@pytest.mark.parametrize("length", [400, 1_000, 1_900])
def test_fenced_code_is_kept_whole_up_to_the_ceiling(fence: str, before: int, length: int) -> None:
    code = f"{fence}py\n" + "x = 1\n\n# note\n" * ((length - 20) // 14) + f"{fence}\n"
    body = paragraph(before) + code + "\n" + paragraph(1_500)
    assert any(code in text for text in texts(body))


def test_code_beyond_the_ceiling_is_cut_between_its_lines() -> None:
    body = paragraph(700) + "```\n" + "some_call(1)\n" * 400 + "```\n"
    assert all(text.endswith("\n") for text in texts(body))
    assert all(TARGET[0] <= len(text) <= TARGET[1] for text in texts(body))


def test_ten_thousand_headings_and_bodies_of_four_mebibytes_are_cut_in_time() -> None:
    size = 4 * 1024 * 1024
    started = time.process_time()
    for unit in (
        "".join(f"{'#' * (n % 6 + 1)} h{n}\n\n" for n in range(10_000)),
        SENTENCE,
        "---\n" + "a" * 500_000,
        "x\u0301",
    ):
        body = unit * (size // len(unit)) if len(unit) < 1_000 else unit
        assert cut(body)[-1].end == len(body)
    assert time.process_time() - started < 20


@pytest.mark.parametrize("length", [50_000, 50_001, 55_000, 62_000, 75_000])
def test_what_one_window_could_hold_fits_its_budget(length: int) -> None:
    body = ("A sentence of some words, and more. " * 30 + "\n\n") * 100
    pieces = cut(body[:length])
    assert (len(pieces) > 64) == (length > 50_000)
    assert all(600 <= piece.end - piece.start <= 1_200 for piece in pieces[:-1])


@pytest.mark.skipif(not PEPS.exists(), reason="the PEP texts are not beside this checkout")
def test_every_pep_is_cut_well() -> None:
    bodies = [
        line["content"]
        for line in map(json.loads, gzip.decompress(PEPS.read_bytes()).splitlines())
        if line["kind"] == "memory" and len(line["content"]) > CEILING
    ]
    lengths = []
    for body in bodies:
        pieces = cut(body)
        assert "".join(body[piece.start : piece.end] for piece in pieces) == body
        lengths += [piece.end - piece.start for piece in pieces]
        assert all(not unicodedata.combining(body[piece.start]) for piece in pieces)
        assert len(pieces) > 64 or len(body) <= 50_000
    assert len(bodies) == 691
    assert max(lengths) <= CEILING
    assert TARGET[0] <= sum(lengths) / len(lengths) <= TARGET[1]
    in_target = sum(TARGET[0] <= length <= TARGET[1] for length in lengths)
    assert in_target / len(lengths) > 0.98
    assert sum(length < TARGET[0] for length in lengths) / len(lengths) < 0.002


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([Span(0, 0, "")], "span 0 is empty"),
        ([Span(5, 3, "")], "span 0 is empty"),
        ([Span(-1, 3, "")], "outside"),
        ([Span(0, 20_001, "")], "outside"),
        ([Span(0, 10, ""), Span(9, 20, "")], "span 1 overlaps"),
        ([Span(10, 20, ""), Span(0, 10, "")], "span 1 overlaps or precedes"),
        ([Span(0, MAX_SPAN + 1, "")], "longer than 17648"),
        ([Span(n, n + 1, "") for n in range(65)], "at most 64"),
    ],
)
def test_wrong_spans_are_refused(spans: list[Span], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        checked_spans(spans, 20_000)


def test_right_spans_are_the_cut_and_gaps_do_not_cover() -> None:
    spans = checked_spans([Span(0, MAX_SPAN, "a"), Span(MAX_SPAN, 20_000, "b")], 20_000)
    assert pieces_of(spans) == (Piece(0, MAX_SPAN, "a"), Piece(MAX_SPAN, 20_000, "b"))
    assert covers(pieces_of(spans), 20_000)
    assert not covers(pieces_of(spans), 20_001)
    assert not covers(pieces_of([Span(0, 5, ""), Span(6, 10, "")]), 10)
    assert checked_spans([], 0) == ()
