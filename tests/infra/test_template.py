"""The template holds what the product promises: its table, its routes, and no right that a function doesn't need."""

import json
import os
from typing import Any

import pytest
import yaml

from infra.local.gateway import imported
from infra.local.template import TEMPLATE, Template, _Loader
from shared.boundary.telemetry import measure

OPEN_ROUTES = {
    "GET /health",
    "GET /openapi.json",
    "GET /.well-known/oauth-protected-resource",
    "GET /.well-known/oauth-protected-resource/mcp",
}
ROUTES = OPEN_ROUTES | {
    "POST /api/search/expand",
    "POST /api/search/slice",
    "POST /api/search/traverse",
    "POST /api/records/expand",
    "POST /api/records/lines",
    "POST /api/associations",
    "GET /api/memories/{id+}",
    "PUT /api/memories/{id+}",
    "PATCH /api/memories/{id+}",
    "DELETE /api/memories/{id+}",
    "PUT /api/edges",
    "DELETE /api/edges",
    "PUT /api/memberships",
    "DELETE /api/memberships",
    "POST /api/import",
    "GET /api/export",
    "POST /api/grants",
    "GET /api/grants",
    "GET /api/grants/{id}",
    "DELETE /api/grants/{id}",
    "POST /api/grants/{id}/recheck",
    "GET /api/audit",
    "POST /api/projects/{id}/purge",
    "POST /mcp",
    "GET /mcp",
    "DELETE /mcp",
}


@pytest.fixture(scope="module")
def resources() -> dict[str, Any]:
    document = yaml.load(TEMPLATE.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506
    found: dict[str, Any] = document["Resources"]
    return found


def of_type(resources: dict[str, Any], kind: str) -> dict[str, Any]:
    return {name: found for name, found in resources.items() if found["Type"] == kind}


def test_the_routes_are_exactly_these(template: Template) -> None:
    routes = template.routes()
    assert {route.key for route in routes} == ROUTES
    assert len(routes) == len(ROUTES)
    assert {route.key for route in routes if route.is_open} == OPEN_ROUTES


def test_a_routes_function_is_named_like_its_folder(template: Template) -> None:
    by_key = {route.key: route.function for route in template.routes()}
    assert by_key["POST /api/search/slice"].handler == "functions.fetch_slice.handler.handler"
    assert by_key["GET /mcp"].name == "mcp"
    assert by_key["GET /openapi.json"].name == "meta"


def test_each_function_answers_exactly_its_routes(template: Template, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in template.environment().items():
        monkeypatch.setenv(name, value)
    for function in template.functions().values():
        handler = imported(function)
        routes = {route.key.replace("+}", "}") for route in template.routes() if route.function == function}
        if function.name not in {"mcp", "sweep"}:
            assert {operation.route for operation in getattr(handler, "operations", ())} == routes, function.name


def test_the_table(template: Template, resources: dict[str, Any]) -> None:
    (table,) = template.tables()
    assert table.definition["KeySchema"] == [
        {"AttributeName": "PK", "KeyType": "HASH"},
        {"AttributeName": "SK", "KeyType": "RANGE"},
    ]
    assert [index["IndexName"] for index in table.definition["GlobalSecondaryIndexes"]] == ["ByTenant"]
    assert table.ttl_attribute == "ttl"
    stored = resources["MemoryTable"]
    assert stored["DeletionPolicy"] == stored["UpdateReplacePolicy"] == "Retain"
    properties = stored["Properties"]
    assert properties["DeletionProtectionEnabled"] is True
    assert properties["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert properties["SSESpecification"] == {"SSEEnabled": True, "SSEType": "KMS"}


def test_every_variable_has_a_local_value(template: Template) -> None:
    environment = template.environment()
    assert environment["TABLE_NAME"] == template.tables()[0].name
    assert environment["TENANT_CLAIM"] == "tenant_id"
    assert environment["SCOPE_KEYS_CLAIM"] == "scope_keys"
    assert not [name for name, value in environment.items() if not value]
    assert not {name for name in environment if name.startswith("AWS_")} & os.environ.keys()


def test_every_log_group_is_kept_and_bounded(resources: dict[str, Any]) -> None:
    groups = of_type(resources, "AWS::Logs::LogGroup")
    assert len(groups) == len(of_type(resources, "AWS::Serverless::Function")) + 1
    assert all(group["DeletionPolicy"] == "Retain" for group in groups.values())
    assert all("RetentionInDays" in group["Properties"] for group in groups.values())


READERS = {"ExpandNeighbors", "FetchSlice", "Traverse", "ExpandRecord", "ContextLines", "Mcp"}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    found: dict[str, Any] = yaml.load(TEMPLATE.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506
    return found


def test_the_parameters_are_these(document: dict[str, Any]) -> None:
    assert set(document["Parameters"]) == {
        *("AuthMode", "JwtIssuer", "JwtAudience", "TenantClaim", "SubjectClaim", "RolesClaim", "AgentsClaim"),
        *("ScopeKeysClaim", "AllowedOrigins", "Architecture", "LogLevel", "LogRetentionDays", "ThrottleRate"),
        *("ThrottleBurst", "HeavyThrottleRate", "SweepSchedule", "SnapStart", "Canary", "CanaryType"),
        *("AlarmTopicArn", "Revision"),
    }
    assert document["Parameters"]["AuthMode"]["AllowedValues"] == ["JWT", "IAM"]


def test_every_route_and_every_permission_leads_to_the_alias(
    document: dict[str, Any], resources: dict[str, Any]
) -> None:
    assert document["Globals"]["Function"]["AutoPublishAlias"] == "live"
    for integration in of_type(resources, "AWS::ApiGatewayV2::Integration").values():
        assert integration["Properties"]["IntegrationUri"]["Fn::Sub"].endswith(".Arn}:live/invocations")
    for permission in of_type(resources, "AWS::Lambda::Permission").values():
        assert permission["Properties"]["FunctionName"]["Ref"].endswith("Function.Alias")
        assert "${HttpApi}/*" in permission["Properties"]["SourceArn"]["Fn::Sub"]


def test_a_setting_that_decides_who_asks_makes_a_new_version(resources: dict[str, Any]) -> None:
    for name, function in of_type(resources, "AWS::Serverless::Function").items():
        described = function["Properties"]["VersionDescription"]["Fn::Sub"]
        told = {"JwtIssuer"} if name == "MetaFunction" else {"AuthMode", "TenantClaim", "SubjectClaim", "RolesClaim"}
        told |= set() if name == "MetaFunction" else {"AgentsClaim", "ScopeKeysClaim", "LogLevel"}
        assert described.split() == [f"${{{parameter}}}" for parameter in described_order(told)]


def described_order(told: set[str]) -> list[str]:
    order = ("JwtIssuer", "AuthMode", "TenantClaim", "SubjectClaim", "RolesClaim", "AgentsClaim", "ScopeKeysClaim")
    return [name for name in (*order, "LogLevel", "Revision") if name in told | {"Revision"}]


def test_a_versions_description_fits(document: dict[str, Any]) -> None:
    parameters = document["Parameters"]
    claims = [parameters[name]["MaxLength"] for name in parameters if name.endswith("Claim")]
    assert len(claims) == 5
    assert len("JWT") + sum(claims) + len("WARNING") + parameters["Revision"]["MaxLength"] + 7 <= 256
    assert parameters["JwtIssuer"]["MaxLength"] + parameters["Revision"]["MaxLength"] + 1 <= 256


def test_a_canary_is_taken_back_by_an_alarm(document: dict[str, Any]) -> None:
    assert document["Parameters"]["Canary"]["Default"] == "false"
    assert document["Globals"]["Function"]["DeploymentPreference"] == {
        "Enabled": {"Ref": "Canary"},
        "Type": {"Ref": "CanaryType"},
        "Alarms": [{"Ref": "ServerErrorsAlarm"}, {"Ref": "LatencyAlarm"}, {"Ref": "FaultsAlarm"}],
    }


def test_those_who_answer_readers_may_start_from_a_snapshot(resources: dict[str, Any]) -> None:
    functions = of_type(resources, "AWS::Serverless::Function")
    started = {name: found["Properties"].get("SnapStart") for name, found in functions.items()}
    assert {name.removesuffix("Function") for name, found in started.items() if found} == READERS
    assert all(found == {"ApplyOn": {"Ref": "SnapStart"}} for found in started.values() if found)


ALARMS = {
    "ServerErrorsAlarm": ("AWS/ApiGateway", "5xx"),
    "LatencyAlarm": ("AWS/ApiGateway", "Latency"),
    "ReadThrottleAlarm": ("AWS/DynamoDB", "ReadThrottleEvents"),
    "WriteThrottleAlarm": ("AWS/DynamoDB", "WriteThrottleEvents"),
    "FunctionThrottlesAlarm": ("AWS/Lambda", "Throttles"),
    "SweepErrorsAlarm": ("AWS/Lambda", "Errors"),
    "SweepDeadLettersAlarm": ("AWS/SQS", "ApproximateNumberOfMessagesVisible"),
    "FaultsAlarm": ("Hopscope", "Faults"),
    "AuditFailedAlarm": ("Hopscope", "AuditFailed"),
    "SweepLagAlarm": ("Hopscope", "SweepLag"),
    "SweepSilentAlarm": ("Hopscope", "SweepLag"),
}


def test_the_alarms(resources: dict[str, Any]) -> None:
    alarms = of_type(resources, "AWS::CloudWatch::Alarm")
    found = {
        name: (alarm["Properties"]["Namespace"], alarm["Properties"]["MetricName"]) for name, alarm in alarms.items()
    }
    assert found == ALARMS
    to_the_topic = {"Fn::If": ["HasAlarmTopic", [{"Ref": "AlarmTopicArn"}], {"Ref": "AWS::NoValue"}]}
    assert all(alarm["Properties"]["AlarmActions"] == to_the_topic for alarm in alarms.values())
    assert resources["LatencyAlarm"]["Properties"]["ExtendedStatistic"] == "p99"
    silent = resources["SweepSilentAlarm"]["Properties"]
    assert (silent["Statistic"], silent["TreatMissingData"]) == ("SampleCount", "breaching")


def test_an_alarm_of_ours_watches_what_the_functions_emit(
    resources: dict[str, Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("POWERTOOLS_METRICS_DISABLED", "POWERTOOLS_DEV"):
        monkeypatch.delenv(name, raising=False)
    for alarm in of_type(resources, "AWS::CloudWatch::Alarm").values():
        watched = alarm["Properties"]
        if watched["Namespace"] != "Hopscope":
            continue
        measure(watched["MetricName"], 1)
        emitted = json.loads(capsys.readouterr().out.splitlines()[-1])
        (told,) = emitted["_aws"]["CloudWatchMetrics"]
        assert (told["Namespace"], told["Metrics"][0]["Name"]) == ("Hopscope", watched["MetricName"])
        assert told["Dimensions"] == [[dimension["Name"] for dimension in watched["Dimensions"]]]
        assert all(emitted[dimension["Name"]] == dimension["Value"] for dimension in watched["Dimensions"])


def test_the_dashboard_is_json(resources: dict[str, Any]) -> None:
    body = json.loads(resources["Dashboard"]["Properties"]["DashboardBody"]["Fn::Sub"])
    titles = [widget["properties"]["title"] for widget in body["widgets"]]
    assert len(titles) == len(set(titles)) == 6
    assert "AuditFailed" in json.dumps(body)


def test_the_gateway_throttles_logs_and_lets_only_known_origins_ask(resources: dict[str, Any]) -> None:
    stage = resources["HttpStage"]["Properties"]
    assert stage["DefaultRouteSettings"]["ThrottlingRateLimit"] == {"Ref": "ThrottleRate"}
    heavy = {"POST /api/import", "GET /api/export", "POST /api/projects/{id}/purge"}
    assert set(stage["RouteSettings"]) == heavy
    assert all(
        route["ThrottlingRateLimit"] == {"Ref": "HeavyThrottleRate"} for route in stage["RouteSettings"].values()
    )
    assert set(json.loads(stage["AccessLogSettings"]["Format"])) >= {"requestId", "route", "status", "ms"}
    assert "authorization" not in stage["AccessLogSettings"]["Format"].lower()
    cors = resources["HttpApi"]["Properties"]["CorsConfiguration"]
    assert cors["AllowOrigins"] == {"Ref": "AllowedOrigins"}
    assert "AllowCredentials" not in cors


def test_each_closed_route_asks_for_a_token_or_a_signature(resources: dict[str, Any]) -> None:
    for route in of_type(resources, "AWS::ApiGatewayV2::Route").values():
        properties = route["Properties"]
        if properties["RouteKey"] in OPEN_ROUTES:
            assert properties["AuthorizationType"] == "NONE"
            continue
        assert properties["AuthorizationType"] == {"Fn::If": ["UseJwt", "JWT", "AWS_IAM"]}
        assert properties["AuthorizerId"]["Fn::If"][1] == {"Ref": "JwtAuthorizer"}
    authorizer = resources["JwtAuthorizer"]["Properties"]
    assert authorizer["JwtConfiguration"] == {"Issuer": {"Ref": "JwtIssuer"}, "Audience": {"Ref": "JwtAudience"}}
    assert authorizer["IdentitySource"] == ["$request.header.Authorization"]


def test_a_sweep_that_fails_leaves_a_message_and_does_not_meet_the_next(resources: dict[str, Any]) -> None:
    sweep = resources["SweepFunction"]["Properties"]
    assert sweep["Timeout"] < 60
    assert sweep["EventInvokeConfig"]["DestinationConfig"]["OnFailure"] == {
        "Type": "SQS",
        "Destination": {"Fn::GetAtt": ["SweepDeadLetters", "Arn"]},
    }
    schedule = sweep["Events"]["Schedule"]["Properties"]
    assert schedule["DeadLetterConfig"] == {"Arn": {"Fn::GetAtt": ["SweepDeadLetters", "Arn"]}}
    (allowed,) = resources["SweepDeadLettersPolicy"]["Properties"]["PolicyDocument"]["Statement"]
    assert allowed["Condition"] == {"ArnEquals": {"aws:SourceArn": {"Fn::GetAtt": ["SweepFunctionSchedule", "Arn"]}}}
