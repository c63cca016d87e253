"""The one table from refusals to HTTP answers (RFC 9457); what is not in it is a fault, and tells a caller nothing."""

from collections.abc import Mapping
from dataclasses import dataclass

from shared.domain.errors import (
    Conflict,
    Forbidden,
    Malformed,
    NotFound,
    Refusal,
    TooLarge,
    Unauthenticated,
    Unavailable,
)

PROBLEM_TYPE = "application/problem+json"
RETRY_AFTER_FAULT = 1


class UnsupportedMedia(Refusal):
    """The body is of another content type than the operation takes; only a door can know."""


class Throttled(Refusal):
    """The caller asks too often."""

    def __init__(self, retry_after: int = 1) -> None:
        super().__init__("Too many requests. Try again later.")
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Kind:
    """How one kind of refusal is answered."""

    status: int
    title: str

    @property
    def type(self) -> str:
        return "urn:hopscope:problem:" + self.title.lower().replace(" ", "-")


KINDS: Mapping[type[Refusal], Kind] = {
    Malformed: Kind(400, "Malformed request"),
    Unauthenticated: Kind(401, "No principal"),
    Forbidden: Kind(403, "Role missing"),
    NotFound: Kind(404, "Not found"),
    Conflict: Kind(409, "Conflict"),
    TooLarge: Kind(413, "Too large"),
    UnsupportedMedia: Kind(415, "Unsupported media type"),
    Throttled: Kind(429, "Too many requests"),
    Unavailable: Kind(503, "Unavailable"),
}


@dataclass(frozen=True, slots=True)
class Problem:
    """A refusal as it goes out."""

    status: int
    body: Mapping[str, object]
    headers: Mapping[str, str]


def kind_of(refusal: Refusal) -> Kind:
    """The table's row for `refusal`, by its nearest listed class."""
    return next(KINDS[cls] for cls in type(refusal).__mro__ if cls in KINDS)


def problem(error: Exception, request_id: str) -> Problem:
    """The answer for `error`. A fault reads as a store that did not answer: retrying is safe, and nothing leaks."""
    refusal = error if isinstance(error, Refusal) else Unavailable(RETRY_AFTER_FAULT)
    kind = kind_of(refusal)
    body: dict[str, object] = {
        "type": kind.type,
        "title": kind.title,
        "status": kind.status,
        "detail": str(refusal),
        "instance": request_id,
    }
    headers = {"Content-Type": PROBLEM_TYPE}
    if isinstance(refusal, Malformed):
        body["errors"] = [{"field": fault.field, "message": fault.message} for fault in refusal.errors]
    if isinstance(refusal, Unavailable | Throttled):
        headers["Retry-After"] = str(refusal.retry_after)
    if isinstance(refusal, Unauthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    return Problem(kind.status, body, headers)
