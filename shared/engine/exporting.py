"""The tenant's lines, page by page in one total order: kinds as in an import's order, then ids (contract, section 3).

For an admin alone, who sees every row that is alive; importing the lines reproduces the store.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from shared.domain import jsontext
from shared.domain.completeness import CaptureStatus
from shared.domain.declared import DeclaredScope, Naming
from shared.domain.errors import Unavailable
from shared.domain.grants import Grant, narrowed
from shared.domain.model import Edge, Entity, Json, Memberships, Memory, Node, Relation
from shared.domain.normalise import normalised
from shared.domain.scoring import MENTIONS, Direction
from shared.engine.cursors import decoded, encoded
from shared.engine.deciding import edge_fields, memory_fields
from shared.engine.grants import grant_line
from shared.engine.port import Clock, Exported, Lane, Writes
from shared.engine.reading import LiveAuthority
from shared.engine.record_port import RecordWave
from shared.engine.session import Session

PAGE_BYTES = 1_500_000
"""A page ends before the line that would overfill it: a long line has a page of its own. Escaping may double a page."""

_ROWS = 200
_BODY_CHARACTERS = 1_000_000
_MENTIONS_A_LINE = 1_000
_ENTITIES = 25
_ATTEMPTS = 8
_MENTIONED_BY = Lane(Direction.INCOMING, MENTIONS)


@dataclass(frozen=True, slots=True)
class ExportQuery:
    """Where to go on (None: the beginning)."""

    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class ExportedLines:
    """A page: JSON Lines, and the cursor of the next one (None: that was all)."""

    text: str
    next_cursor: str | None


class ExportStore(Writes, Protocol):
    """A store that gives lines of every kind."""

    def wave(self, tenant_id: str, principal_id: str, clock: Clock) -> RecordWave: ...


def export_lines(store: ExportStore, session: Session, query: ExportQuery) -> ExportedLines:
    """The next page of lines. Raises `Malformed` for a cursor of another tenant or list, and `Unavailable`."""
    tenant = session.principal.tenant_id
    bound = f"export {tenant}"
    after = decoded(query.cursor, bound) or ""
    texts: list[str] = []
    size = 0
    while True:
        session.deadline.check()
        page = store.exports.page(tenant, after, _ROWS, session.deadline)
        for group in _groups(page.rows):
            for place, lines in _Rendering(store, session).lines(group):
                new = [jsontext.encode(line) + "\n" for line in lines]
                grown = size + sum(len(text.encode()) for text in new)
                if texts and grown > PAGE_BYTES:
                    return ExportedLines("".join(texts), encoded(after, bound))
                texts += new
                size = grown
                after = place
        if page.after is None:
            return ExportedLines("".join(texts), None)
        after = page.after


def _groups(rows: Sequence[tuple[str, Exported]]) -> Iterator[list[tuple[str, Exported]]]:
    """Rows of one kind whose bodies together are bounded."""
    group: list[tuple[str, Exported]] = []
    characters = 0
    for place, exported in rows:
        length = exported.row.length if isinstance(exported.row, Memory) else 0
        if group and (exported.kind != group[0][1].kind or characters + length > _BODY_CHARACTERS):
            yield group
            group, characters = [], 0
        group.append((place, exported))
        characters += length
    if group:
        yield group


class _Rendering:
    """Rows of one kind on their way to lines; what is not alive has none."""

    def __init__(self, store: ExportStore, session: Session) -> None:
        self.store = store
        self.live = LiveAuthority(session)
        self.nodes: dict[str, Node | None] = {}

    def lines(self, group: Sequence[tuple[str, Exported]]) -> list[tuple[str, list[dict[str, Json]]]]:
        """The lines of each row, by the place after it."""
        renderings: dict[str, Callable[[Sequence[Any]], list[list[dict[str, Json]]]]] = {
            "membership": self._memberships,
            "memory": self._memories,
            "entity": self._entities,
            "edge": self._edges,
            "relation": self._relations,
            "grant": self._grants,
            "capture_status": self._captures,
            "operating_context": self._contexts,
        }
        lines = renderings[group[0][1].kind]([exported.row for _, exported in group])
        return list(zip((place for place, _ in group), lines, strict=True))

    def _memberships(self, rows: Sequence[tuple[str, Memberships]]) -> list[list[dict[str, Json]]]:
        lines: list[list[dict[str, Json]]] = []
        for principal, memberships in rows:
            places = [("project_id", project) for project in sorted(memberships.projects)]
            places += [("team_id", team) for team in sorted(memberships.teams)]
            lines.append([{"kind": "membership", "principal_id": principal, field: of} for field, of in places])
        return lines

    def _memories(self, rows: Sequence[Memory]) -> list[list[dict[str, Json]]]:
        """Whole bodies; of a memory that was cut anew meanwhile that of its present revision."""
        rows = list(rows)
        bodies: dict[int, str] = {}
        for attempt in range(_ATTEMPTS):
            missing = [at for at in range(len(rows)) if at not in bodies]
            if not missing:
                break
            if attempt:
                self._read([rows[at].id for at in missing])
                rows = [row if at in bodies else self._again(row) for at, row in enumerate(rows)]
            wave = self.live.new_wave(self.store)
            asked = self.live.ask(wave)
            pending = {at: wave.body(rows[at], rows[at].length) for at in missing}
            wave.run()
            asked.take()
            bodies |= {at: body.value for at, body in pending.items() if body.value is not None}
        else:
            raise Unavailable
        return [
            [_present("memory", memory_fields(row, bodies[at]))] if self.live.value.alive(row) else []
            for at, row in enumerate(rows)
        ]

    def _again(self, row: Memory) -> Memory:
        """The row as it is now; one that is gone stands as an empty body of what it was."""
        node = self.nodes[row.id]
        return node if isinstance(node, Memory) else replace(row, cut=None)

    def _entities(self, rows: Sequence[Entity]) -> list[list[dict[str, Json]]]:
        """Few enough at a time that the hinges of all that mentions them can be held."""
        self._read([])
        lines = [found for at in range(0, len(rows), _ENTITIES) for found in self._named(rows[at : at + _ENTITIES])]
        return [found if self.live.value.alive(row) else [] for row, found in zip(rows, lines, strict=True)]

    def _named(self, rows: Sequence[Entity]) -> list[list[dict[str, Json]]]:
        """One line for each, and one more for each further thousand mentions: lines of one name add up."""
        lines: list[list[dict[str, Json]]] = [[] for _ in rows]
        unread: dict[int, str | None] = dict.fromkeys(range(len(rows)))
        while unread:
            wave = self.live.new_wave(self.store)
            pages = {
                at: wave.edges(rows[at].id, _MENTIONED_BY, limit=_MENTIONS_A_LINE, after=after)
                for at, after in unread.items()
            }
            wave.run()
            self._read([edge.source for page in pages.values() for edge in page.value.edges])
            for at, page in pages.items():
                mentions = [edge for edge in page.value.edges if edge.target_born == rows[at].born]
                living = [edge.source for edge in mentions if self._is_of(edge.source, edge.source_born)]
                if living or not lines[at]:
                    lines[at].append(_entity_line(rows[at], living))
            unread = {at: page.value.after for at, page in pages.items() if page.value.after is not None}
        return lines

    def _edges(self, rows: Sequence[Edge]) -> list[list[dict[str, Json]]]:
        self._read([end for edge in rows for end in (edge.source, edge.target)])
        return [
            [edge_fields(edge)]
            if self._is_of(edge.source, edge.source_born) and self._is_of(edge.target, edge.target_born)
            else []
            for edge in rows
        ]

    def _relations(self, rows: Sequence[Relation]) -> list[list[dict[str, Json]]]:
        ends = [end for row in rows for end in (row.subject, row.object)]
        self._read([*ends, *(row.anchor_ref for row in rows if row.anchor_ref is not None)])
        names = self._names(rows)
        return [[self._relation(row, names)] if self._holds(row) else [] for row in rows]

    def _holds(self, row: Relation) -> bool:
        return (
            self.live.value.alive(row)
            and self._is_of(row.subject, row.subject_born)
            and self._is_of(row.object, row.object_born)
            and (row.anchor_ref is None or self._is_of(row.anchor_ref, row.anchor_born))
        )

    def _relation(self, row: Relation, names: Mapping[tuple[str, DeclaredScope], str]) -> dict[str, Json]:
        scope = DeclaredScope(row.agent_id, row.project_id, row.channel)
        return _present(
            "relation",
            {
                "agent_id": row.agent_id,
                "subject": names[row.subject, scope],
                "predicate": row.predicate,
                "object": names[row.object, scope],
                "project_id": row.project_id,
                "channel": row.channel,
                "anchor_ref": row.anchor_ref,
                "declared_by": row.declared_by,
                "declared_at": row.declared_at,
            },
        )

    def _names(self, rows: Sequence[Relation]) -> dict[tuple[str, DeclaredScope], str]:
        """For each end the first of its names that means it in the relation's scope; its id where all are hidden."""
        wanted = {
            (end, DeclaredScope(row.agent_id, row.project_id, row.channel)): names
            for row in rows
            for end in (row.subject, row.object)
            if (names := self._all_names(end))
        }
        wave = self.live.new_wave(self.store)
        namings = {
            (outer, normalised(name)): wave.naming(outer, normalised(name))
            for (_, scope), names in wanted.items()
            for name in names
            for outer in scope.outward()
        }
        wave.run()

        def meant(scope: DeclaredScope, name: str) -> str | None:
            found = (namings[outer, normalised(name)].value for outer in scope.outward())
            return next((naming.entity_id for naming in found if naming is not None and self._names_one(naming)), None)

        return {
            (end, scope): next((name for name in names if meant(scope, name) == end), end)
            for (end, scope), names in wanted.items()
        }

    def _all_names(self, entity_id: str) -> list[str]:
        entity = self.nodes.get(entity_id)
        return [entity.name, *entity.aliases] if isinstance(entity, Entity) else []

    def _names_one(self, naming: Naming) -> bool:
        project = naming.scope.project_id
        return project is None or naming.epoch >= self.live.value.purges.get(project, 0)

    def _grants(self, rows: Sequence[Grant]) -> list[list[dict[str, Json]]]:
        """As purges leave them, lest an import bring a purged project back."""
        principal = self.live.principal
        wave = self.store.wave(principal.tenant_id, principal.principal_id, self.live.session.deadline)
        purges = wave.active_purges()
        wave.run()
        return [[grant_line(narrowed(row, purges.value))] for row in rows]

    def _captures(self, rows: Sequence[CaptureStatus]) -> list[list[dict[str, Json]]]:
        return [[{"kind": "capture_status", "project_id": row.project_id, **row.as_json()}] for row in rows]

    def _contexts(self, rows: Sequence[Mapping[str, str]]) -> list[list[dict[str, Json]]]:
        return [[{"kind": "operating_context", "agents": dict(row)}] for row in rows]

    def _read(self, node_ids: Iterable[str]) -> None:
        """Hinges, and the purges to judge them by."""
        wave = self.live.new_wave(self.store)
        asked = self.live.ask(wave)
        found = {node_id: wave.node(node_id) for node_id in dict.fromkeys(node_ids)}
        wave.run()
        asked.take()
        self.nodes |= {node_id: node.value for node_id, node in found.items()}

    def _is_of(self, node_id: str, born: str | None) -> bool:
        """Whether the node is alive, in that life of its."""
        node = self.nodes.get(node_id)
        return node is not None and node.born == born and self.live.value.alive(node)


def _entity_line(entity: Entity, mentions: Sequence[str]) -> dict[str, Json]:
    return _present(
        "entity",
        {
            "agent_id": entity.agent_id,
            "name": entity.name,
            "aliases": list(entity.aliases),
            "project_id": entity.project_id,
            "channel": entity.channel,
            "declared_by": entity.declared_by,
            "declared_at": entity.declared_at,
            "mentions": list[Json](mentions),
        },
    )


def _present(kind: str, fields: Mapping[str, Json]) -> dict[str, Json]:
    """A line without what it does not have."""
    return {"kind": kind, **{name: value for name, value in fields.items() if value not in (None, "", {}, [])}}
