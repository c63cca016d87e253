"""`fetch_slice`: a window of passages around a hit, under its memory's authority (contract, section 5)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shared.domain.authority import is_retrievable
from shared.domain.errors import NotFound, Unavailable
from shared.domain.ids import PassageId, passage_id
from shared.domain.model import Json, Memory, Node, Passage
from shared.domain.preview import spend
from shared.engine.expand import ROUND_BUDGET
from shared.engine.port import Pending, SliceWave, Waves
from shared.engine.reading import LiveAuthority
from shared.engine.session import Session

_MAX_WAVES = 20
"""A memory that is cut anew between all of these reads is given up; an undisturbed one needs one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceQuery:
    """A checked request: the id trimmed, the bounds in range."""

    entity_id: str
    window: int = 3
    content_max_chars: int = 18_000
    project: str | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """Which passages of the current cut are asked for: `count` from `first`; stale when the id is of an earlier cut."""

    first: int
    count: int
    stale: bool = False


def window_around(index: int, window: int, total: int) -> tuple[int, int]:
    """First index and count of a window of `window` passages centred on `index`, slid to stay inside [0, total)."""
    count = min(window, total)
    first = min(max(0, index - (window - 1) // 2), total - count)
    return first, count


def fetch_slice(store: Waves[SliceWave], session: Session, query: SliceQuery) -> dict[str, Json]:
    """The window of `query`, its budget spent in order.

    One wave of reads; two in the middle of a re-cut or for a passage id of an earlier cut, and one more where the
    memory is so fresh that the authority is read again. Raises `NotFound` (denied, absent, foreign: one answer) and
    `Unavailable`.
    """
    return _Slice(store, session, query).run()


class _Slice:
    def __init__(self, store: Waves[SliceWave], session: Session, query: SliceQuery) -> None:
        self.store = store
        self.query = query
        self.live = LiveAuthority(session)
        self.asked = passage_id(query.entity_id)
        self.cut: str | None = None
        self.near = self.asked.index if self.asked else 0
        self.passages: dict[int, Passage] = {}

    def run(self) -> dict[str, Json]:
        memory = self._first_look()
        for _ in range(_MAX_WAVES):
            allowed = self._allowed(memory)
            window = self._window(allowed) if allowed else None
            if allowed and window and not self._holds(allowed, window):
                memory = self._look_again(allowed, window)
                continue
            written = [memory.updated_at] if isinstance(memory, Memory) and allowed else []
            if self.live.settles(written) or not self.live.reread(self.store):
                if allowed is None or window is None:
                    raise NotFound
                return self._answer(allowed, window)
        raise Unavailable

    def _first_look(self) -> Node | None:
        """One wave: the authority, the hinge, and the passages that it will most likely name."""
        wave = self.live.new_wave(self.store)
        authority = self.live.ask(wave)
        hinge = wave.node(self.query.entity_id)
        found = self._ask_passages(wave)
        wave.run()
        authority.take()
        self.cut, passages = found()
        self.passages = {passage.index: passage for passage in passages}
        return hinge.value

    def _ask_passages(self, wave: SliceWave) -> Callable[[], tuple[str | None, Sequence[Passage]]]:
        """The newest cut from its beginning; of a passage id its cut around it, as the window may be slid."""
        if self.asked is None:
            newest = wave.newest_passages(self.query.entity_id, self.query.window)
            return lambda: newest.value
        cut, index = self.asked.cut, self.asked.index
        first = max(0, index - self.query.window + 1)
        near = wave.passages(self.asked.ref, cut, first, index + self.query.window - first)
        return lambda: (cut, near.value)

    def _look_again(self, memory: Memory, window: Window) -> Node | None:
        """The exact window of the current cut, with the hinge once more."""
        wave = self.live.new_wave(self.store)
        hinge = wave.node(self.query.entity_id)
        found: Pending[Sequence[Passage]] | None = None
        self.cut = memory.cut
        if memory.cut is not None:
            found = wave.passages(memory.ref, memory.cut, window.first, window.count)
        wave.run()
        self.passages = {passage.index: passage for passage in (found.value if found else ())}
        return hinge.value

    def _allowed(self, node: Node | None) -> Memory | None:
        """The memory, when this reader may have it."""
        if not isinstance(node, Memory) or not is_retrievable(node):
            return None
        authority, project = self.live.value, self.query.project
        if project is not None and not (node.project_id == project and authority.is_member(project)):
            return None
        return node if authority.may_read_memory(node) else None

    def _window(self, memory: Memory) -> Window | None:
        """The window of the current cut; None when the passage asked for never was one of this life of the memory."""
        index = self.near
        stale = False
        if self.asked is not None:
            if not memory.born <= self.asked.cut <= (memory.cut or self.asked.cut):
                return None
            stale = self.asked.cut != memory.cut
            if not stale and index >= memory.passages:
                return None
            index = min(index, max(0, memory.passages - 1))
        if memory.cut is None:
            return Window(0, 0, stale)
        first, count = window_around(index, self.query.window, memory.passages)
        return Window(first if self.asked else 0, count, stale)

    def _holds(self, memory: Memory, window: Window) -> bool:
        """Whether the passages read are the current cut's, all of the window."""
        if memory.cut is None:
            return True
        wanted = range(window.first, window.first + window.count)
        return self.cut == memory.cut and all(index in self.passages for index in wanted)

    def _answer(self, memory: Memory, window: Window) -> dict[str, Json]:
        chosen = [self.passages[index] for index in range(window.first, window.first + window.count)]
        whole = memory.cut is None
        contents = [memory.text] if whole else [passage.content for passage in chosen]
        spent = spend(contents, self.query.content_max_chars)
        shown: list[Json] = []
        for number, (content, cut_short) in enumerate(spent):
            shown.append(_passage(memory, None if whole else chosen[number], content) | {"truncated": cut_short})
        complete = whole or (window.count == memory.passages and memory.covers)
        return {
            "entity_id": self.query.entity_id,
            "parent_id": memory.id,
            "parent_name": memory.name,
            "parent_type": memory.type,
            "passages": shown,
            "window": self.query.window,
            "sliced": not whole,
            "total": len(shown),
            "window_start": None if whole else window.first,
            "passage_total": None if whole else memory.passages,
            "covers_parent": complete and not any(cut_short for _, cut_short in spent),
            "project_id": memory.project_id,
            "content_chars": sum(len(content) for content, _ in spent),
            "filters": self._filters(window),
        }

    def _filters(self, window: Window) -> dict[str, Json]:
        filters: dict[str, Json] = {
            "window": self.query.window,
            "content_max_chars": self.query.content_max_chars,
            "round_budget": ROUND_BUDGET,
        }
        if self.query.project is not None:
            filters["project"] = self.query.project
        if window.stale:
            filters["stale_passage"] = True
        return filters


def _passage(memory: Memory, passage: Passage | None, content: str) -> dict[str, Json]:
    """A passage as answered; a memory that was never cut is its own."""
    if passage is None or memory.cut is None:
        place: dict[str, Json] = {"id": memory.id, "passage_index": None, "passage_total": None, "breadcrumb": ""}
    else:
        place = {
            "id": str(PassageId(memory.ref, memory.cut, passage.index)),
            "passage_index": passage.index,
            "passage_total": memory.passages,
            "breadcrumb": passage.breadcrumb,
        }
    return place | {"name": memory.name, "content": content}
