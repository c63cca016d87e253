"""A preview is never longer than asked for and never says what the text does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.normalise import WHITE_SPACE
from shared.domain.preview import ELLIPSIS, preview, spend

TEXT = st.text(st.sampled_from("ab \n漢🏳\u0301"), max_size=60)


@pytest.mark.parametrize(
    ("text", "limit", "wanted"),
    [
        ("alpha beta gamma delta epsilon", 30, ("alpha beta gamma delta epsilon", False)),
        ("alpha beta gamma delta epsilon", 29, ("alpha beta gamma delta…", True)),
        ("alpha beta gamma delta epsilon", 20, ("alpha beta gamma…", True)),
        ("alpha beta gamma delta epsilon", 17, ("alpha beta gamma…", True)),
        ("alpha beta gamma delta epsilon", 16, ("alpha beta…", True)),
        ("abcde fghijklmnop", 10, ("abcde…", True)),
        ("abcd efghijklmnop", 10, ("abcd efgh…", True)),
        ("abcde fghijklmnop", 11, ("abcde fghi…", True)),
        ("ab   cdefgh", 6, ("ab…", True)),
        ("aaaaaaaaaaaa", 5, ("aaaa…", True)),
        ("ab", 1, ("…", True)),
        ("a", 1, ("a", False)),
        ("a", 0, ("", True)),
        ("", 0, ("", False)),
        ("          ", 5, ("…", True)),
        ("🏳🏳🏳", 2, ("🏳…", True)),
    ],
)
def test_preview(text: str, limit: int, wanted: tuple[str, bool]) -> None:
    assert preview(text, limit) == wanted


@given(TEXT, st.integers(0, 70))
def test_a_preview_is_the_text_or_a_marked_beginning_of_it(text: str, limit: int) -> None:
    shown, truncated = preview(text, limit)
    assert len(shown) <= limit
    assert truncated is (len(text) > limit)
    if not truncated:
        assert shown == text
    elif limit:
        assert shown.endswith(ELLIPSIS)
        head = shown[:-1]
        assert text.startswith(head)
        assert head == head.rstrip(WHITE_SPACE)
        # Nothing but white space, or a word begun in the second half, is given up before the cut.
        assert len(head) == limit - 1 or " " in text[len(head) : limit] or not text[len(head) : limit - 1].strip()


@pytest.mark.parametrize(
    ("contents", "budget", "wanted"),
    [
        (["a" * 300, "b" * 300, "c" * 300], 900, [("a" * 300, False), ("b" * 300, False), ("c" * 300, False)]),
        (["a" * 300, "b" * 300, "c" * 300], 400, [("a" * 300, False), ("b" * 99 + "…", True), ("", True)]),
        (["aaa", "bbb"], 3, [("aaa", False), ("", True)]),
        (["aa bb", "c"], 4, [("aa…", True), ("", True)]),
        (["aaa", "", "b"], 3, [("aaa", False), ("", False), ("", True)]),
        (["", ""], 0, [("", False), ("", False)]),
        ([], 5, []),
    ],
)
def test_a_budget_is_spent_in_order(contents: list[str], budget: int, wanted: list[tuple[str, bool]]) -> None:
    assert spend(contents, budget) == wanted


@given(st.lists(TEXT.filter(bool), max_size=6), st.integers(0, 200))
def test_all_after_the_first_cut_passage_are_empty(contents: list[str], budget: int) -> None:
    spent = spend(contents, budget)
    assert sum(len(shown) for shown, _ in spent) <= budget
    flags = [truncated for _, truncated in spent]
    assert flags == sorted(flags)
    assert all(shown == "" for shown, _ in spent[flags.count(False) + 1 :])
    assert any(flags) is (sum(map(len, contents)) > budget)
