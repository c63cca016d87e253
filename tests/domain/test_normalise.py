"""Two spellings of one name meet, and nothing else does."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain import ids
from shared.domain.normalise import WHITE_SPACE, normalised, trimmed

INVISIBLE = (
    "\u00ad\u200b\u2060\ufeff\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufe0e\ufe0f"
)
# Characters that folding, composition and white space treat specially come up far more often than by chance.
TRICKY = st.sampled_from(
    [*INVISIBLE, *WHITE_SPACE, *"ßẞſKÅİıςΣŉǰΐΰﬃﬄｶﾞ①½ᾳᾼ\u0300\u0301\u0308\u0327\u0345\u200c\u200d\x1c\x1f"]
)
TEXT = st.text(st.one_of(TRICKY, st.characters(exclude_categories=["Cs"])), max_size=12)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("sś", "ß\u0301"),
        ("Café", "Cafe\u0301"),
        ("Ｌｅｎａ", "lena"),
        ("Tide\u00a0Table", "tide table"),
        ("\u212aelvin", "kelvin"),
        ("soft\u00adware", "software"),
        ("  Two \t\n words\u3000", "two words"),
        ("STRASSE", "straße"),
        ("ﬁn", "fin"),
        ("\u202eabc\u202c", "abc"),
        ("☂\ufe0f", "☂"),
    ],
)
def test_variants_of_one_name_are_equal(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("می\u200cخواهم", "میخواهم"), ("क्\u200dष", "क्ष"), ("a b", "ab"), ("a\x1fb", "a b"), ("o", "ö")],
)
def test_joiners_marks_and_control_characters_tell_names_apart(one: str, other: str) -> None:
    assert normalised(one) != normalised(other)


@pytest.mark.parametrize(("text", "wanted"), [("", ""), (" \u200b\u3000", ""), ("Ada  Lovelace ", "ada lovelace")])
def test_the_form_itself(text: str, wanted: str) -> None:
    assert normalised(text) == wanted


@given(TEXT)
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalised(normalised(text)) == normalised(text)


@given(TEXT)
def test_canonical_and_compatibility_forms_meet(text: str) -> None:
    assert normalised(unicodedata.normalize("NFC", text)) == normalised(unicodedata.normalize("NFD", text))


def test_every_single_character_has_a_stable_form() -> None:
    assigned = [c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c) not in ("Cn", "Co")]
    unstable = [c for c in assigned if normalised(normalised(c)) != normalised(c)]
    assert unstable == []


def test_white_space_is_the_property_and_not_what_python_calls_space() -> None:
    pythons = {c for c in map(chr, range(sys.maxunicode + 1)) if c.isspace()}
    assert pythons - set(WHITE_SPACE) == set("\x1c\x1d\x1e\x1f")
    assert set(WHITE_SPACE) <= pythons


def test_trimming_takes_white_space_alone() -> None:
    assert trimmed("\u2003\u0085 a b\u3000\n") == "a b"
    assert trimmed("\x1fa\u200b") == "\x1fa\u200b"
    assert ids.trimmed("\u2029x\x1c") == "x\x1c"
