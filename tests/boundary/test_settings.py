"""A mis-deployed function fails when it is loaded, and says what is missing."""

import pytest

from shared.boundary.settings import Claims, Misdeployed, Settings


def test_the_table_is_required_and_all_else_has_a_default() -> None:
    read = Settings.from_environment({"TABLE_NAME": " rows "})
    assert (read.table_name, read.claims, read.log_level, read.issuer) == ("rows", Claims(), "INFO", None)
    for environment in ({}, {"TABLE_NAME": " "}):
        with pytest.raises(Misdeployed, match="TABLE_NAME"):
            Settings.from_environment(environment)


def test_lists_take_commas_and_blanks() -> None:
    read = Settings.from_environment(
        {"TABLE_NAME": "t", "ALLOWED_ORIGINS": "https://a, https://b", "ALLOWED_HOSTS": "LOCALHOST 127.0.0.1"}
    )
    assert read.allowed_origins == {"https://a", "https://b"}
    assert read.allowed_hosts == {"localhost", "127.0.0.1"}


def test_a_level_that_is_none_is_refused() -> None:
    with pytest.raises(Misdeployed, match="LOG_LEVEL"):
        Settings.from_environment({"TABLE_NAME": "t", "LOG_LEVEL": "LOUD"})
