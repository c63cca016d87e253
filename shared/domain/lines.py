"""Interchange lines (contract, section 3): from JSON values to checked, normalised dataclasses.

The shape is judged here, authority and the existence of what is named are not. Nothing is brought into range: a stored
line is right or refused.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from io import BytesIO
from typing import Final, TypeAlias

from shared.domain.canonical import parse_json
from shared.domain.errors import FieldError, Malformed, TooLarge
from shared.domain.fields import MAX_NAME, Fields, settled_scope
from shared.domain.grants import MAX_PROJECTS, UNKNOWN
from shared.domain.model import Json, Scope, Span, State
from shared.domain.principal import Surface

MAX_CONTEXT_BYTES = 256 * 1024
"""An operating context is one row."""


class DeclaredBy(StrEnum):
    """Who declared a row."""

    AGENT = "agent"
    OPERATOR = "operator"


class GapReason(StrEnum):
    """Why a capture tool missed something."""

    MAX_QUEUE_DEPTH = "maxQueueDepth"
    MAX_STORE_BYTES = "maxStoreBytes"
    MAX_ITEMS_PER_SESSION = "maxItemsPerSession"
    SESSION_IN_ANOTHER_PROJECT = "session_in_another_project"
    RAW_EXPIRED = "raw_expired"
    PRIOR_SETUP = "prior_setup"
    TRANSCRIPT_UNRECOGNISED = "transcript_unrecognised"
    SESSION_LEFT_PROJECT = "session_left_project"
    TRANSCRIPT_REWRITTEN = "transcript_rewritten"
    TRANSCRIPT_REANCHORED = "transcript_reanchored"
    TRANSCRIPT_INCOMPLETE_AT_END = "transcript_incomplete_at_end"
    TRANSCRIPT_LINE_OVERSIZED = "transcript_line_oversized"
    TOOL_CALLS_NOT_CAPTURED = "tool_calls_not_captured"


class Unset(Enum):
    """The type of UNSET: a field that a patch does not mention."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLine:
    """A memory as written. `owner` and `created_at` are None when left out: the row's own stay, else the defaults."""

    id: str
    type: str
    name: str
    content: str = ""
    scope: Scope | None = None
    scope_key: str | None = None
    project_id: str | None = None
    owner: str | None = None
    state: State = State.ACTIVE
    key: str | None = None
    value: Json = None
    valid_from: str | None = None
    valid_to: str | None = None
    origin_id: str | None = None
    source_id: str | None = None
    channel: str | None = None
    created_at: str | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)
    associations: object = None
    spans: tuple[Span, ...] | None = None
    if_revision: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchFields:
    """The changes of a PATCH: UNSET fields stay, None clears."""

    name: str | Unset = UNSET
    owner: str | Unset = UNSET
    state: State | Unset = UNSET
    metadata: Mapping[str, Json] | Unset = UNSET
    scope: Scope | Unset | None = UNSET
    scope_key: str | Unset | None = UNSET
    project_id: str | Unset | None = UNSET
    if_revision: int | None = None


@dataclass(frozen=True, slots=True)
class EdgeKey:
    """What identifies an edge."""

    source: str
    relationship: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeLine:
    """An edge as written; without a weight its relationship decides."""

    source: str
    relationship: str
    target: str
    weight: float | None = None
    expires_at: str | None = None
    declared_at: str | None = None
    declared_by: DeclaredBy | None = None
    anchor_ref: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityLine:
    """A name of exactly its own scope."""

    agent_id: str
    name: str
    aliases: tuple[str, ...] = ()
    project_id: str | None = None
    channel: str | None = None
    mentions: tuple[str, ...] = ()
    declared_by: DeclaredBy | None = None
    declared_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationLine:
    """A statement between two names; the ends are names or aliases."""

    agent_id: str
    subject: str
    predicate: str
    object: str
    project_id: str | None = None
    channel: str | None = None
    anchor_ref: str | None = None
    declared_by: DeclaredBy | None = None
    declared_at: str | None = None


@dataclass(frozen=True, slots=True)
class MembershipLine:
    """A membership of exactly one project or team."""

    principal_id: str
    project_id: str | None = None
    team_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantLine:
    """A grant as written; one that is issued anew has no id and no `issued_at` yet."""

    grantee: str
    projects: tuple[str, ...]
    surfaces: frozenset[Surface]
    expires_at: str
    reason: str
    idempotency_key: str | None = None
    id: str | None = None
    issued_at: str | None = None
    revoked_at: str | None = None


@dataclass(frozen=True, slots=True)
class Gap:
    """What a capture tool missed, and how often."""

    reason: GapReason
    count: int


@dataclass(frozen=True, slots=True)
class CaptureStatusLine:
    """What a capture tool last said about a project."""

    project_id: str
    pending: int = 0
    prior_setup: int = 0
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True, slots=True)
class OperatingContextLine:
    """Which project each agent works in."""

    agents: Mapping[str, str]


Line: TypeAlias = (
    MemoryLine
    | EdgeLine
    | EntityLine
    | RelationLine
    | MembershipLine
    | GrantLine
    | CaptureStatusLine
    | OperatingContextLine
)


@dataclass(frozen=True, slots=True)
class RawLine:
    """A line of an import before it is judged: its number from 1, and its JSON value, or why it has none."""

    number: int
    value: object = None
    fault: str | None = None


def parse_ndjson(body: bytes) -> Iterator[RawLine]:
    """The lines of JSON Lines text that are not blank. Only LF and CRLF end a line; a byte order mark is skipped."""
    for number, raw in enumerate(BytesIO(body.removeprefix(b"\xef\xbb\xbf")), 1):
        stripped = raw.strip(b" \t\r\n")
        if not stripped:
            continue
        try:
            yield RawLine(number, parse_json(stripped))
        except ValueError as error:
            yield RawLine(number, fault=str(error))


def parse_line(value: object) -> Line:
    """The line that `value` is. Raises Malformed, or TooLarge for content over its limit."""
    if not isinstance(value, dict):
        raise Malformed(FieldError("line", "must be an object"))
    kind = value.get("kind")
    reader = _KINDS.get(kind) if isinstance(kind, str) else None
    if reader is None:
        raise Malformed(FieldError("kind", f"must be one of {', '.join(_KINDS)}"))
    return reader({name: part for name, part in value.items() if name != "kind"})


def fault_text(refusal: Malformed | TooLarge) -> str:
    """A refusal of a line as the reason of an import report."""
    if isinstance(refusal, TooLarge):
        return str(refusal)
    return "; ".join(f"{error.field}: {error.message}" for error in refusal.errors)


def memory_line(value: object) -> MemoryLine:
    """A memory line without its kind."""
    return _memory(Fields(value, _MEMORY_FIELDS))


def memory_body(value: object, path_id: str) -> MemoryLine:
    """The body of a single write to `path_id`: a memory line whose id may be left out, and `if_revision`."""
    fields = Fields(value, (*_MEMORY_FIELDS, "if_revision"))
    here = fields.checked_ref("id", path_id)
    if fields.id("id", default=here) != here:
        fields.fault("id", "must equal the id of the path")
    return _memory(fields, path_id=here)


def patch_fields(value: object) -> PatchFields:
    """The body of a PATCH."""
    fields = Fields(value, _PATCH_FIELDS)
    given = fields.given
    patch = PatchFields(
        name=fields.name("name", most=MAX_NAME) if "name" in given else UNSET,
        owner=fields.required_id("owner") if "owner" in given else UNSET,
        state=fields.word("state", State) or State.ACTIVE if "state" in given else UNSET,
        metadata=fields.metadata() if "metadata" in given else UNSET,
        scope=fields.word("scope", Scope) if "scope" in given else UNSET,
        scope_key=fields.id("scope_key") if "scope_key" in given else UNSET,
        project_id=fields.id("project_id") if "project_id" in given else UNSET,
        if_revision=fields.integer("if_revision"),
    )
    fields.check()
    return patch


def patched_scope(
    patch: PatchFields, scope: Scope | None, scope_key: str | None, project_id: str | None
) -> tuple[Scope | None, str | None, str | None]:
    """Scope, scope key and project after a patch. A new scope without a key takes its default key."""
    if patch.scope is not UNSET:
        scope, scope_key = patch.scope, None
    if patch.scope_key is not UNSET:
        scope_key = patch.scope_key
    if patch.project_id is not UNSET:
        project_id = patch.project_id
    return scope, settled_scope(scope, scope_key, project_id), project_id


def edge_line(value: object) -> EdgeLine:
    fields = Fields(value, _EDGE_FIELDS)
    line = EdgeLine(
        source=fields.memory_ref("source") or fields.missing("source"),
        relationship=fields.relationship(),
        target=fields.memory_ref("target") or fields.missing("target"),
        weight=fields.weight(),
        expires_at=fields.instant("expires_at"),
        declared_at=fields.instant("declared_at"),
        declared_by=fields.word("declared_by", DeclaredBy),
        anchor_ref=fields.memory_ref("anchor_ref"),
    )
    fields.check()
    return line


def edge_key(value: object) -> EdgeKey:
    """The key fields of an edge to delete. Ids of any form are taken: one that cannot be there is simply absent."""
    fields = Fields(value, ("source", "relationship", "target"))
    key = EdgeKey(fields.required_id("source"), fields.relationship(), fields.required_id("target"))
    fields.check()
    return key


def entity_line(value: object) -> EntityLine:
    fields = Fields(value, _ENTITY_FIELDS)
    line = EntityLine(
        agent_id=fields.required_id("agent_id"),
        name=fields.declared_name("name"),
        aliases=tuple(fields.declared(path, alias) for path, alias in fields.items("aliases")),
        project_id=fields.id("project_id"),
        channel=fields.id("channel"),
        mentions=tuple(dict.fromkeys(fields.checked_ref(path, ref) for path, ref in fields.items("mentions"))),
        declared_by=fields.word("declared_by", DeclaredBy),
        declared_at=fields.instant("declared_at"),
    )
    fields.check()
    return line


def relation_line(value: object) -> RelationLine:
    fields = Fields(value, _RELATION_FIELDS)
    line = RelationLine(
        agent_id=fields.required_id("agent_id"),
        subject=fields.declared_name("subject"),
        predicate=fields.declared_name("predicate"),
        object=fields.declared_name("object"),
        project_id=fields.id("project_id"),
        channel=fields.id("channel"),
        anchor_ref=fields.memory_ref("anchor_ref"),
        declared_by=fields.word("declared_by", DeclaredBy),
        declared_at=fields.instant("declared_at"),
    )
    fields.check()
    return line


def membership_line(value: object) -> MembershipLine:
    """A membership; the same fields are its key when it is deleted."""
    fields = Fields(value, ("principal_id", "project_id", "team_id"))
    line = MembershipLine(fields.required_id("principal_id"), fields.id("project_id"), fields.id("team_id"))
    if not fields.faulty and (line.project_id is None) == (line.team_id is None):
        fields.fault("project_id", "exactly one of project_id and team_id is required")
    fields.check()
    return line


def grant_line(value: object) -> GrantLine:
    """A grant to be stored; that it lies in the future is for the one who issues it to check."""
    fields = Fields(value, _GRANT_FIELDS)
    projects = dict.fromkeys(fields.checked_id(path, project) for path, project in fields.items("projects"))
    surfaces = frozenset(fields.checked_word(path, word, Surface) for path, word in fields.items("surfaces"))
    line = GrantLine(
        grantee=fields.required_id("grantee"),
        projects=tuple(projects),
        surfaces=surfaces,
        expires_at=fields.instant("expires_at") or fields.missing("expires_at"),
        reason=fields.name("reason", most=MAX_NAME),
        idempotency_key=fields.id("idempotency_key"),
        id=fields.id("id"),
        issued_at=fields.instant("issued_at"),
        revoked_at=fields.instant("revoked_at"),
    )
    if not projects and line.revoked_at is None:
        fields.missing("projects")
    if len(projects) > MAX_PROJECTS:
        fields.fault("projects", f"must have at most {MAX_PROJECTS} items")
    if line.id == UNKNOWN:
        fields.fault("id", "is reserved")
    if not surfaces:
        fields.missing("surfaces")
    fields.check()
    return line


def capture_status_line(value: object) -> CaptureStatusLine:
    fields = Fields(value, ("project_id", "pending", "priorSetup", "gaps"))
    project_id = fields.required_id("project_id")
    pending, prior_setup = (fields.count(name) or 0 for name in ("pending", "priorSetup"))
    gaps: list[Gap] = []
    for path, item in fields.items("gaps"):
        inner = fields.inner(path, item, ("reason", "count"))
        reason = inner.word("reason", GapReason)
        count = inner.count("count")
        if reason is None or count is None:
            inner.missing("reason" if reason is None else "count")
        elif reason in (gap.reason for gap in gaps):
            inner.fault("reason", "is given twice")
        else:
            gaps.append(Gap(reason, count))
    fields.check()
    return CaptureStatusLine(project_id, pending, prior_setup, tuple(gaps))


def operating_context_line(value: object) -> OperatingContextLine:
    fields = Fields(value, ("agents",))
    agents: dict[str, str] = {}
    for agent_id, project_id in (fields.mapping("agents", most=MAX_CONTEXT_BYTES) or {}).items():
        path = f"agents.{agent_id}"
        agents[fields.checked_id(path, agent_id)] = fields.checked_id(path, project_id)
    if not fields.present("agents"):
        fields.missing("agents")
    fields.check()
    return OperatingContextLine(agents)


_MEMORY_FIELDS = tuple(name for name in MemoryLine.__dataclass_fields__ if name != "if_revision")
_PATCH_FIELDS = tuple(PatchFields.__dataclass_fields__)
_EDGE_FIELDS = tuple(EdgeLine.__dataclass_fields__)
_ENTITY_FIELDS = tuple(EntityLine.__dataclass_fields__)
_RELATION_FIELDS = tuple(RelationLine.__dataclass_fields__)
_GRANT_FIELDS = tuple(GrantLine.__dataclass_fields__)

_KINDS: dict[str, Callable[[object], Line]] = {
    "memory": memory_line,
    "edge": edge_line,
    "entity": entity_line,
    "relation": relation_line,
    "membership": membership_line,
    "grant": grant_line,
    "capture_status": capture_status_line,
    "operating_context": operating_context_line,
}


def _memory(fields: Fields, *, path_id: str | None = None) -> MemoryLine:
    content = fields.content()
    scope = fields.word("scope", Scope)
    project_id = fields.id("project_id")
    line = MemoryLine(
        id=path_id if path_id is not None else fields.memory_ref("id") or fields.missing("id"),
        type=fields.memory_type(),
        name=fields.name("name", most=MAX_NAME),
        content=content,
        scope=scope,
        scope_key=fields.scope_key(scope, project_id),
        project_id=project_id,
        owner=fields.id("owner"),
        state=fields.word("state", State) or State.ACTIVE,
        key=fields.text("key", most=MAX_NAME),
        value=fields.json("value"),
        valid_from=fields.instant("valid_from"),
        valid_to=fields.instant("valid_to"),
        origin_id=fields.id("origin_id"),
        source_id=fields.id("source_id"),
        channel=fields.id("channel"),
        created_at=fields.instant("created_at"),
        metadata=fields.metadata(),
        associations=fields.unjudged("associations"),
        spans=fields.spans(len(content)),
        if_revision=fields.integer("if_revision"),
    )
    fields.check()
    return line
