"""The principal of a request, from what the API Gateway checked: a token's claims, or a signer that a row maps.

Nothing in a body, a header or a path is ever read here. A claim of a wrong shape narrows, never widens.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from shared.boundary.event import Event
from shared.boundary.settings import Claims
from shared.domain.errors import Unauthenticated
from shared.domain.ids import is_id
from shared.domain.principal import Principal, Role


class Callers(Protocol):
    """Whom signed callers stand for."""

    def find(self, arn: str) -> Principal | None: ...


_ROLES = {role.value: role for role in Role}


def principal_of(event: Event, names: Claims) -> Principal:
    """Who asks. Raises `Unauthenticated` without a tenant or a subject."""
    claims = _claims(event, names)
    return Principal(
        tenant_id=_id(claims.get(names.tenant)),
        principal_id=_id(claims.get(names.subject)),
        roles=frozenset(_ROLES[word] for word in _words(claims.get(names.roles)) if word in _ROLES),
        agent_ids=_words(claims.get(names.agents)),
        scope_keys=_words(claims[names.scope_keys]) if names.scope_keys in claims else None,
    )


def mapped_principal(event: Event, callers: Callers) -> Principal:
    """Whom the signer of the request stands for. Raises `Unauthenticated` without one, or when none is mapped."""
    arn = iam_caller(event)
    principal = callers.find(arn) if arn else None
    if principal is None:
        raise Unauthenticated
    return principal


def iam_caller(event: Event) -> str | None:
    """The signer's ARN as `reduced`, when the gateway checked a signature."""
    context = _mapping(event.get("requestContext"))
    iam = _mapping(_mapping(context.get("authorizer")).get("iam"))
    arn = iam.get("userArn") or _mapping(context.get("identity")).get("userArn")
    if not isinstance(arn, str) or not arn:
        return None
    return reduced(arn)


def reduced(arn: str) -> str:
    """An ARN without what differs between sessions: of a role, assumed or not, account and name are left.

    >>> reduced("arn:aws:sts::123456789012:assumed-role/Agent/session-1")
    'arn:aws:sts::123456789012:assumed-role/Agent'
    >>> reduced("arn:aws:iam::123456789012:role/service/Agent")
    'arn:aws:sts::123456789012:assumed-role/Agent'
    >>> reduced("arn:aws:iam::123456789012:user/ann")
    'arn:aws:iam::123456789012:user/ann'
    """
    head, _, session = arn.partition(":assumed-role/")
    if session:
        return f"{head}:assumed-role/{session.split('/')[0]}"
    head, _, role = arn.partition(":role/")
    if role:
        return f"{head.replace(':iam:', ':sts:')}:assumed-role/{role.rsplit('/', 1)[-1]}"
    return arn


def _claims(event: Event, names: Claims) -> Mapping[str, Any]:
    """The verified claims: a JWT authorizer's, else a Lambda authorizer's, in either event shape."""
    authorizer = _mapping(_mapping(event.get("requestContext")).get("authorizer"))
    if event.get("version") == "2.0":
        return _mapping(_mapping(authorizer.get("jwt")).get("claims")) or _mapping(authorizer.get("lambda"))
    if claims := _mapping(authorizer.get("claims")):
        return claims
    return {names.subject: authorizer.get("principalId"), **authorizer}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _id(value: object) -> str:
    if not isinstance(value, str) or value != value.strip() or not is_id(value):
        raise Unauthenticated
    return value


def _words(value: object) -> frozenset[str]:
    """A list claim: an array, a space-separated text, or the text `[a b]` that the gateway makes of an array."""
    if isinstance(value, str):
        text = value.strip()
        return frozenset((text[1:-1] if text.startswith("[") and text.endswith("]") else text).split())
    if isinstance(value, list | tuple):
        return frozenset(item.strip() for item in value if isinstance(item, str) and item.strip())
    return frozenset()
