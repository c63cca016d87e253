"""From event to answer: precedence, shapes, the error table, and what must never leave."""

import gzip
import json
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from pydantic import Field

from shared.boundary.fields import Clamped, Id, Text, TextList
from shared.boundary.http import MAX_JSON_BYTES, MAX_NDJSON_BYTES, NDJSON, Content, Operation, Page, endpoint
from shared.boundary.models.base import Read, Write
from shared.domain.errors import Conflict, NotFound, TooLarge, Unavailable
from shared.domain.principal import Role, Surface
from shared.engine.session import Session
from tests.support.lambda_events import CLAIMS, Context, v1, v2

READ, PUT, DELETE, IMPORT = "POST /read", "PUT /rows/{id}", "DELETE /rows", "POST /import"


@dataclass(frozen=True, slots=True)
class Echo:
    values: Mapping[str, Any]


class EchoRead(Read):
    entity_ids: Annotated[tuple[str, ...], TextList(required=True)]
    depth: Annotated[int, Clamped(1, 3)] = 1
    record_id: Annotated[str | None, Id()] = Field(None, alias="recordId")

    def query(self) -> Echo:
        return Echo(self.model_dump())


class Short(Text):
    def accept(self, given: object) -> str:
        if len(text := super().accept(given)) > 10:
            raise TooLarge("Too long.")
        return text


class EchoWrite(Write):
    id: Annotated[str, Id()]
    content: Annotated[str, Short()] = ""

    def query(self) -> Echo:
        return Echo(self.model_dump())


class EchoLines(Write):
    body: bytes

    def query(self) -> Echo:
        return Echo({"size": len(self.body)})


def echo(store: Any, session: Session, query: Echo) -> dict[str, Any]:
    assert store == "store"
    assert session.surface is Surface.HTTP
    assert 9 < session.deadline.remaining() <= 9.5
    return {"who": session.principal.principal_id, **query.values}


Run = Callable[[Any, Session, Any], Any]


def make(run: Run = echo) -> Callable[[dict[str, Any]], dict[str, Any]]:
    handler = endpoint(
        lambda _: "store",
        Operation(route=READ, needs=Role.READER, request=EchoRead, run=run),
        Operation(route=PUT, needs=Role.WRITER, request=EchoWrite, run=run),
        Operation(route=DELETE, needs=Role.WRITER, request=EchoWrite, run=run),
        Operation(route=IMPORT, needs=Role.WRITER, request=EchoLines, run=run, media=NDJSON),
        Page(route="GET /open", show=lambda _: Content(body="text", content_type="text/plain"), summary="Open"),
    )

    def call(event: dict[str, Any]) -> dict[str, Any]:
        answer = handler(event, Context())
        assert answer["headers"]["Cache-Control"] == "no-store"
        try:
            answer["json"] = json.loads(answer["body"])
        except ValueError:
            answer["json"] = None
        return answer

    return call


def raises(error: Exception) -> Run:
    def run(_store: Any, _session: Session, _query: Any) -> Any:
        raise error

    return run


WRITER = {**CLAIMS, "roles": "writer"}


def test_a_success_is_a_200_with_compact_json() -> None:
    answer = make()(v2(READ, {"entity_ids": ["é"], "depth": "2", "other": 1}))
    assert answer["statusCode"] == 200
    assert answer["headers"]["Content-Type"] == "application/json"
    assert answer["body"] == '{"who":"ann","entity_ids":["é"],"depth":2,"record_id":null}'


def test_both_event_shapes_give_the_same_answer() -> None:
    body = {"entity_ids": ["a"]}
    rest = make()(v1(READ, body, authorizer={"claims": CLAIMS}))
    assert rest["body"] == make()(v2(READ, body))["body"]
    assert make()(v2(READ, json.dumps(body).encode()))["body"] == rest["body"]


def test_a_path_value_is_decoded_once_and_may_be_repeated_but_not_contradicted() -> None:
    call = make()
    rest = call(v1("PUT /rows/{id+}", {}, authorizer={"claims": WRITER}, path={"id": "a%252Fb"}))
    assert rest["json"]["id"] == "a%2Fb"
    event = v2(PUT, {"id": " a/b "}, claims=WRITER, path={"id": "a/b"})
    assert call(event)["json"]["id"] == "a/b"
    for other in ("c", 5):
        refused = call(v2(PUT, {"id": other}, claims=WRITER, path={"id": "a/b"}))
        assert (refused["statusCode"], refused["json"]["errors"][0]["field"]) == (400, "id")


def test_a_delete_takes_its_fields_from_query_or_body() -> None:
    call = make()
    assert call(v2(DELETE, query={"id": "a"}, claims=WRITER))["json"]["id"] == "a"
    assert call(v2(DELETE, {"id": "a"}, claims=WRITER))["json"]["id"] == "a"


def test_query_values_do_not_reach_a_post() -> None:
    assert make()(v2(READ, {"entity_ids": ["a"]}, query={"depth": "3"}))["json"]["depth"] == 1


def test_a_page_needs_no_principal() -> None:
    answer = make()(v2("GET /open", claims=None))
    assert (answer["statusCode"], answer["body"], answer["headers"]["Content-Type"]) == (200, "text", "text/plain")


@pytest.mark.parametrize(
    ("event", "status"),
    [
        pytest.param(v2(PUT, "{", claims=None, headers={"content-type": "text/plain"}), 401, id="401 before all"),
        pytest.param(
            v2(PUT, "x" * (MAX_JSON_BYTES + 1), headers={"content-type": "text/plain"}), 415, id="415 before 413"
        ),
        pytest.param(v2(PUT, "x" * (MAX_JSON_BYTES + 1)), 413, id="413 before 403"),
        pytest.param(v2(PUT, {"content": "x" * 11}), 413, id="a text's 413 before 403"),
        pytest.param(v2(PUT, "{"), 403, id="403 before 400"),
        pytest.param(v2(PUT, "{", claims=WRITER), 400, id="400 before the verb"),
        pytest.param(v2("GET /nowhere"), 404, id="no such route"),
        pytest.param(v2(IMPORT, b"x" * MAX_NDJSON_BYTES, claims=WRITER), 415, id="lines are no JSON"),
        pytest.param(
            v2(IMPORT, b"x" * (MAX_NDJSON_BYTES + 1), claims=WRITER, headers={"content-type": NDJSON}),
            413,
            id="too many lines",
        ),
        pytest.param(
            v2(IMPORT, b"x" * MAX_NDJSON_BYTES, claims=WRITER, headers={"content-type": NDJSON}),
            200,
            id="just enough lines",
        ),
    ],
)
def test_precedence(event: dict[str, Any], status: int) -> None:
    run = echo if status in (200, 404) else raises(AssertionError("the verb must not run"))
    answer = make(run)(event)
    assert answer["statusCode"] == status
    if status != 200:
        assert answer["headers"]["Content-Type"] == "application/problem+json"
        assert answer["json"]["status"] == status
        assert answer["json"]["instance"] == "r-1"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ("[]", "body"),
        ('{"entity_ids":["s"],', "body"),
        ('{"entity_ids":["s"],"depth":NaN}', "body"),
        ('{"entity_ids":["s"],"depth":1e999}', "depth"),
        ('{"entity_ids":["\\ud800"]}', "entity_ids"),
        ("[" * 100_000, "body"),
        ('{"entity_ids":["s"],"depth":true}', "depth"),
        ('{"entity_ids":[1]}', "entity_ids"),
        ('{"entity_ids":null}', "entity_ids"),
        ("{}", "entity_ids"),
        ("", "entity_ids"),
        (b"\xff\xfe", "body"),
        ('{"entity_ids":["s"],"recordId":" "}', "recordId"),
        ('{"entity_ids":["s"],"record_id":" "}', "record_id"),
        ('{"entity_ids":["s"],"record_id":"a","recordId":"b"}', "recordId"),
    ],
)
def test_a_400_names_the_field_as_it_was_spelled(body: str | bytes, field: str) -> None:
    answer = make()(v2(READ, body))
    assert answer["statusCode"] == 400
    assert [fault["field"] for fault in answer["json"]["errors"]] == [field]


def test_both_spellings_are_one_field() -> None:
    body = {"entity_ids": ["s"], "record_id": "a", "recordId": None}
    assert make()(v2(READ, body))["json"]["record_id"] == "a"


def test_a_million_digits_clamp() -> None:
    assert make()(v2(READ, '{"entity_ids":["s"],"depth":' + "9" * 10**6 + "}"))["json"]["depth"] == 3


def test_base64_that_is_none_is_malformed() -> None:
    event = v2(READ) | {"body": "***", "isBase64Encoded": True}
    assert make()(event)["statusCode"] == 400


def test_unknown_fields_are_refused_on_writes_alone() -> None:
    answer = make()(v2(PUT, {"colour": "red"}, claims=WRITER, path={"id": "a"}))
    assert answer["json"]["errors"] == [{"field": "colour", "message": "is not a field of this request"}]


@pytest.mark.parametrize(
    ("error", "status", "headers"),
    [
        (NotFound(), 404, {}),
        (Conflict("The revision is stale."), 409, {}),
        (TooLarge("Too much."), 413, {}),
        (Unavailable(7), 503, {"Retry-After": "7"}),
    ],
)
def test_the_error_table(error: Exception, status: int, headers: dict[str, str]) -> None:
    answer = make(raises(error))(v2(READ, {"entity_ids": ["a"]}))
    assert answer["statusCode"] == status
    assert answer["json"].keys() == {"type", "title", "status", "detail", "instance"}
    assert headers.items() <= answer["headers"].items()


def test_a_403_names_the_role() -> None:
    assert "writer" in make()(v2(PUT, {}, path={"id": "a"}))["json"]["detail"]


def test_a_401_challenges() -> None:
    assert make()(v2(READ, {}, claims=None))["headers"]["WWW-Authenticate"] == "Bearer"


def test_a_fault_reads_as_unavailable_and_its_text_stays_inside(caplog: pytest.LogCaptureFixture) -> None:
    answer = make(raises(RuntimeError("canary-7 in table")))(v2(READ, {"entity_ids": ["canary-8"]}))
    assert (answer["statusCode"], answer["headers"]["Retry-After"]) == (503, "1")
    fault, answered = [vars(record) for record in caplog.records]
    assert (fault["error"], fault["route"]) == ("RuntimeError", READ)
    assert answered["status"] == 503
    for output in (answer["body"], str(fault), str(answered)):
        assert "canary" not in output


def test_an_answer_over_the_gateways_limit_is_packed_where_the_caller_takes_that_or_refused_whole() -> None:
    text = "\\" * 2_000_000

    def run(_store: Any, _session: Session, _query: Any) -> dict[str, Any]:
        return {"text": text}

    assert make(run)(v2(READ, {"entity_ids": ["a"]}))["statusCode"] == 413
    headers = {"content-type": "application/json", "accept-encoding": "deflate, GZip;q=0.8"}
    answer = make(run)(v2(READ, {"entity_ids": ["a"]}, headers=headers))
    assert (answer["statusCode"], answer["headers"]["Content-Encoding"]) == (200, "gzip")
    assert answer["isBase64Encoded"] is True
    assert json.loads(gzip.decompress(b64decode(answer["body"]))) == {"text": text}
