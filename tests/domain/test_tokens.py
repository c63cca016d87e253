"""Tokens order by time, and after the one they follow whatever the clock says."""

from datetime import UTC, datetime, timedelta

from shared.domain.tokens import LENGTH, new_token

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_a_later_millisecond_sorts_later() -> None:
    tokens = [new_token(NOW + timedelta(milliseconds=step)) for step in range(50)]
    assert tokens == sorted(tokens)
    assert {len(token) for token in tokens} == {LENGTH} == {16}


def test_two_of_one_millisecond_differ() -> None:
    assert len({new_token(NOW) for _ in range(100)}) == 100


def test_one_that_follows_sorts_after_it_in_the_same_millisecond_and_when_the_clock_went_back() -> None:
    born = new_token(NOW)
    assert all(born < new_token(NOW, after=born) for _ in range(100))
    assert born < new_token(NOW - timedelta(hours=1), after=born)
