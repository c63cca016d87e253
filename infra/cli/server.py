"""One server and one caller: requests, their retries, and refusals in words. It never shows a token."""

import json
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

JSON = "application/json"
NDJSON = "application/x-ndjson"
_TIMEOUT = httpx.Timeout(60, connect=5)
_BUSY = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}
_ATTEMPTS = 5
_LONGEST_WAIT = 20.0

_HINTS = {
    HTTPStatus.UNAUTHORIZED: "Deployed: set HOPSCOPE_TOKEN, or sign with --iam. Local: --as, --tenant, --roles.",
    HTTPStatus.FORBIDDEN: "Locally, add the role to --roles.",
}


class Failed(Exception):
    """What a command ends with: a text for people, and the exit code."""

    def __init__(self, text: str, code: int = 1) -> None:
        super().__init__(text)
        self.code = code


class Bearer(httpx.Auth):
    """A token, sent as it is."""

    def __init__(self, token: str) -> None:
        self._token = token

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response]:
        request.headers["Authorization"] = f"Bearer {self._token}"
        yield request


class Signed(httpx.Auth):
    """A signature by this machine's AWS credentials, for a server that maps ARNs to principals."""

    requires_request_body = True

    def __init__(self) -> None:
        import boto3  # slow to load, and few need it

        session = boto3.Session()
        credentials, region = session.get_credentials(), session.region_name
        if credentials is None or region is None:
            raise Failed("--iam needs AWS credentials and a region, as the AWS command line does.", 2)
        self._credentials, self._region = credentials, region

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response]:
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        kept = {name: value for name, value in request.headers.items() if name in {"host", "content-type"}}
        signed = AWSRequest(method=request.method, url=str(request.url), data=request.content, headers=kept)
        SigV4Auth(self._credentials, "execute-api", self._region).add_auth(signed)
        request.headers.update(dict(signed.headers.items()))
        yield request


REFUSED = 1
"""The server said no, or took only a part."""
NO_ANSWER = 3
"""The server can't be reached, or is too busy."""
INTERRUPTED = 130
"""As shells say of a command that Ctrl-C ended."""


def path(*parts: str) -> str:
    """A path under /api, its parts encoded.

    >>> path("memories", "a/b")
    '/api/memories/a%2Fb'
    """
    return "/api/" + "/".join(quote(part, safe="") for part in parts)


@dataclass(frozen=True, slots=True)
class Server:
    """Sends requests, each again while the server is busy: every command may be repeated without harm."""

    client: httpx.Client
    wait: Callable[[float], None] = time.sleep

    @classmethod
    def at(cls, url: str, auth: httpx.Auth) -> "Server":
        return cls(httpx.Client(base_url=url, auth=auth, headers={"User-Agent": "hopscope-cli"}, timeout=_TIMEOUT))

    def get(self, path: str, query: Mapping[str, str | None] | None = None) -> Any:
        return _body(self._send("GET", path, params=_given(query or {})))

    def post(self, path: str, fields: Mapping[str, Any]) -> Any:
        return _body(self._send("POST", path, json=_given(fields)))

    def delete(self, path: str) -> Any:
        return _body(self._send("DELETE", path))

    def import_lines(self, body: bytes) -> Any:
        return _body(self._send("POST", "/api/import", content=body, headers={"Content-Type": NDJSON}))

    def export_pages(self) -> Iterator[bytes]:
        """JSON Lines, a page at a time."""
        cursor: str | None = None
        while True:
            answer = self._send("GET", "/api/export", params=_given({"cursor": cursor}))
            yield answer.content
            cursor = answer.headers.get("X-Next-Cursor")
            if cursor is None:
                return

    def listed(self, path: str, query: Mapping[str, str | None], name: str) -> list[dict[str, Any]]:
        """All pages of a list."""
        page = self.get(path, query)
        found: list[dict[str, Any]] = page[name]
        while cursor := page.get("cursor"):
            page = self.get(path, {**query, "cursor": cursor})
            found += page[name]
        return found

    def _send(self, method: str, path: str, **sent: Any) -> httpx.Response:
        answer = self._once(method, path, **sent)
        for attempt in range(1, _ATTEMPTS):
            if answer.status_code not in _BUSY:
                break
            self.wait(_seconds(answer, attempt))
            answer = self._once(method, path, **sent)
        if answer.status_code != HTTPStatus.OK:
            raise Failed(refusal(answer), NO_ANSWER if answer.status_code in _BUSY else REFUSED)
        return answer

    def _once(self, method: str, path: str, **sent: Any) -> httpx.Response:
        try:
            return self.client.request(method, path, **sent)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as fault:
            raise Failed(f"{self.client.base_url} is no address: {fault}", 2) from None
        except httpx.TransportError as fault:
            raise Failed(_unreachable(self.client.base_url, fault), NO_ANSWER) from None


def refusal(answer: httpx.Response) -> str:
    """A problem document, or whatever else came instead, in words."""
    status = answer.status_code
    try:
        problem = answer.json()
    except ValueError:
        problem = {}
    if not isinstance(problem, dict):
        problem = {}
    title = problem.get("title") or problem.get("message") or answer.reason_phrase
    detail = problem.get("detail")
    lines = [f"{status} {title}" + (f": {detail}" if detail and detail != title else "")]
    lines += [f"  {fault.get('field')} {fault.get('message')}" for fault in problem.get("errors") or ()]
    if hint := _HINTS.get(HTTPStatus(status)):
        lines.append(hint)
    if instance := problem.get("instance"):
        lines.append(f"(request {instance})")
    return "\n".join(lines)


def _unreachable(url: httpx.URL, fault: httpx.TransportError) -> str:
    if isinstance(fault, httpx.TimeoutException):
        return f"{url} did not answer in time."
    return f"{url} can't be reached: {fault}.\nIs it running? `make run` or `hopscope serve` starts one."


def _seconds(answer: httpx.Response, attempt: int) -> float:
    asked = answer.headers.get("Retry-After", "")
    return min(max(float(asked) if asked.isdecimal() else 0.0, 0.2 * 2.0**attempt), _LONGEST_WAIT)


def _body(answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except json.JSONDecodeError:
        raise Failed(f"{answer.url} answered no JSON: is it a Hopscope server?") from None


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What was given; an empty list is as good as none."""
    return {name: value for name, value in fields.items() if value is not None and value != []}
