"""`context_lines`: short statements derived from records, with handles to open them later (contract, section 7)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from shared.domain.canonical import DERIVATION_VERSION, RECORD_FIELDS, record_digest
from shared.domain.context_line import context_line
from shared.domain.errors import Unavailable
from shared.domain.grants import Grant
from shared.domain.ids import is_id
from shared.domain.instants import utc_text
from shared.domain.model import Edge, Json, Memory
from shared.domain.scoring import SUPERSEDES, Direction
from shared.engine.grants import Credentials, Presented, Served, present, settle
from shared.engine.port import Lane, Pending
from shared.engine.reading import AskedAuthority, LiveAuthority
from shared.engine.record_port import Records, RecordWave
from shared.engine.session import Session
from shared.engine.walk import edge_holds

MAX_LINES = 50
REPLACED_BY = Lane(Direction.INCOMING, SUPERSEDES)
LINKS_PAGE = 100
_ATTEMPTS = 5
_PAGE = 100


def record_fields(memory: Memory, content: str) -> dict[str, Json]:
    """A record's own fields, null where absent; what its digest is made of."""
    fields: dict[str, Json] = {name: getattr(memory, name) for name in RECORD_FIELDS if name != "content"}
    fields["content"] = content
    fields["metadata"] = dict(memory.metadata)
    fields["state"] = memory.state.value
    return {name: fields[name] for name in RECORD_FIELDS}


def needs_body(memory: Memory, as_of: str | None) -> bool:
    """Whether the digest under this view needs more of the body than the hinge has."""
    return as_of is not None and memory.cut is not None


def digest_of(memory: Memory, as_of: str | None, bodies: Mapping[str, str]) -> str:
    """The digest of a record under a view; the one with `as_of` null is kept with the record."""
    if as_of is None:
        return memory.digest
    return record_digest(record_fields(memory, bodies.get(memory.id, memory.text)), as_of)


@dataclass(frozen=True, slots=True, kw_only=True)
class Handle:
    """The view that a line is derived in, as its handle repeats it."""

    as_of: str | None = None
    derived_at: str | None = None
    project: str | None = None
    origin_id: str | None = None
    grant_id: str | None = None


def line_json(memory: Memory, digest: str, superseded_by: Sequence[str], handle: Handle) -> dict[str, Json]:
    """The line of a record, and the handle that opens it."""
    made = context_line(memory, superseded_by)
    return {
        "recordId": memory.id,
        "type": memory.type,
        "line": made.line,
        "omitted": list(made.omitted),
        "boundRevision": {"recordId": memory.id, "digest": digest},
        "derived": True,
        "derivationVersion": DERIVATION_VERSION,
        "requiresExpansion": made.requires_expansion,
        "expansion": {
            "operation": "expand_record",
            "recordId": memory.id,
            "digest": digest,
            "asOf": handle.as_of,
            "derivationVersion": DERIVATION_VERSION,
            "derivedAt": handle.derived_at,
            "scope": {"project": handle.project, "originId": handle.origin_id, "grantId": handle.grant_id},
        },
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class LinesQuery:
    """A checked request: ids by name, or the latest of a project."""

    record_ids: tuple[str, ...] | None = None
    project: str | None = None
    limit: int = 10
    as_of: str | None = None
    credentials: Credentials | None = None


def context_lines(store: Records, session: Session, query: LinesQuery) -> dict[str, Json]:
    """Lines of the records asked for, in their order, or of a project's latest.

    Two waves of reads by id, three by project; one more where records were superseded, where rows are so fresh that the
    authority is read again, and to close a grant. Raises `Unavailable`.
    """
    for _ in range(_ATTEMPTS):
        answer = _Lines(store, session, query).attempt()
        if answer is not None:
            return answer
    raise Unavailable


class _Lines:
    """One attempt: None where something that it stood on changed under it."""

    def __init__(self, store: Records, session: Session, query: LinesQuery) -> None:
        self.store = store
        self.session = session
        self.query = query
        self.live = LiveAuthority(session)
        self.grant: Grant | None = None
        self.presented: Presented | None = None
        self._opened: tuple[AskedAuthority, Pending[Grant | None] | None] | None = None
        self.chosen: dict[str, Memory] = {}
        self.edges: dict[str, list[Edge]] = {}
        self.ends: dict[str, Memory] = {}
        self.bodies: dict[str, str | None] = {}

    def attempt(self) -> dict[str, Json] | None:
        if self.query.record_ids is None:
            self._choose_latest()
        else:
            self._choose_named(self.query.record_ids)
        if self.chosen and not self._read_beside():
            return None
        if not self.live.settles(self._written()) and self.live.reread(self.store):
            self._decide()
            self.chosen = {name: memory for name, memory in self.chosen.items() if self._readable(memory)}
        answer = self._answer()
        if self.presented is None or self._settled(self.presented):
            return answer
        return None

    # -- which records

    def _choose_named(self, named: Sequence[str]) -> None:
        hinges = self._hinges([record_id for record_id in named if is_id(record_id)], self._opening())
        self.chosen = {name: memory for name, memory in hinges.items() if self._readable(memory)}

    def _choose_latest(self) -> None:
        """Pages of the project's list, past what cannot be read, until there are enough."""
        wave = self._opening()
        after: str | None = None
        while True:
            page = wave.recent(self.query.project or "", _PAGE, after)
            self._run(wave)
            if not self._in_project():
                break
            hinges = self._hinges(page.value.ids, self.live.new_wave(self.store))
            self.chosen |= {name: memory for name, memory in hinges.items() if self._readable(memory)}
            after = page.value.after
            if after is None or len(self.chosen) >= self.query.limit:
                break
            wave = self.live.new_wave(self.store)
        latest = sorted(sorted(self.chosen.values(), key=_id), key=lambda memory: memory.updated_at, reverse=True)
        self.chosen = {memory.id: memory for memory in latest[: self.query.limit]}

    def _opening(self) -> RecordWave:
        """The first wave, which also reads the authority and the grant."""
        wave = self.live.new_wave(self.store)
        authority, asked = self.live.ask(wave), self.query.credentials
        grant = None if asked is None else wave.grant(asked.grant_id)
        self._opened = (authority, grant)
        return wave

    def _run(self, wave: RecordWave) -> None:
        wave.run()
        if self._opened is not None:
            authority, grant = self._opened
            self._opened = None
            authority.take()
            self.grant = None if grant is None else grant.value
            self._decide()

    def _hinges(self, ids: Sequence[str], wave: RecordWave) -> dict[str, Memory]:
        asked = {record_id: wave.node(record_id) for record_id in ids}
        self._run(wave)
        return {
            record_id: node.value
            for record_id, node in asked.items()
            if isinstance(node.value, Memory) and node.value.id == record_id
        }

    # -- what may be read of them

    def _decide(self) -> None:
        if self.query.credentials is not None:
            purges = self.live.value.purges
            self.presented = present(self.query.credentials, self.grant, self.session, purges)

    def _in_project(self) -> bool:
        """Whether anything of the project may be read; if not, that it has rows must not cost a call."""
        project = self.query.project or ""
        return self.live.value.is_member(project) or (self.presented is not None and project in self.presented.projects)

    def _own(self, memory: Memory) -> bool:
        project = self.query.project
        within = project is None or (memory.project_id == project and self.live.value.is_member(project))
        return within and self.live.value.may_read_memory(memory)

    def _granted(self, memory: Memory) -> bool:
        within = self.query.project is None or memory.project_id == self.query.project
        projects = frozenset[str]() if self.presented is None else self.presented.projects
        return within and self.live.value.may_read_granted(memory, projects)

    def _readable(self, memory: Memory) -> bool:
        return self._own(memory) or self._granted(memory)

    def _visible(self, memory: Memory) -> bool:
        """Whether a record may be named as the replacement of another: as readable, in whatever project."""
        projects = frozenset[str]() if self.presented is None else self.presented.projects
        return self.live.value.may_read_memory(memory) or self.live.value.may_read_granted(memory, projects)

    # -- what is said of them

    def _read_beside(self) -> bool:
        """Read what replaced the records, and bodies; then the hinges again. False: a record changed meanwhile."""
        after: dict[str, str | None] = dict.fromkeys(self.chosen)
        while after:
            wave = self.live.new_wave(self.store)
            lanes = {
                name: wave.edges(name, REPLACED_BY, limit=LINKS_PAGE, after=cursor) for name, cursor in after.items()
            }
            bodies = {name: wave.body(memory, memory.length) for name, memory in self._bodiless().items()}
            wave.run()
            for name, lane in lanes.items():
                self.edges.setdefault(name, []).extend(lane.value.edges)
            self.bodies |= {name: body.value for name, body in bodies.items()}
            after = {name: lane.value.after for name, lane in lanes.items() if lane.value.after is not None}
        if None in self.bodies.values():
            return False
        linked = {edge.source: None for edges in self.edges.values() for edge in edges}
        if not linked:
            return True
        hinges = self._hinges([*linked, *self.chosen], self.live.new_wave(self.store))
        self.ends = hinges
        return all(hinges.get(name) == memory for name, memory in self.chosen.items())

    def _bodiless(self) -> dict[str, Memory]:
        return {
            name: memory
            for name, memory in self.chosen.items()
            if needs_body(memory, self.query.as_of) and name not in self.bodies
        }

    def _written(self) -> Iterator[str]:
        yield from (memory.updated_at for memory in [*self.chosen.values(), *self.ends.values()])
        yield from (edge.written_at for edges in self.edges.values() for edge in edges)

    # -- the answer

    def _answer(self) -> dict[str, Json]:
        lines: list[Json] = [self._line(memory) for memory in self.chosen.values()]
        unresolved: list[Json] = [name for name in self.query.record_ids or () if name not in self.chosen]
        return {"lines": lines, "unresolved": unresolved}

    def _line(self, memory: Memory) -> dict[str, Json]:
        bodies = {name: body for name, body in self.bodies.items() if body is not None}
        through = None if self.presented is None or self._own(memory) else self.presented.id
        handle = Handle(
            as_of=self.query.as_of,
            derived_at=utc_text(self.session.arrived),
            project=memory.project_id,
            origin_id=None if memory.project_id is not None else memory.origin_id,
            grant_id=through,
        )
        superseded_by = [other.id for other in self._replacements(memory)]
        return line_json(memory, digest_of(memory, self.query.as_of, bodies), superseded_by, handle)

    def _replacements(self, memory: Memory) -> list[Memory]:
        """What the line names as replacing the record."""
        now = utc_text(self.session.arrived)
        sources = {edge.source for edge in self.edges.get(memory.id, ()) if self._joins(edge, memory, now)}
        return [self.ends[name] for name in sorted(sources) if name != memory.id and self._visible(self.ends[name])]

    def _joins(self, edge: Edge, memory: Memory, now: str) -> bool:
        return edge.source in self.ends and edge_holds(edge, self.ends[edge.source], memory, now)

    def _needs_grant(self, memory: Memory) -> bool:
        """Whether a line, or what it names, is told only because of the grant."""
        replacements = self._replacements(memory)
        return not self._own(memory) or not all(map(self.live.value.may_read_memory, replacements))

    def _settled(self, presented: Presented) -> bool:
        through = any(map(self._needs_grant, self.chosen.values()))
        served = Served(records=len(self.chosen), project=self.query.project, through_grant=through)
        return settle(self.store.audit, self.session, presented, served)


def _id(memory: Memory) -> str:
    return memory.id
