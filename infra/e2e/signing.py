"""Callers that sign: a mapped role is served, an unmapped one is nobody, and its row decides from the next call on."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from infra.e2e.stack import REGION, Cloud
from shared.boundary.principal import reduced
from shared.domain.principal import Principal, Role
from shared.store.callers import CallerRows
from shared.store.table import Table

_ROLES = ("e2e-mapped", "e2e-unmapped")
_EXPAND = ("POST", "/api/search/expand", {"entity_ids": ["decision-single-table"]})
_ANA = Principal(tenant_id="demo", principal_id="ana", roles=frozenset({Role.READER}), agent_ids=frozenset({"planner"}))


def signed_callers(cloud: Cloud, api: str, table_name: str) -> list[str]:
    """What of the signed calls went wrong."""
    sessions = {name: _session(cloud, name) for name in _ROLES}
    with ThreadPoolExecutor(2) as pool:
        callers = CallerRows(Table(cloud.client("dynamodb"), table_name, pool))
        arn = reduced(cloud.client("iam").get_role(RoleName=_ROLES[0])["Role"]["Arn"])
        callers.add(arn, _ANA)
        got = {name: _ask(cloud, api, credentials, *_EXPAND) for name, credentials in sessions.items()}
        callers.remove(arn)
        removed = _ask(cloud, api, sessions[_ROLES[0]], *_EXPAND)
    wanted = {_ROLES[0]: HTTPStatus.OK, _ROLES[1]: HTTPStatus.UNAUTHORIZED}
    faults = [f"signed by {name}: {got[name]}" for name, status in wanted.items() if got[name][0] != status]
    return faults + ([f"signed by one no longer mapped: {removed}"] if removed[0] != HTTPStatus.UNAUTHORIZED else [])


def _session(cloud: Cloud, name: str) -> Credentials:
    """Credentials of a role that may call the API."""
    iam, sts = cloud.client("iam"), cloud.client("sts")
    anyone = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}
    invoke = {"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": "*"}
    role = iam.create_role(RoleName=name, AssumeRolePolicyDocument=_policy(anyone))["Role"]
    iam.put_role_policy(RoleName=name, PolicyName="call", PolicyDocument=_policy(invoke))
    given = sts.assume_role(RoleArn=role["Arn"], RoleSessionName="one")["Credentials"]
    return Credentials(given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"])


def _policy(statement: Mapping[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def _ask(cloud: Cloud, api: str, credentials: Credentials, method: str, path: str, body: Any) -> tuple[int, str]:
    url = f"http://127.0.0.1:{cloud.port}{path}"
    host = f"{api}.execute-api.localhost:{cloud.port}"
    signed = AWSRequest(method, url, {"Host": host, "Content-Type": "application/json"}, json.dumps(body).encode())
    SigV4Auth(credentials, "execute-api", REGION).add_auth(signed)
    request = urllib.request.Request(url, json.dumps(body).encode(), dict(signed.headers), method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - a loopback address
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read().decode()
