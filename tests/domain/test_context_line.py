"""A line is whole parts within its bytes, and safe to show."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from shared.domain.context_line import LINE_LIMIT, ContextLine, context_line
from shared.domain.model import Memory, State

PLAIN = Memory(
    id="r1",
    type="decision",
    name="Opening hours",
    owner="ann",
    created_at="2026-01-02T03:04:05.000Z",
    updated_at="2026-01-02T03:04:05.000Z",
    born="",
    ref="",
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)


def test_a_plain_record() -> None:
    assert context_line(PLAIN) == ContextLine(
        "Opening hours; recorded by ann on 2026-01-02", (), requires_expansion=False
    )


def test_every_part_in_order() -> None:
    memory = replace(
        PLAIN,
        key="door.opens",
        value={"b": "ten\n", "a": 1.0},
        state=State.SUPERSEDED,
        valid_from="2026-01-01T00:00:00.000Z",
        valid_to="2026-02-01T00:00:00.000Z",
    )
    assert context_line(memory, ["r2", "r3"]).line == (
        'Opening hours; door.opens = {"a":1,"b":"ten\\n"}; superseded; '
        "valid from 2026-01-01T00:00:00.000Z to 2026-02-01T00:00:00.000Z; superseded by r2, r3; "
        "recorded by ann on 2026-01-02"
    )


def test_key_or_value_alone_and_open_validity() -> None:
    assert "; door.opens; recorded" in context_line(replace(PLAIN, key="door.opens")).line
    assert '; value = "x"; recorded' in context_line(replace(PLAIN, value="x")).line
    assert "; value = 0; recorded" in context_line(replace(PLAIN, value=0)).line
    assert "; valid to 2026-02-01T" in context_line(replace(PLAIN, valid_to="2026-02-01T00:00:00.000Z")).line


def test_a_part_that_does_not_fit_is_named_and_later_ones_still_stand() -> None:
    line = context_line(replace(PLAIN, key="k", value="v" * 600, name="é" * 300))
    assert line == ContextLine("recorded by ann on 2026-01-02", ("name", "value"), requires_expansion=True)


def test_a_line_may_use_its_last_byte() -> None:
    rest = "; recorded by ann on 2026-01-02"
    assert context_line(replace(PLAIN, name="n" * (LINE_LIMIT - len(rest)))).omitted == ()
    assert context_line(replace(PLAIN, name="n" * (LINE_LIMIT - len(rest) + 1))).omitted == ("recorded",)


def test_a_body_longer_than_the_line_needs_expansion() -> None:
    length = len(context_line(PLAIN).line)
    assert not context_line(replace(PLAIN, length=length)).requires_expansion
    assert context_line(replace(PLAIN, length=length + 1)).requires_expansion


def test_control_and_bidirectional_characters_are_escaped() -> None:
    line = context_line(replace(PLAIN, name="a\nb\u202ec\u2066\x85", key="k\t", value="\u202e\x7f")).line
    assert line.startswith('a\\u000ab\\u202ec\\u2066\\u0085; k\\u0009 = "\\u202e\\u007f"; ')


@given(TEXT, TEXT, st.lists(st.text("ab-", min_size=1, max_size=256), max_size=9))
def test_any_line_keeps_to_its_bytes(name: str, value: str, by: list[str]) -> None:
    line = context_line(replace(PLAIN, name=name or "n", key="k", value=value), by)
    assert len(line.line.encode()) <= LINE_LIMIT
    assert set(line.omitted) <= {"name", "value", "superseded_by", "recorded"}
    assert not any(
        ord(c) < 32 or c in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"
        for c in line.line
    )
    assert ("superseded by" in line.line) is (
        bool(by) and "superseded_by" not in line.omitted
    ) or "superseded by" in name + value
