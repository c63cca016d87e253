"""Domain values as table items and back. Attribute names are the fields' own; what has no value is left out."""

import json
from collections.abc import Mapping
from typing import Any

from shared.domain.declared import DeclaredScope, Naming
from shared.domain.model import Edge, Entity, Json, Memberships, Memory, Passage, Relation, Span, State
from shared.domain.scoring import WEIGHT_STEPS
from shared.store.table import Item

_MEMORY_TEXTS = (
    "id", "type", "name", "owner", "created_at", "updated_at", "born", "scope", "scope_key", "project_id", "key",
    "valid_from", "valid_to", "origin_id", "source_id", "channel", "text", "body_digest", "cut", "digest",
)  # fmt: skip
_EDGE_TEXTS = (
    "source", "relationship", "target", "source_born", "target_born", "written_at", "expires_at", "declared_at",
    "declared_by", "anchor_ref",
)  # fmt: skip
_RELATION_TEXTS = (
    "id", "agent_id", "subject", "predicate", "object", "declared_at", "declared_by", "written_at", "project_id",
    "channel", "anchor_ref", "anchor_born", "subject_born", "object_born", "subject_project_id", "object_project_id",
)  # fmt: skip
_ENTITY_TEXTS = ("id", "agent_id", "name", "born", "updated_at", "project_id", "channel", "declared_by", "declared_at")


def _dumped(value: Json) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _loaded(text: Any) -> Any:
    return None if text is None else json.loads(text)


def memory_item(memory: Memory) -> Item:
    """The attributes of a hinge, without its keys."""
    spans = [[span.start, span.end, span.label] for span in memory.spans] if memory.spans is not None else None
    return {
        **{name: getattr(memory, name) for name in _MEMORY_TEXTS},
        "kind": "memory",
        "state": str(memory.state),
        "value": _dumped(memory.value),
        "metadata": _dumped(dict(memory.metadata)) if memory.metadata else None,
        "spans": _dumped(spans),  # type: ignore[arg-type]
        "length": memory.length,
        "passages": memory.passages,
        "covers": memory.covers,
        "revision": memory.revision,
        "epoch": memory.epoch,
    }


def memory_from(item: Item, ref: str) -> Memory:
    spans = _loaded(item.get("spans"))
    read: dict[str, Any] = {name: item[name] for name in _MEMORY_TEXTS if name in item}
    return Memory(
        **read,
        ref=ref,
        state=State(str(item["state"])),
        value=_loaded(item.get("value")),
        metadata=_loaded(item.get("metadata")) or {},
        spans=None if spans is None else tuple(Span(*span) for span in spans),
        length=int(str(item["length"])),
        passages=int(str(item["passages"])),
        covers=bool(item["covers"]),
        revision=int(str(item["revision"])),
        epoch=int(str(item["epoch"])),
    )


def entity_item(entity: Entity) -> Item:
    return {
        **{name: getattr(entity, name) for name in _ENTITY_TEXTS},
        "kind": "entity",
        "aliases": _dumped(list(entity.aliases)) if entity.aliases else None,
        "epoch": entity.epoch,
    }


def entity_from(item: Item) -> Entity:
    read: dict[str, Any] = {name: item[name] for name in _ENTITY_TEXTS if name in item}
    return Entity(**read, aliases=tuple(_loaded(item.get("aliases")) or ()), epoch=int(str(item["epoch"])))


def edge_item(edge: Edge) -> Item:
    own = None if edge.own_weight is None else round(edge.own_weight * WEIGHT_STEPS)
    return {
        **{name: getattr(edge, name) for name in _EDGE_TEXTS},
        "weight": round(edge.weight * WEIGHT_STEPS),
        "own_weight": own,
    }


def edge_from(item: Item) -> Edge:
    read: dict[str, Any] = {name: item[name] for name in _EDGE_TEXTS if name in item}
    own = item.get("own_weight")
    return Edge(
        **read,
        weight=int(str(item["weight"])) / WEIGHT_STEPS,
        own_weight=None if own is None else int(str(own)) / WEIGHT_STEPS,
    )


def relation_item(relation: Relation) -> Item:
    return {**{name: getattr(relation, name) for name in _RELATION_TEXTS}, "epoch": relation.epoch}


def relation_from(item: Item) -> Relation:
    read: dict[str, Any] = {name: item[name] for name in _RELATION_TEXTS if name in item}
    return Relation(**read, epoch=int(str(item["epoch"])))


def naming_item(naming: Naming) -> Item:
    return {
        "entity_id": naming.entity_id,
        "born": naming.born,
        "agent_id": naming.scope.agent_id,
        "project_id": naming.scope.project_id,
        "channel": naming.scope.channel,
        "epoch": naming.epoch,
    }


def naming_from(item: Item) -> Naming:
    def text(name: str) -> str | None:
        return str(item[name]) if name in item else None

    scope = DeclaredScope(str(item["agent_id"]), text("project_id"), text("channel"))
    return Naming(entity_id=str(item["entity_id"]), born=str(item["born"]), scope=scope, epoch=int(str(item["epoch"])))


def context_from(item: Item | None) -> Mapping[str, str] | None:
    """The operating context, agent → project, kept as one JSON text."""
    return None if item is None else dict(_loaded(item.get("agents")) or {})


def passage_item(passage: Passage) -> Item:
    return {
        "index": passage.index,
        "start": passage.start,
        "content": passage.content,
        "breadcrumb": passage.breadcrumb,
    }


def passage_from(item: Item) -> Passage:
    return Passage(
        index=int(str(item["index"])),
        start=int(str(item["start"])),
        content=str(item.get("content", "")),
        breadcrumb=str(item.get("breadcrumb", "")),
    )


def memberships_from(item: Item | None) -> Memberships:
    def names(attribute: str) -> frozenset[str]:
        value = (item or {}).get(attribute)
        return value if isinstance(value, frozenset) else frozenset()

    return Memberships(names("projects"), names("teams"))


def purges_from(item: Item | None) -> dict[str, int]:
    """Unfinished purges by project, kept as one JSON text."""
    return dict(_loaded((item or {}).get("active")) or {})
