"""The window, its budget, and whose it is (contract, section 5), against the whole text cut by hand."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from shared.domain.errors import NotFound, Unavailable
from shared.domain.model import Memberships
from shared.engine.reading import LiveAuthority
from shared.engine.slice import SliceQuery, fetch_slice, window_around
from shared.engine.writes import MemoryId, delete_memory
from shared.store.dynamo import Store
from tests.support.records import member, memory_store
from tests.support.writing import load, note, patch, put, session

T = "t"
SEAMS = [{"start": 10 * number, "end": 10 * number + 10, "label": f"part {number}"} for number in range(9)]
BODY = "".join(f"{number:09} " for number in range(9)) + "x" * 2_000
PARTS = [f"{number:09} " for number in range(9)]


@pytest.fixture
def store() -> Store:
    built = memory_store()
    spans = [*SEAMS, {"start": 90, "end": 2_090, "label": "rest"}]
    load(
        built, T, member("ann", "p"),
        note("cut", content=BODY, spans=spans, project_id="p"),
        note("gaps", content=BODY, spans=SEAMS),
        note("plain", content="Short and whole."),
        note("empty"),
        note("seamed", content="Short and whole.", spans=[{"start": 0, "end": 5, "label": "a"}]),
    )  # fmt: skip
    return built


def ask(store: Store, entity_id: str, who: str = "ann", **fields: Any) -> Any:
    return fetch_slice(store, session(T, who), SliceQuery(entity_id=entity_id, **fields))


def passages(store: Store, name: str = "cut") -> list[str]:
    return [one["id"] for one in ask(store, name, window=64)["passages"]]


@pytest.mark.parametrize(
    ("index", "window", "total", "expected"),
    [
        (0, 3, 10, (0, 3)), (1, 3, 10, (0, 3)), (2, 3, 10, (1, 3)), (5, 3, 10, (4, 3)), (9, 3, 10, (7, 3)),
        (5, 4, 10, (4, 4)), (5, 1, 10, (5, 1)), (5, 2, 10, (5, 2)), (8, 4, 10, (6, 4)), (5, 64, 10, (0, 10)),
        (0, 10, 10, (0, 10)), (0, 1, 1, (0, 1)),
    ],
)  # fmt: skip
def test_the_window(index: int, window: int, total: int, expected: tuple[int, int]) -> None:
    assert window_around(index, window, total) == expected


def test_a_memory_is_read_from_its_beginning(store: Store) -> None:
    answer = ask(store, "cut")
    assert [one["content"] for one in answer["passages"]] == PARTS[:3]
    assert [one["passage_index"] for one in answer["passages"]] == [0, 1, 2]
    told = {name: value for name, value in answer.items() if name != "passages"}
    assert told == {
        "entity_id": "cut", "parent_id": "cut", "parent_name": "Name of cut", "parent_type": "note", "window": 3,
        "sliced": True, "total": 3, "window_start": 0, "passage_total": 10, "covers_parent": False, "project_id": "p",
        "content_chars": 30, "filters": {"window": 3, "content_max_chars": 18_000, "round_budget": 3},
    }  # fmt: skip
    assert answer["passages"][1] == {
        "id": passages(store)[1], "name": "Name of cut", "content": PARTS[1], "passage_index": 1, "passage_total": 10,
        "breadcrumb": "part 1", "truncated": False,
    }  # fmt: skip


@pytest.mark.parametrize(("index", "window", "first"), [(0, 3, 0), (5, 3, 4), (9, 3, 7), (4, 4, 3), (9, 1, 9)])
def test_a_passage_is_centred(store: Store, index: int, window: int, first: int) -> None:
    answer = ask(store, passages(store)[index], window=window)
    assert [one["passage_index"] for one in answer["passages"]] == list(range(first, first + window))
    assert (answer["window_start"], answer["parent_id"]) == (first, "cut")
    assert "stale_passage" not in answer["filters"]


def test_what_covers(store: Store) -> None:
    whole = ask(store, "cut", window=10)
    assert (whole["covers_parent"], whole["total"], whole["content_chars"]) == (True, 10, 2_090)
    assert ask(store, "cut", window=9)["covers_parent"] is False
    assert ask(store, "cut", window=10, content_max_chars=2_089)["covers_parent"] is False
    assert ask(store, "gaps", window=64)["covers_parent"] is False
    assert ask(store, "gaps", window=64)["total"] == 9


@pytest.mark.parametrize(
    ("name", "content"), [("plain", "Short and whole."), ("seamed", "Short and whole."), ("empty", "")]
)
def test_what_was_never_cut_comes_whole(store: Store, name: str, content: str) -> None:
    answer = ask(store, name, window=5)
    shown = {name: answer[name] for name in ("sliced", "total", "window_start", "passage_total", "covers_parent")}
    assert shown == {"sliced": False, "total": 1, "window_start": None, "passage_total": None, "covers_parent": True}
    assert answer["passages"] == [
        {"id": name, "name": f"Name of {name}", "content": content, "passage_index": None, "passage_total": None,
         "breadcrumb": "", "truncated": False}
    ]  # fmt: skip
    assert (answer["content_chars"], answer["window"]) == (len(content), 5)


def test_the_budget_is_spent_in_order(store: Store) -> None:
    answer = ask(store, "cut", window=4, content_max_chars=15)
    assert [(one["content"], one["truncated"]) for one in answer["passages"]] == [
        (PARTS[0], False), ("0000…", True), ("", True), ("", True),
    ]  # fmt: skip
    assert answer["content_chars"] == 15
    assert ask(store, "plain", content_max_chars=0)["covers_parent"] is False


def test_whose_it_is(store: Store) -> None:
    passage = passages(store)[2]
    for name in ("cut", passage):
        with pytest.raises(NotFound):
            ask(store, name, "bob")
        with pytest.raises(NotFound):
            ask(store, name, project="q")
        with pytest.raises(NotFound):
            ask(store, name, "bob", project="p")
        assert ask(store, name, project="p")["filters"]["project"] == "p"
    assert ask(store, "plain", "bob")["parent_id"] == "plain"
    with pytest.raises(NotFound):
        ask(store, "plain", project="p")
    with pytest.raises(NotFound):
        ask(store, "nothing")


def test_a_project_is_its_members(store: Store) -> None:
    """A row of the project that everybody may read is not in the project for who is no member."""
    load(store, T, note("open", project_id="p", scope="organization"))
    assert ask(store, "open", "bob")["parent_id"] == "open"
    assert ask(store, "open", project="p")["parent_id"] == "open"
    with pytest.raises(NotFound):
        ask(store, "open", "bob", project="p")


def test_states(store: Store) -> None:
    patch(store, session(T), "cut", state="superseded")
    assert ask(store, "cut")["total"] == 3
    patch(store, session(T), "cut", state="archived")
    with pytest.raises(NotFound):
        ask(store, "cut")


def test_a_passage_of_an_earlier_cut(store: Store) -> None:
    former = passages(store)
    spans = [{"start": 0, "end": 1_000, "label": "a"}, {"start": 1_000, "end": 2_090, "label": "b"}]
    put(store, session(T), "cut", content=BODY, spans=spans, project_id="p")
    for index in (0, 1, 9):
        answer = ask(store, former[index], window=1)
        assert answer["filters"]["stale_passage"] is True
        assert [one["passage_index"] for one in answer["passages"]] == [min(index, 1)]
    put(store, session(T), "cut", content="Uncut now.", project_id="p")
    answer = ask(store, former[9])
    assert (answer["sliced"], answer["passages"][0]["content"]) == (False, "Uncut now.")
    assert answer["filters"]["stale_passage"] is True
    with pytest.raises(NotFound):
        ask(store, former[0], "bob")
    delete_memory(store, session(T), MemoryId("cut"))
    put(store, session(T), "cut", content=BODY, project_id="p")
    with pytest.raises(NotFound):
        ask(store, former[0])


def test_a_cut_that_is_not_cleared_away_yet_is_never_shown(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rows lie where the window of the current cut would be, and as many."""
    former = passages(store)
    monkeypatch.setattr("shared.store.cleanup.CleanUps.attempt", lambda *_: None)
    spans = [*SEAMS, {"start": 90, "end": 2_090, "label": "rest"}]
    put(store, session(T), "cut", content=BODY.upper().replace("0", "o"), spans=spans, project_id="p")
    answer = ask(store, former[1], window=2)
    assert [one["content"] for one in answer["passages"]] == ["oooooooo1 ", "oooooooo2 "]
    assert answer["passages"][0]["id"] != former[1]


def test_a_passage_that_never_was(store: Store) -> None:
    last = passages(store)[9]
    with pytest.raises(NotFound):
        ask(store, last[:-5] + "00010")
    reference, cut = last.split("_")[1:3]
    for other in ("zzzzzzzzzzzzzzzz", "0000000000000000"):
        with pytest.raises(NotFound):
            ask(store, f"psg_{reference}_{other}_00000")
    assert cut < "zzzzzzzzzzzzzzzz"


def test_no_time_is_no_answer(store: Store) -> None:
    late = session(T, "ann")
    with pytest.raises(Unavailable):
        fetch_slice(store, replace(late, deadline=replace(late.deadline, at=0.0)), SliceQuery(entity_id="cut"))


def test_what_it_costs(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """One wave for a settled memory or passage, two for an earlier cut; one more while it is fresh."""
    monkeypatch.setattr("shared.engine.reading.CLOCK_ALLOWANCE", timedelta(days=-1))
    former = passages(store)[5]
    meter = store.table.meter

    def waves(name: str, **fields: Any) -> int:
        meter.reset()
        ask(store, name, **fields)
        return meter.waves

    assert [waves("cut"), waves("cut", window=64), waves(former), waves(former, window=64), waves("plain")] == [1] * 5
    put(store, session(T), "cut", content=BODY, project_id="p")
    assert waves(former) == 2
    put(store, session(T), "cut", content="Uncut now.", project_id="p")
    assert waves(former) == 1
    put(store, session(T), "cut", content=BODY, project_id="p")
    monkeypatch.setattr("shared.engine.reading.CLOCK_ALLOWANCE", timedelta(days=1))
    assert waves("cut") == 2


def test_what_is_forbidden_costs_no_more_than_what_is_absent(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shared.engine.reading.CLOCK_ALLOWANCE", timedelta(days=1))
    meter = store.table.meter
    for name in ("cut", "nothing"):
        meter.reset()
        with pytest.raises(NotFound):
            ask(store, name, "bob")
        assert meter.waves == 1


def test_a_membership_that_ends_while_a_fresh_memory_is_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The authority is read again after the content, and the answer is what it says then."""
    monkeypatch.setattr("shared.engine.reading.CLOCK_ALLOWANCE", timedelta(days=1))
    reread = LiveAuthority.reread

    def after_leaving(live: LiveAuthority, waves: Any) -> bool:
        store.memberships.remove(T, "ann", Memberships(frozenset({"p"}), frozenset()))
        return reread(live, waves)

    monkeypatch.setattr(LiveAuthority, "reread", after_leaving)
    with pytest.raises(NotFound):
        ask(store, "cut")
