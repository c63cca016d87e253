"""Whatever may be stored has one canonical form; the digest is the contract's."""

import json
from collections.abc import Mapping
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.canonical import MAX_DEPTH, canonical, is_canonical, parse_json, record_digest
from shared.domain.model import Json

RECORD: Mapping[str, Json] = {
    "id": "m1",
    "type": "note",
    "name": "Deploy day",
    "content": "We ship on Tuesday.",
    "key": "deploy.day",
    "value": "tuesday",
    "scope": "project",
    "scope_key": "atlas",
    "project_id": "atlas",
    "owner": "ann",
    "created_at": "2026-01-02T03:04:05.000Z",
}
DIGEST = "d2b01d261c99f4d4638e5201947e2541bf1230bb1dcf183557c665b747b4ebf2"
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def nested(levels: int) -> Json:
    value: Json = 1
    for _ in range(levels):
        value = [value]
    return value


def test_the_test_vector_of_the_contract() -> None:
    assert record_digest(RECORD, None) == DIGEST


def test_the_digest_is_of_the_records_own_fields_and_the_view() -> None:
    assert (
        record_digest({**RECORD, "revision": 7, "updated_at": "x", "state": "active", "metadata": {}}, None) == DIGEST
    )
    changed = [
        record_digest({**RECORD, "content": "We ship on Monday."}, None),
        record_digest({**RECORD, "state": "superseded"}, None),
        record_digest({**RECORD, "metadata": {"a": 1}}, None),
        record_digest({**RECORD, "origin_id": "o"}, None),
        record_digest(RECORD, "2026-01-01T00:00:00.000Z"),
        record_digest(RECORD, None, "line-v0"),
    ]
    assert len({DIGEST, *changed}) == len(changed) + 1


def test_equal_values_have_equal_forms() -> None:
    assert (
        canonical({"b": 1.0, "a": [-0.0, "é"]}) == canonical({"a": [0, "é"], "b": 1}) == '{"a":[0,"é"],"b":1}'.encode()
    )
    assert canonical({"\u20ac": 1, "\U0001f600": 2, "\ufb33": 3}) == '{"\u20ac":1,"\U0001f600":2,"\ufb33":3}'.encode()


@given(JSON)
def test_what_is_canonical_has_a_form_that_reads_back_equal(value: Json) -> None:
    assert is_canonical(value)
    again = parse_json(canonical(value))
    assert is_canonical(again)
    assert canonical(cast("Json", again)) == canonical(value)


@pytest.mark.parametrize(
    "value",
    [
        2**53 + 1,
        -1234567890123456789,
        10**21,
        10**400,
        [float("nan")],
        {"a": float("inf")},
        "\ud800",
        {"\udfff": 1},
        {1: "a"},
        (1, 2),
        b"x",
        nested(MAX_DEPTH + 1),
        nested(50_000),
    ],
    ids=range(13),
)
def test_what_has_no_form_is_told(value: object) -> None:
    assert not is_canonical(value)


def test_the_deepest_value_that_is_taken_has_a_form() -> None:
    assert is_canonical(nested(MAX_DEPTH))
    assert canonical(nested(MAX_DEPTH)) == b"[" * MAX_DEPTH + b"1" + b"]" * MAX_DEPTH


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"NaN", "NaN is not JSON"),
        (b"[-Infinity]", "-Infinity is not JSON"),
        (b'{"a":1,"a":2}', "same name twice"),
        (b"\xff", "not UTF-8"),
        (b'"\xed\xa0\x80"', "not UTF-8"),
        (b"{", "not JSON"),
        (b"", "not JSON"),
        (b"1 2", "not JSON"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a":' * 200_000, "nested too deeply"),
    ],
)
def test_bad_json_is_refused_with_its_reason(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_json(data)


def test_numbers_of_any_length_are_read_in_no_time() -> None:
    assert parse_json(b"9" * 1_000_000) == 10**21 + 1
    assert parse_json(b"-" + b"9" * 1_000_000) == -(10**21) - 1
    assert not is_canonical(parse_json(b"9" * 22))
    assert parse_json(b"12345678901234567890") == 12345678901234567890
    assert parse_json(json.dumps({"a": 9007199254740991}).encode()) == {"a": 9007199254740991}


def test_integers_that_doubles_hold_are_taken_and_written_as_they_came() -> None:
    for number in (2**53, -(2**53), 50428579705669290, 10**20, 123456789012345680000):
        assert is_canonical(number)
        assert canonical([number, float(number)]) == f"[{number},{number}]".encode()
