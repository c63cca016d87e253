"""What a write makes of a line and of the row that is there: pure, and the same for single writes and imports.

It decides who may write, what is kept, what is new and whether anything changes at all.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TypeGuard

from shared.domain.authority import Authority
from shared.domain.canonical import record_digest
from shared.domain.cutter import CEILING, covers, cut, pieces_of
from shared.domain.errors import Conflict, FieldError, Forbidden, Malformed, NotFound
from shared.domain.instants import utc_text
from shared.domain.lines import DeclaredBy, EdgeLine, MemoryLine
from shared.domain.model import Edge, Json, Memory, Passage, Scope
from shared.domain.principal import Role
from shared.domain.scoring import base_weight
from shared.domain.tokens import new_token
from shared.engine.port import MemoryChange


def utc_now() -> datetime:
    return datetime.now(UTC)


def stamped(before: Memory | None) -> str:
    """The instant of a write that takes effect now: later than that of the row it replaces, whatever the clocks say."""
    return _after(utc_now(), before)


def may_touch(memory: Memory | None, authority: Authority) -> TypeGuard[Memory]:
    """Whether the writer may write over this row: it may read it, owns it, or is an admin. None is no row."""
    if memory is None or not authority.alive(memory):
        return False
    return (
        Role.ADMIN in authority.principal.roles
        or memory.owner == authority.principal.principal_id
        or authority.may_read_memory(memory)
    )


def decide(line: MemoryLine, found: Memory | None, authority: Authority, epoch: int, now: datetime) -> MemoryChange:
    """The change that `line` makes to `found`; an idle one where it makes none.

    `epoch` is the purge count of the line's home. Raises `NotFound`, `Forbidden`, `Conflict`, in that order of what an
    onlooker may learn: a row that the writer can't see answers `if_revision` as an absent one.
    """
    visible = found if may_touch(found, authority) else None
    taken = found is not None and visible is None and authority.alive(found)
    owner = _owner(line, visible, authority)
    after = _described(line, visible, owner, epoch, now)
    if not _may_leave(authority, after):
        raise NotFound
    if line.if_revision is not None and (visible is None or visible.revision != line.if_revision):
        raise Conflict("The revision is stale.")
    if taken:
        raise NotFound
    after = replace(after, digest=record_digest(memory_fields(after, line.content), None))
    if visible is not None and _says_the_same(visible, after):
        return MemoryChange(before=visible, after=visible)
    return _change(line, found, visible, after, now)


def _owner(line: MemoryLine, visible: Memory | None, authority: Authority) -> str:
    me = authority.principal.principal_id
    kept = visible.owner if visible is not None else me
    owner = line.owner or kept
    if owner not in (me, kept) and Role.ADMIN not in authority.principal.roles:
        raise Forbidden(Role.ADMIN)
    return owner


def _may_leave(authority: Authority, after: Memory) -> bool:
    """Whether the writer may leave the row so: readable by it, or privately its own."""
    mine = after.scope == Scope.PRIVATE and after.owner == authority.principal.principal_id
    return Role.ADMIN in authority.principal.roles or mine or authority.may_read_memory(after)


def _described(line: MemoryLine, visible: Memory | None, owner: str, epoch: int, now: datetime) -> Memory:
    """The fields of the row as the line has them; its body, lives and revisions come later."""
    created = line.created_at or (visible.created_at if visible is not None else utc_text(now))
    return Memory(
        id=line.id,
        type=line.type,
        name=line.name,
        owner=owner,
        created_at=created,
        updated_at=_after(now, visible),
        born="",
        ref="",
        scope=line.scope,
        scope_key=line.scope_key,
        project_id=line.project_id,
        state=line.state,
        key=line.key,
        value=line.value,
        valid_from=line.valid_from,
        valid_to=line.valid_to,
        origin_id=line.origin_id,
        source_id=line.source_id,
        channel=line.channel,
        metadata=line.metadata,
        spans=line.spans,
        length=len(line.content),
        body_digest=sha256(line.content.encode()).hexdigest(),
        epoch=epoch,
    )


def _says_the_same(before: Memory, after: Memory) -> bool:
    """The digest speaks for the fields it covers: it tells `1` from `true`, and not `1` from `1.0`."""
    return (before.digest, before.source_id, before.channel, before.spans) == (
        after.digest,
        after.source_id,
        after.channel,
        after.spans,
    )


def _change(
    line: MemoryLine, found: Memory | None, visible: Memory | None, after: Memory, now: datetime
) -> MemoryChange:
    """The next revision of the present life, or the first of a new one. A body that stays keeps its cut."""
    if visible is not None:
        after = replace(after, born=visible.born, revision=visible.revision + 1)
        if (visible.body_digest, visible.spans) == (after.body_digest, after.spans):
            kept = replace(after, text=visible.text, cut=visible.cut, passages=visible.passages, covers=visible.covers)
            return MemoryChange(before=found, after=kept)
    else:
        after = replace(after, born=new_token(now, after=found.cut or found.born if found else None))
        after = replace(after, updated_at=_after(now, found))
    return _cut(line, found, after, now)


def _cut(line: MemoryLine, found: Memory | None, after: Memory, now: datetime) -> MemoryChange:
    body = line.content
    if len(body) <= CEILING:
        return MemoryChange(before=found, after=replace(after, text=body))
    pieces = cut(body) if line.spans is None else pieces_of(line.spans)
    passages = [
        Passage(index, piece.start, body[piece.start : piece.end], piece.breadcrumb)
        for index, piece in enumerate(pieces)
    ]
    after = replace(
        after,
        text=body[:CEILING],
        cut=new_token(now, after=max(after.born, (found and found.cut) or "")),
        passages=len(passages),
        covers=covers(pieces, len(body)),
    )
    return MemoryChange(before=found, after=after, body=body, passages=passages)


def _after(now: datetime, before: Memory | None) -> str:
    if before is not None:
        now = max(now, datetime.fromisoformat(before.updated_at) + timedelta(milliseconds=1))
    return utc_text(now)


def memory_fields(memory: Memory, content: str) -> dict[str, Json]:
    """All fields of a memory's line, null where absent, its body given."""
    spans: list[Json] | None = None
    if memory.spans is not None:
        spans = [{"start": span.start, "end": span.end, "label": span.label} for span in memory.spans]
    return {
        "id": memory.id,
        "type": memory.type,
        "name": memory.name,
        "content": content,
        "scope": None if memory.scope is None else str(memory.scope),
        "scope_key": memory.scope_key,
        "project_id": memory.project_id,
        "owner": memory.owner,
        "state": str(memory.state),
        "key": memory.key,
        "value": memory.value,
        "valid_from": memory.valid_from,
        "valid_to": memory.valid_to,
        "origin_id": memory.origin_id,
        "source_id": memory.source_id,
        "channel": memory.channel,
        "created_at": memory.created_at,
        "metadata": dict(memory.metadata),
        "spans": spans,
    }


def line_of(memory: Memory, content: str) -> MemoryLine:
    """The line that a memory would be written by. Raises `Malformed` where a scope is stored that nobody may write."""
    if memory.scope is not None and memory.scope not in tuple(Scope):
        raise Malformed(FieldError("scope", "is of no known word in this row: write it whole"))
    return MemoryLine(
        id=memory.id,
        type=memory.type,
        name=memory.name,
        content=content,
        scope=None if memory.scope is None else Scope(memory.scope),
        scope_key=memory.scope_key,
        project_id=memory.project_id,
        owner=memory.owner,
        state=memory.state,
        key=memory.key,
        value=memory.value,
        valid_from=memory.valid_from,
        valid_to=memory.valid_to,
        origin_id=memory.origin_id,
        source_id=memory.source_id,
        channel=memory.channel,
        created_at=memory.created_at,
        metadata=memory.metadata,
        spans=memory.spans,
    )


def edge_after(line: EdgeLine, source: Memory, target: Memory, before: Edge | None, now: datetime) -> Edge:
    """The edge that `line` writes; `before` itself where it changes nothing."""
    weight = base_weight(line.relationship) if line.weight is None else line.weight
    edge = Edge(
        source=line.source,
        relationship=line.relationship,
        target=line.target,
        weight=weight,
        own_weight=line.weight,
        source_born=source.born,
        target_born=target.born,
        written_at=before.written_at if before is not None else utc_text(now),
        expires_at=line.expires_at,
        declared_at=line.declared_at,
        declared_by=None if line.declared_by is None else str(line.declared_by),
        anchor_ref=line.anchor_ref,
    )
    return edge if edge == before else replace(edge, written_at=utc_text(now))


def is_edge_of(edge: Edge, source: Memory, target: Memory) -> bool:
    """Whether the edge belongs to these lives of its ends."""
    return edge.source_born == source.born and edge.target_born == target.born


def edge_fields(edge: Edge) -> dict[str, Json]:
    """An edge as its line, without what it does not have."""
    fields: Mapping[str, Json] = {
        "weight": edge.own_weight,
        "expires_at": edge.expires_at,
        "declared_at": edge.declared_at,
        "declared_by": None if edge.declared_by is None else str(DeclaredBy(edge.declared_by)),
        "anchor_ref": edge.anchor_ref,
    }
    ends = {"source": edge.source, "relationship": edge.relationship, "target": edge.target}
    return {"kind": "edge", **ends, **{name: value for name, value in fields.items() if value is not None}}
