"""One API Gateway request, whichever of the two event shapes brought it (HTTP API v2, REST v1).

Reads the event through Powertools' data classes; never looks at who is asking (see `principal`).
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from aws_lambda_powertools.utilities.data_classes.api_gateway_proxy_event import (
    APIGatewayProxyEvent,
    APIGatewayProxyEventV2,
)

Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A request as sent. Path and query values are decoded once, whoever does it; header names are lower-case.

    A header sent several times is one text joined by commas. `body` is None when it was not valid base64.
    """

    method: str
    resource: str
    path: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes | None
    request_id: str
    domain_name: str

    @property
    def route(self) -> str:
        return f"{self.method} {self.resource}"

    @property
    def accepts_gzip(self) -> bool:
        codings = self.headers.get("accept-encoding", "").lower().split(",")
        return "gzip" in (coding.partition(";")[0].strip() for coding in codings)

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").split(";")[0].strip().lower()


def incoming(event: Event) -> Incoming:
    """The request of `event`."""
    raw = dict(event)
    return _from_v2(APIGatewayProxyEventV2(raw)) if raw.get("version") == "2.0" else _from_v1(APIGatewayProxyEvent(raw))


def _from_v2(event: APIGatewayProxyEventV2) -> Incoming:
    context = event.request_context
    return Incoming(
        method=event.http_method.upper(),
        resource=event.route_key.rpartition(" ")[2].replace("+}", "}"),  # a greedy variable is one that may hold "/"
        path=event.path_parameters,
        query=event.query_string_parameters,
        headers={name.lower(): value for name, value in event.headers.items()},
        body=_body(event.body, is_base64=bool(event.is_base64_encoded)),
        request_id=context.request_id,
        domain_name=context.domain_name,
    )


def _from_v1(event: APIGatewayProxyEvent) -> Incoming:
    context = event.request_context
    headers = {name.lower(): value for name, value in event.headers.items()}
    headers.update({name.lower(): ",".join(values) for name, values in event.multi_value_headers.items()})
    return Incoming(
        method=event.http_method.upper(),
        resource=event.resource.replace("+}", "}"),
        path={name: unquote(value) for name, value in event.path_parameters.items()},  # a REST API leaves it encoded
        query=event.query_string_parameters,
        headers=headers,
        body=_body(event.body, is_base64=bool(event.is_base64_encoded)),
        request_id=context.request_id,
        domain_name=context.domain_name or "",
    )


def _body(text: str | None, *, is_base64: bool) -> bytes | None:
    if not text:
        return b""
    if not is_base64:
        return text.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
