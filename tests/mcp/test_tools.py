"""What a model is told of each tool: complete descriptions, flat schemas, hints that are true."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from shared.boundary.schemas import input_schema, output_schema
from shared.boundary.tools import TOOLS, Tool
from shared.domain.principal import Role

every_tool = pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
COMBINERS = {"$ref", "$defs", "anyOf", "oneOf", "allOf", "not", "if"}


def keys(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield key
            yield from keys(value)
    elif isinstance(node, list):
        for item in node:
            yield from keys(item)


@every_tool
def test_a_description_has_60_to_110_words_and_says_what_hints_cannot(tool: Tool) -> None:
    assert 60 <= len(tool.description.split()) <= 110
    for told in ("Use it when", "instead use", "clamped", "three rounds"):
        assert told.lower() in tool.description.lower(), told
    assert re.search(r"\b(writes nothing|writes|removes|records)\b", tool.description, re.IGNORECASE)
    assert any(other.name in tool.description for other in TOOLS if other is not tool)
    assert tool.title
    assert tool.instead


@every_tool
def test_an_input_is_one_flat_closed_object(tool: Tool) -> None:
    schema = input_schema(tool.request)
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) <= schema["properties"].keys()
    assert not COMBINERS & set(keys(schema))
    assert None not in [property_.get("default", ...) for property_ in schema["properties"].values()]


@every_tool
def test_every_parameter_is_described_with_its_range_and_default(tool: Tool) -> None:
    schema = input_schema(tool.request)
    for name, parameter in schema["properties"].items():
        text = parameter["description"]
        assert len(text.split()) >= 5, name
        if name not in schema["required"]:
            assert "default" in text.lower(), name
        for bound in ("minimum", "maximum", "default"):
            if bound in parameter and parameter["type"] == "integer":
                assert str(parameter[bound]) in text, (name, bound)


@every_tool
def test_an_output_is_an_open_object_without_references(tool: Tool) -> None:
    schema = output_schema(tool.answer)
    assert schema["type"] == "object"
    assert schema["properties"]
    assert not (COMBINERS - {"anyOf"}) & set(keys(schema))


@every_tool
def test_a_tool_that_only_reads_needs_no_more_than_reading(tool: Tool) -> None:
    if tool.hints.read_only:
        assert not tool.hints.destructive
        assert tool.needs is Role.READER
    assert not tool.hints.open_world
