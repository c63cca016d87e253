"""The things a store holds, as plain values. They know nothing of keys, of the wire, or of who is reading."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias, Union

Json: TypeAlias = Union[bool, int, float, str, "list[Json]", "dict[str, Json]", None]


class State(StrEnum):
    """The life of a memory: archived ones are absent for retrieval, superseded ones are reached only on purpose."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"


class Scope(StrEnum):
    """The scope words that may be written; any other word that is found stored is readable by nobody."""

    PRIVATE = "private"
    PROJECT = "project"
    TEAM = "team"
    ORGANIZATION = "organization"


@dataclass(frozen=True, slots=True)
class Span:
    """An author's own seam: code-point offsets `[start, end)` into the body, and a label."""

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """The hinge of a memory: all of its own fields, the authority over its passages, and its body when uncut.

    `text` is the whole body while `cut` is None, else its first 2,000 code points; `length` counts the whole body.
    `cut` names the current generation of passages (16 characters that order by time), `passages` counts them and
    `covers` tells whether they are all of the body. `born` is the token of this life of the id. `epoch` is the purge
    count of the home project when the row was written. `ref` is the store's handle of the partition, part of the
    passage ids. Instants are UTC milliseconds (`2026-01-02T03:04:05.000Z`).
    """

    id: str
    type: str
    name: str
    owner: str
    created_at: str
    updated_at: str
    born: str
    ref: str
    scope: str | None = None
    scope_key: str | None = None
    project_id: str | None = None
    state: State = State.ACTIVE
    key: str | None = None
    value: Json = None
    valid_from: str | None = None
    valid_to: str | None = None
    origin_id: str | None = None
    source_id: str | None = None
    channel: str | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)
    spans: tuple[Span, ...] | None = None
    text: str = ""
    length: int = 0
    body_digest: str = ""
    cut: str | None = None
    passages: int = 0
    covers: bool = True
    revision: int = 1
    digest: str = ""
    epoch: int = 0

    @property
    def home(self) -> str | None:
        """The project whose purge takes this row: its own, else the one that governs its scope."""
        return self.project_id or (self.scope_key if self.scope == Scope.PROJECT else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A declared name: one per agent, project (or the global pool), channel (or all) and normalised name."""

    id: str
    agent_id: str
    name: str
    born: str
    updated_at: str
    aliases: tuple[str, ...] = ()
    project_id: str | None = None
    channel: str | None = None
    declared_by: str = "agent"
    declared_at: str = ""
    epoch: int = 0

    @property
    def home(self) -> str | None:
        """The project whose purge takes this row."""
        return self.project_id


Node: TypeAlias = Memory | Entity


@dataclass(frozen=True, slots=True)
class Passage:
    """One passage of a cut: no authority, only its place and its text. Offsets are code points of the body."""

    index: int
    start: int
    content: str
    breadcrumb: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A typed edge, or the mention of an entity by a memory (`relationship` MENTIONS, target an entity).

    `weight` is the effective one (0–1, six decimals), `own_weight` what was written. The `*_born` tokens name the lives
    of both ends that the edge belongs to; it is no edge of a later life.
    """

    source: str
    relationship: str
    target: str
    weight: float
    source_born: str
    target_born: str
    written_at: str
    own_weight: float | None = None
    expires_at: str | None = None
    declared_at: str | None = None
    declared_by: str | None = None
    anchor_ref: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A declared statement between two entities, a row of its own scope (agent, project, channel).

    The `*_born` tokens name the lives of the ends and of the anchor that it belongs to. The projects of the ends are
    its own or none; they stand here so that a reader of the row knows who may read the ends.
    """

    id: str
    agent_id: str
    subject: str
    predicate: str
    object: str
    declared_at: str
    declared_by: str
    written_at: str
    project_id: str | None = None
    channel: str | None = None
    anchor_ref: str | None = None
    anchor_born: str | None = None
    subject_born: str = ""
    object_born: str = ""
    subject_project_id: str | None = None
    object_project_id: str | None = None
    epoch: int = 0

    @property
    def home(self) -> str | None:
        """The project whose purge takes this row."""
        return self.project_id


@dataclass(frozen=True, slots=True)
class Memberships:
    """The projects and teams of one principal, as read in this request."""

    projects: frozenset[str] = frozenset()
    teams: frozenset[str] = frozenset()
