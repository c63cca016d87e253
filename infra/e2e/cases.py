"""What is asked of the deployed stack: the sample, calls of the verbs, tokens that must fail, the acceptance cases."""

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from infra.e2e.front import Front, Issuer
from infra.local.events import dev_token
from infra.local.serve import ANA, OPERATOR, SAMPLE
from infra.packaging.bundle import ROOT

CASES = ROOT.parent / "shared/cases"
NDJSON = "application/x-ndjson"
_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and body; text where it is no JSON."""

    status: int
    body: Any


def ask(
    url: str,
    route: str,
    who: Mapping[str, Any] | str | None = None,
    body: Any = None,
    media: str = "application/json",
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """The answer to a call: by claims, by a finished token, or by nobody."""
    method, _, path = route.partition(" ")
    data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{url}{path}", data=data, method=method)  # noqa: S310 - a loopback address
    request.add_header("Content-Type", media)
    if who is not None:
        request.add_header("Authorization", f"Bearer {who if isinstance(who, str) else dev_token(who)}")
    for name, value in (headers or {}).items():
        request.add_header(name, value)
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310 - as above
            return Answer(answer.status, _parsed(answer.read()))
    except urllib.error.HTTPError as refusal:
        return Answer(refusal.code, _parsed(refusal.read()))


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return data.decode("utf-8", "replace")


def load_sample(url: str) -> None:
    answer = ask(url, "POST /api/import", OPERATOR, SAMPLE.read_bytes(), NDJSON)
    if answer.status != HTTPStatus.OK or answer.body["rejected"]:
        raise AssertionError(f"the sample was not loaded: {answer}")


_SMOKE: tuple[tuple[str, str, Mapping[str, Any] | None, Any, int], ...] = (
    ("health is open", "GET /health", None, None, 200),
    ("the document is open", "GET /openapi.json", None, None, 200),
    ("the issuer is told", "GET /.well-known/oauth-protected-resource/mcp", None, None, 200),
    ("nobody is refused", "POST /api/search/expand", None, {"entity_ids": ["decision-single-table"]}, 401),
    ("expand", "POST /api/search/expand", ANA, {"entity_ids": ["decision-single-table"], "depth": 2}, 200),
    ("slice", "POST /api/search/slice", ANA, {"entity_id": "guide-order-store", "window": 2}, 200),
    ("traverse", "POST /api/search/traverse", ANA, {"agent_id": "planner", "entity": "ana", "max_hops": 2}, 200),
    ("lines", "POST /api/records/lines", ANA, {"recordIds": ["decision-single-table"]}, 200),
    ("what is absent", "POST /api/search/slice", ANA, {"entity_id": "none-such"}, 404),
    ("a role is missing", "GET /api/export", ANA, None, 403),
    ("an export", "GET /api/export", OPERATOR, None, 200),
)


def smoke(url: str) -> list[str]:
    """What of the smoke set went wrong."""
    faults = []
    for name, route, who, body, status in _SMOKE:
        answer = ask(url, route, who, body)
        if answer.status != status:
            faults.append(f"{name}: {answer}")
    call = {"name": "expand_neighbors", "arguments": {"entity_ids": ["decision-single-table"], "depth": 2}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    over_http = ask(url, _SMOKE[4][1], ANA, call["arguments"]).body
    over_mcp = ask(url, "POST /mcp", ANA, message).body
    if over_mcp.get("result", {}).get("structuredContent") != over_http:
        faults.append(f"the doors differ: {over_mcp}")
    return faults


def tokens(door: Front) -> list[str]:
    """Tokens that the gateway let pass, and should not have."""
    refused = {
        "expired": door.issuer.token(ANA, exp=int(time.time()) - 60),
        "for another audience": door.issuer.token(ANA, aud="other"),
        "by another issuer": door.issuer.token(ANA, iss="https://other.example"),
        "by another key": Issuer(door.url).token(ANA),
        "a development token": "dev.e30",
    }
    asked = {
        name: ask(door.url, "POST /api/search/expand", token, {"entity_ids": ["x"]}) for name, token in refused.items()
    }
    return [f"a token {name}: {answer}" for name, answer in asked.items() if answer.status != HTTPStatus.UNAUTHORIZED]


REFUSED_BY_THE_GATEWAY = {"identity.json :: no principal is 401"}
"""Cases that want a problem document where the gateway refuses a call before any function sees it: it is 401, and its
body the gateway's own, here as in AWS."""


def acceptance(url: str) -> list[str] | None:
    """The acceptance cases that fail and should not; None where there are no cases."""
    runner = CASES / "run.py"
    if not runner.exists():
        return None
    ran = subprocess.run(
        [sys.executable, str(runner), "--url", url, "--mcp"], check=False, capture_output=True, text=True
    )
    sys.stdout.write(ran.stdout + ran.stderr)
    failed = {line.removeprefix("FAIL ") for line in ran.stdout.splitlines() if line.startswith("FAIL ")}
    if ran.returncode and not failed:
        return ["the acceptance cases did not run"]
    return sorted(failed - REFUSED_BY_THE_GATEWAY)
