"""`traverse`: the declared neighbourhood of a name, within what the reader may read (contract, section 6)."""

from collections.abc import Mapping
from dataclasses import dataclass

from shared.domain.errors import Unavailable
from shared.domain.model import Entity, Json, Relation
from shared.domain.normalise import normalised
from shared.domain.scoring import Direction
from shared.engine.neighbourhood import Filters, Known, Mentions, Outcome, Reached, Relations, explore, may_show
from shared.engine.port import DeclaredWave, Lane, Waves
from shared.engine.reading import LiveAuthority
from shared.engine.session import Session

AUTO = "@auto"
UNMAPPED = "The operating context has no project for this agent; only the global pool was read."
_MENTIONS = Lane(Direction.INCOMING)
_MAX_WAVES = 64
"""Bounds a walk over a store that keeps changing under it, or whose rows are nearly all hidden from the reader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraverseQuery:
    """A name to start from, how far to go, and what to narrow to. `project_id` "" is the global pool alone."""

    agent_id: str
    entity: str
    max_hops: int
    limit: int
    project_id: str | None = None
    channel: str | None = None
    source_id: str | None = None


def traverse(store: Waves[DeclaredWave], session: Session, query: TraverseQuery) -> dict[str, Json]:
    """The entities around a name, the relations among them, and the memories that mention them.

    `max_hops` + 3 waves of reads on an ordinary graph; more where hidden or repeated rows fill the first look at a busy
    entity, or where rows are so fresh that the authority is read again. Raises `Unavailable`.
    """
    return _Traversal(store, session, query).run()


class _Traversal:
    """One request: reads what the exploration needs until its outcome stands on hinges of the last wave."""

    def __init__(self, store: Waves[DeclaredWave], session: Session, query: TraverseQuery) -> None:
        self.store = store
        self.session = session
        self.query = query
        self.live = LiveAuthority(session)
        self.known = Known()
        self.resolved: dict[str, Json] = {}
        self.filters = self._filters(query.project_id)
        self.last_wave: set[str] = set()

    def run(self) -> dict[str, Json]:
        self._read_names()
        for _ in range(_MAX_WAVES):
            outcome = explore(
                self.known, self.filters, self.live.value, max_hops=self.query.max_hops, limit=self.query.limit
            )
            if outcome.needs or not self.last_wave.issuperset(outcome.used):
                self._read(outcome)
            elif self.live.settles(outcome.written):
                return self._answer(outcome)
            else:
                self.live.reread(self.store)
        raise Unavailable

    def _read_names(self) -> None:
        """The first wave: what the name leads to, who is asking, and where the agent works."""
        wave = self.live.new_wave(self.store)
        asked = self.live.ask(wave)
        names = wave.names(self.query.agent_id, normalised(self.query.entity))
        context = wave.operating_context() if self.query.project_id == AUTO else None
        wave.run()
        asked.take()
        self.known.names = names.value
        if context is None:
            return
        project_id = self._mapped_project(context.value)
        self.filters = self._filters(project_id)
        self.resolved["resolved_project_id"] = project_id
        if project_id == "":
            self.resolved["operating_context_warning"] = UNMAPPED

    def _mapped_project(self, agents: Mapping[str, str] | None) -> str:
        """What @auto stands for. An agent that the principal may not act as is answered like an unmapped one."""
        if agents is None:
            return AUTO
        agent_id = self.query.agent_id
        return agents.get(agent_id, "") if self.session.principal.may_act_as(agent_id) else ""

    def _filters(self, project_id: str | None) -> Filters:
        return Filters(
            agent_id=self.query.agent_id,
            project_id=project_id,
            channel=self.query.channel or None,
            source_id=self.query.source_id or None,
        )

    def _read(self, outcome: Outcome) -> None:
        """One wave: what is needed, and again the hinges that the outcome stands on (authority last)."""
        wave = self.live.new_wave(self.store)
        needs = outcome.needs
        hinges = {*needs.nodes, *outcome.used}
        nodes = {node_id: wave.node(node_id) for node_id in sorted(hinges)}
        lists = []
        for id_, rows in needs.relations.items():
            known = self.known.relations.setdefault(id_, Relations())
            lists.append((known, wave.relations(id_, limit=rows - len(known.rows), after=known.after)))
        for pair, rows in needs.between.items():
            known = self.known.between.setdefault(pair, Relations())
            lists.append((known, wave.relations_between(*pair, limit=rows - len(known.rows), after=known.after)))
        mentions = []
        for id_, rows in needs.mentions.items():
            seen = self.known.mentions.setdefault(id_, Mentions())
            mentions.append((seen, wave.edges(id_, _MENTIONS, limit=rows - len(seen.rows), after=seen.after)))
        wave.run()
        for node_id, node in nodes.items():
            self.known.nodes[node_id] = node.value
        for known, page in lists:
            known.rows += page.value.relations
            known.after = page.value.after
        for seen, edges in mentions:
            seen.rows += edges.value.edges
            seen.after = edges.value.after
        self.last_wave = hinges

    # --- the answer

    def _answer(self, outcome: Outcome) -> dict[str, Json]:
        answer: dict[str, Json] = {
            "entity": self.query.entity,
            "max_hops": self.query.max_hops,
            "limit": self.query.limit,
            "entities": [self._entity(reached, outcome) for reached in outcome.entities],
            "relations": [self._relation(relation) for relation in outcome.relations],
        }
        if outcome.entities_omitted:
            answer["entities_omitted"] = outcome.entities_omitted
        if outcome.relations_omitted:
            answer["relations_omitted"] = outcome.relations_omitted
        if omitted := _bounds(outcome):
            answer["bounds"] = {"omitted": omitted}
        if not outcome.entities:
            answer["reason"] = "no_such_entity"
        return answer | self.resolved

    def _entity(self, reached: Reached, outcome: Outcome) -> Json:
        entity = self.known.nodes[reached.id]
        if not isinstance(entity, Entity):
            raise TypeError
        shown: dict[str, Json] = {"id": entity.id, "name": entity.name, "hops": reached.hops}
        mentions = outcome.mentions[reached.id]
        if entity.aliases:
            shown["aliases"] = list(entity.aliases)
        if mentions.listed:
            shown["mentions"] = list(mentions.listed)
        if mentions.omitted:
            shown["mentions_omitted"] = mentions.omitted
        return shown

    def _relation(self, relation: Relation) -> Json:
        shown: dict[str, Json] = {
            "id": relation.id,
            "subject": relation.subject,
            "predicate": relation.predicate,
            "object": relation.object,
            "declared_by": relation.declared_by,
            "declared_at": relation.declared_at,
        }
        anchor = relation.anchor_ref
        if anchor is not None and may_show(self.known, anchor, self.filters, self.live.value):
            shown["anchor_ref"] = anchor
        return shown


def _bounds(outcome: Outcome) -> list[Json]:
    cut = outcome.entities_omitted or outcome.relations_omitted
    cut = cut or any(mentioned.omitted for mentioned in outcome.mentions.values())
    flags = {"max_hops": outcome.leads_on, "limit": bool(cut), "candidates": outcome.unexamined}
    return [name for name, on in flags.items() if on]
