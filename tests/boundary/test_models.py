"""What the documentation models publish is what the domain reads; what the answer models say is what verbs give."""

from dataclasses import fields
from typing import Any

import pytest

from shared.boundary.models.base import LineRequest
from shared.boundary.models.edges import EdgeDelete, EdgePut
from shared.boundary.models.memberships import MembershipPut
from shared.boundary.models.memories import MemoryChange, MemoryPut
from shared.domain.errors import FieldError, Malformed
from shared.domain.lines import EdgeKey, EdgeLine, MembershipLine, MemoryLine, PatchFields
from shared.engine.writes import MemoryPatch


@pytest.mark.parametrize(
    ("model", "line", "besides"),
    [
        (MemoryPut, MemoryLine, set()),
        (MemoryChange, PatchFields, {"id"}),
        (EdgePut, EdgeLine, set()),
        (EdgeDelete, EdgeKey, set()),
        (MembershipPut, MembershipLine, set()),
    ],
)
def test_a_line_model_publishes_exactly_the_lines_fields(
    model: type[LineRequest], line: Any, besides: set[str]
) -> None:
    assert set(model.model_fields) == {field.name for field in fields(line)} | besides


def test_a_line_model_reads_as_an_import_does() -> None:
    line = MemoryPut.read({"id": "a", "type": "note", "name": "A", "scope": "project", "project_id": "p"})
    assert (line.id, line.scope_key) == ("a", "p")
    with pytest.raises(Malformed) as caught:
        MemoryPut.read({"id": "a", "type": "note"})
    assert caught.value.errors == (FieldError("name", "is required"),)


def test_a_patch_keeps_null_apart_from_absent() -> None:
    assert MemoryChange.read({"id": " a ", "scope": None}) == MemoryPatch("a", PatchFields(scope=None))
