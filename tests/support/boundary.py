"""The environment of tests that touch no store."""

from collections.abc import Iterator

import pytest

from shared.boundary.settings import settings

ENVIRONMENT = {
    "TABLE_NAME": "table",
    "ISSUER": "https://issuer.example",
    "ALLOWED_HOSTS": "",
    "ALLOWED_ORIGINS": "https://app.example",
    "POWERTOOLS_METRICS_DISABLED": "true",
}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    settings.cache_clear()
    yield
    settings.cache_clear()
