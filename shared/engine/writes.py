"""Single writes of memories, edges and memberships, and the reading of one memory whole (contract, section 3).

A write decides on what it has read, and is stored only if that still holds; else it reads and decides again. No answer
of a write shows content.
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from shared.domain.errors import Conflict, NotFound, Unavailable
from shared.domain.ids import is_minted
from shared.domain.lines import UNSET, EdgeKey, EdgeLine, MembershipLine, MemoryLine, PatchFields, patched_scope
from shared.domain.model import Edge, Json, Memberships, Memory, Node
from shared.engine.associations import apply_associations
from shared.engine.deciding import (
    decide,
    edge_after,
    edge_fields,
    is_edge_of,
    line_of,
    may_touch,
    memory_fields,
    stamped,
    utc_now,
)
from shared.engine.port import EdgeChange, MemoryChange, Writes
from shared.engine.reading import LiveAuthority
from shared.engine.session import Session

_ATTEMPTS = 24
"""Lost races before a write gives up; each is some other writer's success."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MemoryId:
    """The id of one memory, trimmed."""

    id: str


@dataclass(frozen=True, slots=True)
class MemoryPatch:
    """A change of some fields of one memory."""

    id: str
    fields: PatchFields


@dataclass(frozen=True, slots=True)
class _Stored:
    """A memory as it is stored now."""

    memory: Memory
    created: bool

    def answer(self) -> dict[str, Json]:
        return {"id": self.memory.id, "revision": self.memory.revision, "created": self.created}


def put_memory(store: Writes, session: Session, line: MemoryLine) -> dict[str, Json]:
    """Write a memory whole. Raises `NotFound`, `Forbidden` (another's owner), `Conflict`, `Unavailable`."""
    live = LiveAuthority(session)
    stored = _until_stored(session, lambda: _try_put(store, live, line))
    if line.associations is not None:
        apply_associations(store, session, stored.memory, line.associations)
    return stored.answer()


def patch_memory(store: Writes, session: Session, patch: MemoryPatch) -> dict[str, Json]:
    """Change some fields. Raises as `put_memory`, and `Malformed` when the scope that results has no key."""
    live = LiveAuthority(session)
    return _until_stored(session, lambda: _try_patch(store, live, patch)).answer()


def delete_memory(store: Writes, session: Session, memory: MemoryId) -> dict[str, Json]:
    """Delete a memory with all that stands on it."""
    live = LiveAuthority(session)

    def attempt() -> dict[str, Json] | None:
        found = _read_memory(store, live, memory.id)
        if not may_touch(found, live.value):
            raise NotFound
        now = stamped(found)
        removed = store.memories.remove(session.principal.tenant_id, found, now, session.deadline)
        return {"id": memory.id, "deleted": True} if removed else None

    return _until_stored(session, attempt)


def get_memory(store: Writes, session: Session, memory: MemoryId) -> dict[str, Json]:
    """One memory whole, archived too: the fields of its line, and its revision, digest and time of writing."""
    live = LiveAuthority(session)

    def attempt() -> dict[str, Json] | None:
        found = _read_memory(store, live, memory.id)
        if found is None or not live.value.may_read_memory(found):
            raise NotFound
        content = _body(store, live, found)
        if content is None:
            return None
        if not live.settles([found.updated_at]) and live.reread(store) and not live.value.may_read_memory(found):
            raise NotFound
        shown: dict[str, Json] = {"revision": found.revision, "digest": found.digest, "updated_at": found.updated_at}
        return {**memory_fields(found, content), **shown}

    return _until_stored(session, attempt)


def put_edge(store: Writes, session: Session, line: EdgeLine) -> dict[str, Json]:
    """Write an edge whole. `NotFound` unless the writer may read both ends."""
    live = LiveAuthority(session)
    return _until_stored(session, lambda: _try_edge(store, live, line))


def delete_edge(store: Writes, session: Session, key: EdgeKey) -> dict[str, Json]:
    """Remove one edge. `NotFound` when there is none between ends that the writer may read."""
    if is_minted(key.source) or is_minted(key.target):
        raise NotFound
    live = LiveAuthority(session)

    def attempt() -> dict[str, Json] | None:
        source, target, edge = _read_edge(store, live, key)
        if edge is None or source is None or target is None or not is_edge_of(edge, source, target):
            raise NotFound
        removed = store.edges.remove(session.principal.tenant_id, edge)
        return {**edge_fields(edge), "deleted": True} if removed else None

    return _until_stored(session, attempt)


def put_membership(store: Writes, session: Session, line: MembershipLine) -> dict[str, Json]:
    """Let a principal into a project or a team."""
    session.deadline.check()
    store.memberships.add(session.principal.tenant_id, line.principal_id, memberships_of(line))
    return membership_fields(line)


def delete_membership(store: Writes, session: Session, line: MembershipLine) -> dict[str, Json]:
    """Take a principal out of a project or a team."""
    session.deadline.check()
    if not store.memberships.remove(session.principal.tenant_id, line.principal_id, memberships_of(line)):
        raise NotFound
    return {**membership_fields(line), "deleted": True}


def memberships_of(line: MembershipLine) -> Memberships:
    return Memberships(
        frozenset() if line.project_id is None else frozenset((line.project_id,)),
        frozenset() if line.team_id is None else frozenset((line.team_id,)),
    )


def membership_fields(line: MembershipLine) -> dict[str, Json]:
    place = {"project_id": line.project_id} if line.project_id is not None else {"team_id": line.team_id}
    return {"kind": "membership", "principal_id": line.principal_id, **place}


def store_memory(store: Writes, session: Session, change: MemoryChange) -> Memory | None:
    """Store a decided change; None when another write came first. The stamp is of the moment it takes effect."""
    tenant = session.principal.tenant_id
    if change.cuts_anew:
        store.memories.stage(tenant, change)
        session.deadline.check()
        change = replace(change, after=replace(change.after, updated_at=stamped(change.before)))
    return change.after if store.memories.write(tenant, change, session.deadline) else None


def store_edges(store: Writes, session: Session, changes: list[EdgeChange]) -> list[EdgeChange]:
    """Store edges, and take back those whose target has gone meanwhile; what was not stored comes back."""
    tenant = session.principal.tenant_id
    lost = store.edges.write(tenant, changes)
    written = [change for change in changes if change not in lost]
    live = LiveAuthority(session)
    wave = live.new_wave(store)
    targets = {change.edge.target: wave.node(change.edge.target) for change in written}
    wave.run()
    for change in written:
        target = targets[change.edge.target].value
        if target is None or target.born != change.edge.target_born:
            store.edges.remove(tenant, change.edge)
            lost.append(change)
    return lost


def _until_stored(session: Session, attempt: Callable[[], T | None]) -> T:
    """The answer of the first attempt that has one; None is a lost race."""
    for tries in range(_ATTEMPTS):
        answer = attempt()
        if answer is not None:
            return answer
        session.deadline.check()
        time.sleep(random.uniform(0, 0.005 * (tries + 1)))  # noqa: S311 - jitter, not a secret
    raise Unavailable


def _try_put(store: Writes, live: LiveAuthority, line: MemoryLine, basis: Memory | None = None) -> "_Stored | None":
    """One attempt to write `line`, of a patch only over the very row it was made from."""
    wave = live.new_wave(store)
    asked, pending = live.ask(wave), wave.node(line.id)
    home = line.project_id or (line.scope_key if line.scope == "project" else None)
    epoch = wave.epoch(home) if home is not None else None
    wave.run()
    asked.take()
    found = _memory(pending.value)
    if basis is not None and (found is None or (found.born, found.revision) != (basis.born, basis.revision)):
        return None
    change = decide(line, found, live.value, epoch.value if epoch else 0, utc_now())
    stored = change.after if change.is_idle else store_memory(store, live.session, change)
    if stored is None:
        return None
    return _Stored(stored, created=stored.revision == 1 and not change.is_idle)


def _try_patch(store: Writes, live: LiveAuthority, patch: MemoryPatch) -> "_Stored | None":
    found = _read_memory(store, live, patch.id)
    if not may_touch(found, live.value):
        if patch.fields.if_revision is not None:
            raise Conflict("The revision is stale.")
        raise NotFound
    content = _body(store, live, found)
    if content is None:
        return None
    return _try_put(store, live, _patched(found, content, patch.fields), found)


def _patched(memory: Memory, content: str, fields: PatchFields) -> MemoryLine:
    line = line_of(memory, content)
    scope, scope_key, project_id = patched_scope(fields, line.scope, line.scope_key, line.project_id)
    line = replace(line, scope=scope, scope_key=scope_key, project_id=project_id, if_revision=fields.if_revision)
    if fields.name is not UNSET:
        line = replace(line, name=fields.name)
    if fields.owner is not UNSET:
        line = replace(line, owner=fields.owner)
    if fields.state is not UNSET:
        line = replace(line, state=fields.state)
    if fields.metadata is not UNSET:
        line = replace(line, metadata=fields.metadata)
    return line


def _try_edge(store: Writes, live: LiveAuthority, line: EdgeLine) -> dict[str, Json] | None:
    source, target, before = _read_edge(store, live, EdgeKey(line.source, line.relationship, line.target))
    if source is None or target is None:
        raise NotFound
    edge = edge_after(line, source, target, before, utc_now())
    if edge != before and store_edges(store, live.session, [EdgeChange(before=before, edge=edge)]):
        return None
    return edge_fields(edge)


def _read_edge(store: Writes, live: LiveAuthority, key: EdgeKey) -> tuple[Memory | None, Memory | None, Edge | None]:
    """Both ends, as far as the writer may touch them, and the edge."""
    wave = live.new_wave(store)
    asked = live.ask(wave)
    source, target = wave.node(key.source), wave.node(key.target)
    edge = wave.edge(key.source, key.relationship, key.target)
    wave.run()
    asked.take()
    ends = [_memory(end.value) for end in (source, target)]
    near, far = (end if may_touch(end, live.value) else None for end in ends)
    return near, far, edge.value


def _read_memory(store: Writes, live: LiveAuthority, memory_id: str) -> Memory | None:
    """The memory of this very id, with the authority to judge it by. Ids of passages and entities name none."""
    wave = live.new_wave(store)
    asked = live.ask(wave)
    node = None if is_minted(memory_id) else wave.node(memory_id)
    wave.run()
    asked.take()
    return _memory(node.value) if node is not None else None


def _body(store: Writes, live: LiveAuthority, memory: Memory) -> str | None:
    """The whole body; None when a new cut has come."""
    if memory.cut is None:
        return memory.text
    wave = live.new_wave(store)
    body = wave.body(memory, memory.length)
    wave.run()
    return body.value


def _memory(node: Node | None) -> Memory | None:
    return node if isinstance(node, Memory) else None
