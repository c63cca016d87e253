"""The whole product over a table in memory: real events, real handlers, real store code, three doors."""

import json
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from time import monotonic
from typing import Any
from urllib.parse import quote, urlencode

from infra.local.events import HttpRequest, dev_token, http_api_event, rest_api_event
from infra.local.gateway import Gateway, Handler, LambdaContext, imported
from infra.local.template import Function, Template
from shared.engine.session import Deadline
from shared.engine.sweep import sweep
from shared.store.dynamo import Store
from shared.store.table import Item, Table
from tests.hardening.client import Hook, Inline, MemoryClient
from tests.support.scripted import Rows

TENANT = "acme"
LONG = "# Head\n\n" + "A sentence of the body stands here. " * 160
LONGER = "# Other\n\n" + "Another sentence of the new body. " * 220
Claims = Mapping[str, Any]


def claims(sub: str, *roles: str, tenant: str = TENANT, **more: Any) -> Claims:
    held = [*(roles or ("reader", "writer", "admin"))]
    return {"sub": sub, "tenant_id": tenant, "roles": held, "agents": ["*"], **more}


ROOT, ANN, BOB = claims("root"), claims("ann", "reader", "writer"), claims("bob", "reader", "writer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A request: through HTTP, and where it has a tool through MCP."""

    name: str
    method: str = "POST"
    path: str = ""
    body: Any = None
    query: Mapping[str, str] = field(default_factory=dict)
    who: Claims = field(default_factory=lambda: ANN)
    tool: str | None = None
    media: str = "application/json"


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def body(self) -> Any:
        return json.loads(self.text) if self.text else None


@dataclass(slots=True)
class World:
    """The product, and what its store was asked."""

    gateway: Gateway
    client: MemoryClient = field(default_factory=MemoryClient)
    seconds: float = 29.0
    pool: Executor = field(default_factory=Inline)

    @property
    def store(self) -> Store:
        return Store(Table(self.client, "canary-table", self.pool))  # type: ignore[arg-type]

    def http(self, ask: Ask, *, rest: bool = False) -> Answer:
        text = ask.body if isinstance(ask.body, str | bytes) else json.dumps(ask.body)
        body = b"" if ask.body is None else text if isinstance(text, bytes) else text.encode()
        return self._send(ask.method, ask.path, ask.who, body, query=ask.query, media=ask.media, rest=rest)

    def mcp(self, ask: Ask) -> Answer:
        call = {"name": ask.tool, "arguments": ask.body}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        return self._send("POST", "/mcp", ask.who, json.dumps(message).encode())

    def _send(
        self,
        method: str,
        path: str,
        who: Claims,
        body: bytes,
        *,
        query: Mapping[str, str] | None = None,
        media: str = "application/json",
        rest: bool = False,
    ) -> Answer:
        headers = {"content-type": media, "host": "127.0.0.1:3000", "authorization": f"Bearer {dev_token(who)}"}
        sent = HttpRequest(
            method=method, path=path, query=urlencode(query or {}), headers=tuple(headers.items()), body=body
        )
        make_event = rest_api_event if rest else http_api_event
        answer = replace(self.gateway, make_event=make_event, find_handler=self._find).handle(sent)
        return Answer(answer.status, dict(answer.headers), answer.body.decode())

    def _find(self, function: Function) -> Handler:
        handler = imported(function)

        def in_time(event: dict[str, Any], context: LambdaContext) -> Any:
            return handler(event, replace(context, ends=monotonic() + self.seconds))

        return in_time

    def load(self, *lines: Mapping[str, Any], who: Claims = ROOT) -> None:
        text = "\n".join(json.dumps(line) for line in lines)
        ask = Ask(name="import", path="/api/import", body=text, who=who, media="application/x-ndjson")
        answer = self.http(ask)
        assert (answer.status, answer.body["rejected"]) == (200, 0), answer

    @contextmanager
    def at(self, rows: Rows, hook: Hook | None = None) -> Iterator[None]:
        """The store as `rows` has it, its calls disturbed by `hook`."""
        self.client.rows, self.client.hook, self.client.calls = dict(rows), hook, []
        try:
            yield
        finally:
            self.client.hook = None

    def sweep(self) -> None:
        """All clean-ups, as of a day later."""
        sweep(self.store, datetime.now(UTC) + timedelta(days=1), Deadline(monotonic() + 60))


_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_MINTED = re.compile(r"grant_[a-z2-7]{26}|(?<=psg_.{32}_)[0-9a-z]{16}")
_REQUEST = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OF_A_MOMENT = frozenset(
    {
        *("SK", "x1", "x2", "born", "cut", "digest", "mark", "due", "active", "at", "ttl", "count", "revision"),
        *("source_born", "target_born", "anchor_born", "subject_born", "object_born", "updated_at", "written_at"),
        *("first_at", "last_at", "samples", "records_returned_total", "sample_1", "sample_2", "sample_3"),
    }
)


def settled(text: str) -> str:
    """An answer without what differs from one run to another: instants, random ids, the request id."""
    return _REQUEST.sub("<request>", _MINTED.sub("<minted>", _INSTANT.sub("<instant>", text)))


def standing(rows: Rows) -> list[str]:
    """The rows of a store as one may compare them between runs: kinds of keys, and what was written in them."""
    return sorted(f"{pk} {sk[:2]} {_content(item)}" for (pk, sk), item in rows.items())


def shown(rows: Rows) -> list[str]:
    """What readers can come to see of a store: its identities, and whether every cut is whole."""
    seen = {key: item for key, item in rows.items() if "x1" in item or key[0][0] in "PB" or key[1] == "K"}
    lives = {item["id"]: item["born"] for item in seen.values() if "born" in item}
    dead = [key for key, item in seen.items() if any(lives.get(item[end]) != item[born] for end, born in _ends(item))]
    seen = {key: item for key, item in seen.items() if key not in dead}
    torn = [
        item["id"]
        for (pk, _), item in seen.items()
        if item.get("cut")
        and item["passages"] != sum(pk == of and sk.startswith(f"J#{item['cut']!s}#") for of, sk in rows)
    ]
    return [*standing(seen), f"torn: {torn!r}"]


def _ends(item: Item) -> Iterator[tuple[str, str]]:
    """What a row stands on: where one of these is gone, no reader is shown it."""
    named = (("source", "source_born"), ("target", "target_born"), ("anchor_ref", "anchor_born"))
    return (pair for pair in named if pair[0] in item and pair[1] in item)


def _content(item: Item) -> str:
    kept = {name: value for name, value in item.items() if name not in _OF_A_MOMENT}
    if item["SK"] == "K":
        kept["revision"] = item.get("revision")
    return settled(repr(sorted(kept.items(), key=lambda pair: pair[0])))


def path_of(prefix: str, identity: str) -> str:
    return f"{prefix}/{quote(identity, safe='')}"


def memory(memory_id: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "memory", "id": memory_id, "type": "note", "name": f"Name of {memory_id}", **fields}


def edge(source: str, relationship: str, target: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "edge", "source": source, "relationship": relationship, "target": target, **fields}


def membership(who: str, **place: str) -> dict[str, Any]:
    return {"kind": "membership", "principal_id": who, **place}


@cache
def template() -> Template:
    return Template.load()


@cache
def template_gateway() -> Gateway:
    return Gateway(template().routes())
