"""JSON Schemas of the models in the form that tool-calling clients take: an object, with all references written out.

An input has no `anyOf` either, since the field types write their own schemas; in an output it says that null may come.
"""

from typing import Any

from pydantic import BaseModel

Schema = dict[str, Any]


def input_schema(model: type[BaseModel]) -> Schema:
    """What a caller may send: closed, though a read forgives an unknown field."""
    return {**_object(model), "additionalProperties": False}


def output_schema(model: type[BaseModel]) -> Schema:
    """What a caller gets: open, so that a client that keeps an older copy still accepts a later answer."""
    schema: Schema = _opened(_object(model))
    return schema


def _object(model: type[BaseModel]) -> Schema:
    schema = model.model_json_schema()
    flat: Schema = _flat(schema, schema.get("$defs", {}))
    return {"type": "object", "properties": {}, "required": [], **flat}


def _flat(node: Any, definitions: Schema) -> Any:
    if isinstance(node, list):
        return [_flat(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = definitions[node["$ref"].rpartition("/")[2]]
        return _flat({**target, **{key: value for key, value in node.items() if key != "$ref"}}, definitions)
    if "anyOf" in node and "default" in node:
        return _flat(_without_null(node), definitions)
    flat = {key: _flat(value, definitions) for key, value in node.items() if key not in ("$defs", "title")}
    if "properties" in node:
        flat["properties"] = {name: _flat(member, definitions) for name, member in node["properties"].items()}
    if flat.get("default", ...) is None:
        del flat["default"]
    return flat


def _without_null(node: Schema) -> Schema:
    """A field of X | None that is None by default is absent rather than null: X alone."""
    (option,) = [option for option in node["anyOf"] if option.get("type") != "null"]
    return {**option, **{key: value for key, value in node.items() if key != "anyOf"}}


def _opened(node: Any) -> Any:
    if isinstance(node, list):
        return [_opened(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _opened(value) for key, value in node.items() if not (key == "additionalProperties" and value is False)
    }
