"""Runs the product locally: a store, the template's tables, the sample, and the server, until told to stop."""

import fcntl
import json
import os
import shlex
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, NoReturn

import uvicorn

from infra.local.engine import create_tables, embedded_store, local_environment
from infra.local.events import HttpRequest, HttpResponse, dev_token
from infra.local.gateway import Gateway
from infra.local.schedule import scheduled
from infra.local.server import application
from infra.local.template import Template

SAMPLE = Path(__file__).with_name("sample.jsonl")
STORE = Path(".hopscope/store")
DEFAULT_PORT = 3000
SWEEP_SECONDS = 60.0
"""As often as the template's schedule."""

OPERATOR: Mapping[str, Any] = {
    "tenant_id": "demo",
    "sub": "operator",
    "roles": ["reader", "writer", "admin"],
    "agents": ["*"],
}
ANA: Mapping[str, Any] = {"tenant_id": "demo", "sub": "ana", "roles": ["reader", "writer"], "agents": ["planner"]}

_QUIET = {"LOG_LEVEL": "WARNING", "POWERTOOLS_METRICS_DISABLED": "true", "POWERTOOLS_TRACE_DISABLED": "true"}
"""A terminal is no log group: one line a request would hide what is printed for the reader."""


class SampleNotLoadedError(RuntimeError):
    """The sample was refused, or a line of it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to run. Without an endpoint the embedded store is started, its rows kept in `store`."""

    port: int = DEFAULT_PORT
    endpoint: str | None = None
    store: Path = STORE

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Options":
        port = environment.get("PORT") or str(DEFAULT_PORT)
        if not port.isdecimal():
            sys.exit(f"PORT must be a number, not {port!r}.")
        return cls(
            port=int(port),
            endpoint=environment.get("DYNAMODB_ENDPOINT") or None,
            store=Path(environment.get("HOPSCOPE_STORE") or STORE),
        )


@contextmanager
def _store(options: Options, ended: Callable[[int], None] | None) -> Iterator[str]:
    if options.endpoint:
        yield options.endpoint
        return
    with _alone_in(options.store), embedded_store(options.store, ended) as endpoint:
        yield endpoint


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Of two stores in one folder the one that stops last would undo what the other wrote."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            sys.exit(f"Another server keeps its rows in {folder}. Stop it, or set HOPSCOPE_STORE to another folder.")
        yield


def _listening(port: int) -> socket.socket:
    """The server's socket, taken before anything is started."""
    try:
        return socket.create_server(("127.0.0.1", port))
    except (OSError, OverflowError) as fault:
        sys.exit(f"Port {port} can't be used ({fault}). Set PORT to another.")


@contextmanager
def running(options: Options, store_ended: Callable[[int], None] | None = None) -> Iterator[Gateway]:
    """A gateway over a store that has the template's tables, and the sample if it was empty."""
    template = Template.load()
    with _store(options, store_ended) as endpoint:
        os.environ.update({**template.environment(), **_QUIET, **_given(template), **local_environment(endpoint)})
        os.environ.setdefault("RESOURCE", f"http://127.0.0.1:{options.port}/mcp")
        os.environ["ALLOWED_ORIGINS"] += f",http://localhost:{options.port},http://127.0.0.1:{options.port}"
        os.environ.setdefault("ALLOWED_HOSTS", "127.0.0.1,localhost")
        create_tables(template.tables())
        gateway = Gateway(template.routes())
        load_sample(gateway)
        with scheduled(template.functions()["SweepFunction"], SWEEP_SECONDS):
            yield gateway


def _given(template: Template) -> Mapping[str, str]:
    """Settings that the environment already has go before the template's defaults; the table's name does not."""
    names = (template.environment() | _QUIET).keys() - {"TABLE_NAME"}
    return {name: os.environ[name] for name in names if name in os.environ}


def load_sample(gateway: Gateway) -> None:
    """Import the sample where its tenant has no rows: what was changed or deleted since the first start stays so."""
    held = gateway.handle(HttpRequest(method="GET", path="/api/export", headers=_bearer(OPERATOR)))
    if held.status != HTTPStatus.OK:
        raise SampleNotLoadedError(held.body.decode())
    if held.body or any(name.lower() == "x-next-cursor" for name, _ in held.headers):
        return
    answer = _post(gateway, "/api/import", OPERATOR, SAMPLE.read_bytes(), "application/x-ndjson")
    if answer.status != HTTPStatus.OK or json.loads(answer.body)["rejected"]:
        raise SampleNotLoadedError(answer.body.decode())


def sample_calls(gateway: Gateway) -> list[tuple[str, str, Mapping[str, Any]]]:
    """A call for each read verb: what it shows, its path, its body."""
    lines = _post(gateway, "/api/records/lines", ANA, b'{"recordIds": ["decision-single-table"]}', "application/json")
    calls: list[tuple[str, str, Mapping[str, Any]]] = [
        ("what surrounds a decision", "/api/search/expand", {"entity_ids": ["decision-single-table"], "depth": 2}),
        ("a long text, in passages", "/api/search/slice", {"entity_id": "guide-order-store", "window": 2}),
        ("who has to do with a name", "/api/search/traverse", {"agent_id": "planner", "entity": "ana", "max_hops": 2}),
    ]
    found = json.loads(lines.body)["lines"] if lines.status == HTTPStatus.OK else []
    if found:
        handle = found[0]["expansion"]
        record = {"recordId": handle["recordId"], "digest": handle["digest"], "project": handle["scope"]["project"]}
        calls.append(("whether a remembered line still holds", "/api/records/expand", record))
    return calls


def _post(gateway: Gateway, path: str, claims: Mapping[str, Any], body: bytes, media: str) -> HttpResponse:
    headers = (*_bearer(claims), ("content-type", media))
    return gateway.handle(HttpRequest(method="POST", path=path, headers=headers, body=body))


def _bearer(claims: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {dev_token(claims)}"),)


def _greeting(gateway: Gateway, options: Options) -> str:
    base = f"http://127.0.0.1:{options.port}"
    bearer = f"Authorization: Bearer {dev_token(ANA)}"
    kept = options.endpoint or options.store
    parts = [f"\nHopscope serves {base} (MCP: {base}/mcp); its rows are in {kept}. Ctrl-C stops it.\n\nAs ana:"]
    for shows, path, body in sample_calls(gateway):
        data = json.dumps(body)
        parts.append(
            f"\n# {shows}\ncurl -s {base}{path} -H {shlex.quote(bearer)} \\\n"
            f"  -H 'Content-Type: application/json' -d {shlex.quote(data)}"
        )
    return "\n".join(parts) + "\n"


def _stop(_signal: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


def serve(options: Options) -> None:
    """Serve until Ctrl-C or SIGTERM, then stop the store. A store that ends by itself ends the server."""
    codes: list[int] = []

    def store_ended(code: int) -> None:
        codes.append(code)
        os.kill(os.getpid(), signal.SIGTERM)

    # The server hands a signal on once it has shut down; a plain SIGTERM would then end us before the store stops.
    signal.signal(signal.SIGTERM, _stop)
    try:
        with _listening(options.port) as listener, running(options, store_ended) as gateway:
            sys.stdout.write(_greeting(gateway, options))
            sys.stdout.flush()
            config = uvicorn.Config(application(gateway), http="h11", ws="none", log_level="warning")
            uvicorn.Server(config).run(sockets=[listener])
    except KeyboardInterrupt:
        pass
    if codes:
        sys.exit(
            f"The embedded store ended by itself (exit code {codes[0]}), and the server with it.\n"
            "What was written since the start may be lost. Start it again."
        )
    sys.stdout.write("\nStopped.\n")
