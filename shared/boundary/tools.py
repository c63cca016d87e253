"""The tools that MCP clients see: one entry a verb, in the order they are listed.

To add one, append a `Tool` to TOOLS; its models and its `run` are those of the HTTP operation, so that both doors give
one answer. A description states what it reads or changes, when to use it and which sibling to use instead, what the
hints cannot say (rights, order, clamping, not-found, rounds), in 60 to 110 words.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shared.boundary.models.associations import AssociationsAnswer, AssociationsRequest
from shared.boundary.models.base import Answer, Request
from shared.boundary.models.expand import ExpandAnswer, ExpandRequest
from shared.boundary.models.records import (
    ContextLinesAnswer,
    ContextLinesRequest,
    ExpandRecordAnswer,
    ExpandRecordRequest,
)
from shared.boundary.models.slice import SliceAnswer, SliceRequest
from shared.boundary.models.traverse import TraverseAnswer, TraverseRequest
from shared.domain.principal import Role
from shared.engine.associations import declare_associations
from shared.engine.expand import expand_neighbors
from shared.engine.lines import context_lines
from shared.engine.records import expand_record
from shared.engine.session import Session
from shared.engine.slice import fetch_slice
from shared.engine.traverse import traverse


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """What a client may rely on. None of the tools reaches beyond the product's own store."""

    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool = False


READS = Hints(read_only=True, destructive=False, idempotent=True)
"""A tool that never writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One verb as a tool. `instead` tells a model what to do when nothing was found."""

    name: str
    title: str
    description: str
    needs: Role
    request: type[Request]
    answer: type[Answer]
    hints: Hints
    run: Callable[[Any, Session, Any], Mapping[str, Any]]
    instead: str


EXPAND_NEIGHBORS = Tool(
    name="expand_neighbors",
    title="Expand neighbors",
    description=(
        "Lists the memories, passages and entities that relate to memories you already hold, walking the typed graph "
        "1 to 3 hops from their ids and only through what you may read. Use it when you have ids and want what they "
        "depend on, decide, mention or contain; instead use fetch_slice to read a text around a passage, or traverse "
        "when you have a name and no id. Best score first; content is a preview. Seeds that are absent or forbidden "
        "come back in unresolved. Numbers out of range are clamped. Writes nothing. Plan three rounds of retrieval at "
        "most, then answer."
    ),
    needs=Role.READER,
    request=ExpandRequest,
    answer=ExpandAnswer,
    hints=READS,
    run=expand_neighbors,
    instead="Take ids from an earlier answer of expand_neighbors, or find a name with traverse.",
)

FETCH_SLICE = Tool(
    name="fetch_slice",
    title="Fetch slice",
    description=(
        "Reads the text of one memory as consecutive passages: from its beginning for a memory id, around the passage "
        "for a passage id. Use it when a preview from expand_neighbors is not enough to answer or to quote; instead "
        "use expand_neighbors to find related memories, and do not call it again when covers_parent is true. "
        "Passages come in order until content_max_chars is spent; truncated marks what was cut. Cite parent_id. Absent "
        "and forbidden ids get one not-found answer; numbers out of range are clamped. Writes nothing. Plan three "
        "rounds of retrieval at most, then answer."
    ),
    needs=Role.READER,
    request=SliceRequest,
    answer=SliceAnswer,
    hints=READS,
    run=fetch_slice,
    instead="Take an id from origins or neighbors of expand_neighbors; asking again for this id will not help.",
)

COUNTED = Hints(read_only=False, destructive=False, idempotent=False)
"""A tool that reads; a grant presented to it is counted each time."""

CONTEXT_LINES = Tool(
    name="context_lines",
    title="Context lines",
    description=(
        "States records in one short line each, with a handle that opens the record later and tells whether it has "
        "changed: for ids that you hold, or for the latest records of a project you belong to. Use it when many "
        "records must be kept in mind; instead use expand_record to read one whole, or fetch_slice for a passage. "
        "Lines come in the order asked for; ids that are absent or forbidden come back in unresolved. Numbers "
        "out of range are clamped. Changes no record, but each presented grant is counted in its audit. Plan three "
        "rounds of retrieval at most, then answer."
    ),
    needs=Role.READER,
    request=ContextLinesRequest,
    answer=ContextLinesAnswer,
    hints=COUNTED,
    run=context_lines,
    instead="Take ids from an earlier answer, or name a project you belong to.",
)

EXPAND_RECORD = Tool(
    name="expand_record",
    title="Expand record",
    description=(
        "Opens the record behind a context line as it is now, says whether it is still what the line said, and lists "
        "records that may contradict or replace it. Use it when you mean to rely on a remembered line, with its "
        "handle's fields flattened; instead use context_lines for many records at once, or expand_neighbors for other "
        "relations. Without a project, or an origin, nothing is in view: status unavailable, absent and forbidden "
        "alike. completeness names what is missing. Numbers out of range are clamped. Changes no record, but each "
        "presented grant is counted in its audit. Plan three rounds of retrieval at most, then answer."
    ),
    needs=Role.READER,
    request=ExpandRecordRequest,
    answer=ExpandRecordAnswer,
    hints=COUNTED,
    run=expand_record,
    instead="Take the handle from context_lines, with its project; asking again for this record will not help.",
)

TRAVERSE = Tool(
    name="traverse",
    title="Traverse a name",
    description=(
        "Finds the entities that a name or alias stands for, what was declared about them up to 5 relations away, and "
        "the ids of memories that mention them, all within what you may read. Use it when you have a name and no id; "
        "instead use expand_neighbors when you have ids, and fetch_slice to read a mention: no text is returned here. "
        "Nearest entities come first, then the latest declared. An unknown name, or another's agent, gives reason "
        "no_such_entity; bounds.omitted names what was cut. Numbers out of range are clamped. Writes nothing. Plan "
        "three rounds of retrieval at most, then answer."
    ),
    needs=Role.READER,
    request=TraverseRequest,
    answer=TraverseAnswer,
    hints=READS,
    run=traverse,
    instead="Check agent_id and the spelling of the name, or leave out project_id and channel.",
)

DECLARE_ASSOCIATIONS = Tool(
    name="declare_associations",
    title="Declare associations",
    description=(
        "Stores names, aliases and relations between them for an agent, lets an anchor memory mention them, or takes "
        "them back with retract. Use it when something was stated that traverse should find later; never for guesses, "
        "and instead use traverse to look a name up. Needs the role writer, an agent you may act as, and membership of "
        "the project, else not found. Repeating a declaration changes nothing. A retraction removes rows for all "
        "readers. Nothing is clamped: malformed or excess items come back in dropped, all others apply. It is no "
        "retrieval: plan three rounds of that at most, then answer."
    ),
    needs=Role.WRITER,
    request=AssociationsRequest,
    answer=AssociationsAnswer,
    hints=Hints(read_only=False, destructive=True, idempotent=True),
    run=declare_associations,
    instead="Use an agent that you may act as and a project that you belong to, or leave out project_id.",
)

TOOLS: tuple[Tool, ...] = (
    EXPAND_NEIGHBORS,
    FETCH_SLICE,
    TRAVERSE,
    EXPAND_RECORD,
    CONTEXT_LINES,
    DECLARE_ASSOCIATIONS,
)
