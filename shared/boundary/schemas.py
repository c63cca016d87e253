"""JSON Schemas of the models in the form that tool-calling clients take: one flat object, references written out."""

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
    if "anyOf" in node:
        return _flat(_nullable(node, definitions), definitions)
    flat = {key: _flat(value, definitions) for key, value in node.items() if key not in ("$defs", "title")}
    if "properties" in node:
        flat["properties"] = {name: _flat(member, definitions) for name, member in node["properties"].items()}
    if flat.get("default", ...) is None:
        del flat["default"]
    return flat


def _nullable(node: Schema, definitions: Schema) -> Schema:
    """`X | None` as the types of X and null; a field that is None by default is absent instead, so X alone."""
    options = [option for option in node["anyOf"] if option.get("type") != "null"]
    if len(options) != 1:
        raise TypeError("Only X | None can be written without anyOf.")
    rest = {key: value for key, value in node.items() if key != "anyOf"}
    option = _flat(options[0], definitions)
    if "default" not in rest and len(options) < len(node["anyOf"]):
        option = {**option, "type": [option["type"], "null"]}
    return {**option, **rest}


def _opened(node: Any) -> Any:
    if isinstance(node, list):
        return [_opened(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _opened(value) for key, value in node.items() if not (key == "additionalProperties" and value is False)
    }
