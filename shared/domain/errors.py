"""The refusals of the product. Only these cross layers; the boundary alone turns them into HTTP or MCP answers.

Refusal
├── Malformed        400  names the fields
├── Unauthenticated  401
├── Forbidden        403  names the missing role, never a row
├── NotFound         404  absent and forbidden alike
├── Conflict         409
├── TooLarge         413
└── Unavailable      503  store trouble or no time left; carries Retry-After seconds
    └── Unaudited         what was read through a grant could not be recorded
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldError:
    """One fault of a request: the field as the caller spelled it (dotted path) and what is wrong with it."""

    field: str
    message: str


class Refusal(Exception):
    """Base of every answer that is not a success; the message is public."""


class Malformed(Refusal):
    """The request is not of the contract's shape."""

    def __init__(self, *errors: FieldError, detail: str = "The request is malformed.") -> None:
        super().__init__(detail)
        self.errors = errors


class Unauthenticated(Refusal):
    """The request carries no principal."""

    def __init__(self) -> None:
        super().__init__("A tenant and a subject are required.")


class Forbidden(Refusal):
    """The principal lacks a role."""

    def __init__(self, role: str) -> None:
        super().__init__(f"This operation needs the role {role}.")
        self.role = role


class NotFound(Refusal):
    """Nothing that the principal may see answers to that id."""

    def __init__(self) -> None:
        super().__init__("Nothing here answers to that id.")


class Conflict(Refusal):
    """A stale revision, or an idempotency key used with other bounds; nothing was changed."""


class TooLarge(Refusal):
    """A body, a line or an answer is over a size limit."""


class Unavailable(Refusal):
    """The store refused after retries, or the deadline is near; nothing was half-written."""

    def __init__(self, retry_after: int = 1) -> None:
        super().__init__("The store did not answer in time. Try again.")
        self.retry_after = retry_after


class Unaudited(Unavailable):
    """The use of a grant could not be recorded, so what it opened is not shown."""
