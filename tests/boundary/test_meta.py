"""The pages that anyone may read."""

import json

import pytest

from shared.boundary.settings import settings
from tests.support.lambda_events import Context, v2


def get(path: str) -> tuple[int, object]:
    from functions.meta.handler import handler

    answer = handler(v2(f"GET {path}", claims=None), Context())
    return answer["statusCode"], json.loads(answer["body"])


def test_health() -> None:
    assert get("/health") == (200, {"status": "ok"})


def test_openapi_is_served_as_written() -> None:
    status, document = get("/openapi.json")
    assert status == 200
    assert isinstance(document, dict)
    assert document["openapi"] == "3.1.0"


@pytest.mark.parametrize("suffix", ["", "/mcp"])
def test_clients_find_the_issuer(suffix: str) -> None:
    assert get(f"/.well-known/oauth-protected-resource{suffix}") == (
        200,
        {
            "resource": "https://api.example/mcp",
            "authorization_servers": ["https://issuer.example"],
            "bearer_methods_supported": ["header"],
            "resource_name": "Hopscope",
        },
    )


def test_without_an_issuer_there_is_no_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ISSUER")
    settings.cache_clear()
    assert get("/.well-known/oauth-protected-resource")[0] == 404
