"""Who asks, from every shape of authorizer; a wrong claim narrows or refuses, never widens."""

from typing import Any

import pytest

from shared.boundary.principal import iam_caller, principal_of
from shared.boundary.settings import Claims
from shared.domain.errors import Unauthenticated
from shared.domain.principal import Principal, Role
from tests.support.lambda_events import v1, v2

ROUTE = "POST /api/search/expand"


def from_jwt(**claims: Any) -> Principal:
    return principal_of(v2(ROUTE, claims={"sub": "ann", "tenant_id": "acme", **claims}), Claims())


@pytest.mark.parametrize(
    "roles",
    [["reader", "writer"], "reader writer", "[reader writer]", " reader\twriter ", ["reader", "writer", "root", 7]],
)
def test_lists_come_as_arrays_words_or_the_gateways_text(roles: Any) -> None:
    assert from_jwt(roles=roles).roles == {Role.READER, Role.WRITER}


@pytest.mark.parametrize("roles", [None, "", [], "[]", "root", 7, {"reader": True}, True])
def test_roles_that_are_none_give_none(roles: Any) -> None:
    assert from_jwt(roles=roles).roles == frozenset()


@pytest.mark.parametrize("agents", ["*", ["*"], "[*]"])
def test_a_star_means_every_agent(agents: Any) -> None:
    assert from_jwt(agents=agents).may_act_as("any")


def test_agents_are_only_those_named() -> None:
    principal = from_jwt(agents=["a1", "a2"])
    assert principal.may_act_as("a1")
    assert not principal.may_act_as("a3")


def test_only_an_absent_scope_keys_claim_is_unrestricted() -> None:
    assert from_jwt().scope_keys is None


@pytest.mark.parametrize(
    "scope_keys", ["", [], "[]", "  ", None, 7, True, {"project:atlas": 1}, [None], [["project:atlas"]]]
)
def test_an_empty_or_misshapen_scope_keys_claim_reads_nothing(scope_keys: Any) -> None:
    assert from_jwt(scope_keys=scope_keys).scope_keys == frozenset()


@pytest.mark.parametrize(
    "scope_keys", [["project:atlas", "private:ann"], "project:atlas private:ann", "[project:atlas private:ann]"]
)
def test_scope_keys_restrict(scope_keys: Any) -> None:
    assert from_jwt(scope_keys=scope_keys).scope_keys == frozenset({"project:atlas", "private:ann"})


@pytest.mark.parametrize("claim", ["sub", "tenant_id"])
@pytest.mark.parametrize("value", [None, "", "  ", " ann", "a\u0000", "x" * 257, 7, ["ann"], "\ud800"])
def test_no_tenant_or_no_subject_is_no_principal(claim: str, value: Any) -> None:
    with pytest.raises(Unauthenticated):
        from_jwt(**{claim: value})


@pytest.mark.parametrize(
    "event",
    [
        v2(ROUTE, claims=None),
        v2(ROUTE, claims={}),
        v1(ROUTE),
        v1(ROUTE, authorizer={}),
        v1(ROUTE, authorizer={"claims": None}),
        {"version": "2.0", "requestContext": {"authorizer": {"jwt": {"claims": "sub"}}}},
        {"version": "2.0", "requestContext": None},
        {},
    ],
)
def test_no_authorizer_is_no_principal(event: dict[str, Any]) -> None:
    with pytest.raises(Unauthenticated):
        principal_of(event, Claims())


def test_a_lambda_authorizer_of_an_http_api() -> None:
    event = v2(ROUTE, claims=None)
    event["requestContext"]["authorizer"] = {"lambda": {"sub": "ann", "tenant_id": "acme", "roles": ["reader"]}}
    principal = principal_of(event, Claims())
    assert (principal.tenant_id, principal.principal_id, principal.roles) == ("acme", "ann", frozenset({Role.READER}))


def test_a_rest_api_has_claims_or_a_flat_context() -> None:
    claims = principal_of(
        v1(ROUTE, authorizer={"claims": {"sub": "ann", "tenant_id": "acme", "roles": "reader"}}), Claims()
    )
    flat = principal_of(v1(ROUTE, authorizer={"principalId": "ann", "tenant_id": "acme", "roles": "reader"}), Claims())
    assert claims == flat
    assert claims.roles == {Role.READER}


def test_claim_names_are_settings() -> None:
    names = Claims(subject="cognito:username", tenant="custom:tenant", roles="cognito:groups")
    event = v2(
        ROUTE,
        claims={
            "cognito:username": "ann",
            "custom:tenant": "acme",
            "cognito:groups": "[reader admin]",
            "roles": "writer",
        },
    )
    assert principal_of(event, names).roles == {Role.READER, Role.ADMIN}


def test_nothing_but_the_authorizer_is_read() -> None:
    event = v2(
        ROUTE,
        {"tenant_id": "other", "roles": ["admin"], "principal": {"sub": "root"}},
        headers={"authorization": "Bearer dev.e30", "x-tenant-id": "other", "x-roles": "admin"},
        query={"tenant_id": "other"},
    )
    assert principal_of(event, Claims()) == Principal(
        tenant_id="acme", principal_id="ann", roles=frozenset({Role.READER}), agent_ids=frozenset(), scope_keys=None
    )


@pytest.mark.parametrize(
    ("arn", "expected"),
    [
        ("arn:aws:sts::123456789012:assumed-role/Agent/session-7", "arn:aws:sts::123456789012:assumed-role/Agent"),
        ("arn:aws:iam::123456789012:user/ann", "arn:aws:iam::123456789012:user/ann"),
        ("", None),
        (None, None),
    ],
)
def test_a_signed_caller_is_named_without_its_session(arn: Any, expected: str | None) -> None:
    event = v2(ROUTE, claims=None)
    event["requestContext"]["authorizer"] = {"iam": {"userArn": arn}}
    assert iam_caller(event) == expected
    rest = v1(ROUTE)
    rest["requestContext"]["identity"] = {"userArn": arn}
    assert iam_caller(rest) == expected
