"""The strict reader and the deterministic writer of JSON text."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain import jsontext

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(VALUES)
def test_what_is_written_reads_back(value: object) -> None:
    assert jsontext.parse(jsontext.encode(value).encode()) == value


@pytest.mark.parametrize(
    "text", ["", "{", "nul", '{"a":1,}', '{"a":NaN}', "-Infinity", "\ufeff{}", "[" * 10_000, "1 2", '{"a":1,"a":2}']
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(jsontext.NotJson):
        jsontext.parse(text.encode())


def test_a_lone_surrogate_is_refused_by_its_field_and_a_pair_is_not() -> None:
    with pytest.raises(jsontext.NotJson) as caught:
        jsontext.parse(b'{"a":"fine","b":["\\ud800"]}')
    assert caught.value.field == "b"
    assert jsontext.parse(b'"\\ud83d\\ude00"') == "😀"
    with pytest.raises(jsontext.NotJson):
        jsontext.parse(b'{"\\udc00":1}')


def test_bytes_must_be_utf8() -> None:
    assert jsontext.parse('"é"'.encode()) == "é"
    with pytest.raises(jsontext.NotJson):
        jsontext.parse(b'"\xff"')
    with pytest.raises(jsontext.NotJson):
        jsontext.parse('"\ud800"'.encode("utf-8", "surrogatepass"))


def test_a_huge_integer_is_read_cheaply_and_keeps_its_sign() -> None:
    started = time.process_time()
    huge = jsontext.parse(b"9" * 10**6)
    assert isinstance(huge, int)
    assert 10**20 <= huge <= 10**40
    assert jsontext.parse(b"-" + b"9" * 10**6) == -huge
    assert time.process_time() - started < 0.5


def test_nan_is_never_written() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        jsontext.encode(float("nan"))
    assert jsontext.encode({"b": "é", "a": 1}) == json.dumps(
        {"b": "é", "a": 1}, ensure_ascii=False, separators=(",", ":")
    )
