"""The whole table of permissions, literally: function, actions, and the letters of the partitions they may touch."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from infra.local.template import TEMPLATE, _Loader

INDEX = "Query of the index"
PERMISSIONS: Mapping[str, Mapping[str, str]] = {
    "expand_neighbors": {"BatchGetItem": "BMN", "Query": "N"},
    "fetch_slice": {"BatchGetItem": "BMN", "Query": "N"},
    "traverse": {"BatchGetItem": "BCMN", "Query": "ADN"},
    "expand_record": {"BatchGetItem": "BGMNP", "Query": "NPY", "ConditionCheckItem": "G", "UpdateItem": "U"},
    "context_lines": {"BatchGetItem": "BGMN", "Query": "JN", "ConditionCheckItem": "G", "UpdateItem": "U"},
    "declare_associations": {
        "BatchGetItem": "ABDMNP",
        "ConditionCheckItem": "N",
        "PutItem": "ADJNQ",
        "DeleteItem": "ADJN",
    },
    "memories": {
        "BatchGetItem": "ABDMNP",
        "Query": "N",
        "ConditionCheckItem": "N",
        "PutItem": "ADJNQY",
        "DeleteItem": "ADJNQY",
        "BatchWriteItem": "NQ",
    },
    "edges": {"BatchGetItem": "BMN", "ConditionCheckItem": "N", "PutItem": "N", "DeleteItem": "N"},
    "memberships": {"UpdateItem": "M", "DeleteItem": "M"},
    "import_lines": {
        "BatchGetItem": "ABCDGMNP",
        "Query": "N",
        "ConditionCheckItem": "NP",
        "PutItem": "ACDGJNPQY",
        "UpdateItem": "M",
        "DeleteItem": "ADGJNQY",
        "BatchWriteItem": "NQ",
    },
    "export_lines": {"BatchGetItem": "ABCDGMNP", "Query": "N", INDEX: "X"},
    "grants": {"BatchGetItem": "BGMP", "Query": "G", "ConditionCheckItem": "P", "PutItem": "G"},
    "grant_recheck": {"BatchGetItem": "BG"},
    "audit": {"BatchGetItem": "G", "Query": "U"},
    "purge": {"BatchGetItem": "BMP", "PutItem": "PQ", "UpdateItem": "BP"},
    "sweep": {
        "BatchGetItem": "BDGN",
        "Query": "GJNQ",
        "PutItem": "GQ",
        "UpdateItem": "BQ",
        "DeleteItem": "ADJNQY",
        "BatchWriteItem": "NQ",
    },
    "mcp": {
        "BatchGetItem": "ABCDGMNP",
        "Query": "ADJNPY",
        "ConditionCheckItem": "GN",
        "PutItem": "ADJNQ",
        "UpdateItem": "U",
        "DeleteItem": "ADJN",
    },
    "meta": {},
}
"""docs/architecture.md says what the letters are."""

UNSIGNED = {"meta", "sweep"}
"""Functions that have no caller to look up."""


@pytest.fixture(scope="module")
def resources() -> Mapping[str, Any]:
    found: Mapping[str, Any] = yaml.load(TEMPLATE.read_text(encoding="utf-8"), Loader=_Loader)["Resources"]  # noqa: S506
    return found


def roles(resources: Mapping[str, Any]) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """By function: its logical id without `Function`, and its role's properties."""
    return {
        found["Properties"]["Handler"].split(".")[1]: (
            name.removesuffix("Function"),
            resources[found["Properties"]["Role"]["Fn::GetAtt"][0]]["Properties"],
        )
        for name, found in resources.items()
        if found["Type"] == "AWS::Serverless::Function"
    }


def statements(role: Mapping[str, Any], policy: str) -> Iterator[Mapping[str, Any]]:
    for found in role["Policies"]:
        if found["PolicyName"] == policy:
            yield from found["PolicyDocument"]["Statement"]


def letters(statement: Mapping[str, Any]) -> str:
    """The partitions that a statement is for; it must be for one table or index, and for nothing but partitions."""
    assert set(statement) == {"Sid", "Effect", "Action", "Resource", "Condition"}
    assert statement["Effect"] == "Allow"
    assert set(statement["Condition"]) == {"ForAllValues:StringLike"}
    (key,) = statement["Condition"]["ForAllValues:StringLike"].items()
    assert key[0] == "dynamodb:LeadingKeys"
    assert all(len(prefix) == 3 and prefix.endswith("#*") for prefix in key[1])
    return "".join(prefix[0] for prefix in key[1])


def test_what_each_function_may_do_to_the_table(resources: Mapping[str, Any]) -> None:
    table: dict[str, dict[str, str]] = {}
    for function, (_, role) in roles(resources).items():
        rights = table.setdefault(function, {})
        for statement in statements(role, "table"):
            if "Fn::If" in statement:
                continue
            (action,) = statement["Action"]
            if statement["Resource"] == {"Fn::GetAtt": ["MemoryTable", "Arn"]}:
                name = action.removeprefix("dynamodb:")
            else:
                assert statement["Resource"] == {"Fn::Sub": "${MemoryTable.Arn}/index/ByTenant"}
                assert action == "dynamodb:Query"
                name = INDEX
            assert name not in rights
            rights[name] = letters(statement)
    assert table == PERMISSIONS


def test_callers_are_looked_up_only_where_they_sign(resources: Mapping[str, Any]) -> None:
    for function, (_, role) in roles(resources).items():
        conditional = [found["Fn::If"] for found in statements(role, "table") if "Fn::If" in found]
        if function in UNSIGNED:
            assert conditional == []
            continue
        ((condition, statement, otherwise),) = conditional
        assert (condition, otherwise) == ("UseIam", {"Ref": "AWS::NoValue"})
        assert (statement["Action"], letters(statement)) == (["dynamodb:BatchGetItem"], "L")
        assert statement["Resource"] == {"Fn::GetAtt": ["MemoryTable", "Arn"]}


def test_beside_the_table_a_function_may_only_log_trace_and_leave_a_failure(resources: Mapping[str, Any]) -> None:
    for function, (name, role) in roles(resources).items():
        assert role["AssumeRolePolicyDocument"]["Statement"] == [
            {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
        ]
        assert set(role) == {"AssumeRolePolicyDocument", "Policies"}
        kinds = (
            {"logs"} | ({"table"} if function != "meta" else set()) | ({"failures"} if function == "sweep" else set())
        )
        assert {policy["PolicyName"] for policy in role["Policies"]} == kinds
        logs, traces = statements(role, "logs")
        assert logs["Action"] == ["logs:CreateLogStream", "logs:PutLogEvents"]
        assert logs["Resource"] == {"Fn::GetAtt": [f"{name}Logs", "Arn"]}
        # X-Ray has no resources to name.
        assert traces["Action"] == ["xray:PutTelemetryRecords", "xray:PutTraceSegments"]
        for failure in statements(role, "failures"):
            assert failure["Action"] == ["sqs:SendMessage"]
            assert failure["Resource"] == {"Fn::GetAtt": ["SweepDeadLetters", "Arn"]}


def test_no_action_is_a_pattern_and_none_reads_the_table_whole() -> None:
    text = TEMPLATE.read_text(encoding="utf-8")
    assert "dynamodb:Scan" not in text
    assert "dynamodb:*" not in text


@pytest.mark.parametrize("function", ["expand_neighbors", "fetch_slice", "traverse", "export_lines", "audit"])
def test_what_only_reads_may_write_nothing(function: str) -> None:
    assert set(PERMISSIONS[function]) <= {"BatchGetItem", "Query", INDEX}
