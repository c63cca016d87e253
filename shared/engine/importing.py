"""Applying interchange lines (contract, section 3): good lines are applied, bad ones reported, twice is as once.

Kinds are applied in an order in which each finds what it refers to, so the order of lines is free. A line that was
applied stays applied whatever happens after; an import that broke off is run again from its start.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Protocol, TypeVar

from shared.domain.completeness import CaptureStatus
from shared.domain.errors import Forbidden, Malformed, NotFound, Refusal, TooLarge, Unavailable
from shared.domain.instants import utc_text
from shared.domain.lines import (
    CaptureStatusLine,
    DeclaredBy,
    EdgeKey,
    EdgeLine,
    EntityLine,
    GrantLine,
    Line,
    MembershipLine,
    MemoryLine,
    OperatingContextLine,
    RelationLine,
    fault_text,
    parse_line,
    parse_ndjson,
)
from shared.domain.model import Edge, Json, Memberships, Memory, Node
from shared.domain.principal import Role
from shared.engine.associations import LineResult, apply_associations, apply_entity_lines, apply_relation_lines
from shared.engine.deciding import decide, edge_after, may_touch, utc_now
from shared.engine.grants import apply_grant_line
from shared.engine.port import Clock, EdgeChange, Pending, Wave, Writes
from shared.engine.reading import LiveAuthority
from shared.engine.record_port import AuditWrites, CaptureWrites, GrantWrites, RecordWave
from shared.engine.session import Session
from shared.engine.verdict import APPLIED, UNCHANGED, Outcome, Verdict, rejected
from shared.engine.writes import memberships_of, put_edge, put_memory, store_edges, store_memory

MAX_LISTED_ERRORS = 100
_WRITERS = 8
"""Writes under way together; each may fan out further."""

_BATCH = 100
"""Lines whose rows are read in one wave."""

_BATCH_CHARACTERS = 2_000_000
"""And of whose bodies no more are held besides, cut, than this; a single line may be longer."""

_ADMINS_KINDS = (MembershipLine, GrantLine, OperatingContextLine)
_NO_END = "both ends must be there by the end of the import"

L = TypeVar("L", bound=Line)
T = TypeVar("T")
Numbered = tuple[int, L]


@dataclass(slots=True)
class Report:
    """The verdicts on lines by number, and which line a later one for the same row has overtaken."""

    verdicts: dict[int, Verdict] = field(default_factory=dict)
    overtaken: dict[int, Numbered[Line]] = field(default_factory=dict)

    def put(self, verdicts: Mapping[int, Verdict]) -> None:
        self.verdicts.update(verdicts)

    def answer(self) -> dict[str, Json]:
        counts = Counter(verdict.outcome for verdict in self.verdicts.values())
        errors: Iterator[Json] = (
            {"line": number, "reason": reason}
            for number, verdict in sorted(self.verdicts.items())
            for reason in verdict.reasons
        )
        totals: dict[str, Json] = {str(outcome): counts[outcome] for outcome in Outcome}
        return {**totals, "errors": list(islice(errors, MAX_LISTED_ERRORS))}


class ImportStore(Writes, Protocol):
    """A store that takes lines of every kind."""

    def wave(self, tenant_id: str, principal_id: str, clock: Clock) -> RecordWave: ...

    @property
    def grants(self) -> GrantWrites: ...
    @property
    def audit(self) -> AuditWrites: ...
    @property
    def captures(self) -> CaptureWrites: ...


def import_lines(store: ImportStore, session: Session, body: bytes) -> dict[str, Json]:
    """Apply the lines of `body`: `{applied, unchanged, rejected, errors}`. Raises `Unavailable` only.

    Of two lines for one memory, edge, membership, capture status or context the last wins, and the others count as
    unchanged.
    """
    report = Report()
    lines = _read(body, session, report)
    with ThreadPoolExecutor(_WRITERS, thread_name_prefix="import") as pool:
        run = _Import(store, session, report, pool)
        run.memberships(_of(lines, MembershipLine))
        run.memories(_of(lines, MemoryLine))
        run.edges(_of(lines, EdgeLine))
        run.declarations(lines)
        run.settings(lines)
    return report.answer()


def _read(body: bytes, session: Session, report: Report) -> list[Numbered[Line]]:
    """The lines to apply. Bad, forbidden and overtaken ones have their verdict already."""
    last: dict[Hashable, Numbered[Line]] = {}
    for raw in parse_ndjson(body):
        if raw.fault is not None:
            report.put({raw.number: rejected(raw.fault)})
            continue
        try:
            line = parse_line(raw.value)
        except (Malformed, TooLarge) as refusal:
            report.put({raw.number: rejected(fault_text(refusal))})
            continue
        if isinstance(line, _ADMINS_KINDS) and Role.ADMIN not in session.principal.roles:
            report.put({raw.number: rejected(str(Forbidden(Role.ADMIN)))})
            continue
        identity = identity_of(line, raw.number)
        if identity in last:
            report.overtaken[raw.number] = last.pop(identity)
            report.put({report.overtaken[raw.number][0]: UNCHANGED})
        last[identity] = (raw.number, line)
    return list(last.values())


def identity_of(line: Line, number: int) -> Hashable:
    """What makes two lines lines for one row. Entity and relation lines add up, and grants are each their own."""
    match line:
        case MemoryLine():
            return "memory", line.id
        case EdgeLine():
            return EdgeKey(line.source, line.relationship, line.target)
        case MembershipLine():
            return line
        case CaptureStatusLine():
            return "capture_status", line.project_id
        case OperatingContextLine():
            return "operating_context"
        case _:
            return number


def _of(lines: Iterable[Numbered[Line]], kind: type[L]) -> list[Numbered[L]]:
    return [(number, line) for number, line in lines if isinstance(line, kind)]


class _Import:
    """One import under way."""

    def __init__(self, store: ImportStore, session: Session, report: Report, pool: ThreadPoolExecutor) -> None:
        self.store = store
        self.session = session
        self.report = report
        self.pool = pool
        self.live = LiveAuthority(session)
        self.riding: list[Numbered[MemoryLine]] = []

    # --- memberships

    def memberships(self, lines: Sequence[Numbered[MembershipLine]]) -> None:
        by_principal: dict[str, list[Numbered[MembershipLine]]] = {}
        for number, line in lines:
            by_principal.setdefault(line.principal_id, []).append((number, line))
        for principals in _slices(list(by_principal), _BATCH):
            wave = self.live.new_wave(self.store)
            present = {principal: wave.memberships_of(principal) for principal in principals}
            wave.run()
            jobs = [(principal, present[principal].value, by_principal[principal]) for principal in principals]
            self._each(self._add_memberships, jobs)

    def _add_memberships(self, job: tuple[str, Memberships, list[Numbered[MembershipLine]]]) -> dict[int, Verdict]:
        principal, present, lines = job
        new = [
            (number, line)
            for number, line in lines
            if line.project_id not in present.projects and line.team_id not in present.teams
        ]
        if new:
            added = [memberships_of(line) for _, line in new]
            projects = frozenset[str]().union(*(memberships.projects for memberships in added))
            teams = frozenset[str]().union(*(memberships.teams for memberships in added))
            self.store.memberships.add(self.session.principal.tenant_id, principal, Memberships(projects, teams))
        return {**dict.fromkeys((number for number, _ in lines), UNCHANGED), **{number: APPLIED for number, _ in new}}

    # --- memories

    def memories(self, lines: Sequence[Numbered[MemoryLine]]) -> None:
        """The last line for a memory; where that is refused, the one before it."""
        while lines:
            self._write_memories(lines)
            verdicts, overtaken = self.report.verdicts, self.report.overtaken
            refused = [number for number, _ in lines if verdicts[number].outcome is Outcome.REJECTED]
            self.riding += [one for one in lines if one[0] not in refused and one[1].associations is not None]
            lines = _of((overtaken[number] for number in refused if number in overtaken), MemoryLine)

    def _write_memories(self, lines: Sequence[Numbered[MemoryLine]]) -> None:
        for batch in _batches(lines):
            wave = self.live.new_wave(self.store)
            asked = self.live.ask(wave)
            nodes = {line.id: wave.node(line.id) for _, line in batch}
            epochs = _epochs(wave, batch)
            wave.run()
            asked.take()
            self._each(
                self._write_memory,
                [(number, line, nodes[line.id].value, _epoch(epochs, line)) for number, line in batch],
            )

    def _write_memory(self, job: tuple[int, MemoryLine, Node | None, int]) -> dict[int, Verdict]:
        number, line, node, epoch = job
        self.session.deadline.check()
        found = node if isinstance(node, Memory) else None
        try:
            change = decide(line, found, self.live.value, epoch, utc_now())
            if change.is_idle:
                return {number: UNCHANGED}
            if store_memory(self.store, self.session, change) is None:
                put_memory(self.store, self.session, line)
        except Unavailable:
            raise
        except Refusal as refusal:
            return {number: rejected(str(refusal))}
        return {number: APPLIED}

    # --- edges

    def edges(self, lines: Sequence[Numbered[EdgeLine]]) -> None:
        """Edges of one source stay together, so that few transactions check the same hinge."""
        ordered = sorted(lines, key=lambda numbered: numbered[1].source)
        for batch in _slices(ordered, 3 * _BATCH):
            wave = self.live.new_wave(self.store)
            asked = self.live.ask(wave)
            ends = {end: wave.node(end) for _, line in batch for end in (line.source, line.target)}
            before = [wave.edge(line.source, line.relationship, line.target) for _, line in batch]
            wave.run()
            asked.take()
            changes = self._edge_changes(batch, {end: node.value for end, node in ends.items()}, before)
            share = max(1, -(-len(changes) // _WRITERS))
            self._each(self._write_edges, list(_slices(changes, share)))

    def _edge_changes(
        self,
        batch: Sequence[Numbered[EdgeLine]],
        ends: Mapping[str, Node | None],
        before: Sequence[Pending[Edge | None]],
    ) -> list[tuple[int, EdgeLine, EdgeChange]]:
        changes = []
        for (number, line), present in zip(batch, before, strict=True):
            source, target = self._end(ends[line.source]), self._end(ends[line.target])
            if source is None or target is None:
                self.report.put({number: rejected(_NO_END)})
                continue
            edge = edge_after(line, source, target, present.value, utc_now())
            if edge == present.value:
                self.report.put({number: UNCHANGED})
            else:
                changes.append((number, line, EdgeChange(before=present.value, edge=edge)))
        return changes

    def _end(self, node: Node | None) -> Memory | None:
        memory = node if isinstance(node, Memory) else None
        return memory if may_touch(memory, self.live.value) else None

    def _write_edges(self, jobs: Sequence[tuple[int, EdgeLine, EdgeChange]]) -> dict[int, Verdict]:
        self.session.deadline.check()
        lost = store_edges(self.store, self.session, [change for _, _, change in jobs])
        verdicts = {number: APPLIED for number, _, _ in jobs}
        for number, line, change in jobs:
            if change in lost:
                try:
                    put_edge(self.store, self.session, line)
                except NotFound:
                    verdicts[number] = rejected(_NO_END)
        return verdicts

    # --- what other verbs apply

    def declarations(self, lines: Sequence[Numbered[Line]]) -> None:
        """Names, then what rides on memories, then statements, each of which finds the names before it."""
        entities, relations = _of(lines, EntityLine), _of(lines, RelationLine)
        self._take(entities, apply_entity_lines(self.store, self.session, [line for _, line in entities]))
        for batch in _slices(sorted(self.riding, key=lambda numbered: numbered[0]), _BATCH):
            wave = self.live.new_wave(self.store)
            nodes = [wave.node(line.id) for _, line in batch]
            wave.run()
            for (number, line), node in zip(batch, nodes, strict=True):
                if isinstance(node.value, Memory):
                    self._associate(number, node.value, line.associations)
        self._take(relations, apply_relation_lines(self.store, self.session, [line for _, line in relations]))

    def _associate(self, number: int, memory: Memory, associations: object) -> None:
        """A part that is dropped is reported, and never loses the memory."""
        declared_by = DeclaredBy.OPERATOR if Role.ADMIN in self.session.principal.roles else DeclaredBy.AGENT
        result = apply_associations(self.store, self.session, memory, associations, declared_by=declared_by)
        verdict = self.report.verdicts[number]
        outcome = Outcome.APPLIED if result.changed else verdict.outcome
        self.report.put({number: Verdict(outcome, (*verdict.reasons, *result.notes))})

    def _take(self, lines: Sequence[Numbered[Any]], results: Sequence[LineResult]) -> None:
        for (number, _), result in zip(lines, results, strict=True):
            outcome = Outcome.APPLIED if result.changed else Outcome.UNCHANGED
            verdict = Verdict(outcome, tuple(result.notes))
            self.report.put({number: verdict if result.fault is None else rejected(result.fault)})

    def settings(self, lines: Sequence[Numbered[Line]]) -> None:
        """Grants, capture statuses and the operating context: few, one by one."""
        for number, line in lines:
            changed: bool | None
            match line:
                case GrantLine():
                    changed = apply_grant_line(self.store, self.session, line)
                case CaptureStatusLine():
                    changed = self._put_capture(line)
                case OperatingContextLine():
                    changed = self._put_context(line)
                case _:
                    continue
            if changed is None:
                self.report.put({number: rejected(str(NotFound()))})
            else:
                self.report.put({number: APPLIED if changed else UNCHANGED})

    def _put_capture(self, line: CaptureStatusLine) -> bool | None:
        """None where the writer neither is a member of the project nor an admin."""
        wave = self._record_wave()
        asked, present = self.live.ask(wave), wave.capture(line.project_id)
        wave.run()
        asked.take()
        if Role.ADMIN not in self.session.principal.roles and not self.live.value.is_member(line.project_id):
            return None
        capture = CaptureStatus(
            project_id=line.project_id,
            pending=line.pending,
            prior_setup=line.prior_setup,
            gaps=tuple((gap.reason, gap.count) for gap in line.gaps),
            written_at=utc_text(utc_now()),
        )
        if present.value is not None and replace(present.value, written_at=capture.written_at) == capture:
            return False
        self.store.captures.put(self.session.principal.tenant_id, capture)
        return True

    def _record_wave(self) -> RecordWave:
        self.session.deadline.check()
        principal = self.session.principal
        return self.store.wave(principal.tenant_id, principal.principal_id, self.session.deadline)

    def _put_context(self, line: OperatingContextLine) -> bool:
        wave = self.live.new_wave(self.store)
        present = wave.operating_context()
        wave.run()
        if present.value == line.agents:
            return False
        self.store.declared.put_context(self.session.principal.tenant_id, line.agents)
        return True

    def _each(self, write: Callable[[Any], dict[int, Verdict]], jobs: Sequence[Any]) -> None:
        """Run jobs beside one another; all have ended when this returns or raises."""
        self.session.deadline.check()
        for verdicts in list(self.pool.map(write, jobs)):
            self.report.put(verdicts)


def _slices(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _batches(lines: Iterable[Numbered[MemoryLine]]) -> Iterator[list[Numbered[MemoryLine]]]:
    """Lines in batches bounded in number and in the length of their bodies."""
    batch: list[Numbered[MemoryLine]] = []
    characters = 0
    for number, line in lines:
        if batch and (len(batch) == _BATCH or characters + len(line.content) > _BATCH_CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append((number, line))
        characters += len(line.content)
    if batch:
        yield batch


def _home(line: MemoryLine) -> str | None:
    return line.project_id or (line.scope_key if line.scope == "project" else None)


def _epochs(wave: Wave, batch: Sequence[Numbered[MemoryLine]]) -> dict[str, Pending[int]]:
    homes = {home for _, line in batch if (home := _home(line)) is not None}
    return {home: wave.epoch(home) for home in homes}


def _epoch(epochs: Mapping[str, Pending[int]], line: MemoryLine) -> int:
    home = _home(line)
    return 0 if home is None else epochs[home].value
