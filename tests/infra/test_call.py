"""The fixture `call`: real handlers on the chosen engine, by both event shapes."""

import pytest

from tests.conftest import Caller, ClaimsOf

BODY = {"entity_ids": ["nowhere"]}


@pytest.mark.parametrize("rest", [False, True])
def test_a_verb_answers_through_its_handler(call: Caller, claims_of: ClaimsOf, rest: bool) -> None:
    reply = call("POST", "/api/search/expand", claims_of("ana", "reader"), BODY, rest=rest)
    assert (reply.status, reply.body["unresolved"]) == (200, ["nowhere"])
    assert reply.headers["content-type"] == "application/json"


@pytest.mark.parametrize("rest", [False, True])
def test_roles_reach_the_handler(call: Caller, claims_of: ClaimsOf, rest: bool) -> None:
    assert call("POST", "/api/search/expand", claims_of("ana", "writer"), BODY, rest=rest).status == 403


def test_no_claims_no_answer(call: Caller) -> None:
    assert call("POST", "/api/search/expand", None, BODY).status == 401
