"""A line is right or refused, with the name of the field that is wrong."""

import gzip
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.errors import Malformed, TooLarge
from shared.domain.fields import settled_scope
from shared.domain.lines import (
    UNSET,
    CaptureStatusLine,
    DeclaredBy,
    EdgeKey,
    EdgeLine,
    EntityLine,
    Gap,
    GapReason,
    GrantLine,
    MembershipLine,
    MemoryLine,
    OperatingContextLine,
    PatchFields,
    RelationLine,
    edge_key,
    edge_line,
    fault_text,
    membership_line,
    memory_body,
    memory_line,
    parse_line,
    parse_ndjson,
    patch_fields,
    patched_scope,
)
from shared.domain.model import Scope, Span, State
from shared.domain.principal import Surface

PEPS = Path(__file__).parents[3] / "shared" / "data" / "peps.jsonl.gz"
ENTITY_ID = "ent_" + "a" * 32
MEMORY = {"kind": "memory", "id": "m", "type": "note", "name": "N"}
EDGE = {"kind": "edge", "source": "a", "relationship": "ABOUT", "target": "b"}
ENTITY = {"kind": "entity", "agent_id": "g", "name": "Ada"}
RELATION = {"kind": "relation", "agent_id": "g", "subject": "Ada", "predicate": "knows", "object": "Ben"}
MEMBERSHIP = {"kind": "membership", "principal_id": "ann", "project_id": "p"}
GRANT = {
    "kind": "grant",
    "grantee": "bob",
    "projects": ["p"],
    "surfaces": ["http"],
    "expires_at": "2020-01-01T00:00:00Z",
    "reason": "r",
}
CAPTURE = {"kind": "capture_status", "project_id": "p"}
CONTEXT = {"kind": "operating_context", "agents": {"g": "p"}}


def faults(read: Callable[[object], object], value: object) -> list[str]:
    with pytest.raises(Malformed) as refused:
        read(value)
    return [error.field for error in refused.value.errors]


def test_a_memory_with_its_defaults() -> None:
    assert parse_line(MEMORY) == MemoryLine(id="m", type="note", name="N")


def test_a_memory_with_everything() -> None:
    line = parse_line(
        {
            **MEMORY,
            "id": " \u3000m ",
            "content": "one\x00two",
            "scope": "project",
            "project_id": "p",
            "owner": "ann",
            "state": "superseded",
            "key": "k",
            "value": {"a": [1, 2.5, None]},
            "valid_from": "2026-01-01T00:00:00+01:00",
            "valid_to": "2026-01-02T00:00:00.5Z",
            "origin_id": "o",
            "source_id": "discord:1",
            "channel": "c",
            "created_at": "2026-01-01T00:00:00Z",
            "metadata": {"j": 1},
            "associations": {"anything": "\ud800"},
            "spans": '[{"start": 0, "end": "3"}, {"start": 3.0, "end": 7, "label": "rest"}]',
        }
    )
    assert line == MemoryLine(
        id="m",
        type="note",
        name="N",
        content="one\x00two",
        scope=Scope.PROJECT,
        scope_key="p",
        project_id="p",
        owner="ann",
        state=State.SUPERSEDED,
        key="k",
        value={"a": [1, 2.5, None]},
        valid_from="2025-12-31T23:00:00.000Z",
        valid_to="2026-01-02T00:00:00.500Z",
        origin_id="o",
        source_id="discord:1",
        channel="c",
        created_at="2026-01-01T00:00:00.000Z",
        metadata={"j": 1},
        associations={"anything": "\ud800"},
        spans=(Span(0, 3, ""), Span(3, 7, "rest")),
    )


@pytest.mark.parametrize("label", [{}, {"label": None}, {"label": ""}, {"label": "  "}])
def test_a_span_may_have_no_label_or_a_blank_one_as_an_export_has(label: dict[str, object]) -> None:
    line = parse_line({**MEMORY, "content": "text", "spans": [{"start": 0, "end": 4, **label}]})
    assert isinstance(line, MemoryLine)
    assert line.spans == (Span(0, 4, ""),)


def test_null_is_an_omitted_field() -> None:
    nulls = dict.fromkeys(MemoryLine.__dataclass_fields__)
    del nulls["if_revision"]
    assert parse_line({**nulls, **MEMORY, "spans": []}) == parse_line(MEMORY)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"id": None}, "id"),
        ({"id": "  "}, "id"),
        ({"id": 7}, "id"),
        ({"id": "x" * 257}, "id"),
        ({"id": "a\x1fb"}, "id"),
        ({"id": "\ud800"}, "id"),
        ({"id": ENTITY_ID}, "id"),
        ({"id": "psg_" + "a" * 32 + "_" + "0" * 16 + "_00000"}, "id"),
        ({"type": None}, "type"),
        ({"type": "passage"}, "type"),
        ({"type": "entity"}, "type"),
        ({"type": "Not Snake"}, "type"),
        ({"type": "note\n"}, "type"),
        ({"name": None}, "name"),
        ({"name": " \u2003"}, "name"),
        ({"name": "x" * 501}, "name"),
        ({"name": True}, "name"),
        ({"content": 5}, "content"),
        ({"content": "a\udfff"}, "content"),
        ({"scope": "galaxy"}, "scope"),
        ({"scope": ""}, "scope"),
        ({"scope": ["private"]}, "scope"),
        ({"scope": "project"}, "scope_key"),
        ({"scope": "team"}, "scope_key"),
        ({"scope": "team", "project_id": "p"}, "scope_key"),
        ({"scope_key": "k"}, "scope_key"),
        ({"project_id": ""}, "project_id"),
        ({"owner": " "}, "owner"),
        ({"state": "asleep"}, "state"),
        ({"key": ""}, "key"),
        ({"value": 2**53 + 1}, "value"),
        ({"value": float("nan")}, "value"),
        ({"value": "x" * 16_383}, "value"),
        ({"metadata": [1]}, "metadata"),
        ({"metadata": '{"a": 1}'}, "metadata"),
        ({"metadata": {"a": "x" * 16_384}}, "metadata"),
        ({"valid_from": "2026-01-01"}, "valid_from"),
        ({"valid_to": 5}, "valid_to"),
        ({"created_at": True}, "created_at"),
        ({"spans": {"start": 0}}, "spans"),
        ({"spans": "nonsense"}, "spans"),
        ({"spans": [1]}, "spans[0]"),
        ({"spans": [{"start": 0}]}, "spans[0].end"),
        ({"spans": [{"start": True, "end": 1}]}, "spans[0].start"),
        ({"spans": [{"start": 0, "end": 1.5}]}, "spans[0].end"),
        ({"spans": [{"start": 0, "end": 1, "labell": "x"}]}, "spans[0].labell"),
        ({"spans": [{"start": 0, "end": 1, "label": "x" * 201}], "content": "abc"}, "spans[0].label"),
        ({"spans": [{"start": 0, "end": 4}], "content": "abc"}, "spans"),
        ({"spans": [{"start": 1, "end": 2}, {"start": 0, "end": 1}], "content": "abc"}, "spans"),
        ({"colour": "red"}, "colour"),
        ({"tenant_id": "t"}, "tenant_id"),
        ({"if_revision": 1}, "if_revision"),
    ],
)
def test_a_wrong_memory_names_the_field(change: Mapping[str, object], field: str) -> None:
    assert faults(parse_line, {**MEMORY, **change}) == [field]


def test_the_largest_values_are_taken() -> None:
    line = memory_line(
        {"id": "x" * 256, "type": "n" * 64, "name": "x" * 500, "value": "x" * 16_382, "content": "é" * 2**21}
    )
    assert len(line.content.encode()) == 4 * 1024 * 1024


def test_content_over_its_limit_is_too_large_before_anything_else() -> None:
    with pytest.raises(TooLarge) as refused:
        parse_line({**MEMORY, "content": "é" * (2**21 + 1), "colour": "red"})
    assert fault_text(refused.value) == "content: must be at most 4 MiB of UTF-8"


def test_all_faults_are_named_at_once_but_not_without_end() -> None:
    assert faults(parse_line, {"kind": "memory", "x": 1}) == ["x", "id", "type", "name"]
    assert len(faults(parse_line, {**MEMORY, **{f"f{n}": n for n in range(1_000)}})) == 20
    assert faults(parse_line, {**MEMORY, "\ud800" + "y" * 500: 1}) == ["\\ud800" + "y" * 99]


@pytest.mark.parametrize("value", [None, [], "memory", 3, {}, {"kind": "wonder"}, {"kind": ["memory"]}, {"kind": None}])
def test_what_is_no_line_is_refused(value: object) -> None:
    assert faults(parse_line, value)[0] in {"line", "kind"}


def test_the_reason_of_a_refused_line_names_field_and_fault() -> None:
    with pytest.raises(Malformed) as refused:
        parse_line({**EDGE, "weight": 1.5, "target": None})
    assert fault_text(refused.value) == "target: is required; weight: must be a number from 0 to 1"


def test_the_body_of_a_single_write() -> None:
    body = {"type": "note", "name": "N", "if_revision": "3"}
    assert memory_body(body, "m") == MemoryLine(id="m", type="note", name="N", if_revision=3)
    assert memory_body({**body, "id": " m"}, "m ").id == "m"
    assert faults(lambda value: memory_body(value, "m"), {**body, "id": "other"}) == ["id"]
    assert faults(lambda value: memory_body(value, ENTITY_ID), body) == ["id"]
    assert faults(lambda value: memory_body(value, "m"), {**body, "kind": "memory"}) == ["kind"]
    assert faults(lambda value: memory_body(value, "m"), {**body, "if_revision": True}) == ["if_revision"]
    assert faults(lambda value: memory_body(value, "m"), []) == ["body"]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [(1, 1), (1.0, 1), ("1", 1), (" 1.0 ", 1), ("-2", -2), (1e300, int(1e300)), ("9" * 30, 10**30 - 1)],
)
def test_what_clients_send_for_an_integer(given: object, wanted: int) -> None:
    assert patch_fields({"if_revision": given}).if_revision == wanted


@pytest.mark.parametrize("given", [True, 1.5, "1.5", "one", "", "1e3", float("inf"), float("nan"), [1], "٣"])
def test_what_is_no_integer(given: object) -> None:
    assert faults(patch_fields, {"if_revision": given}) == ["if_revision"]


def test_a_patch_tells_clearing_from_leaving() -> None:
    assert patch_fields({}) == PatchFields()
    cleared = patch_fields({"scope": None, "scope_key": None, "project_id": None, "metadata": None, "state": None})
    assert cleared == PatchFields(scope=None, scope_key=None, project_id=None, metadata={}, state=State.ACTIVE)
    assert patch_fields({"name": "x", "scope": "private"}) == PatchFields(name="x", scope=Scope.PRIVATE)
    assert patch_fields({"name": "x"}).scope is UNSET
    assert faults(patch_fields, {"name": None, "owner": None}) == ["name", "owner"]
    assert faults(patch_fields, {"weight_of_it": 3}) == ["weight_of_it"]
    assert faults(patch_fields, {"content": "x"}) == ["content"]


@pytest.mark.parametrize(
    ("patch", "wanted"),
    [
        ({"scope": "private"}, (Scope.PRIVATE, None, "p")),
        ({"scope": "project"}, (Scope.PROJECT, "p", "p")),
        ({"scope": "team", "scope_key": "red"}, (Scope.TEAM, "red", "p")),
        ({"scope": None}, (None, None, "p")),
        ({"scope_key": None}, (Scope.PROJECT, "p", "p")),
        ({"scope_key": "q"}, (Scope.PROJECT, "q", "p")),
        ({"project_id": "q"}, (Scope.PROJECT, "k", "q")),
        ({"project_id": None}, (Scope.PROJECT, "k", None)),
        ({"name": "x"}, (Scope.PROJECT, "k", "p")),
    ],
)
def test_scope_after_a_patch(patch: Mapping[str, object], wanted: tuple[object, ...]) -> None:
    assert patched_scope(patch_fields(patch), Scope.PROJECT, "k", "p") == wanted


@pytest.mark.parametrize("patch", [{"scope": "team"}, {"project_id": None, "scope_key": None}])
def test_a_patch_that_leaves_no_scope_key_is_refused(patch: Mapping[str, object]) -> None:
    assert faults(lambda given: patched_scope(patch_fields(given), Scope.PROJECT, "k", "p"), patch) == ["scope_key"]


def test_a_scope_key_that_is_given_stays() -> None:
    assert settled_scope(Scope.PROJECT, "k", "p") == "k"
    assert settled_scope(Scope.PRIVATE, "ana", None) == "ana"
    assert settled_scope(Scope.ORGANIZATION, None, "p") is None


def test_edges() -> None:
    assert parse_line(EDGE) == EdgeLine(source="a", relationship="ABOUT", target="b")
    full = parse_line(
        {
            **EDGE,
            "relationship": "related_to2",
            "weight": 0.123456789,
            "expires_at": "2026-01-01T00:00:00Z",
            "declared_at": "2026-01-01T00:00:00Z",
            "declared_by": "operator",
            "anchor_ref": "c",
        }
    )
    assert full == EdgeLine(
        source="a",
        relationship="RELATED_TO2",
        target="b",
        weight=0.123457,
        expires_at="2026-01-01T00:00:00.000Z",
        declared_at="2026-01-01T00:00:00.000Z",
        declared_by=DeclaredBy.OPERATOR,
        anchor_ref="c",
    )
    zero = edge_line({"source": "a", "relationship": "ABOUT", "target": "b", "weight": -0.0}).weight
    assert str(zero) == "0.0"
    assert edge_line({"source": "a", "relationship": "ABOUT", "target": "b", "weight": 1}).weight == 1.0
    assert edge_key({"source": ENTITY_ID, "relationship": "about", "target": " b"}) == EdgeKey(ENTITY_ID, "ABOUT", "b")
    assert faults(edge_key, {"source": "a", "relationship": "ABOUT", "target": "b", "weight": 1}) == ["weight"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"source": None}, "source"),
        ({"target": ENTITY_ID}, "target"),
        ({"source": "rel_" + "b" * 32}, "source"),
        ({"anchor_ref": ENTITY_ID}, "anchor_ref"),
        ({"relationship": None}, "relationship"),
        ({"relationship": "NO SPACE"}, "relationship"),
        ({"relationship": "_X"}, "relationship"),
        ({"relationship": "straße"}, "relationship"),
        ({"relationship": "A" * 65}, "relationship"),
        ({"relationship": "Shares_Community"}, "relationship"),
        ({"weight": 1.5}, "weight"),
        ({"weight": 1.0000001}, "weight"),
        ({"weight": -0.1}, "weight"),
        ({"weight": True}, "weight"),
        ({"weight": "0.5"}, "weight"),
        ({"weight": float("nan")}, "weight"),
        ({"declared_by": "root"}, "declared_by"),
        ({"expires_at": "soon"}, "expires_at"),
        ({"id": "x"}, "id"),
    ],
)
def test_a_wrong_edge_names_the_field(change: Mapping[str, object], field: str) -> None:
    assert faults(parse_line, {**EDGE, **change}) == [field]


def test_entities_and_relations() -> None:
    assert parse_line(
        {**ENTITY, "aliases": ["A.", " ", None], "mentions": '["m", " m ", "n"]', "channel": "c"}
    ) == EntityLine(agent_id="g", name="Ada", aliases=("A.",), mentions=("m", "n"), channel="c")
    assert parse_line({**RELATION, "anchor_ref": "m", "declared_at": "2026-01-01T00:00:00Z"}) == RelationLine(
        agent_id="g",
        subject="Ada",
        predicate="knows",
        object="Ben",
        anchor_ref="m",
        declared_at="2026-01-01T00:00:00.000Z",
    )


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ({**ENTITY, "agent_id": ""}, "agent_id"),
        ({**ENTITY, "name": "  "}, "name"),
        ({**ENTITY, "name": "\u200b"}, "name"),
        ({**ENTITY, "name": "x" * 257}, "name"),
        ({**ENTITY, "name": "\ud800"}, "name"),
        ({**ENTITY, "aliases": "A."}, "aliases"),
        ({**ENTITY, "aliases": ["ok", 7]}, "aliases[1]"),
        ({**ENTITY, "aliases": ["x" * 257]}, "aliases[0]"),
        ({**ENTITY, "mentions": [ENTITY_ID]}, "mentions[0]"),
        ({**ENTITY, "mentions": [" ", "x" * 300]}, "mentions[1]"),
        ({**ENTITY, "project_id": " "}, "project_id"),
        ({**ENTITY, "declared_by": "operator "}, "declared_by"),
        ({**ENTITY, "anchor_ref": "m"}, "anchor_ref"),
        ({**RELATION, "subject": None}, "subject"),
        ({**RELATION, "predicate": "\u2060"}, "predicate"),
        ({**RELATION, "object": 3}, "object"),
        ({**RELATION, "anchor_ref": ENTITY_ID}, "anchor_ref"),
        ({**RELATION, "mentions": []}, "mentions"),
    ],
)
def test_a_wrong_declaration_names_the_field(line: Mapping[str, object], field: str) -> None:
    assert faults(parse_line, line) == [field]


def test_memberships() -> None:
    assert parse_line(MEMBERSHIP) == MembershipLine("ann", "p")
    assert membership_line({"principal_id": "ann", "team_id": " red "}) == MembershipLine("ann", None, "red")
    assert faults(membership_line, {"principal_id": "ann"}) == ["project_id"]
    assert faults(membership_line, {"principal_id": "ann", "project_id": "p", "team_id": "t"}) == ["project_id"]
    assert faults(membership_line, {"project_id": "p"}) == ["principal_id"]


def test_grants() -> None:
    assert parse_line(
        {**GRANT, "projects": ["p", " p", "q"], "surfaces": ["mcp", "http"], "id": "grant_1"}
    ) == GrantLine(
        grantee="bob",
        projects=("p", "q"),
        surfaces=frozenset(Surface),
        expires_at="2020-01-01T00:00:00.000Z",
        reason="r",
        id="grant_1",
    )
    assert faults(parse_line, {"kind": "grant"}) == ["grantee", "expires_at", "reason", "projects", "surfaces"]
    assert faults(parse_line, {**GRANT, "projects": []}) == ["projects"]
    assert faults(parse_line, {**GRANT, "surfaces": ["http", "pigeon"]}) == ["surfaces[1]"]
    assert faults(parse_line, {**GRANT, "projects": ["a\nb"]}) == ["projects[0]"]


def test_capture_status() -> None:
    gaps = [{"reason": "raw_expired", "count": "2"}, {"reason": "maxQueueDepth", "count": 0}]
    assert parse_line({**CAPTURE, "pending": 3.0, "priorSetup": 1, "gaps": gaps}) == CaptureStatusLine(
        "p", 3, 1, (Gap(GapReason.RAW_EXPIRED, 2), Gap(GapReason.MAX_QUEUE_DEPTH, 0))
    )
    assert faults(parse_line, {**CAPTURE, "pending": -1}) == ["pending"]
    assert faults(parse_line, {**CAPTURE, "priorSetup": 1e300}) == ["priorSetup"]
    assert faults(parse_line, {**CAPTURE, "gaps": [{"reason": "raw_expired", "count": "9" * 30}]}) == ["gaps[0].count"]
    assert faults(parse_line, {**CAPTURE, "gaps": [{"reason": "boredom", "count": 1}]}) == ["gaps[0].reason"]
    assert faults(parse_line, {**CAPTURE, "gaps": [{"reason": "raw_expired"}]}) == ["gaps[0].count"]
    assert faults(parse_line, {**CAPTURE, "gaps": [*gaps, gaps[0]]}) == ["gaps[2].reason"]


def test_operating_context() -> None:
    assert parse_line({**CONTEXT, "agents": {" g ": " p"}}) == OperatingContextLine({"g": "p"})
    assert parse_line({**CONTEXT, "agents": {}}) == OperatingContextLine({})
    assert faults(parse_line, {"kind": "operating_context"}) == ["agents"]
    assert faults(parse_line, {**CONTEXT, "agents": []}) == ["agents"]
    assert faults(parse_line, {**CONTEXT, "agents": {"g": None}}) == ["agents.g"]
    assert faults(parse_line, {**CONTEXT, "agents": {str(n): "p" * 200 for n in range(2_000)}}) == ["agents"]


def test_lines_of_an_import() -> None:
    body = (
        b'\xef\xbb\xbf{"a": 1}\r\n\n \t\r\n{not json\n[]\n{"a":1,"a":2}\n{"n": NaN}\n\xff\n'
        + '"line\u2028separator"\n'.encode()
        + b"[" * 300_000
        + b"\n7"
    )
    read = [(line.number, line.value, line.fault) for line in parse_ndjson(body)]
    assert read == [
        (1, {"a": 1}, None),
        (4, None, "not JSON: Expecting property name enclosed in double quotes at column 2"),
        (5, [], None),
        (6, None, "an object has the same name twice"),
        (7, None, "NaN is not JSON"),
        (8, None, "not UTF-8"),
        (9, "line\u2028separator", None),
        (10, None, "nested too deeply"),
        (11, 7, None),
    ]
    assert list(parse_ndjson(b"")) == []


@pytest.mark.skipif(not PEPS.exists(), reason="the PEP lines are not beside this checkout")
def test_every_line_of_the_peps_is_right() -> None:
    lines = [parse_line(raw.value) for raw in parse_ndjson(gzip.decompress(PEPS.read_bytes()))]
    counts = {
        kind: sum(type(line) is kind for line in lines) for kind in (MemoryLine, EdgeLine, EntityLine, RelationLine)
    }
    assert list(counts.values()) == [703, 1609, 361, 172]


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(), max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.sampled_from([MEMORY, EDGE, ENTITY, RELATION, MEMBERSHIP, GRANT, CAPTURE, CONTEXT]), st.data())
def test_any_value_in_any_field_is_read_or_refused(line: Mapping[str, object], data: st.DataObject) -> None:
    names = [*line, "value", "spans", "aliases", "mentions", "weight", "gaps", "pending", "scope", "metadata", "\ud800"]
    name = data.draw(st.sampled_from(names))
    refused: Malformed | None = None
    try:
        parse_line({**line, name: data.draw(JSON)})
    except Malformed as refusal:
        refused = refusal
    if refused is not None:
        assert all(error.field and error.message for error in refused.errors)
        assert fault_text(refused).encode()
