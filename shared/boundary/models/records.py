"""Wire shapes of `expand_record` and `context_lines`."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from shared.boundary.fields import Clamped, Id, Instant, Misfit, Shape, Text, TextList
from shared.boundary.models.base import Answer, Read
from shared.domain.errors import FieldError, Malformed
from shared.domain.grants import Limit
from shared.domain.ids import is_id, trimmed
from shared.domain.principal import Surface
from shared.engine.grants import credentials
from shared.engine.lines import MAX_LINES, LinesQuery
from shared.engine.records import RecordQuery
from shared.engine.views import ReadScope

_VERSION = 1
_ACCESS = "Id of a grant to present, which adds the rows that it opens; its audit counts every use. Default: none."
_AS_OF = "Instant of the view that the digest is made under (RFC 3339, seconds and zone). Default: none."


class _ReadProvenance(Read):
    """What an earlier answer was read under, brought back as the most that this one may be."""

    version: Annotated[int, Clamped(0, 1_000)]
    request: Any
    access_id: Annotated[str, Id()] = Field(alias="accessId")
    projects: Any
    surfaces: Any
    expires_at: Annotated[str, Instant()] = Field(alias="expiresAt")


class _ProvenanceRequest(Read):
    project: Annotated[str | None, Id()] = None
    origin_id: Annotated[str | None, Id()] = Field(None, alias="originId")


class Provenance(Shape):
    """The whole object, or a fault; checked by `_provenance`."""

    __slots__ = ()

    def accept(self, given: object) -> Mapping[str, object]:
        if not isinstance(given, Mapping):
            raise Misfit("must be the readProvenance object of an earlier answer")
        return given

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": True}


class ExpandRecordRequest(Read):
    """A handle, flattened, and how far to look into what stands against the record."""

    record_id: Annotated[str, Id()] = Field(alias="recordId", description="Id of the record, from a line's handle.")
    digest: Annotated[str, Text()] = Field(
        description="The digest of the handle, or any text to read the record as it is."
    )
    derivation_version: Annotated[str | None, Text()] = Field(
        None, alias="derivationVersion", description="Of the handle. Default: the current one, line-v1."
    )
    as_of: Annotated[str | None, Instant()] = Field(None, alias="asOf", description=_AS_OF)
    derived_at: Annotated[str | None, Instant()] = Field(
        None,
        alias="derivedAt",
        description="When the line was derived (RFC 3339, seconds and zone), from the handle. Default: unknown.",
    )
    project: Annotated[str | None, Id()] = Field(
        None,
        description="Id of a project you belong to: the view. Default: by originId; without either nothing is in view.",
    )
    origin_id: Annotated[str | None, Id()] = Field(
        None,
        alias="originId",
        description="Without a project: the view is the rows without project of this origin. Default: none.",
    )
    access_id: Annotated[str | None, Id()] = Field(None, alias="accessId", description=_ACCESS)
    grant_id: Annotated[str | None, Id()] = Field(
        None,
        alias="grantId",
        description="Another name of accessId, as handles have it; both must be equal. Default: none.",
    )
    max_expansions: Annotated[int, Clamped(0, 50)] = Field(
        5,
        alias="maxExpansions",
        description="How many counterparts to return in full, 0 to 50, default 5. Out of range is clamped.",
    )
    read_provenance: Annotated[Mapping[str, object] | None, Provenance()] = Field(
        None,
        alias="readProvenance",
        description="Of an earlier answer: replaces project, origin and grant, and is a limit. Default: none.",
    )

    def query(self) -> RecordQuery:
        if self.read_provenance is None:
            scope = ReadScope(self.project, self.origin_id)
            presented = credentials(self.access_id, self.grant_id)
        else:
            provenance = _part(_ReadProvenance, self.read_provenance, "readProvenance")
            request = _part(_ProvenanceRequest, provenance.request, "readProvenance.request")
            scope = ReadScope(request.project, request.origin_id)
            presented = credentials(provenance.access_id, None, _limit(provenance))
        return RecordQuery(
            record_id=self.record_id,
            digest=self.digest,
            derivation_version=self.derivation_version,
            as_of=self.as_of,
            derived_at=self.derived_at,
            scope=scope,
            credentials=presented,
            max_expansions=self.max_expansions,
        )


class ContextLinesRequest(Read):
    """Which records to state in a line each."""

    record_ids: Annotated[tuple[str, ...] | None, TextList(max_items=MAX_LINES)] = Field(
        None, alias="recordIds", description="Ids of records, 1 to 50. Default: by project, which is then required."
    )
    project: Annotated[str | None, Id()] = Field(
        None,
        description="Id of a project: alone, its latest records; with recordIds, only those of it. Default: none.",
    )
    limit: Annotated[int, Clamped(1, MAX_LINES)] = Field(
        10, description="How many records of the project, 1 to 50, default 10. Out of range is clamped."
    )
    as_of: Annotated[str | None, Instant()] = Field(None, alias="asOf", description=_AS_OF)
    origin_id: Annotated[str | None, Id()] = Field(
        None, alias="originId", description="Accepted for symmetry; a handle names its row's own origin. Default: none."
    )
    access_id: Annotated[str | None, Id()] = Field(None, alias="accessId", description=_ACCESS)
    grant_id: Annotated[str | None, Id()] = Field(
        None,
        alias="grantId",
        description="Another name of accessId, as handles have it; both must be equal. Default: none.",
    )

    def query(self) -> LinesQuery:
        if self.record_ids is None and self.project is None:
            raise Malformed(FieldError("recordIds", "is required, or project"))
        return LinesQuery(
            record_ids=self.record_ids,
            project=self.project,
            limit=self.limit,
            as_of=self.as_of,
            credentials=credentials(self.access_id, self.grant_id),
        )


def _part(model: type[Any], given: object, path: str) -> Any:
    """A part of the provenance, its faults under its path."""
    if not isinstance(given, Mapping):
        raise Malformed(FieldError(path, "must be an object"))
    try:
        part = model.parse(given)
    except Malformed as fault:
        raise Malformed(*(FieldError(f"{path}.{error.field}", error.message) for error in fault.errors)) from None
    return part


def _limit(provenance: _ReadProvenance) -> Limit:
    if provenance.version != _VERSION:
        raise Malformed(FieldError("readProvenance.version", f"must be {_VERSION}"))
    return Limit(
        projects=_names(provenance.projects, "readProvenance.projects"),
        surfaces=_names(provenance.surfaces, "readProvenance.surfaces", list(Surface)),
        expires_at=provenance.expires_at,
    )


def _names(given: object, path: str, words: list[Surface] | None = None) -> frozenset[str]:
    """A list of ids, or of words; an empty one is a limit too."""
    if not isinstance(given, list) or not all(isinstance(name, str) and is_id(trimmed(name)) for name in given):
        raise Malformed(FieldError(path, "must be a list of ids"))
    names = frozenset(trimmed(name) for name in given)
    if words is not None and not names <= set(words):
        raise Malformed(FieldError(path, "must have items of " + ", ".join(words)))
    return names


class _CamelAnswer(Answer):
    """An answer whose fields are published in camelCase."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)


class Revision(_CamelAnswer):
    """A record at a digest."""

    record_id: str
    digest: str


class HandleScope(_CamelAnswer):
    """Where to look for the record."""

    project: str | None
    origin_id: str | None
    grant_id: str | None


class Handle(_CamelAnswer):
    """What to give to expand_record, flattened. Carries no secret and grants nothing."""

    operation: Literal["expand_record"]
    record_id: str
    digest: str
    as_of: str | None
    derivation_version: str
    derived_at: str | None
    scope: HandleScope


class ContextLine(_CamelAnswer):
    """A short statement derived from a record."""

    record_id: str
    type: str
    line: str = Field(description="At most 512 bytes: whole parts of the record.")
    omitted: list[str] = Field(description="Parts that did not fit.")
    bound_revision: Revision
    derived: Literal[True]
    derivation_version: str
    requires_expansion: bool = Field(description="True when the record says more than the line.")
    expansion: Handle


class ContextLinesAnswer(_CamelAnswer):
    """Lines in the order asked for, or the latest first."""

    lines: list[ContextLine]
    unresolved: list[str] = Field(description="Ids that gave no line, without saying why.")


class Budget(_CamelAnswer):
    """How many counterparts were investigated."""

    max_expansions: int
    used: int
    outcome: Literal["within_budget", "exhausted"]


class Pair(_CamelAnswer):
    """A counterpart of the record."""

    record_id: str
    relation: Literal["same_key", "supersedes", "superseded_by"]
    state: Literal["uninvestigated", "resolved", "unresolved"]
    basis: list[Literal["explicit_supersession", "different_times", "same_value"]]
    position: ContextLine
    record: dict[str, Any] | None = None


class Limited(_CamelAnswer):
    """What limits an answer."""

    code: str
    detail: str
    reason: str | None = None
    record_id: str | None = None


class Investigation(_CamelAnswer):
    """What stands against the record."""

    budget: Budget
    total: int
    omitted: int = Field(description="Counterparts that are not listed.")
    unreachable_links: int = Field(description="Linked records that you may read, outside this view.")
    pairs: list[Pair]
    limitation: Limited


class AcceptedGrant(_CamelAnswer):
    """The grant that was accepted."""

    access_id: str
    expires_at: str
    surface: Literal["http", "mcp"]


class CoveredScope(_CamelAnswer):
    """What the answer covers."""

    project: str | None
    request_state: Literal["project_selected", "origin_only", "unresolved"]
    origin_presented: bool
    grant: AcceptedGrant | None


class CaptureGap(_CamelAnswer):
    """What a capture tool missed."""

    reason: str
    count: int


class Capture(_CamelAnswer):
    """What a capture tool last said about the project."""

    pending: int
    prior_setup: int
    gaps: list[CaptureGap]


class Completeness(_CamelAnswer):
    """Whether this is all."""

    scope: CoveredScope
    complete: bool
    limitation: Limited | None = None
    capture: Capture | None = None


class ProvenanceScope(_CamelAnswer):
    """The project and origin that were asked for."""

    project: str | None
    origin_id: str | None


class ReadProvenance(_CamelAnswer):
    """What the answer was read under."""

    version: Literal[1]
    request: ProvenanceScope
    access_id: str
    projects: list[str]
    surfaces: list[str]
    expires_at: str


class ExpandRecordAnswer(_CamelAnswer):
    """The live record, its standing, and how complete that is."""

    record_id: str
    status: Literal["current", "revision_changed", "purged", "unavailable"]
    record: dict[str, Any] | None = Field(description="The whole live record, with links.")
    bound_revision: Revision
    current_revision: Revision | None
    revision_changed: bool | None
    investigation: Investigation | None
    completeness: Completeness
    read_provenance: ReadProvenance | None = None
