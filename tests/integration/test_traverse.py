"""`traverse` on a real store: its budget in waves, a busy hub, and the PEP corpus."""

import gzip
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from shared.domain.declared import DeclareQuery
from shared.domain.model import Memory
from shared.domain.normalise import normalised
from shared.domain.principal import Role
from shared.engine.associations import declare_associations
from shared.engine.session import Session
from shared.engine.traverse import TraverseQuery, traverse
from shared.store.dynamo import Store
from tests.support.writing import load, note, session

PEPS = Path(__file__).parents[2].parent / "shared" / "data" / "peps.jsonl.gz"


@pytest.fixture
def fast_engine(engine: str) -> None:
    if engine == "moto":
        pytest.skip("takes minutes on moto: run with --engine=ministack")


def settled(asker: Session) -> Session:
    """A request to which no row is fresh: fresh ones cost one more reading of the authority."""
    return replace(asker, arrived=asker.arrived + timedelta(minutes=1))


def asked(store: Store, asker: Session, name: str, *, agent: str = "a1", **fields: Any) -> Any:
    query = TraverseQuery(**{"agent_id": agent, "entity": name, "max_hops": 1, "limit": 20, **fields})
    store.table.meter.reset()
    return traverse(store, settled(asker), query)


def stated(subject: str, object_: str, **fields: Any) -> dict[str, Any]:
    line = {"kind": "relation", "agent_id": "a1", "subject": subject, "predicate": "next", "object": object_}
    return {**line, **fields}


@pytest.mark.parametrize("hops", [0, 1, 2, 5])
def test_a_walk_of_h_hops_costs_h_plus_three_waves(store: Store, tenant: str, hops: int) -> None:
    chain = [stated(f"Stop {number}", f"Stop {number + 1}", anchor_ref="n1") for number in range(7)]
    load(store, tenant, note("n1"), *chain)
    declare_associations(
        store, session(tenant), DeclareQuery(agent_id="a1", anchor_ref="n1", entities=[{"name": "Stop 0"}])
    )
    answer = asked(store, session(tenant), "stop 0", max_hops=hops)
    assert [one["name"] for one in answer["entities"]] == [f"Stop {number}" for number in range(hops + 1)]
    assert answer["entities"][0]["mentions"] == ["n1"]
    assert store.table.meter.waves == hops + 3


def test_a_fresh_answer_reads_the_authority_once_more(store: Store, tenant: str) -> None:
    load(store, tenant, stated("Stop 0", "Stop 1"))
    store.table.meter.reset()
    traverse(store, session(tenant), TraverseQuery(agent_id="a1", entity="stop 0", max_hops=1, limit=20))
    assert store.table.meter.waves == 5


def test_a_hub_is_read_by_its_latest_relations(store: Store, tenant: str, fast_engine: None) -> None:
    """The order of the store's rows is that of the contract, and the hub's list is not read to its end."""
    leaves = [f"Leaf {number:03}" for number in range(400)]
    lines = [
        stated("Hub", leaf, declared_at=f"2024-01-01T00:{number // 60:02}:{number % 60:02}Z")
        for number, leaf in enumerate(leaves)
    ]
    assert load(store, tenant, *lines)["applied"] == 400
    answer = asked(store, session(tenant), "hub", limit=5)
    assert [one["name"] for one in answer["entities"]] == ["Hub", *leaves[:-5:-1]]
    assert answer["entities_omitted"] == 251
    assert answer["bounds"] == {"omitted": ["max_hops", "limit"]}
    assert [one["object"] for one in answer["relations"]] == [one["id"] for one in answer["entities"][1:]]
    meter = store.table.meter
    assert meter.waves == 4
    assert meter.items < 600


@pytest.fixture
def peps(fast_engine: None) -> list[dict[str, Any]]:
    if not PEPS.exists():
        pytest.skip("the PEP corpus is not beside the project")
    with gzip.open(PEPS, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_an_author_of_peps_by_alias(store: Store, tenant: str, peps: list[dict[str, Any]]) -> None:
    """Topics and documents are all there; two readers differ exactly by the documents that they may read."""
    bodiless = [
        {**line, "content": ""} if line["kind"] == "memory" else line for line in peps if line["kind"] != "edge"
    ]
    report = load(store, tenant, *bodiless)
    assert report["rejected"] == 0
    projects = {"ana": {"typing", "core"}, "ben": {"core"}}
    documents = {line["id"]: line for line in peps if line["kind"] == "memory"}
    authors = [line for line in peps if line["kind"] == "entity" and line.get("aliases")]
    written = [line for line in peps if line["kind"] == "relation"]

    def readable(pep: str, who: str) -> bool:
        line = documents[pep]
        own = line["scope"] == "private" and line["owner"] == who
        return own or line["scope"] == "organization" or line.get("project_id") in projects[who]

    busy = sorted(authors, key=lambda line: -len(line["mentions"]))[:12]
    told_apart = 0
    for author in busy:
        seen = {}
        for who in projects:
            answer = asked(
                store, session(tenant, who, Role.READER), author["aliases"][0], agent="editor", limit=100, max_hops=1
            )
            (start,) = [one for one in answer["entities"] if one["hops"] == 0]
            seen[who] = start.get("mentions", [])
            assert (start["name"], start["aliases"]) == (author["name"], author["aliases"])
            topics = {line["object"] for line in written if normalised(line["subject"]) == normalised(author["name"])}
            assert {one["name"] for one in answer["entities"] if one["hops"] == 1} == topics
            assert seen[who] == sorted(pep for pep in author["mentions"] if readable(pep, who))
            anchors = {one.get("anchor_ref") for one in answer["relations"]} - {None}
            assert all(readable(str(pep), who) for pep in anchors)
        told_apart += seen["ana"] != seen["ben"]
    assert told_apart > 0


def test_a_mention_is_of_the_life_that_it_was_made_in(store: Store, tenant: str) -> None:
    load(store, tenant, note("n1"), {"kind": "entity", "agent_id": "a1", "name": "Kiln", "mentions": ["n1"]})
    wave = store.wave(tenant, "root", session(tenant).deadline)
    pending = wave.node("n1")
    wave.run()
    assert isinstance(pending.value, Memory)
    assert store.memories.remove(tenant, pending.value, pending.value.updated_at, session(tenant).deadline)
    load(store, tenant, note("n1"))
    assert "mentions" not in asked(store, session(tenant), "kiln")["entities"][0]
