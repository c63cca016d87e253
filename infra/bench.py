"""What each verb costs: waves, calls, rows and milliseconds, on the embedded store through the real handlers.

Run by `make bench`. Time on an emulator says little about DynamoDB, but for ratios within one run; waves, calls and
rows say what DynamoDB will do.
"""

import gzip
import json
import os
import statistics
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.table import Table

from infra.importer import import_file
from infra.local.events import HttpRequest, dev_token
from infra.local.gateway import Gateway
from infra.local.serve import ANA, OPERATOR, Options, running, sample_calls
from infra.local.template import TEMPLATE
from shared.domain.cutter import cut
from shared.runtime import connected

ROUNDS = 20
_FEWEST = 3
STARS = (30, 150, 1_000)
"""More than any answer returns; more than the bounds of work let be walked; a hub."""
SECONDS = 2.0
"""For one call's rounds; a store that is slow has fewer."""
CHAIN = 200
MIB = 1024 * 1024
DOCUMENTS = TEMPLATE.parents[1] / "shared/data/peps.jsonl.gz"
NDJSON = "application/x-ndjson"


@dataclass(frozen=True, slots=True)
class Measured:
    """One call, repeated: the median and 95th percentile of its time, and what one run of it asked of the store."""

    name: str
    p50: float
    p95: float
    waves: int
    reads: int
    items: int


def star(center: str, size: int) -> Iterator[dict[str, Any]]:
    """A memory with so many edges, and a name with so many relations."""
    yield {"kind": "memory", "id": center, "type": "note", "name": center}
    for n in range(size):
        ray = f"{center}-{n:04}"
        yield {"kind": "memory", "id": ray, "type": "note", "name": ray, "content": "Text. " * 40}
        weight = (n % 100) / 100
        yield {"kind": "edge", "source": center, "relationship": "ABOUT", "target": ray, "weight": weight}
        statement = {"subject": center, "predicate": "knows", "object": ray}
        yield {"kind": "relation", "agent_id": "planner", **statement, "declared_at": f"2026-01-01T00:{n % 60:02}:00Z"}


def chain() -> Iterator[dict[str, Any]]:
    """Memories that lead from one to the next, each with eight neighbors."""
    for n in range(CHAIN):
        yield {"kind": "memory", "id": f"link-{n:04}", "type": "task", "name": f"Link {n}", "content": "Text. " * 100}
        for step in (1, 2, 3, 5):
            target = f"link-{(n + step) % CHAIN:04}"
            yield {"kind": "edge", "source": f"link-{n:04}", "relationship": "DEPENDS_ON", "target": target}


def call(gateway: Gateway, path: str, claims: Mapping[str, Any], body: bytes, media: str = "application/json") -> Any:
    headers = (("authorization", f"Bearer {dev_token(claims)}"), ("content-type", media))
    answer = gateway.handle(HttpRequest(method="POST", path=path, headers=headers, body=body))
    if answer.status != 200:  # noqa: PLR2004
        raise SystemExit(f"{path}: {answer.status} {answer.body.decode()}")
    return json.loads(answer.body)


def load(gateway: Gateway, claims: Mapping[str, Any], text: bytes) -> tuple[int, float]:
    """Lines imported, and in how many seconds."""
    started = perf_counter()
    answer = import_file(
        BytesIO(text), lambda body: call(gateway, "/api/import", claims, body, NDJSON), lambda *_: None
    )
    if answer.rejected:
        raise SystemExit(f"rejected: {answer.errors[:3]}")
    return answer.applied + answer.unchanged, perf_counter() - started


def measure(gateway: Gateway, name: str, path: str, body: Mapping[str, Any]) -> Measured:
    sent = json.dumps(body).encode()
    call(gateway, path, ANA, sent)
    meter = connected().table.meter
    meter.reset()
    call(gateway, path, ANA, sent)
    once = Measured(name, 0, 0, meter.waves, meter.reads, meter.items)
    times: list[float] = []
    give_up = perf_counter() + SECONDS
    while len(times) < _FEWEST or (len(times) < ROUNDS and perf_counter() < give_up):
        started = perf_counter()
        call(gateway, path, ANA, sent)
        times.append((perf_counter() - started) * 1000)
    return replace(once, p50=statistics.median(times), p95=statistics.quantiles(times, n=20)[-1])


def verbs(gateway: Gateway) -> Table:
    table = Table("call", "waves", "calls", "rows", "p50 ms", "p95 ms", title="Each verb, own scope")
    asked: list[tuple[str, str, Mapping[str, Any]]] = [
        *sample_calls(gateway),
        *(
            (f"a chain, depth {depth}", "/api/search/expand", {"entity_ids": ["link-0000"], "depth": depth})
            for depth in (1, 2, 3)
        ),
        ("ten lines", "/api/records/lines", {"project": "atlas"}),
    ]
    for name, path, body in asked:
        found = measure(gateway, f"{path.removeprefix('/api/')}: {name}", path, body)
        counts = (str(count) for count in (found.waves, found.reads, found.items))
        table.add_row(found.name, *counts, f"{found.p50:.1f}", f"{found.p95:.1f}")
    return table


def hubs(gateway: Gateway) -> Table:
    """The same questions of ever larger stars: from the bounds of work on, size costs nothing."""
    sizes = " / ".join(str(size) for size in STARS)
    columns = ("call", "waves", "calls", "rows", "p50 ms", "rows ×", "p50 ×")
    table = Table(*columns, title=f"A node of {sizes} edges; × is the last to the one before")
    asked: list[tuple[str, str, str, Mapping[str, Any]]] = [
        *(("expand", "depth", "/api/search/expand", {"depth": depth, "limit": 24}) for depth in (1, 2)),
        *(("traverse", "max_hops", "/api/search/traverse", {"agent_id": "planner", "max_hops": n}) for n in (1, 2)),
    ]
    for verb, far, path, fields in asked:
        found = [
            measure(
                gateway,
                verb,
                path,
                {**fields, **({"entity_ids": [center]} if verb == "expand" else {"entity": center})},
            )
            for center in (f"star-{size}" for size in STARS)
        ]
        counts = [(one.waves, one.reads, one.items, round(one.p50)) for one in found]
        shown = (" / ".join(map(str, column)) for column in zip(*counts, strict=True))
        largest, next_to_it = found[-1], found[-2]
        ratio = f"{largest.items / next_to_it.items:.2f}", f"{largest.p50 / next_to_it.p50:.2f}"
        table.add_row(f"{verb}, {far} {fields[far]}", *shown, *ratio)
    return table


def throughput(gateway: Gateway) -> Table:
    table = Table("work", "amount", "seconds", "rate", title="Writing")

    def row(name: str, amount: float, unit: str, seconds: float) -> None:
        table.add_row(name, f"{amount:,.0f} {unit}", f"{seconds:.2f}", f"{amount / seconds:,.0f} {unit}/s")

    body = "# Heading\n\n" + "A sentence of some words, and one more. " * 20 + "\n\n"
    body = (body * (4 * MIB // len(body) + 1))[: 4 * MIB]
    started = perf_counter()
    passages = len(cut(body))
    row(f"cut a body of 4 MiB into {passages} passages", 4, "MiB", perf_counter() - started)
    line = {"kind": "memory", "id": "long", "type": "document", "name": "Long", "content": body}
    started = perf_counter()
    call(gateway, "/api/import", OPERATOR, json.dumps(line).encode(), NDJSON)
    row("import it", 4, "MiB", perf_counter() - started)
    if not DOCUMENTS.exists():
        table.add_row(f"import {DOCUMENTS.name}", "", "", "not there")
        return table
    text = gzip.decompress(DOCUMENTS.read_bytes())
    operator = {**OPERATOR, "tenant_id": "documents"}
    for name in (f"import {DOCUMENTS.name}", "the same again"):
        lines, seconds = load(gateway, operator, text)
        row(name, lines, "lines", seconds)
    return table


def main() -> None:
    os.environ.pop("DYNAMODB_ENDPOINT", None)
    console = Console()
    with tempfile.TemporaryDirectory() as folder, running(Options(store=Path(folder))) as gateway:
        console.print("Loading …")
        lines = [*chain(), *(line for size in STARS for line in star(f"star-{size}", size))]
        load(gateway, OPERATOR, "\n".join(json.dumps(line) for line in lines).encode())
        for part in (verbs, hubs, throughput):
            console.print(part(gateway))


if __name__ == "__main__":
    main()
