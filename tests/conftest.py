"""Shared fixtures: a store (moto in this process, or `--engine=ministack`), and calls through the real handlers."""

import json
import os
import threading
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlencode

import pytest
from botocore.client import BaseClient
from moto import mock_aws
from moto.core.models import DEFAULT_ACCOUNT_ID as ACCOUNT_ID
from moto.dynamodb.models import dynamodb_backends

from infra.local.engine import DUMMY_CREDENTIALS, create_tables, embedded_store
from infra.local.events import HttpRequest, dev_token, http_api_event, rest_api_event
from infra.local.gateway import Gateway, Handler, imported
from infra.local.template import Function, Template
from shared.store.dynamo import Store
from tests.rights import Watch

ROLES = ("reader", "writer", "admin")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engine", choices=("moto", "ministack"), default="moto", help="the store that integration tests run on"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A test in tests/integration is an integration test; `needs_concurrency` tests are for MiniStack alone."""
    skip = pytest.mark.skip(reason="says nothing on moto, which loses concurrent updates: run with --engine=ministack")
    for item in items:
        marker = "integration" if "engine" in getattr(item, "fixturenames", ()) else "unit"
        item.add_marker(marker)
        if item.get_closest_marker("needs_concurrency") and config.getoption("engine") == "moto":
            item.add_marker(skip)


@pytest.fixture(scope="session")
def template() -> Template:
    return Template.load()


@pytest.fixture(scope="session")
def engine(request: pytest.FixtureRequest, template: Template) -> Iterator[str]:
    """The name of the engine whose tables, made from the template, the environment now points to."""
    name: str = request.config.getoption("engine")
    with pytest.MonkeyPatch.context() as patch:
        for variable in [known for known in os.environ if known.startswith("AWS_")]:
            patch.delenv(variable)
        settings = {**DUMMY_CREDENTIALS, **template.environment(), "POWERTOOLS_TRACE_DISABLED": "true"}
        for variable, value in settings.items():
            patch.setenv(variable, value)
        if name == "moto":
            with mock_aws():
                _one_call_at_a_time(patch)
                create_tables(template.tables())
                yield name
            return
        with embedded_store() as endpoint:
            patch.setenv("AWS_ENDPOINT_URL_DYNAMODB", endpoint)
            create_tables(template.tables())
            yield name


def _one_call_at_a_time(patch: pytest.MonkeyPatch) -> None:
    """Moto copies its tables while other threads write to them; the product's threads wait for one another here."""
    call, lock = BaseClient._make_api_call, threading.Lock()  # type: ignore[attr-defined]

    def serial(client: BaseClient, operation: str, arguments: Any) -> Any:
        with lock:
            return call(client, operation, arguments)

    patch.setattr(BaseClient, "_make_api_call", serial)


@pytest.fixture(autouse=True)
def _emptied(request: pytest.FixtureRequest) -> Iterator[None]:
    """Moto copies the whole table again and again in each transaction: a test leaves it empty."""
    yield
    if "engine" in request.fixturenames and request.config.getoption("engine") == "moto":
        for backend in dynamodb_backends[ACCOUNT_ID].values():
            for table in backend.tables.values():
                table.items.clear()


@pytest.fixture
def table_name(engine: str, template: Template) -> str:
    """The one table of the running engine."""
    assert engine
    return template.tables()[0].name


@pytest.fixture
def store(table_name: str) -> Store:
    """The store of the running engine."""
    return Store.from_environment(table_name)


@pytest.fixture
def tenant() -> str:
    """A tenant of the test's own: what other tests stored is out of its reach."""
    return f"t-{uuid.uuid4().hex[:12]}"


class Reply(NamedTuple):
    """What a caller gets: the status, the JSON body (None when empty, text when no JSON) and the headers."""

    status: int
    body: Any
    headers: Mapping[str, str]


class ClaimsOf(Protocol):
    def __call__(self, sub: str, *roles: str, **claims: Any) -> dict[str, Any]: ...


@pytest.fixture
def claims_of(tenant: str) -> ClaimsOf:
    """Claims in the test's tenant: every role and agent unless said otherwise."""

    def make(sub: str, *roles: str, **claims: Any) -> dict[str, Any]:
        return {"sub": sub, "tenant_id": tenant, "roles": list(roles or ROLES), "agents": ["*"], **claims}

    return make


@dataclass(frozen=True, slots=True)
class Caller:
    """Calls a route through the real handler, with a real API Gateway event."""

    gateway: Gateway
    watch: Watch

    def _find(self, function: Function) -> Handler:
        handler = imported(function)

        def held_to_its_role(event: dict[str, Any], context: Any) -> Any:
            with self.watch.running(function.name):
                return handler(event, context)

        return held_to_its_role

    def __call__(
        self,
        method: str,
        path: str,
        claims: Mapping[str, Any] | None = None,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
        rest: bool = False,
    ) -> Reply:
        """Without claims there is no token. A text or bytes body goes as it is, any other as JSON."""
        sent = {"content-type": content_type, "host": "127.0.0.1:3000", **(headers or {})}
        if claims is not None:
            sent["authorization"] = f"Bearer {dev_token(claims)}"
        make_event = rest_api_event if rest else http_api_event
        gateway = replace(self.gateway, make_event=make_event, find_handler=self._find)
        answer = gateway.handle(
            HttpRequest(
                method=method,
                path=path,
                query=urlencode(query or {}),
                headers=tuple(sent.items()),
                body=_bytes(body),
            )
        )
        self.watch.check()
        return Reply(answer.status, _parsed(answer.body), dict(answer.headers))


def _bytes(body: Any) -> bytes:
    match body:
        case None:
            return b""
        case bytes():
            return body
        case str():
            return body.encode()
        case _:
            return json.dumps(body).encode()


def _parsed(body: bytes) -> Any:
    if not body:
        return None
    try:
        return json.loads(body)
    except ValueError:
        return body.decode("utf-8", "replace")


@pytest.fixture(scope="session")
def watch(engine: str) -> Watch:
    """Holds every call through a handler to the rights of its function's role."""
    assert engine
    return Watch()


@pytest.fixture
def call(watch: Watch, template: Template) -> Caller:
    return Caller(Gateway(template.routes()), watch)


class Load(Protocol):
    def __call__(self, *lines: Mapping[str, Any]) -> Reply: ...


@pytest.fixture
def load(call: Caller, claims_of: ClaimsOf) -> Load:
    """Import interchange lines as the tenant's admin; every line must be accepted."""

    def send(*lines: Mapping[str, Any]) -> Reply:
        text = "\n".join(json.dumps(line) for line in lines)
        reply = call("POST", "/api/import", claims_of("root"), text, content_type="application/x-ndjson")
        assert reply.status == 200, reply
        assert reply.body["rejected"] == 0, reply
        return reply

    return send
