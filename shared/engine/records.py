"""`expand_record`: the live record behind a handle, whether it is still what the line said, and what stands against it.

Contract, section 7. Own-scope reads write nothing; with a grant the last call checks it again and counts its use.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from shared.domain.canonical import DERIVATION_VERSION
from shared.domain.completeness import CaptureStatus, Facts, Status, limitation
from shared.domain.counterparts import FEWEST_LISTED, Counterpart, Relation, bases, in_order
from shared.domain.errors import Unavailable
from shared.domain.grants import Grant
from shared.domain.ids import is_id
from shared.domain.instants import utc_text
from shared.domain.model import Edge, Json, Memory, Passage
from shared.domain.purges import Marker, is_told
from shared.domain.scoring import SUPERSEDES, Direction
from shared.engine.grants import Credentials, Served, present, settle
from shared.engine.lines import (
    LINKS_PAGE,
    REPLACED_BY,
    Handle,
    digest_of,
    line_json,
    needs_body,
    record_fields,
)
from shared.engine.port import Lane
from shared.engine.reading import LiveAuthority
from shared.engine.record_port import Records
from shared.engine.session import Session
from shared.engine.views import ReadScope, View
from shared.engine.walk import edge_holds

REPLACES = Lane(Direction.OUTGOING, SUPERSEDES)
_FIRST_PASSAGES = 64
"""Passages read with the hinge: longer bodies take a wave more."""

_ATTEMPTS = 6
_LIMITATION: dict[str, Json] = {
    "code": "structural_only",
    "detail": "Pairs are compared by their links, times and values alone; no text is interpreted.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordQuery:
    """A checked request: ids trimmed, instants UTC milliseconds, the budget in range."""

    record_id: str
    digest: str
    derivation_version: str | None = None
    as_of: str | None = None
    derived_at: str | None = None
    scope: ReadScope = field(default_factory=ReadScope)
    credentials: Credentials | None = None
    max_expansions: int = 5


def expand_record(store: Records, session: Session, query: RecordQuery) -> dict[str, Json]:
    """The record of `query` as it is now, its standing, its counterparts, and how complete that is.

    One wave of reads, a second when counterparts are fetched, a third for the bodies of long ones; one more where rows
    are so fresh that the authority is read again, and one call to close a grant. Raises `Unavailable`.
    """
    for _ in range(_ATTEMPTS):
        answer = _Expansion(store, session, query).attempt()
        if answer is not None:
            return answer
    raise Unavailable


@dataclass(slots=True)
class _Known:
    """What was read. `edges` are the record's SUPERSEDES edges by lane, `ends` the memories at them."""

    record: Memory | None = None
    newest: tuple[str | None, Sequence[Passage]] = (None, ())
    edges: dict[Lane, list[Edge]] = field(default_factory=dict)
    open_lanes: dict[Lane, str] = field(default_factory=dict)
    ends: dict[str, Memory] = field(default_factory=dict)
    same_key: Sequence[Memory] = ()
    bodies: dict[str, str | None] = field(default_factory=dict)
    grant: Grant | None = None
    markers: Sequence[Marker] = ()
    capture: CaptureStatus | None = None

    def written(self, findings: "_Findings") -> Iterator[str]:
        """The instants of the rows that the answer uses. What is not in view must not cost a call that tells of it."""
        if findings.record is not None:
            memories = [*self.ends.values(), *self.same_key, findings.record]
            yield from (memory.updated_at for memory in memories)
            yield from (edge.written_at for edges in self.edges.values() for edge in edges)
        if findings.view.project is not None:
            yield from (marker.at for marker in self.markers)
            if self.capture is not None:
                yield self.capture.written_at


@dataclass(frozen=True, slots=True, kw_only=True)
class _Findings:
    """What is in view of what was read."""

    view: View
    record: Memory | None = None
    replaces: frozenset[str] = frozenset()
    replaced_by: frozenset[str] = frozenset()
    unreachable: int = 0
    counterparts: Sequence[Counterpart] = ()

    def listed(self, query: RecordQuery) -> Sequence[Counterpart]:
        return self.counterparts[: max(query.max_expansions, FEWEST_LISTED)]

    def investigated(self, query: RecordQuery) -> Sequence[Counterpart]:
        return self.counterparts[: query.max_expansions]

    def served(self, query: RecordQuery) -> Served:
        found = [counterpart.memory for counterpart in self.counterparts]
        rows = found if self.record is None else [self.record, *found]
        return Served(
            records=0 if self.record is None else 1 + len(self.investigated(query)),
            project=self.view.project,
            through_grant=any(not self.view.own(memory) for memory in rows),
        )


class _Expansion:
    """One attempt: None where something that it stood on changed under it."""

    def __init__(self, store: Records, session: Session, query: RecordQuery) -> None:
        self.store = store
        self.session = session
        self.query = query
        self.live = LiveAuthority(session)
        self.known = _Known()
        self.now = utc_text(session.arrived)
        self._looked_for: set[str] = set()

    def attempt(self) -> dict[str, Json] | None:
        self._read_record()
        findings = self._findings()
        if findings.record is not None and not self._read_counterparts(findings.record):
            return None
        findings = self._findings()
        if not self._read_bodies(findings):
            return None
        if not self.live.settles(self.known.written(findings)) and self.live.reread(self.store):
            findings = self._findings()
            if self._bodiless(findings):
                return None
        presented = findings.view.presented
        if presented is None or settle(self.store.audit, self.session, presented, findings.served(self.query)):
            return self._answer(findings)
        return None

    # -- reading

    def _read_record(self) -> None:
        """The first wave: the record whole, its links, the authority, the grant, and the project's own rows."""
        wave, query, known = self.live.new_wave(self.store), self.query, self.known
        authority = self.live.ask(wave)
        hinge = newest = None
        lanes = {}
        if is_id(query.record_id):
            hinge, newest = wave.node(query.record_id), wave.newest_passages(query.record_id, _FIRST_PASSAGES)
            lanes = {lane: wave.edges(query.record_id, lane, limit=LINKS_PAGE) for lane in (REPLACES, REPLACED_BY)}
        grant = wave.grant(query.credentials.grant_id) if query.credentials else None
        project = query.scope.project
        capture = wave.capture(project) if project else None
        markers = wave.markers(project, query.derived_at) if project and query.derived_at else None
        wave.run()
        authority.take()
        if hinge and isinstance(hinge.value, Memory) and hinge.value.id == query.record_id:
            known.record = hinge.value
        known.newest = newest.value if newest else (None, ())
        for lane, page in lanes.items():
            self._take(lane, page.value.edges, page.value.after)
        known.grant = grant.value if grant else None
        known.capture = capture.value if capture else None
        known.markers = markers.value if markers else ()

    def _take(self, lane: Lane, edges: Sequence[Edge], after: str | None) -> None:
        self.known.edges.setdefault(lane, []).extend(edges)
        self.known.open_lanes.pop(lane, None)
        if after is not None:
            self.known.open_lanes[lane] = after

    def _read_counterparts(self, record: Memory) -> bool:
        """Memories of the same key and at the links, and the hinge again. False: the record changed meanwhile."""
        known = self.known
        body = _assembled(record, known.newest)
        if body is not None:
            known.bodies[record.id] = body
        asked_key = record.key is None
        while not asked_key or known.open_lanes or self._unread_ends() or record.id not in known.bodies:
            wave = self.live.new_wave(self.store)
            again = wave.node(record.id)
            same_key = None if asked_key else wave.same_key(record.project_id, record.type, record.key or "")
            whole = None if record.id in known.bodies else wave.body(record, record.length)
            ends = {name: wave.node(name) for name in self._unread_ends()}
            lanes = {
                lane: wave.edges(record.id, lane, limit=LINKS_PAGE, after=after)
                for lane, after in known.open_lanes.items()
            }
            wave.run()
            if again.value != record or (whole is not None and whole.value is None):
                return False
            if whole is not None:
                known.bodies[record.id] = whole.value
            if same_key is not None:
                known.same_key, asked_key = same_key.value, True
            for lane, page in lanes.items():
                self._take(lane, page.value.edges, page.value.after)
            self._looked_for |= set(ends)
            known.ends |= {name: end.value for name, end in ends.items() if isinstance(end.value, Memory)}
        return True

    def _unread_ends(self) -> list[str]:
        record_id = self.query.record_id
        names = {
            name: None for edges in self.known.edges.values() for edge in edges for name in (edge.source, edge.target)
        }
        return [name for name in names if name != record_id and name not in self._looked_for]

    def _bodiless(self, findings: _Findings) -> dict[str, Memory]:
        """Counterparts whose body is needed, and was not read with them."""
        investigated = {counterpart.memory.id for counterpart in findings.investigated(self.query)}
        return {
            memory.id: memory
            for memory in (counterpart.memory for counterpart in findings.listed(self.query))
            if memory.id not in self.known.bodies
            and memory.cut is not None
            and (memory.id in investigated or needs_body(memory, self.query.as_of))
        }

    def _read_bodies(self, findings: _Findings) -> bool:
        """Read what is missing of long counterparts. False: one was cut anew meanwhile."""
        wanted = self._bodiless(findings)
        if not wanted:
            return True
        wave = self.live.new_wave(self.store)
        bodies = {name: wave.body(memory, memory.length) for name, memory in wanted.items()}
        wave.run()
        self.known.bodies |= {name: body.value for name, body in bodies.items()}
        return None not in self.known.bodies.values()

    # -- deciding

    def _findings(self) -> _Findings:
        """What of the rows read is in view under the authority as it was read last."""
        known, query, authority = self.known, self.query, self.live.value
        asked = query.credentials
        presented = None if asked is None else present(asked, known.grant, self.session, authority.purges)
        view = View(authority, query.scope, presented)
        record = known.record
        if record is None or not view.holds(record):
            return _Findings(view=view)
        replaces = self._ends_of(record, REPLACES)
        replaced_by = self._ends_of(record, REPLACED_BY)
        linked = {**replaces, **replaced_by}
        found = {
            Relation.SAME_KEY: [memory for memory in known.same_key if memory.id != record.id],
            Relation.SUPERSEDES: replaces.values(),
            Relation.SUPERSEDED_BY: replaced_by.values(),
        }
        return _Findings(
            view=view,
            record=record,
            replaces=frozenset(replaces),
            replaced_by=frozenset(replaced_by),
            unreachable=sum(authority.may_read_memory(memory) and not view.holds(memory) for memory in linked.values()),
            counterparts=in_order({relation: filter(view.holds, memories) for relation, memories in found.items()}),
        )

    def _ends_of(self, record: Memory, lane: Lane) -> dict[str, Memory]:
        """The memories at the other ends of the record's SUPERSEDES edges of one direction, where the edge holds."""
        ends: dict[str, Memory] = {}
        for edge in self.known.edges.get(lane, ()):
            other = self.known.ends.get(edge.target if lane == REPLACES else edge.source)
            if other is None:
                continue
            source, target = (record, other) if lane == REPLACES else (other, record)
            if edge_holds(edge, source, target, self.now):
                ends[other.id] = other
        return ends

    # -- the answer

    def _answer(self, findings: _Findings) -> dict[str, Json]:
        query, record, view = self.query, findings.record, findings.view
        status, digest = self._status(findings)
        bound: dict[str, Json] = {"recordId": query.record_id, "digest": query.digest}
        answer: dict[str, Json] = {
            "recordId": query.record_id,
            "status": status.value,
            "record": None if record is None else self._record(findings, record),
            "boundRevision": bound,
            "currentRevision": None if record is None else {"recordId": record.id, "digest": digest},
            "revisionChanged": None if record is None else status is Status.REVISION_CHANGED,
            "investigation": None if record is None else self._investigation(findings, record),
            "completeness": self._completeness(findings, status),
        }
        if view.grant is not None:
            answer["readProvenance"] = {
                "version": 1,
                "request": {"project": query.scope.project, "originId": query.scope.origin_id},
                "accessId": view.grant.id,
                "projects": [*sorted(view.grant.projects)],
                "surfaces": [*sorted(view.grant.surfaces)],
                "expiresAt": view.grant.expires_at,
            }
        return answer

    def _status(self, findings: _Findings) -> tuple[Status, str | None]:
        query = self.query
        if findings.record is None:
            told = findings.view.project is not None and is_told(self.known.markers)
            return (Status.PURGED if told else Status.UNAVAILABLE), None
        digest = self._digest(findings.record)
        same = query.derivation_version in (None, DERIVATION_VERSION) and query.digest == digest
        return (Status.CURRENT if same else Status.REVISION_CHANGED), digest

    def _digest(self, memory: Memory) -> str:
        return digest_of(memory, self.query.as_of, self._bodies())

    def _bodies(self) -> Mapping[str, str]:
        return {name: body for name, body in self.known.bodies.items() if body is not None}

    def _whole(self, memory: Memory) -> dict[str, Json]:
        """A record's own fields, its body whole."""
        fields = record_fields(memory, self._bodies().get(memory.id, memory.text))
        more: dict[str, Json] = {"source_id": memory.source_id, "channel": memory.channel}
        return {**fields, **more, "updated_at": memory.updated_at}

    def _record(self, findings: _Findings, record: Memory) -> dict[str, Json]:
        in_view = {counterpart.memory.id for counterpart in findings.counterparts}
        links: dict[str, Json] = {
            "supersedes": [*sorted(in_view & findings.replaces)],
            "superseded_by": [*sorted(in_view & findings.replaced_by)],
        }
        return {**self._whole(record), "links": links}

    def _investigation(self, findings: _Findings, record: Memory) -> dict[str, Json]:
        listed, total = findings.listed(self.query), len(findings.counterparts)
        used = len(findings.investigated(self.query))
        pairs: list[Json] = [
            self._pair(findings, record, counterpart, investigated=index < used)
            for index, counterpart in enumerate(listed)
        ]
        return {
            "budget": {
                "maxExpansions": self.query.max_expansions,
                "used": used,
                "outcome": "exhausted" if used < total else "within_budget",
            },
            "total": total,
            "omitted": total - len(listed),
            "unreachableLinks": findings.unreachable,
            "pairs": pairs,
            "limitation": {**_LIMITATION},
        }

    def _pair(
        self, findings: _Findings, record: Memory, counterpart: Counterpart, *, investigated: bool
    ) -> dict[str, Json]:
        memory = counterpart.memory
        pair: dict[str, Json] = {
            "recordId": memory.id,
            "relation": counterpart.relation.value,
            "state": "uninvestigated",
            "basis": [],
            "position": self._position(findings, record, memory),
        }
        if investigated:
            found = bases(record, memory, replaces=findings.replaces, replaced_by=findings.replaced_by)
            pair |= {
                "state": "resolved" if found else "unresolved",
                "basis": [basis.value for basis in found],
                "record": self._whole(memory),
            }
        return pair

    def _position(self, findings: _Findings, record: Memory, memory: Memory) -> dict[str, Json]:
        """The counterpart's line in the view of this request."""
        view = findings.view
        handle = Handle(
            as_of=self.query.as_of,
            derived_at=self.query.derived_at,
            project=view.project,
            origin_id=self.query.scope.origin_id,
            grant_id=None if view.grant is None else view.grant.id,
        )
        superseded_by = [record.id] if memory.id in findings.replaces else []
        return line_json(memory, self._digest(memory), superseded_by, handle)

    def _completeness(self, findings: _Findings, status: Status) -> dict[str, Json]:
        view = findings.view
        refused = view.presented.refused if view.presented is not None else None
        capture = self.known.capture if view.project is not None else None
        limited = limitation(
            Facts(
                record_id=self.query.record_id,
                status=status,
                exhausted=self.query.max_expansions < len(findings.counterparts),
                unreachable_links=findings.unreachable,
                project_selected=view.project is not None,
                grant_reason=refused and refused.value,
                capture=capture,
            )
        )
        told: dict[str, Json] = {"scope": view.as_json(self.session.surface.value), "complete": limited is None}
        if limited is not None:
            told["limitation"] = limited
        if capture is not None:
            told["capture"] = capture.as_json()
        return told


def _assembled(record: Memory, newest: tuple[str | None, Sequence[Passage]]) -> str | None:
    """The whole body, where the hinge and the passages read with it have it."""
    if record.cut is None:
        return record.text
    cut, passages = newest
    if cut != record.cut or not record.covers or len(passages) < record.passages:
        return None
    body = "".join(passage.content for passage in passages)
    return body if len(body) == record.length else None
