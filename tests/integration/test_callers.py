"""Callers that sign: whom a row maps them to, strongly read in the request that uses it, and nobody without a row."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from typer.testing import CliRunner

from infra.cli.app import app
from infra.local.gateway import imported
from infra.local.template import Template
from shared.boundary.http import Endpoint
from shared.boundary.settings import settings
from shared.domain.principal import Principal, Role
from shared.runtime import connected, store
from tests.support.lambda_events import Context, v2

ACCOUNT = "123456789012"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/team/Agent"
SESSION = f"arn:aws:sts::{ACCOUNT}:assumed-role/Agent/one"
ROUTE = "POST /api/search/expand"
BODY = {"entity_ids": ["m"]}


@pytest.fixture
def by_signature(engine: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """`expand_neighbors` as a deployment with `AuthMode` IAM loads it."""
    assert engine
    by_token = imported(Template.load().functions()["ExpandNeighborsFunction"])
    assert isinstance(by_token, Endpoint)
    with monkeypatch.context() as patch:
        patch.setenv("AUTH_MODE", "IAM")
        settings.cache_clear()
        yield Endpoint(store, *by_token.operations)
    settings.cache_clear()


def signed(arn: str) -> dict[str, Any]:
    event = v2(ROUTE, BODY, claims=None)
    event["requestContext"]["authorizer"] = {"iam": {"userArn": arn}}
    return event


def hopscope(table: str, *words: str) -> Any:
    return CliRunner().invoke(app, ["caller", *words, "--table", table])


def status(handler: Any, event: dict[str, Any]) -> int:
    found: int = handler(event, Context())["statusCode"]
    return found


def test_a_role_is_served_as_whom_its_row_says_and_refused_without(
    by_signature: Any, table_name: str, tenant: str
) -> None:
    assert status(by_signature, signed(SESSION)) == 401
    added = hopscope(table_name, "add", ROLE, "--tenant", tenant, "--principal", "ana")
    assert added.exit_code == 0, added.output
    assert status(by_signature, signed(SESSION)) == 200
    assert status(by_signature, signed(SESSION.replace("/one", "/two"))) == 200
    for other in (SESSION.replace(ACCOUNT, "123456789013"), SESSION.replace("Agent", "Agents"), SESSION[:-5], ""):
        assert status(by_signature, signed(other)) == 401
    assert hopscope(table_name, "remove", ROLE).exit_code == 0
    assert status(by_signature, signed(SESSION)) == 401
    assert hopscope(table_name, "remove", ROLE).exit_code == 1


def test_claims_mean_nothing_where_callers_sign(by_signature: Any, tenant: str) -> None:
    claims = {"sub": "ana", "tenant_id": tenant, "roles": "reader"}
    assert status(by_signature, v2(ROUTE, BODY, claims=claims)) == 401


def test_a_signature_means_nothing_where_tokens_are_asked_for(engine: str, table_name: str, tenant: str) -> None:
    assert engine
    by_token = imported(Template.load().functions()["ExpandNeighborsFunction"])
    hopscope(table_name, "add", ROLE, "--tenant", tenant, "--principal", "ana")
    assert status(by_token, signed(SESSION)) == 401
    hopscope(table_name, "remove", ROLE)


def test_a_role_that_the_row_lacks_is_missing(by_signature: Any, table_name: str, tenant: str) -> None:
    user = f"arn:aws:iam::{ACCOUNT}:user/{tenant}"
    hopscope(table_name, "add", user, "--tenant", tenant, "--principal", "ana", "--roles", "writer")
    assert status(by_signature, signed(user)) == 403


def test_what_was_added_is_listed(engine: str, table_name: str, tenant: str) -> None:
    assert engine
    connected.cache_clear()
    user = f"arn:aws:iam::{ACCOUNT}:user/{tenant}"
    words = ("--roles", "reader,admin", "--agents", "*", "--scope-keys", "")
    hopscope(table_name, "add", user, "--tenant", tenant, "--principal", "ana", *words)
    listed = [json.loads(line) for line in hopscope(table_name, "list").output.splitlines()]
    assert {
        "arn": user,
        "tenant": tenant,
        "principal": "ana",
        "roles": ["admin", "reader"],
        "agents": ["*"],
        "scope_keys": [],
    } in listed
    assert connected().callers.find(user) == Principal(
        tenant_id=tenant,
        principal_id="ana",
        roles=frozenset({Role.READER, Role.ADMIN}),
        agent_ids=frozenset({"*"}),
        scope_keys=frozenset(),
    )


@pytest.mark.parametrize("words", [("ana",), ("arn:aws:iam::1:role/*",), (ROLE, "--roles", "root")])
def test_what_is_no_caller_is_refused(words: tuple[str, ...], table_name: str) -> None:
    refused = hopscope(table_name, "add", *words, "--tenant", "t", "--principal", "ana")
    assert refused.exit_code == 2
