"""Reads template.yaml, so that local and test tables, routes and settings can never drift from what is deployed.

It evaluates only what a local run needs: parameters at their defaults, and the few functions used around them.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

TEMPLATE = Path(__file__).parents[2] / "template.yaml"
"""The deployed template."""

_REFERENCE = re.compile(r"\$\{([A-Za-z0-9]+)[^}]*\}")


class _Loader(yaml.SafeLoader):
    """YAML with the short forms of CloudFormation's functions."""


def _short_form(loader: yaml.SafeLoader, tag: str, node: yaml.Node) -> dict[str, Any]:
    if isinstance(node, yaml.ScalarNode):
        value: Any = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    elif isinstance(node, yaml.MappingNode):
        value = loader.construct_mapping(node, deep=True)
    else:
        raise yaml.constructor.ConstructorError(None, None, f"unknown node {node.tag}", node.start_mark)
    if tag == "GetAtt" and isinstance(value, str):
        value = value.split(".")
    return {tag if tag in {"Ref", "Condition"} else f"Fn::{tag}": value}


_Loader.add_multi_constructor("!", _short_form)


@dataclass(frozen=True, slots=True)
class Function:
    """A deployed function."""

    name: str
    handler: str
    memory_mb: int
    timeout_seconds: int


@dataclass(frozen=True, slots=True)
class Route:
    """A route of the HTTP API, and the function behind it."""

    method: str
    path: str
    function: Function
    is_open: bool

    @property
    def key(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Table:
    """A table as CreateTable takes it."""

    name: str
    definition: Mapping[str, Any]
    ttl_attribute: str | None


class Template:
    """The tables, routes, functions and settings of a parsed template."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._resources: Mapping[str, Any] = document["Resources"]
        self._globals: Mapping[str, Any] = document.get("Globals", {}).get("Function", {})
        self._defaults = {
            name: _default(parameter)
            for name, parameter in document.get("Parameters", {}).items()
            if "Default" in parameter
        }

    @classmethod
    def load(cls, path: Path = TEMPLATE) -> "Template":
        # A subclass of the safe loader, so no object can be built but plain values.
        return cls(yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader))  # noqa: S506

    def tables(self) -> tuple[Table, ...]:
        return tuple(_table(logical_id, found) for logical_id, found in self._of_type("AWS::DynamoDB::Table"))

    def functions(self) -> dict[str, Function]:
        """Functions by logical id."""
        return {logical_id: self._function(found) for logical_id, found in self._of_type("AWS::Serverless::Function")}

    def routes(self) -> tuple[Route, ...]:
        functions = self.functions()
        found = []
        for _, route in self._of_type("AWS::ApiGatewayV2::Route"):
            method, path = route["RouteKey"].split(" ", 1)
            integration = self._resources[_named(route["Target"], self._resources)]["Properties"]
            function = functions[_named(integration["IntegrationUri"], functions)]
            found.append(Route(method, path, function, route.get("AuthorizationType", "NONE") == "NONE"))
        return tuple(found)

    def environment(self) -> dict[str, str]:
        """The variables that every function is given, parameters at their defaults."""
        variables = self._globals.get("Environment", {}).get("Variables", {})
        return {name: str(self._value(value)) for name, value in variables.items()}

    def _of_type(self, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for logical_id, resource in self._resources.items():
            if resource["Type"] == kind:
                yield logical_id, resource.get("Properties", {})

    def _function(self, properties: Mapping[str, Any]) -> Function:
        merged = {**self._globals, **properties}
        handler = merged["Handler"]
        return Function(handler.split(".")[1], handler, int(merged["MemorySize"]), int(merged["Timeout"]))

    def _value(self, value: Any) -> Any:
        match value:
            case {"Ref": name}:
                return self._defaults[name] if name in self._defaults else physical_name(name)
            case {"Fn::Join": [separator, parts]}:
                return separator.join(self._value(parts))
            case str() | int():
                return value
            case _:
                message = f"not evaluated locally: {value!r}"
                raise ValueError(message)


def physical_name(logical_id: str) -> str:
    """What a resource without a name of its own is called locally."""
    return f"hopscope-{logical_id}"


def _default(parameter: Mapping[str, Any]) -> Any:
    default = parameter["Default"]
    return str(default).split(",") if parameter["Type"] == "CommaDelimitedList" else default


def _table(logical_id: str, properties: Mapping[str, Any]) -> Table:
    kept = ("BillingMode", "AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes")
    name = physical_name(logical_id)
    definition = {"TableName": name, **{key: properties[key] for key in kept if key in properties}}
    return Table(name, definition, properties.get("TimeToLiveSpecification", {}).get("AttributeName"))


def _named(value: Any, among: Mapping[str, Any]) -> str:
    """The logical id, of those given, that an expression refers to."""
    for name in _references(value):
        if name in among:
            return name
    message = f"refers to nothing known: {value!r}"
    raise ValueError(message)


def _references(value: Any) -> Iterator[str]:
    match value:
        case {"Ref": str(name)}:
            yield name.split(".")[0]
        case {"Fn::GetAtt": [name, *_]}:
            yield name
        case {"Fn::Sub": str(text)}:
            yield from _REFERENCE.findall(text)
        case {"Fn::Sub": [str(text), *_]}:
            yield from _REFERENCE.findall(text)
