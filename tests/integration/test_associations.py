"""Declaring names and relations through the doors, and what traverse and expand make of them."""

import json
from typing import Any

import pytest

from tests.conftest import Caller, ClaimsOf, Load, Reply
from tests.support.writing import note

TAKEN = "already names another entity in this scope"
NONE = {"relations": 0, "mentions": 0, "aliases": 0}


def declare(call: Caller, claims: dict[str, Any], **fields: Any) -> Reply:
    return call("POST", "/api/associations", claims, {"agent_id": "a1", **fields})


def declared(call: Caller, claims: dict[str, Any], **fields: Any) -> Any:
    reply = declare(call, claims, **fields)
    assert reply.status == 200, reply
    return reply.body


def found(call: Caller, claims: dict[str, Any], name: str, **fields: Any) -> Any:
    reply = call("POST", "/api/search/traverse", claims, {"agent_id": "a1", "entity": name, **fields})
    assert reply.status == 200, reply
    return reply.body


def names(answer: Any) -> list[str]:
    return [entity["name"] for entity in answer["entities"]]


def member(principal: str, project: str) -> dict[str, Any]:
    return {"kind": "membership", "principal_id": principal, "project_id": project}


def named(name: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "entity", "agent_id": "a1", "name": name, **fields}


def stated(subject: str, predicate: str, object_: str, **fields: Any) -> dict[str, Any]:
    line = {"kind": "relation", "agent_id": "a1", "subject": subject, "predicate": predicate, "object": object_}
    return {**line, **fields}


@pytest.fixture
def wil(claims_of: ClaimsOf) -> dict[str, Any]:
    return claims_of("wil", "reader", "writer", agents=["a1"])


@pytest.fixture
def ann(claims_of: ClaimsOf) -> dict[str, Any]:
    return claims_of("ann", "reader", agents=["a1"])


def test_a_mentioned_entity_is_a_neighbor_both_ways(call: Caller, load: Load, wil: Any, ann: Any) -> None:
    load(note("n1"))
    made = declared(call, wil, anchor_ref=" n1 ", entities=[{"name": "Depot"}])
    assert (made["mentions"], made["dropped"]) == (1, [])
    entity = made["entities"][0]["id"]
    forth = call("POST", "/api/search/expand", ann, {"entity_ids": ["n1"]}).body["neighbors"]
    assert [(one["id"], one["type"], one["direction"], one["score"]) for one in forth] == [
        (entity, "entity", "outgoing", 0.58)
    ]
    back = call("POST", "/api/search/expand", ann, {"entity_ids": [entity]}).body["neighbors"]
    assert [(one["id"], one["relationship"], one["direction"]) for one in back] == [("n1", "MENTIONS", "incoming")]


def test_nothing_is_declared_for_others(call: Caller, load: Load, wil: Any, claims_of: ClaimsOf) -> None:
    load(member("root", "atlas"))
    body = {"entities": [{"name": "X"}]}
    assert declare(call, wil, agent_id="a2", **body).status == 404
    assert declare(call, wil, project_id="atlas", **body).status == 404
    restricted = claims_of("wil", "writer", "reader", agents=["a1"], scope_keys=["private:wil"])
    assert declare(call, restricted, **body).status == 404
    everyone = claims_of("root", "reader", agents=["*"])
    assert found(call, everyone, "X")["reason"] == "no_such_entity"
    assert found(call, everyone, "X", agent_id="a2")["reason"] == "no_such_entity"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"agent_id": " "}, "agent_id"),
        ({"entities": {"name": "X"}}, "entities"),
        ({"relations": "X"}, "relations"),
        ({"retract": []}, "retract"),
        ({"retract": {"mention": []}}, "retract"),
        ({"retract": {"mentions": {}}}, "retract"),
        ({"project_id": ""}, "project_id"),
        ({"alias": []}, "alias"),
    ],
)
def test_a_wrong_whole_is_refused(call: Caller, wil: Any, fields: dict[str, Any], field: str) -> None:
    reply = declare(call, wil, **fields)
    assert reply.status == 400
    assert [error["field"] for error in reply.body["errors"]] == [field]


def test_lists_may_be_json_text_and_null(call: Caller, wil: Any) -> None:
    made = declared(
        call, wil, entities=json.dumps([{"name": "Weir", "aliases": json.dumps(["W"])}]), relations=None, retract=None
    )
    assert [one["name"] for one in made["entities"]] == ["Weir"]
    assert names(found(call, wil, "w")) == ["Weir"]


def test_the_excess_is_dropped_item_by_item(call: Caller, wil: Any) -> None:
    aliases = [f"alias {number}" for number in range(34)]
    made = declared(
        call,
        wil,
        entities=[{"name": "Much", "aliases": aliases}, *({"name": f"N{number}"} for number in range(65))],
        relations=[{"subject": "Much", "predicate": f"p{number}", "object": "N1"} for number in range(65)],
        retract={"relations": [f"rel {number}" for number in range(65)]},
    )
    assert (len(made["entities"]), len(made["relations"])) == (64, 64)
    assert [one["item"] for one in made["dropped"]] == [
        "entities[0].aliases[32]",
        "entities[0].aliases[33]",
        "entities[64]",
        "entities[65]",
        "relations[64]",
        "retract.relations[64]",
    ]
    assert len(found(call, wil, "much")["entities"][0]["aliases"]) == 32


@pytest.mark.parametrize(
    ("item", "path"),
    [
        (None, "entities[0]"),
        ({}, "entities[0].name"),
        ({"name": " "}, "entities[0].name"),
        ({"name": "\u00ad"}, "entities[0].name"),
        ({"name": "x" * 257}, "entities[0].name"),
        ({"name": "X", "alias": "Y"}, "entities[0].alias"),
    ],
)
def test_a_malformed_entity_is_dropped_with_its_path(call: Caller, wil: Any, item: Any, path: str) -> None:
    made = declared(call, wil, entities=[item, {"name": "Good"}])
    assert [one["name"] for one in made["entities"]] == ["Good"]
    assert [one["item"] for one in made["dropped"]] == [path]


def test_an_anchor_that_may_not_be_read_is_like_one_that_is_absent(call: Caller, load: Load, wil: Any) -> None:
    load(note("secret", scope="private", owner="root"), note("open"))
    depot = declared(call, wil, anchor_ref="open", entities=[{"name": "Depot"}])["entities"][0]["id"]
    answers = [
        declared(
            call,
            wil,
            anchor_ref=anchor,
            entities=[{"name": "Gull"}],
            relations=[{"subject": "Gull", "predicate": "sees", "object": "Tern"}],
        )
        for anchor in ("secret", "absent", depot)
    ]
    dropped = [{"item": "anchor_ref", "reason": "no such memory"}]
    assert [(one["mentions"], one["dropped"], len(one["relations"])) for one in answers] == [(0, dropped, 1)] * 3
    assert len({one["relations"][0] for one in answers}) == 1
    assert "anchor_ref" not in found(call, wil, "gull")["relations"][0]


def test_one_statement_with_another_anchor_is_another_relation(call: Caller, load: Load, wil: Any) -> None:
    load(note("n1"), note("n2"))
    statement = [{"subject": "Gull", "predicate": "sees", "object": "Tern"}]
    shouted = [{"subject": "GULL", "predicate": "SEES ", "object": "tern"}]
    first, second, third = (
        declared(call, wil, relations=relations, anchor_ref=anchor)["relations"]
        for relations, anchor in ((statement, "n1"), (statement, "n2"), (shouted, "n1"))
    )
    assert first != second
    assert first == third
    answer = found(call, wil, "gull")
    assert {one["anchor_ref"]: one["predicate"] for one in answer["relations"]} == {"n1": "sees", "n2": "sees"}


def test_a_retracted_alias_is_free_again(call: Caller, wil: Any) -> None:
    entity = declared(call, wil, entities=[{"name": "Gull", "aliases": ["Larus", "Mew"]}])["entities"][0]["id"]
    taken = declared(call, wil, entities=[{"name": "Tern", "aliases": ["larus"]}])
    assert taken["dropped"] == [{"item": "entities[0].aliases[0]", "reason": TAKEN}]
    retract = {"aliases": [{"entity": "gull", "alias": "LARUS"}, {"entity": "gull", "alias": "Gull"}]}
    assert declared(call, wil, retract=retract)["retracted"] == {**NONE, "aliases": 1}
    declared(call, wil, entities=[{"name": "Tern", "aliases": ["larus"]}])
    assert names(found(call, wil, "larus")) == ["Tern"]
    (gull,) = found(call, wil, "mew")["entities"]
    assert (gull["id"], gull["aliases"]) == (entity, ["Mew"])


def test_a_retraction_reaches_only_what_the_writer_may_read(
    call: Caller, load: Load, wil: Any, claims_of: ClaimsOf
) -> None:
    load(member("bob", "atlas"), note("n1"), note("n2", scope="private", owner="bob"))
    bob = claims_of("bob", "reader", "writer", agents=["a1"])
    made = declared(
        call,
        bob,
        project_id="atlas",
        anchor_ref="n2",
        entities=[{"name": "Gull", "aliases": ["Mew"]}],
        relations=[{"subject": "Gull", "predicate": "sees", "object": "Tern"}],
    )
    gull, statement = made["entities"][0]["id"], made["relations"][0]
    retract = {
        "relations": [statement, "rel_none"],
        "mentions": [{"entity": gull, "ref": "n2"}, {"entity": "Gull", "ref": "n2"}, {"entity": gull, "ref": "n1"}],
        "aliases": [{"entity": gull, "alias": "Mew"}],
    }
    refused = declared(call, wil, retract=retract)
    assert (refused["retracted"], refused["dropped"]) == (NONE, [])
    elsewhere = declared(call, bob, agent_id="a1", retract={"aliases": [{"entity": "Gull", "alias": "Mew"}]})
    assert elsewhere["retracted"] == NONE
    done = declared(call, bob, project_id="atlas", retract=retract)
    assert done["retracted"] == {"relations": 1, "mentions": 1, "aliases": 1}


def test_malformed_retractions_are_dropped(call: Caller, wil: Any) -> None:
    retract = {"relations": [7], "mentions": [{"entity": "X"}], "aliases": ["X", {"entity": "X", "alias": " "}]}
    made = declared(call, wil, retract=retract)
    assert [one["item"] for one in made["dropped"]] == [
        "retract.relations[0]",
        "retract.mentions[0].ref",
        "retract.aliases[0]",
        "retract.aliases[1].alias",
    ]


def test_a_memory_takes_its_mentions_and_relations_along(call: Caller, load: Load, wil: Any) -> None:
    load(note("n1", owner="wil"))
    declaration = {
        "anchor_ref": "n1",
        "entities": [{"name": "Gull"}],
        "relations": [{"subject": "Gull", "predicate": "sees", "object": "Tern"}],
    }
    first = declared(call, wil, **declaration)
    assert found(call, wil, "gull")["entities"][0]["mentions"] == ["n1"]
    assert call("DELETE", "/api/memories/n1", wil).status == 200
    for _ in range(2):
        answer = found(call, wil, "gull")
        assert (names(answer), answer["relations"]) == (["Gull"], [])
        assert "mentions" not in answer["entities"][0]
        assert "bounds" not in answer
        call("PUT", "/api/memories/n1", wil, {"type": "note", "name": "Another life"})
    again = declared(call, wil, **declaration)
    assert (again["relations"], again["mentions"]) == (first["relations"], 1)
    answer = found(call, wil, "gull")
    assert (names(answer), answer["entities"][0]["mentions"]) == (["Gull", "Tern"], ["n1"])


def test_associations_ride_on_a_memory(call: Caller, load: Load, wil: Any) -> None:
    load(member("wil", "atlas"))
    line = {
        "type": "note",
        "name": "Log",
        "project_id": "atlas",
        "channel": "day",
        "associations": {
            "agent_id": "a1",
            "entities": [{"name": "Gull"}, {"name": 7}],
            "relations": [{"subject": "Gull", "predicate": "sees", "object": "Tern"}],
        },
    }
    assert call("PUT", "/api/memories/log", wil, line).body == {"id": "log", "revision": 1, "created": True}
    answer = found(call, wil, "gull", project_id="atlas", channel="day")
    assert answer["entities"][0]["mentions"] == ["log"]
    assert answer["relations"][0]["anchor_ref"] == "log"
    assert found(call, wil, "gull", project_id="")["reason"] == "no_such_entity"
    assert found(call, wil, "gull", channel="night")["reason"] == "no_such_entity"


@pytest.mark.parametrize(
    ("fields", "associations"),
    [
        ({"scope": "private"}, {"agent_id": "a1", "entities": [{"name": "Gull"}]}),
        ({}, {"agent_id": "a2", "entities": [{"name": "Gull"}]}),
        ({}, {"entities": [{"name": "Gull"}]}),
        ({}, {"agent_id": "a1", "entities": {"name": "Gull"}}),
        ({}, {"agent_id": "a1", "entities": [{"name": "Gull"}], "retract": [], "names": 1}),
        ({}, ["Gull"]),
        ({}, "Gull"),
        ({}, 5),
        ({}, False),
    ],
)
def test_refused_associations_never_lose_the_memory(
    call: Caller, wil: Any, claims_of: ClaimsOf, fields: dict[str, Any], associations: object
) -> None:
    line = {"type": "note", "name": "Log", "associations": associations, **fields}
    assert call("PUT", "/api/memories/log", wil, line).body == {"id": "log", "revision": 1, "created": True}
    report = imported(call, wil, {"kind": "memory", "id": "log2", **line})
    assert (report["applied"], report["rejected"]) == (1, 0)
    assert [(error["line"], error["reason"][:12]) for error in report["errors"][:1]] == [(1, "associations")]
    assert call("GET", "/api/memories/log2", wil).status == 200
    everyone = claims_of("wil", "reader", agents=["*"])
    for agent in ("a1", "a2"):
        assert found(call, everyone, "gull", agent_id=agent)["reason"] == "no_such_entity"


def imported(call: Caller, claims: dict[str, Any], *lines: dict[str, Any]) -> Any:
    text = "\n".join(json.dumps(line) for line in lines)
    reply = call("POST", "/api/import", claims, text, content_type="application/x-ndjson")
    assert reply.status == 200, reply
    return reply.body


def test_the_associations_that_count_are_those_of_the_line_that_was_written(call: Caller, wil: Any, ann: Any) -> None:
    def riding(name: str, **fields: Any) -> dict[str, Any]:
        return note("log", associations={"agent_id": "a1", "entities": [{"name": name}]}, **fields)

    report = imported(call, wil, riding("Gull"), riding("Tern"), riding("Auk", owner="ann"))
    assert [report[count] for count in ("applied", "unchanged", "rejected")] == [1, 1, 1]
    assert [names(found(call, ann, name)) for name in ("Gull", "Tern", "Auk")] == [[], ["Tern"], []]


def test_a_line_is_unchanged_when_neither_the_memory_nor_its_associations_say_anything_new(
    call: Caller, wil: Any
) -> None:
    parts: list[dict[str, Any]] = [
        {"entities": [{"name": "Gull"}]},
        {"entities": [{"name": "Gull", "aliases": ["Mew"]}]},
        {"relations": [{"subject": "mew", "predicate": "sees", "object": "mew"}]},
        {"relations": [{"subject": "Gull", "predicate": "sees", "object": "Tern"}]},
        {"retract": {"aliases": [{"entity": "Gull", "alias": "mew"}]}},
    ]
    imported(call, wil, note("log"))
    for part in parts:
        line = note("log", associations={"agent_id": "a1", **part})
        reports = [imported(call, wil, line) for _ in range(2)]
        assert [(report["applied"], report["unchanged"]) for report in reports] == [(1, 0), (0, 1)]


def exported(call: Caller, claims: dict[str, Any]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in call("GET", "/api/export", claims).body.splitlines()]


def test_an_export_tells_a_hidden_end_by_its_id(call: Caller, claims_of: ClaimsOf) -> None:
    root = claims_of("root", agents=["*"])
    imported(call, root, member("root", "atlas"), named("Gull"), stated("Gull", "sees", "Tern", project_id="atlas"))
    wide = found(call, root, "Gull", project_id="")["entities"][0]["id"]
    imported(call, root, named("Gull", project_id="atlas", aliases=["Mew"]))
    lines = exported(call, root)
    assert [line["subject"] for line in lines if line["kind"] == "relation"] == [wide]
    other = {**root, "tenant_id": f"{root['tenant_id']}-other"}
    for counts in ([len(lines), 0, 0], [0, len(lines), 0]):
        report = imported(call, other, *lines)
        assert [report[count] for count in ("applied", "unchanged", "rejected")] == counts
        assert found(call, other, "Tern") == found(call, root, "Tern")
        assert names(found(call, other, "Tern")) == ["Tern", "Gull"]
    assert exported(call, other) == lines


def test_an_id_that_the_scope_does_not_see_is_a_name_as_any_other(call: Caller, claims_of: ClaimsOf) -> None:
    root = claims_of("root", agents=["*"])
    imported(call, root, member("root", "atlas"), named("Gull", project_id="atlas"))
    near = found(call, root, "Gull")["entities"][0]["id"]
    imported(call, root, stated(near, "sees", "Tern"))
    assert names(found(call, root, near)) == [near, "Tern"]


def test_the_order_of_lines_is_free(call: Caller, claims_of: ClaimsOf) -> None:
    lines = [
        named("Gull", aliases=["Mew", "Tern"], mentions=["n1"]),
        stated("mew", "sees", "tern", anchor_ref="n2", declared_at="2024-01-02T00:00:00Z"),
        stated("Gull", "Sees", "TERN", anchor_ref="n2", declared_at="2024-01-01T00:00:00Z"),
        named("Tern", aliases=["Sterna"]),
        named("GULL", aliases=["Larus"], mentions=["n2"]),
        note("n2"),
        note("n1"),
    ]
    answers = []
    for tenant, order in enumerate((lines, lines[::-1])):
        claims = claims_of("root", tenant_id=f"{claims_of('x')['tenant_id']}-{tenant}")
        report = imported(call, claims, *order)
        assert (report["rejected"], len(report["errors"])) == (0, 1)
        assert TAKEN in report["errors"][0]["reason"]
        answer = found(call, claims, "larus")
        (gull, _), (statement,) = answer["entities"], answer["relations"]
        assert (gull["aliases"], gull["mentions"]) == (["Larus", "Mew"], ["n1", "n2"])
        assert statement["declared_at"] == "2024-01-01T00:00:00.000Z"
        assert statement["declared_by"] == "operator"
        answers.append([(one["id"], one.get("mentions", [])) for one in answer["entities"]])
    assert answers[0] == answers[1]


def test_an_import_twice_is_as_once(call: Caller, claims_of: ClaimsOf) -> None:
    root = claims_of("root")
    lines = [
        note("n1"),
        named("Gull", aliases=["Mew"], mentions=["n1"]),
        stated("Gull", "sees", "Tern", anchor_ref="n1"),
        {"kind": "operating_context", "agents": {"a1": "atlas"}},
    ]
    assert imported(call, root, *lines) == {"applied": 4, "unchanged": 0, "rejected": 0, "errors": []}
    assert imported(call, root, *lines) == {"applied": 0, "unchanged": 4, "rejected": 0, "errors": []}
    earlier = stated("Gull", "SEES", "Tern", anchor_ref="n1", declared_at="2020-01-01T00:00:00Z")
    assert imported(call, root, earlier)["applied"] == 1
    (statement,) = found(call, root, "gull")["relations"]
    assert (statement["declared_at"], statement["predicate"]) == ("2020-01-01T00:00:00.000Z", "sees")
    assert imported(call, root, *lines)["unchanged"] == 4


def test_what_is_not_there_is_dropped_and_reported(call: Caller, claims_of: ClaimsOf) -> None:
    root = claims_of("root")
    report = imported(call, root, named("Gull", mentions=["none"]), stated("Gull", "sees", "Tern", anchor_ref="none"))
    assert (report["applied"], report["rejected"]) == (2, 0)
    assert [error["line"] for error in report["errors"]] == [1, 2]
    answer = found(call, root, "gull")
    assert names(answer) == ["Gull", "Tern"]
    assert "anchor_ref" not in answer["relations"][0]


def test_relation_ends_resolve_the_most_specific_first(call: Caller, load: Load, claims_of: ClaimsOf) -> None:
    load(
        member("root", "atlas"),
        named("Gull", project_id="atlas", channel="day", aliases=["1"]),
        named("Gull", project_id="atlas", aliases=["2"]),
        named("Gull", channel="day", aliases=["3"]),
        named("Gull", aliases=["4"]),
        stated("gull", "p1", "X1", project_id="atlas", channel="day"),
        stated("gull", "p2", "X2", project_id="atlas"),
        stated("gull", "p3", "X3", channel="day"),
        stated("gull", "p4", "X4"),
    )
    for number in "1234":
        answer = found(call, claims_of("root"), number)
        assert [one["predicate"] for one in answer["relations"]] == [f"p{number}"]


def test_a_writer_imports_only_where_it_may_declare(call: Caller, wil: Any) -> None:
    report = imported(call, wil, named("Gull", agent_id="a2"), named("Gull", project_id="atlas"), named("Gull"))
    assert (report["applied"], report["rejected"]) == (1, 2)
    assert {error["reason"] for error in report["errors"]} == {"no such agent or project"}


def test_an_export_gives_the_names_back(call: Caller, load: Load, claims_of: ClaimsOf) -> None:
    load(
        member("root", "atlas"),
        note("n1"),
        named("Gull", aliases=["Mew"], mentions=["n1"]),
        named("Gull", project_id="atlas", aliases=["Own"]),
        stated("Mew", "sees", "Tern", anchor_ref="n1", declared_at="2024-01-02T00:00:00Z"),
    )
    exported = call("GET", "/api/export", claims_of("root"))
    other = claims_of("root", tenant_id=claims_of("x")["tenant_id"] + "-copy")
    text = exported.body if isinstance(exported.body, str) else json.dumps(exported.body)
    reply = call("POST", "/api/import", other, text, content_type="application/x-ndjson")
    assert (reply.status, reply.body["rejected"], reply.body["errors"]) == (200, 0, [])
    for name in ("gull", "own", "tern"):
        assert found(call, other, name, max_hops=3) == found(call, claims_of("root"), name, max_hops=3)


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("Café", "Cafe\u0301"),
        ("ＦＵＬＬ ９", "full 9"),
        ("No\u00a0Break", "no break"),
        ("\u212aelvin", "kelvin"),
        ("soft\u00adhyphen", "softhyphen"),
        ("Straße", "STRASSE"),
        ("sś", "ß\u0301"),
        ("ﬁne", "FINE"),
        ("Tab\tand  line\n", "tab and line"),
    ],
)
def test_spellings_of_one_name_meet(call: Caller, wil: Any, written: str, asked: str) -> None:
    first = declared(call, wil, entities=[{"name": written, "aliases": ["other"]}])["entities"][0]
    second = declared(call, wil, entities=[{"name": asked}])["entities"][0]
    assert (second["id"], second["name"], second["created"]) == (first["id"], written, False)
    assert names(found(call, wil, asked)) == [written]


@pytest.mark.parametrize(("one", "other"), [("co-op", "coop"), ("a\u200cb", "ab"), ("Cafe", "Café")])
def test_different_names_stay_apart(call: Caller, wil: Any, one: str, other: str) -> None:
    made = declared(call, wil, entities=[{"name": one}, {"name": other}])["entities"]
    assert [entity["created"] for entity in made] == [True, True]


def test_a_purge_ends_names_and_a_new_life_begins(call: Caller, load: Load, claims_of: ClaimsOf) -> None:
    load(member("root", "atlas"), note("n1"))
    root = claims_of("root")
    declaration = {
        "project_id": "atlas",
        "anchor_ref": "n1",
        "entities": [{"name": "Gull", "aliases": ["Mew"]}],
        "relations": [{"subject": "Gull", "predicate": "sees", "object": "Tern"}],
    }
    declared(call, root, **declaration)
    assert call("POST", "/api/projects/atlas/purge", root, {"mode": "logical", "reason": "test"}).status == 200
    for name in ("gull", "mew", "tern"):
        assert found(call, root, name)["reason"] == "no_such_entity"
    neighbors = call("POST", "/api/search/expand", root, {"entity_ids": ["n1"]}).body["neighbors"]
    assert neighbors == []
    again = declared(call, root, project_id="atlas", entities=[{"name": "Gull"}])["entities"][0]
    assert again["created"] is True
    (gull,) = found(call, root, "gull")["entities"]
    assert (gull["id"], "aliases" in gull, "mentions" in gull) == (again["id"], False, False)
    assert found(call, root, "mew")["reason"] == "no_such_entity"
    declared(call, root, **declaration)
    answer = found(call, root, "mew")
    assert (names(answer), answer["entities"][0]["mentions"]) == (["Gull", "Tern"], ["n1"])
