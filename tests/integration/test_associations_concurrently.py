"""Declarations of the same names at the same time: one entity, no alias lost, no name that leads to two."""

from collections.abc import Callable
from typing import Any

import pytest

from shared.domain.declared import DeclareQuery
from shared.engine.associations import declare_associations
from shared.engine.traverse import TraverseQuery, traverse
from shared.engine.writes import MemoryId, delete_memory
from shared.store.dynamo import Store
from tests.support.writing import put, session, swept, table_rows, together

pytestmark = pytest.mark.needs_concurrency


def declare(store: Store, tenant: str, **fields: Any) -> Any:
    return declare_associations(store, session(tenant), DeclareQuery(agent_id="a1", **fields))


def found(store: Store, tenant: str, name: str) -> Any:
    return traverse(store, session(tenant), TraverseQuery(agent_id="a1", entity=name, max_hops=1, limit=100))


def test_one_name_makes_one_entity_with_every_alias(store: Store, tenant: str) -> None:
    def declaring(number: int) -> Callable[[], Any]:
        return lambda: declare(store, tenant, entities=[{"name": "Weir", "aliases": [f"w{number}", f"v{number}"]}])

    answers = together([declaring(number) for number in range(8)])
    assert len({answer["entities"][0]["id"] for answer in answers}) == 1
    assert [answer["entities"][0]["created"] for answer in answers].count(True) == 1
    assert [answer["dropped"] for answer in answers] == [[]] * 8
    aliases = sorted(f"{letter}{number}" for letter in "vw" for number in range(8))
    (weir,) = found(store, tenant, "weir")["entities"]
    assert weir["aliases"] == aliases
    for alias in aliases:
        assert found(store, tenant, alias)["entities"][0]["id"] == weir["id"]


def test_an_alias_wanted_by_many_goes_to_one(store: Store, tenant: str) -> None:
    def declaring(number: int) -> Callable[[], Any]:
        return lambda: declare(store, tenant, entities=[{"name": f"Bird {number}", "aliases": ["Larus"]}])

    answers = together([declaring(number) for number in range(8)])
    assert sorted(len(answer["dropped"]) for answer in answers) == [0] + [1] * 7
    assert len(found(store, tenant, "larus")["entities"]) == 1
    birds = [found(store, tenant, f"bird {number}")["entities"][0] for number in range(8)]
    assert sum("aliases" in bird for bird in birds) == 1


def test_a_name_and_an_alias_never_lead_to_two(store: Store, tenant: str) -> None:
    """Whoever comes first keeps the name; the other one means it, or does without."""
    for number in range(5):
        name = f"Kite {number}"
        together(
            [
                lambda name=name: declare(store, tenant, entities=[{"name": name}]),  # type: ignore[misc]
                lambda name=name: declare(store, tenant, entities=[{"name": "Bird", "aliases": [name]}]),  # type: ignore[misc]
            ]
        )
        assert len(found(store, tenant, name)["entities"]) == 1


def test_one_statement_is_one_relation(store: Store, tenant: str) -> None:
    put(store, session(tenant), "n1")
    statement = {"relations": [{"subject": "Gull", "predicate": "sees", "object": "Tern"}], "anchor_ref": "n1"}
    answers = together([lambda: declare(store, tenant, **statement, entities=[{"name": "Gull"}])] * 8)
    assert len({tuple(answer["relations"]) for answer in answers}) == 1
    answer = found(store, tenant, "gull")
    assert (len(answer["relations"]), len(answer["entities"]), answer["entities"][0]["mentions"]) == (1, 2, ["n1"])


def test_nothing_stands_on_a_memory_that_was_deleted_meanwhile(store: Store, tenant: str, table_name: str) -> None:
    before = set(table_rows(table_name))
    statements = [{"subject": "Gull", "predicate": f"p{number}", "object": "Tern"} for number in range(20)]
    for _ in range(3):
        put(store, session(tenant), "n1")
        together(
            [
                lambda: declare(store, tenant, anchor_ref="n1", entities=[{"name": "Gull"}], relations=statements),
                lambda: delete_memory(store, session(tenant), MemoryId("n1")),
            ]
        )
        answer = found(store, tenant, "gull")
        assert answer["relations"] == [one for one in answer["relations"] if "anchor_ref" not in one]
        assert all("mentions" not in one for one in answer["entities"])
    swept(store, tenant)
    left = {row["SK"]["S"][:2] for key, row in table_rows(table_name).items() if key not in before}
    assert not left & {"X#", "I#", "O#", "E#"}
