"""Who may write what over which row, and what a write makes of it: the pure decision."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from shared.domain.authority import Authority
from shared.domain.errors import Conflict, Forbidden, NotFound
from shared.domain.lines import edge_line, memory_line
from shared.domain.model import Memberships, Memory
from shared.domain.principal import Principal, Role
from shared.engine.deciding import decide, edge_after, line_of, may_touch
from shared.engine.port import MemoryChange

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LATER = datetime(2026, 1, 2, 3, 4, 6, tzinfo=UTC)
BODY = "One sentence follows another. " * 100


def authority(who: str = "ann", *roles: Role, projects: str = "", **purges: int) -> Authority:
    principal = Principal(tenant_id="t", principal_id=who, roles=frozenset(roles or (Role.WRITER,)))
    return Authority(principal, Memberships(frozenset(projects.split())), purges)


def decided(
    found: Memory | None = None,
    by: Authority | None = None,
    now: datetime = NOW,
    if_revision: int | None = None,
    **fields: Any,
) -> MemoryChange:
    line = memory_line({"id": "m", "type": "note", "name": "N", **fields})
    return decide(replace(line, if_revision=if_revision), found, by or authority(), 0, now)


def stored(by: Authority | None = None, **fields: Any) -> Memory:
    return decided(None, by, **fields).after


def test_the_first_write_of_a_life() -> None:
    memory = stored(content="text", key="k")
    assert (memory.revision, memory.owner, memory.created_at) == (1, "ann", "2026-01-02T03:04:05.000Z")
    assert (memory.text, memory.cut, memory.length) == ("text", None, 4)


def test_a_first_cut_sorts_after_the_life_it_belongs_to() -> None:
    """Or its passage ids would be taken for those of a former life: both tokens are of one millisecond."""
    for _ in range(100):
        memory = stored(content=BODY)
        assert memory.cut is not None
        assert memory.born < memory.cut


def test_the_digest_is_that_of_the_contract() -> None:
    memory = stored(
        authority("ann", Role.ADMIN),
        id="m1",
        name="Deploy day",
        content="We ship on Tuesday.",
        key="deploy.day",
        value="tuesday",
        scope="project",
        project_id="atlas",
        owner="ann",
        created_at="2026-01-02T03:04:05Z",
    )
    assert memory.digest == "d2b01d261c99f4d4638e5201947e2541bf1230bb1dcf183557c665b747b4ebf2"


def test_the_same_line_again_changes_nothing() -> None:
    memory = stored(content=BODY, value={"a": 1, "b": [True]}, metadata={"k": 1.0})
    assert decided(memory, now=LATER, content=BODY, value={"b": [True], "a": 1.0}, metadata={"k": 1}).is_idle


@pytest.mark.parametrize(
    "fields",
    [{"value": True}, {"value": 1, "source_id": "s"}, {"value": 1, "channel": "c"}, {"value": 1, "state": "archived"}],
)
def test_any_other_field_is_a_new_revision(fields: dict[str, Any]) -> None:
    change = decided(stored(value=1), now=LATER, **fields)
    assert (change.after.revision, change.is_idle) == (2, False)
    assert change.after.updated_at == "2026-01-02T03:04:06.000Z"


def test_owner_and_creation_stay_where_they_are_left_out() -> None:
    memory = stored(owner="ann", created_at="2020-01-01T00:00:00Z")
    after = decided(memory, authority("ben"), LATER, name="Other").after
    assert (after.owner, after.created_at) == ("ann", "2020-01-01T00:00:00.000Z")


def test_a_body_that_stays_keeps_its_cut() -> None:
    memory = stored(content=BODY)
    change = decided(memory, now=LATER, content=BODY, name="Other")
    assert memory.cut is not None
    assert (change.after.cut, change.after.passages, change.cuts_anew) == (memory.cut, memory.passages, False)


def test_another_body_or_other_spans_are_cut_anew() -> None:
    memory = stored(content=BODY)
    longer = decided(memory, now=LATER, content=BODY + "And so on.")
    spans = decided(memory, now=LATER, content=BODY, spans=[{"start": 10, "end": 20, "label": "ten"}])
    assert memory.cut is not None
    assert longer.after.cut is not None
    assert spans.after.cut is not None
    assert longer.after.cut > memory.cut
    assert spans.after.cut > memory.cut
    assert "".join(passage.content for passage in longer.passages) == BODY + "And so on."
    assert (spans.after.passages, spans.after.covers, spans.passages[0].breadcrumb) == (1, False, "ten")


def test_time_never_goes_back() -> None:
    memory = stored()
    assert decided(memory, now=datetime(2020, 1, 1, tzinfo=UTC), name="O").after.updated_at > memory.updated_at


HIDDEN = [
    {"scope": "private", "owner": "ben"},
    {"scope": "project", "scope_key": "atlas", "owner": "ben"},
    {"project_id": "atlas", "owner": "ben"},
    {"scope": "team", "scope_key": "red", "owner": "ben"},
]


@pytest.mark.parametrize("fields", HIDDEN)
def test_a_hidden_row_is_not_there_to_write(fields: dict[str, Any]) -> None:
    hidden = stored(authority("ben", Role.ADMIN), **fields)
    assert not may_touch(hidden, authority())
    with pytest.raises(NotFound):
        decided(hidden)
    with pytest.raises(Conflict):
        decided(hidden, if_revision=1)
    with pytest.raises(Conflict):
        decided(None, if_revision=1)


def test_an_owner_may_write_what_it_can_no_longer_read() -> None:
    left = stored(authority("ann", projects="atlas"), project_id="atlas")
    assert decided(left, scope="private").after.scope == "private"
    with pytest.raises(NotFound):
        decided(left, project_id="atlas", name="Other")


def test_a_row_must_not_leave_the_writers_sight() -> None:
    with pytest.raises(NotFound):
        decided(None, scope="project", scope_key="atlas")
    with pytest.raises(NotFound):
        decided(stored(), authority("ben"), scope="private")


def test_a_restricted_writer_may_still_write_its_private_rows() -> None:
    restricted = authority()
    restricted = replace(restricted, principal=replace(restricted.principal, scope_keys=frozenset()))
    assert decided(None, restricted, scope="private").after.owner == "ann"
    with pytest.raises(NotFound):
        decided(None, restricted)


def test_only_an_admin_gives_a_row_to_another() -> None:
    with pytest.raises(Forbidden):
        decided(None, owner="ben")
    with pytest.raises(Forbidden):
        decided(stored(authority("cy"), scope="private"), owner="cy")
    assert decided(stored(authority("ben")), owner="ben", name="Other").after.owner == "ben"
    assert decided(None, authority("root", Role.ADMIN), owner="ben", scope="private").after.owner == "ben"


def test_an_admin_writes_any_row() -> None:
    hidden = stored(authority("ben"), scope="private")
    assert decided(hidden, authority("root", Role.ADMIN), name="Other").after.owner == "ben"


def test_a_purged_row_is_as_absent() -> None:
    purged = stored(authority("ben", projects="atlas"), project_id="atlas", content=BODY)
    change = decided(purged, authority("ann", atlas=1), scope="organization", now=LATER)
    assert (change.after.revision, change.after.owner, change.after.created_at) == (
        1,
        "ann",
        "2026-01-02T03:04:06.000Z",
    )
    assert change.before == purged
    assert change.after.born > purged.born
    with pytest.raises(Conflict):
        decided(purged, authority("ann", atlas=1), scope="organization", if_revision=1)


def test_a_stale_revision() -> None:
    memory = stored()
    assert decided(memory, if_revision=1, name="Other").after.revision == 2
    with pytest.raises(Conflict):
        decided(memory, if_revision=2, name="Other")


def test_a_memory_is_the_line_it_was_written_by() -> None:
    memory = stored(content="text", key="k", value=[1], metadata={"a": 1}, valid_to="2027-01-01T00:00:00Z")
    assert decide(line_of(memory, "text"), memory, authority(), 0, LATER).is_idle


def test_an_edge_without_a_change_stays() -> None:
    ends = stored(), stored()
    line = edge_line({"source": "a", "relationship": "blocks", "target": "b", "weight": 0.3})
    edge = edge_after(line, *ends, None, NOW)
    assert (edge.relationship, edge.weight, edge.own_weight) == ("BLOCKS", 0.3, 0.3)
    assert edge_after(line, *ends, edge, LATER) == edge
    plain = edge_after(replace(line, weight=None), *ends, edge, LATER)
    assert (plain.weight, plain.own_weight, plain.written_at) == (0.96, None, "2026-01-02T03:04:06.000Z")


def test_an_edge_of_a_former_life_is_written_anew() -> None:
    line = edge_line({"source": "a", "relationship": "BLOCKS", "target": "b"})
    near, far = stored(), stored()
    edge = edge_after(line, near, far, None, NOW)
    again = edge_after(line, near, replace(far, born="z" * 16), edge, LATER)
    assert (again.target_born, again.written_at) == ("z" * 16, "2026-01-02T03:04:06.000Z")
