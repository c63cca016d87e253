"""The principal of a request, from the API Gateway authorizer alone.

Nothing in a body, a header or a path is ever read here. A claim of a wrong shape narrows, never widens.
"""

from collections.abc import Mapping
from typing import Any

from shared.boundary.event import Event
from shared.boundary.settings import Claims
from shared.domain.errors import Unauthenticated
from shared.domain.ids import is_id
from shared.domain.principal import Principal, Role

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


def iam_caller(event: Event) -> str | None:
    """The signed caller's ARN, an assumed role reduced to account and role, when the gateway checked a signature."""
    context = _mapping(event.get("requestContext"))
    iam = _mapping(_mapping(context.get("authorizer")).get("iam"))
    arn = iam.get("userArn") or _mapping(context.get("identity")).get("userArn")
    if not isinstance(arn, str) or not arn:
        return None
    head, _, rest = arn.partition(":assumed-role/")
    return f"{head}:assumed-role/{rest.split('/')[0]}" if rest else arn


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
