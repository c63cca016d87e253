"""`expand_neighbors`: a bounded walk from known ids over what the reader may read (contract, section 4)."""

from collections.abc import Sequence
from dataclasses import dataclass

from shared.domain.errors import Unavailable
from shared.domain.ids import is_id, passage_id
from shared.domain.instants import utc_text
from shared.domain.model import Entity, Json, Memory, Node, Passage
from shared.domain.preview import preview
from shared.engine.port import EdgePage, Lane, Pending, WalkWave, Waves
from shared.engine.reading import LiveAuthority
from shared.engine.session import Session
from shared.engine.walk import Known, LaneRows, Needs, Outcome, Reached, WalkQuery, node_type, walk

MAX_SEEDS = 8
ROUND_BUDGET = 3
"""Rounds of steering a caller is told to keep to; reported, never enforced."""

_MAX_WAVES = 40
"""A walk over rows that change under it is given up after so many waves; an undisturbed one needs depth + 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandQuery:
    """A checked request: words folded, numbers in range, ids trimmed, none blank, each once."""

    entity_ids: tuple[str, ...]
    relationship_types: tuple[str, ...] | None = None
    types: tuple[str, ...] | None = None
    depth: int = 1
    limit: int = 8
    content_max_chars: int = 500
    include_incoming: bool = True
    project: str | None = None

    @property
    def seeds(self) -> tuple[str, ...]:
        return self.entity_ids[:MAX_SEEDS]

    def walk_query(self) -> WalkQuery:
        """The rules of the walk that answers this; what is no id at all is no seed of it."""
        return WalkQuery(
            seeds=tuple(seed for seed in self.seeds if is_id(seed)),
            relationship_types=self.relationship_types,
            types=self.types,
            depth=self.depth,
            limit=self.limit,
            include_incoming=self.include_incoming,
            project=self.project,
        )


def expand_neighbors(store: Waves[WalkWave], session: Session, query: ExpandQuery) -> dict[str, Json]:
    """The neighbors of `query.seeds` that the principal may read, best first.

    Depth + 1 waves of reads on an ordinary graph; one more where a community is expanded, where hidden rows or a type
    filter spoil the first look, where texts longer than 2,000 code points are asked for, or where rows are so fresh
    that the authority is read again. Raises `Unavailable`.
    """
    expansion = _Expansion(store, session, query)
    outcome, texts = expansion.run()
    return _answer(query, outcome, texts)


class _Expansion:
    """One request: reads what the walk needs until its outcome stands on hinges of the last wave."""

    def __init__(self, store: Waves[WalkWave], session: Session, query: ExpandQuery) -> None:
        self.store = store
        self.session = session
        self.query = query
        self.live = LiveAuthority(session)
        self.known = Known()
        self.last_wave: set[str] = set()

    def run(self) -> tuple[Outcome, dict[str, str]]:
        walk_query, now = self.query.walk_query(), utc_text(self.session.arrived)
        texts: dict[str, str] | None = None
        first = True
        for _ in range(_MAX_WAVES):
            outcome = walk(self.known, walk_query, self.live.value, now)
            if first or outcome.needs or not self.last_wave.issuperset(outcome.used):
                self._read(outcome, with_authority=first)
                first, texts = False, None
            elif texts is None:
                texts = self._long_texts(outcome)
            elif self.live.settles(outcome.written):
                return outcome, texts
            elif self.live.reread(self.store):
                texts = None
        raise Unavailable

    def _read(self, outcome: Outcome, *, with_authority: bool) -> None:
        """One wave: what is needed, and again the hinges that the outcome stands on (authority last)."""
        wave = self.live.new_wave(self.store)
        asked = self.live.ask(wave) if with_authority else None
        needs = outcome.needs
        hinges = dict.fromkeys([*outcome.used, *(self.known.hinge_id(node_id) for node_id in needs.nodes)])
        nodes = {node_id: wave.node(node_id) for node_id in hinges}
        passages = self._ask_passages(wave, needs)
        lanes = {key: self._ask_lane(wave, key, rows) for key, rows in needs.lanes.items()}
        wave.run()
        if asked is not None:
            asked.take()
        for node_id, node in nodes.items():
            self.known.put(node_id, node.value)
        for node_id, passage in passages.items():
            # A row that a re-cut has just removed is asked for again, under the hinge's new cut.
            if passage.value is not None:
                self.known.passages[node_id] = passage.value
        for key, page in lanes.items():
            rows_known = self.known.lanes.setdefault(key, LaneRows())
            rows_known.edges += page.value.edges
            rows_known.after = page.value.after
        self.last_wave = set(hinges)

    def _ask_passages(self, wave: WalkWave, needs: Needs) -> dict[str, Pending[Passage | None]]:
        asked = {}
        for node_id in needs.nodes:
            passage = passage_id(node_id)
            if passage is not None and self.known.hinge_id(node_id) != node_id:
                asked[node_id] = wave.passage(passage.ref, passage.cut, passage.index)
        return asked

    def _ask_lane(self, wave: WalkWave, key: tuple[str, Lane], rows: int) -> Pending[EdgePage]:
        known = self.known.lanes.get(key, LaneRows())
        return wave.edges(key[0], key[1], limit=rows - len(known.edges), after=known.after)

    def _long_texts(self, outcome: Outcome) -> dict[str, str] | None:
        """Texts of returned memories that go on beyond their hinge; None when a re-cut came between."""
        wanted = {
            reached.id: reached.node
            for reached in outcome.results[: self.query.limit]
            if isinstance(reached.node, Memory)
            and passage_id(reached.id) is None
            and len(reached.node.text) < min(reached.node.length, self.query.content_max_chars + 1)
        }
        if not wanted:
            return {}
        wave = self.live.new_wave(self.store)
        bodies = {node_id: wave.body(memory, self.query.content_max_chars + 1) for node_id, memory in wanted.items()}
        wave.run()
        texts = {node_id: body.value for node_id, body in bodies.items() if body.value is not None}
        if len(texts) < len(bodies):
            self.last_wave = set()
            return None
        return texts


def _answer(query: ExpandQuery, outcome: Outcome, texts: dict[str, str]) -> dict[str, Json]:
    origins = set(outcome.origins)
    unresolved = [seed for seed in query.seeds if seed not in origins] + list(query.entity_ids[MAX_SEEDS:])
    returned = outcome.results[: query.limit]
    neighbors: list[Json] = [_neighbor(reached, query.content_max_chars, texts) for reached in returned]
    return {
        "origins": list(outcome.origins),
        "unresolved": list[Json](unresolved),
        "neighbors": neighbors,
        "total": len(neighbors),
        "depth": query.depth,
        "limit": query.limit,
        "truncated": len(outcome.results) > query.limit or bool(outcome.bounded_by),
        "filters": _filters(query, sorted(outcome.bounded_by, reverse=True)),
    }


def _filters(query: ExpandQuery, bounded_by: Sequence[str]) -> dict[str, Json]:
    filters: dict[str, Json] = {
        "depth": query.depth,
        "limit": query.limit,
        "content_max_chars": query.content_max_chars,
        "include_incoming": query.include_incoming,
        "round_budget": ROUND_BUDGET,
    }
    if query.relationship_types is not None:
        filters["relationship_types"] = list(query.relationship_types)
    if query.types is not None:
        filters["types"] = list(query.types)
    if query.project is not None:
        filters["project"] = query.project
    if len(query.entity_ids) > MAX_SEEDS:
        filters["origin_limit"] = MAX_SEEDS
    if bounded_by:
        filters["bounded_by"] = list(bounded_by)
    return filters


def _neighbor(reached: Reached, content_max_chars: int, texts: dict[str, str]) -> dict[str, Json]:
    candidate, node = reached.candidate, reached.node
    content, cut_short = preview(_text(reached, texts), content_max_chars)
    metadata: dict[str, Json] = {"content_truncated": cut_short}
    passage = passage_id(reached.id)
    if passage is not None:
        metadata |= {"passage_index": passage.index, "parent_entity_id": node.id, "widen_with": "fetch_slice"}
    if candidate.community is not None:
        metadata["community_id"] = candidate.community
    return {
        "id": reached.id,
        "type": node_type(reached.id, node),
        "name": node.name,
        "relationship": candidate.relationship,
        "direction": str(candidate.direction),
        "distance": reached.distance,
        "score": reached.score,
        "content": content,
        "project_id": node.project_id,
        "metadata": metadata,
    }


def _text(reached: Reached, texts: dict[str, str]) -> str:
    node: Node = reached.node
    if isinstance(node, Entity):
        return ""
    if reached.passage is not None:
        return reached.passage.content
    return texts.get(reached.id, node.text)
