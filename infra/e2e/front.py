"""Stands before the deployed API: an OIDC issuer with one key, which exchanges development tokens for signed ones.

The gateway behind it checks every token by itself: it fetches the issuer's keys, and decides on signature, issuer,
audience and expiry as deployed.
"""

import base64
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from infra.local.events import claims_of

AUDIENCE = "hopscope"
_LIFE_SECONDS = 3600
_DROPPED = {"host", "authorization", "connection", "content-length", "transfer-encoding"}
_OWN_PATHS = {"/health"}
"""Paths that the emulator answers itself, whatever the host; the API's are reached by its longer address."""


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Issuer:
    """Signs claims, and publishes the key to check them by."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def token(self, claims: Mapping[str, Any], **changed: Any) -> str:
        """A token of some claims; `changed` overrides what the issuer adds."""
        now = int(time.time())
        ours = {"iss": self.url, "aud": AUDIENCE, "iat": now - 5, "exp": now + _LIFE_SECONDS, **changed}
        kept = {name: value for name, value in claims.items() if value is not None}
        parts = ({"alg": "RS256", "typ": "JWT", "kid": "k1"}, {**kept, **ours})
        signed = ".".join(_encoded(json.dumps(part).encode()) for part in parts)
        signature = self._key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{_encoded(signature)}"

    def document(self, path: str) -> Mapping[str, Any] | None:
        """What the issuer publishes at `path`."""
        if path == "/.well-known/openid-configuration":
            return {"issuer": self.url, "jwks_uri": f"{self.url}/jwks"}
        if path == "/jwks":
            public = self._key.public_key().public_numbers()
            return {"keys": [{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "k1", **_numbers(public)}]}
        return None


def _numbers(public: rsa.RSAPublicNumbers) -> dict[str, str]:
    return {
        name: _encoded(number.to_bytes((number.bit_length() + 7) // 8))
        for name, number in (("n", public.n), ("e", public.e))
    }


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    issuer: Issuer
    emulator_port: int = 0
    api_id: str = ""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if (document := self.server.issuer.document(self.path)) is not None:
            self._answer(200, (("content-type", "application/json"),), json.dumps(document).encode())
            return
        connection = HTTPConnection("127.0.0.1", self.server.emulator_port, timeout=60)
        try:
            path, host = self._destination()
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _DROPPED}
            connection.request(self.command, path, body, {**headers, **self._authorization(), "Host": host})
            answer = connection.getresponse()
            self._answer(answer.status, answer.getheaders(), answer.read())
        finally:
            connection.close()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _serve  # noqa: N815 - the library's names

    def _destination(self) -> tuple[str, str]:
        host = f"{self.server.api_id}.execute-api.localhost:{self.server.emulator_port}"
        if self.path in _OWN_PATHS:
            return f"/_aws/execute-api/{self.server.api_id}/$default{self.path}", host.partition(".")[2]
        return self.path, host

    def _authorization(self) -> dict[str, str]:
        given = self.headers.get("authorization")
        claims = claims_of(given)
        if claims is not None:
            return {"Authorization": f"Bearer {self.server.issuer.token(claims)}"}
        return {"Authorization": given} if given else {}

    def _answer(self, status: int, headers: Any, body: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in _DROPPED:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing: the functions log their own requests."""


class Front:
    """A running front; `lead_to` tells it where the API is."""

    def __init__(self, server: _Server) -> None:
        self._server = server
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        self.issuer = server.issuer = Issuer(self.url)

    def lead_to(self, emulator_port: int, api_id: str) -> None:
        self._server.emulator_port, self._server.api_id = emulator_port, api_id


@contextmanager
def front() -> Iterator[Front]:
    """A front on a free port of the loopback interface."""
    server = _Server(("127.0.0.1", 0), _Handler)
    running = Front(server)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield running
    finally:
        server.shutdown()
        server.server_close()
