"""What each verb costs: waves, calls, rows and milliseconds, on the embedded store through the real handlers.

Run by `make bench`. Time on an emulator says little about DynamoDB; waves, calls and rows say what DynamoDB will do.
"""

import json
import os
import statistics
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.table import Table

from infra.local.events import HttpRequest, dev_token
from infra.local.gateway import Gateway
from infra.local.serve import ANA, OPERATOR, Options, running, sample_calls
from shared.runtime import connected

ROUNDS = 30
HUB_EDGES = 1_000
CHAIN = 200
BATCH = 400


@dataclass(frozen=True, slots=True)
class Measured:
    """One call, repeated: the median and 95th percentile of its time, and what one run of it asked of the store."""

    name: str
    p50: float
    p95: float
    waves: int
    reads: int
    items: int


def graph() -> Iterator[dict[str, Any]]:
    """A hub, and a chain whose every memory has four neighbors more."""
    for n in range(HUB_EDGES):
        yield {"kind": "memory", "id": f"spoke-{n:04}", "type": "note", "name": f"Spoke {n}"}
    yield {"kind": "memory", "id": "hub", "type": "note", "name": "Hub"}
    for n in range(HUB_EDGES):
        edge = {"kind": "edge", "source": "hub", "relationship": "ABOUT", "target": f"spoke-{n:04}"}
        yield {**edge, "weight": (n % 100) / 100}
    for n in range(CHAIN):
        yield {"kind": "memory", "id": f"link-{n:04}", "type": "task", "name": f"Link {n}", "content": "Text. " * 100}
    for n in range(CHAIN):
        for step in (1, 2, 3, 5):
            target = f"link-{(n + step) % CHAIN:04}"
            yield {"kind": "edge", "source": f"link-{n:04}", "relationship": "DEPENDS_ON", "target": target}


def post(gateway: Gateway, path: str, claims: Mapping[str, Any], body: bytes, media: str = "application/json") -> Any:
    headers = (("authorization", f"Bearer {dev_token(claims)}"), ("content-type", media))
    answer = gateway.handle(HttpRequest(method="POST", path=path, headers=headers, body=body))
    if answer.status != 200:  # noqa: PLR2004
        raise SystemExit(f"{path}: {answer.status} {answer.body.decode()}")
    return json.loads(answer.body)


def load(gateway: Gateway) -> None:
    lines = [json.dumps(line) for line in graph()]
    for start in range(0, len(lines), BATCH):
        body = "\n".join(lines[start : start + BATCH]).encode()
        post(gateway, "/api/import", OPERATOR, body, "application/x-ndjson")


def cases(gateway: Gateway) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    yield from sample_calls(gateway)
    for depth in (1, 2, 3):
        yield f"a hub, depth {depth}", "/api/search/expand", {"entity_ids": ["hub"], "depth": depth, "limit": 24}
        yield f"a leaf, depth {depth}", "/api/search/expand", {"entity_ids": ["link-0000"], "depth": depth, "limit": 24}


def measure(gateway: Gateway, name: str, path: str, body: Mapping[str, Any]) -> Measured:
    sent = json.dumps(body).encode()
    post(gateway, path, ANA, sent)
    meter = connected().table.meter
    meter.reset()
    post(gateway, path, ANA, sent)
    once = Measured(name, 0, 0, meter.waves, meter.reads, meter.items)
    times = []
    for _ in range(ROUNDS):
        started = perf_counter()
        post(gateway, path, ANA, sent)
        times.append((perf_counter() - started) * 1000)
    return replace(once, p50=statistics.median(times), p95=statistics.quantiles(times, n=20)[-1])


def main() -> None:
    os.environ.pop("DYNAMODB_ENDPOINT", None)
    table = Table("call", "waves", "calls", "rows", "p50 ms", "p95 ms", title="Each verb, own scope")
    with tempfile.TemporaryDirectory() as folder, running(Options(store=Path(folder))) as gateway:
        load(gateway)
        for name, path, body in cases(gateway):
            found = measure(gateway, f"{path.removeprefix('/api/')}: {name}", path, body)
            counts = (str(count) for count in (found.waves, found.reads, found.items))
            table.add_row(found.name, *counts, f"{found.p50:.1f}", f"{found.p95:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
