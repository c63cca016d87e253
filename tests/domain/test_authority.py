"""The read rule (contract, section 2), cell by cell."""

from dataclasses import replace
from typing import Any

import pytest

from shared.domain.authority import Authority, is_retrievable
from shared.domain.model import Memberships, Memory, State
from shared.domain.principal import Principal
from tests.support.graphs import entity, memory

MEMBERSHIPS = Memberships(frozenset({"atlas", "core"}), frozenset({"red", "atlas-team"}))


def authority(scope_keys: set[str] | None = None, agents: tuple[str, ...] = ("a1",), **purges: int) -> Authority:
    held = None if scope_keys is None else frozenset(scope_keys)
    ann = Principal(tenant_id="t", principal_id="ann", roles=frozenset(), agent_ids=frozenset(agents), scope_keys=held)
    return Authority(ann, MEMBERSHIPS, purges)


def row(**fields: Any) -> Memory:
    return memory("m", **{"owner": "bob", **fields})


MINE = row(scope="private", owner="ann")
THEIRS = row(scope="private")
IN_ATLAS = row(scope="project", scope_key="atlas")
IN_OTHER = row(scope="project", scope_key="other")
RED = row(scope="team", scope_key="red")
BLUE = row(scope="team", scope_key="blue")
ALL = row(scope="organization")
PLAIN = row()
PLAIN_ATLAS = row(project_id="atlas")
PLAIN_OTHER = row(project_id="other")

RULE: list[tuple[Memory, bool, str]] = [
    (MINE, True, "private:ann"),
    (THEIRS, False, "private:bob"),
    (IN_ATLAS, True, "project:atlas"),
    (IN_OTHER, False, "project:other"),
    (RED, True, "team:red"),
    (BLUE, False, "team:blue"),
    (ALL, True, "organization:*"),
    (PLAIN, True, "organization:*"),
    (PLAIN_ATLAS, True, "project:atlas"),
    (PLAIN_OTHER, False, "project:other"),
    (row(scope="private", owner="ann", project_id="other"), True, "private:ann"),
    (row(scope="private", project_id="atlas"), False, "private:bob"),
    (row(scope="project", scope_key="atlas", project_id="other"), True, "project:atlas"),
    (row(scope="project", scope_key="other", project_id="atlas"), False, "project:other"),
    (row(scope="project"), False, "project:None"),
    (row(scope="team"), False, "team:None"),
    (row(scope="team", scope_key="atlas"), False, "team:atlas"),
    (row(scope="project", scope_key="red"), False, "project:red"),
    (row(scope="organization", project_id="other"), True, "organization:*"),
    (row(scope="public"), False, "public:*"),
    (row(scope=""), False, "organization:*"),
    (row(scope="Private", owner="ann"), False, "private:ann"),
]


@pytest.mark.parametrize(("one", "readable", "pair"), RULE, ids=lambda value: str(getattr(value, "scope", value)))
def test_a_memory(one: Memory, readable: bool, pair: str) -> None:
    assert authority().may_read_memory(one) is readable
    assert authority({pair}).may_read_memory(one) is readable
    assert authority(set()).may_read_memory(one) is False
    others = {"private:eve", "project:zeta", "team:green"} | {other for _, _, other in RULE if other != pair}
    assert authority(others).may_read_memory(one) is False


@pytest.mark.parametrize(
    ("one", "granted"),
    [
        (PLAIN_OTHER, True),
        (row(scope="project", scope_key="other", project_id="other"), True),
        (row(scope="project", scope_key="zeta", project_id="other"), False),
        (row(scope="project", scope_key="other", project_id="zeta"), False),
        (IN_OTHER, False),
        (row(scope="private", project_id="other"), False),
        (row(scope="team", scope_key="red", project_id="other"), False),
        (row(scope="team", scope_key="other", project_id="other"), False),
        (row(scope="private", scope_key="other", project_id="other"), False),
        (row(scope="organization", scope_key="other", project_id="other"), False),
        (row(scope="organization", project_id="other"), False),
        (row(scope="project", project_id="other"), False),
        (PLAIN, False),
        (PLAIN_ATLAS, False),
    ],
)
def test_a_memory_under_a_grant(one: Memory, granted: bool) -> None:
    assert authority().may_read_granted(one, {"other"}) is granted
    assert authority().may_read_granted(one, set()) is False
    assert authority({"project:other"}).may_read_granted(one, {"other"}) is granted
    assert authority({"project:atlas", "organization:*"}).may_read_granted(one, {"other"}) is False
    assert authority(other=1).may_read_granted(one, {"other"}) is False


@pytest.mark.parametrize("one", [IN_ATLAS, PLAIN_ATLAS])
def test_a_purge_passes_over_older_rows(one: Memory) -> None:
    for epoch, purges, readable in ((0, 0, True), (0, 1, False), (1, 1, True), (1, 2, False), (2, 1, True)):
        asked = authority(atlas=purges)
        written = replace(one, epoch=epoch)
        assert asked.alive(written) is readable
        assert asked.may_read_memory(written) is readable
        assert asked.may_read_granted(replace(written, project_id="atlas"), {"atlas"}) is readable
    assert authority(other=1).may_read_memory(one) is True


def test_rows_without_a_home_are_never_purged() -> None:
    assert authority(t=9).alive(PLAIN) is True
    assert authority(red=9).alive(RED) is True


def test_the_home_is_the_project_before_the_scope() -> None:
    one = row(scope="project", scope_key="atlas", project_id="other")
    assert authority(other=1).may_read_memory(one) is False
    assert authority(atlas=1).may_read_memory(one) is True


def test_membership_is_of_projects() -> None:
    assert [authority().is_member(name) for name in ("atlas", "core", "red", "other")] == [True, True, False, False]


def test_declared_rows() -> None:
    for agent, project, readable in (
        ("a1", None, True), ("a1", "atlas", True), ("a1", "other", False), ("a2", None, False), ("a2", "atlas", False),
    ):  # fmt: skip
        assert authority().may_read_declared(agent, project) is readable
        one = entity("e", agent_id=agent, project_id=project)
        assert authority().may_read_entity(one) is readable
        assert authority(agents=("*",)).may_read_declared(agent, project) is (project != "other")
        pair = "organization:*" if project is None else f"project:{project}"
        assert authority({pair}).may_read_entity(one) is readable
        assert authority({"private:ann", "team:red"}).may_read_entity(one) is False
    assert authority(atlas=1).may_read_entity(entity("e", project_id="atlas")) is False
    assert authority(atlas=1).may_read_entity(entity("e", project_id="atlas", epoch=1)) is True


def test_retrieval_knows_no_archived_memory() -> None:
    known = {state: is_retrievable(row(state=state)) for state in State}
    assert known == {State.ACTIVE: True, State.SUPERSEDED: True, State.ARCHIVED: False}
