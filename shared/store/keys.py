"""The key grammar of the table (docs/architecture.md). Keys hold ids and digests only, never names or text."""

from shared.domain import digests
from shared.domain.ids import passage_id
from shared.domain.instants import inverted
from shared.domain.scoring import WEIGHT_STEPS, Direction
from shared.engine.port import Lane

SEPARATOR = "\x1f"
"""No id may hold a control character, and this one sorts below every character that an id may hold."""

AFTER = "\U0010ffff"
"""Sorts after every continuation of a prefix."""

_MAX_SORTABLE = 850
"""UTF-8 bytes of an id kept in a sort key: DynamoDB allows 1,024, and the longest other parts need 120."""

HINGE = "K"
MEMBERSHIPS = "M"
ACTIVE_PURGES = "ACTIVE"
EPOCH = "EPOCH"
CONTEXT = "CONTEXT"


def digest(*parts: str) -> str:
    """A digest of the parts that names a partition or stands in a sort key."""
    return digests.digest(b"hopscope-key-1", *parts)


def sortable(text: str) -> str:
    """`text` itself, or where it is too long for a sort key its first bytes and a digest of the whole."""
    data = text.encode()
    if len(data) <= _MAX_SORTABLE:
        return text
    return data[:_MAX_SORTABLE].decode(errors="ignore") + SEPARATOR + digest(text)


def node(tenant: str, node_id: str) -> str:
    """The partition of a memory or entity; for a passage id that of its memory, whatever tenant it was minted in.

    A passage id of another tenant leads to a partition whose hinge names that tenant; readers check it.
    """
    passage = passage_id(node_id)
    return f"N#{passage.ref if passage else digest(tenant, node_id)}"


def names(tenant: str, agent_id: str, normalised: str) -> str:
    return f"A#{digest(tenant, agent_id, normalised)}"


def relation(tenant: str, relation_id: str) -> str:
    return f"D#{digest(tenant, relation_id)}"


def relations_of(tenant: str, entity_id: str) -> str:
    """The partition of an entity's relations: apart from its mentions, which other verbs read too."""
    return f"D#{digest(tenant, entity_id)}"


def relations_between(tenant: str, one: str, other: str) -> str:
    """The partition of the relations between two entities, or of one with itself."""
    return f"D#{digest(tenant, *sorted((one, other)))}"


def project_rows(tenant: str, project_id: str | None) -> str:
    """The list of a project's rows, or of the rows without project."""
    return f"J#{digest(tenant, project_id or '')}"


def same_key(tenant: str, project_id: str | None, type_: str, key: str) -> str:
    return f"Y#{digest(tenant, project_id or '', type_, key)}"


def memberships(tenant: str, principal_id: str) -> str:
    return f"M#{digest(tenant, principal_id)}"


def purge_board(tenant: str) -> str:
    return f"B#{digest(tenant)}"


def project(tenant: str, project_id: str) -> str:
    return f"P#{digest(tenant, project_id)}"


def updated_row(updated_at: str, memory_id: str) -> str:
    """The sort key of a memory in the list of its home project: the latest first, then by id."""
    return f"U#{inverted(updated_at)}{sortable(memory_id)}"


def context(tenant: str) -> str:
    return f"C#{digest(tenant)}"


def grants(tenant: str) -> str:
    return f"G#{digest(tenant)}"


def audit(tenant: str, day: str) -> str:
    return f"U#{digest(tenant, day)}"


def scope(project_id: str | None, channel: str | None) -> str:
    """The sort key of a declaration's scope in a name's partition."""
    return f"{sortable(project_id or '')}{SEPARATOR}{digest(channel or '')}"


RELATIONS = "T#"
ANCHORED = "X#"


def relation_row(declared_at: str, relation_id: str) -> str:
    """The sort key of a relation among those of an entity: the latest first, then by id."""
    return f"{RELATIONS}{inverted(declared_at)}{relation_id}"


def anchored_row(relation_id: str) -> str:
    return f"{ANCHORED}{relation_id}"


def listed_entity(entity_id: str) -> str:
    return f"V#{entity_id}"


def listed_relation(relation_id: str) -> str:
    return f"W#{relation_id}"


def rank(weight: float) -> str:
    """Seven digits that sort the heaviest first."""
    return f"{WEIGHT_STEPS - round(weight * WEIGHT_STEPS):07}"


def edge_identity(relationship: str, target: str) -> str:
    return f"E#{digest(relationship, target)}"


def passages(cut: str) -> str:
    """The prefix of a cut's passages."""
    return f"J#{cut}#"


def body_chunks(cut: str) -> str:
    """The prefix of a body's chunks, written where the passages do not cover it."""
    return f"F#{cut}#"


def body_chunk(cut: str, index: int) -> str:
    return f"{body_chunks(cut)}{index:05}"


_LAST_INDEX = 99_999


def passage(cut: str, index: int) -> str:
    """Passages of a cut read backward from the hinge begin with index 0."""
    return f"{passages(cut)}{_LAST_INDEX - index:05}"


def lane_prefix(lane: Lane) -> str:
    if lane.members:
        return "B#"
    outgoing = lane.direction is Direction.OUTGOING
    if lane.relationship is None:
        return "O#" if outgoing else "I#"
    return f"{'R' if outgoing else 'S'}#{lane.relationship}{SEPARATOR}"


def edge_row(lane: Lane, weight: float, other_id: str, relationship: str) -> str:
    """The sort key of an edge's copy in `lane`: the lane's prefix, then the walk's whole order."""
    if lane.members:
        return f"{lane_prefix(lane)}{sortable(other_id)}"
    tail = "" if lane.relationship else SEPARATOR + relationship
    return f"{lane_prefix(lane)}{rank(weight)}{sortable(other_id)}{tail}"


def ref(partition: str) -> str:
    """The handle of a node's partition that passage ids carry."""
    return partition.removeprefix("N#")


def partition_of(ref: str) -> str:
    return f"N#{ref}"


def cut_of(passage_key: str) -> str:
    """The cut that a passage's sort key names."""
    return passage_key.split("#")[1]


QUEUE_SHARDS = 8


def queue(shard: int) -> str:
    """A shard of the queue of clean-ups."""
    return f"Q#{shard}"


def queue_of(tenant: str, subject: str) -> str:
    return queue(_shard(digest(tenant, subject), QUEUE_SHARDS))


CALLER_SHARDS = 8


def callers(shard: int) -> str:
    """A shard of the callers that sign their requests."""
    return f"L#{shard}"


def caller(arn: str) -> tuple[str, str]:
    digested = digest(arn)
    return callers(_shard(digested, CALLER_SHARDS)), digested


EXPORT_SHARDS = 8
EXPORT_ORDER = (
    "membership", "memory", "entity", "edge", "relation", "grant", "capture_status", "operating_context",
)  # fmt: skip
"""Kinds of lines in the order in which an export has them."""


def export_shard(tenant: str, shard: int) -> str:
    """A partition of the index `ByTenant`."""
    return f"X#{digest(tenant)}{shard}"


def export_prefix(kind: str) -> str:
    return f"{EXPORT_ORDER.index(kind)}#"


def exported(tenant: str, kind: str, identity: str, *more: str) -> dict[str, str]:
    """The index attributes of the one row of a `kind` that an export reads: unique within the tenant."""
    tail = SEPARATOR + digest(*more) if more else ""
    shard = _shard(digest(identity, *more), EXPORT_SHARDS)
    return {"x1": export_shard(tenant, shard), "x2": export_prefix(kind) + sortable(identity) + tail}


def _shard(digested: str, shards: int) -> int:
    """An even choice by the last base-32 character."""
    return "abcdefghijklmnopqrstuvwxyz234567".index(digested[-1]) % shards
