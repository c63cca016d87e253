"""Instants are strict in, exact out, and order as text."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.instants import day, inverted, parse, utc_text

MOMENTS = st.datetimes(timezones=st.just(UTC))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z"),
        ("2026-01-02t03:04:05z", "2026-01-02T03:04:05.000Z"),
        ("2026-01-02T03:04:05.1+05:30", "2026-01-01T21:34:05.100Z"),
        ("2026-01-02T03:04:05.9999999-08:00", "2026-01-02T11:04:05.999Z"),
        ("2026-01-02T03:04:05-00:00", "2026-01-02T03:04:05.000Z"),
        ("2024-02-29T23:59:59+23:59", "2024-02-29T00:00:59.000Z"),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"),
        ("2017-01-01T00:59:60.5+01:00", "2017-01-01T00:00:00.000Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
    ],
)
def test_instants_become_utc_milliseconds(text: str, wanted: str) -> None:
    assert parse(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2025-01-01",
        "2025-01-01T00:00Z",
        "2025-01-01T00:00:00",
        "2025-01-01 00:00:00Z",
        " 2025-01-01T00:00:00Z",
        "2025-01-01T00:00:00Z\n",
        "2025-01-01T00:00:00.Z",
        "2025-01-01T00:00:00,5Z",
        "2025-13-01T00:00:00Z",
        "2025-02-29T00:00:00Z",
        "2025-01-01T24:00:00Z",
        "2025-01-01T00:60:00Z",
        "2025-01-01T00:00:61Z",
        "2025-01-01T12:00:60Z",
        "2025-01-01T00:00:00+24:00",
        "2025-01-01T00:00:00+01:60",
        "2025-01-01T00:00:00+0100",
        "٢٠٢٥-01-01T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "9999-12-31T23:59:60Z",
        "10000-01-01T00:00:00Z",
        "20250101T000000Z",
        "2025-W01-1T00:00:00Z",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="instant"):
        parse(text)


@given(MOMENTS, MOMENTS)
def test_text_orders_as_time_and_inverted_text_in_reverse(one: datetime, other: datetime) -> None:
    a, b = utc_text(one), utc_text(other)
    floor_a, floor_b = (m.replace(microsecond=m.microsecond // 1000 * 1000) for m in (one, other))
    assert (a < b) is (floor_a < floor_b)
    assert (inverted(a) < inverted(b)) is (floor_a > floor_b)
    assert len(inverted(a)) == 17
    assert inverted(a).isascii()
    assert inverted(a).isdigit()
    assert parse(a) == a


def test_a_datetime_of_any_zone_is_told_in_utc() -> None:
    eastward = datetime(2026, 1, 2, 1, 0, tzinfo=timezone(timedelta(hours=2)))
    assert utc_text(eastward) == "2026-01-01T23:00:00.000Z"
    assert day(utc_text(eastward)) == "2026-01-01"
    with pytest.raises(ValueError, match="zone"):
        utc_text(eastward.replace(tzinfo=None))


def test_the_newest_comes_first() -> None:
    assert inverted("2026-01-02T03:04:05.000Z") == "79739897969594999"
