"""Budgets clamp, shapes reject: the coercions of the contract's ground rules."""

import math
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.boundary.fields import Clamped, Flag, Id, Instant, Misfit, Text, TextList

DEPTH = Clamped(1, 3)


@pytest.mark.parametrize(
    ("given_value", "expected"),
    [
        (2, 2),
        (0, 1),
        (-(10**40), 1),
        (10**40, 3),
        (2.0, 2),
        (1e308, 3),
        (-0.0, 1),
        ("2", 2),
        (" 2 ", 2),
        ("\u20032\u00a0", 2),
        ("2.0", 2),
        ("+2", 2),
        ("002", 2),
        ("-7", 1),
        ("9" * 400, 3),
        ("-" + "9" * 400, 1),
    ],
)
def test_a_whole_number_is_brought_into_range(given_value: Any, expected: int) -> None:
    assert DEPTH.accept(given_value) == expected


@pytest.mark.parametrize(
    "given_value",
    [
        True,
        False,
        2.5,
        math.nan,
        math.inf,
        -math.inf,
        "",
        " ",
        "2.5",
        "many",
        "1e3",
        "1_0",
        "٣",
        "0x2",
        "2 3",
        [2],
        {},
        None,
    ],
)
def test_what_is_no_whole_number_is_refused(given_value: Any) -> None:
    with pytest.raises(Misfit):
        DEPTH.accept(given_value)


@given(st.integers())
def test_every_spelling_of_an_integer_means_the_same(number: int) -> None:
    expected = max(1, min(3, number))
    assert DEPTH.accept(number) == DEPTH.accept(str(number)) == DEPTH.accept(f" {number}.0 ") == expected


def test_a_million_digits_cost_no_more_than_their_reading() -> None:
    started = time.process_time()
    assert DEPTH.accept("9" * 10**6) == 3
    assert time.process_time() - started < 0.5


@pytest.mark.parametrize("given_value", ["true", "perhaps", 0, 1, None, []])
def test_only_a_boolean_is_a_flag(given_value: Any) -> None:
    with pytest.raises(Misfit):
        Flag().accept(given_value)


@pytest.mark.parametrize(
    ("given_value", "expected"),
    [
        (["a", "b"], ("a", "b")),
        ('["a", "b"]', ("a", "b")),
        ([" a ", "", "  ", "b", "a"], ("a", "b")),
        ([], None),
        ("[]", None),
        ("", None),
        (["  "], None),
        (["x\u0000", "y" * 300], ("x\u0000", "y" * 300)),
    ],
)
def test_a_list_of_texts(given_value: Any, expected: tuple[str, ...] | None) -> None:
    assert TextList().accept(given_value) == expected


@pytest.mark.parametrize("given_value", [7, "s,t", [1], ["a", None], {"a": 1}, '{"a": 1}', '"a"', "[" * 100_000, True])
def test_what_is_no_list_of_texts_is_refused(given_value: Any) -> None:
    with pytest.raises(Misfit):
        TextList().accept(given_value)


@pytest.mark.parametrize("given_value", [[], "[]", ["  "], ""])
def test_a_required_list_needs_an_item(given_value: Any) -> None:
    with pytest.raises(Misfit):
        TextList(required=True).accept(given_value)


def test_a_list_is_folded_before_it_is_compared() -> None:
    assert TextList(fold=str.upper).accept(["about", "ABOUT", "blocks"]) == ("ABOUT", "BLOCKS")


@pytest.mark.parametrize(
    ("given_value", "expected"), [("a", "a"), (" a\u00a0", "a"), ("x" * 256, "x" * 256), ("é", "é")]
)
def test_an_id_is_trimmed_and_else_as_written(given_value: str, expected: str) -> None:
    assert Id().accept(given_value) == expected


@pytest.mark.parametrize("given_value", ["", "  ", "x" * 257, "a\u0000b", "a\nb", "\ud800", 5, None, ["a"]])
def test_what_is_no_id_is_refused(given_value: Any) -> None:
    with pytest.raises(Misfit):
        Id().accept(given_value)


def test_a_text_keeps_its_blanks_and_may_be_blank_where_that_means_something() -> None:
    assert Text().accept(" a ") == " a "
    assert Text(may_be_blank=True).accept("") == ""
    with pytest.raises(Misfit):
        Text().accept(" \n")
    with pytest.raises(Misfit):
        Text(max_length=2).accept("abc")


@pytest.mark.parametrize(
    ("given_value", "expected"),
    [
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z"),
        ("2026-01-02t03:04:05.25z", "2026-01-02T03:04:05.250Z"),
        ("2026-01-02T03:04:05+02:00", "2026-01-02T01:04:05.000Z"),
    ],
)
def test_an_instant_is_read_as_utc(given_value: str, expected: str) -> None:
    assert Instant().accept(given_value) == expected


@pytest.mark.parametrize(
    "given_value",
    [
        "yesterday",
        "2026-01-02",
        "2026-01-02T03:04:05",
        "2026-01-02T03:04Z",
        "2026-13-01T00:00:00Z",
        "0001-01-01T00:00:00+23:00",
        5,
    ],
)
def test_an_instant_needs_seconds_and_zone(given_value: Any) -> None:
    with pytest.raises(Misfit):
        Instant().accept(given_value)
