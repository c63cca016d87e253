"""What a deployment sets, read once from the environment; a mis-deployed function fails when it is loaded.

No authority is kept here: only names of claims, hosts and the table.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

_LOG_LEVELS = frozenset({"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"})


class Misdeployed(Exception):
    """The environment of the function is incomplete; names the variable, never a value."""


class AuthMode(StrEnum):
    """What the gateway checks: a token, whose claims tell the principal, or a signature, whose caller rows tell it."""

    JWT = "JWT"
    IAM = "IAM"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """The authorizer's claim names."""

    subject: str = "sub"
    tenant: str = "tenant_id"
    roles: str = "roles"
    agents: str = "agents"
    scope_keys: str = "scope_keys"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One function's environment.

    `issuer` and `resource` feed the protected-resource metadata; `allowed_hosts` replaces the API's own domain name.
    """

    table_name: str
    auth_mode: AuthMode = AuthMode.JWT
    claims: Claims = Claims()
    allowed_origins: frozenset[str] = frozenset()
    allowed_hosts: frozenset[str] = frozenset()
    log_level: str = "INFO"
    issuer: str | None = None
    resource: str | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Settings":
        def value(name: str, default: str = "") -> str:
            return environment.get(name, "").strip() or default

        table_name = value("TABLE_NAME")
        if not table_name:
            raise Misdeployed("TABLE_NAME is not set.")
        log_level = value("LOG_LEVEL", "INFO").upper()
        if log_level not in _LOG_LEVELS:
            raise Misdeployed("LOG_LEVEL is not a level.")
        auth_mode = value("AUTH_MODE", AuthMode.JWT)
        if auth_mode not in set(AuthMode):
            raise Misdeployed("AUTH_MODE is neither JWT nor IAM.")
        return cls(
            table_name=table_name,
            auth_mode=AuthMode(auth_mode),
            claims=Claims(
                subject=value("SUBJECT_CLAIM", Claims().subject),
                tenant=value("TENANT_CLAIM", Claims().tenant),
                roles=value("ROLES_CLAIM", Claims().roles),
                agents=value("AGENTS_CLAIM", Claims().agents),
                scope_keys=value("SCOPE_KEYS_CLAIM", Claims().scope_keys),
            ),
            allowed_origins=_words(value("ALLOWED_ORIGINS")),
            allowed_hosts=frozenset(host.lower() for host in _words(value("ALLOWED_HOSTS"))),
            log_level=log_level,
            issuer=value("ISSUER") or None,
            resource=value("RESOURCE") or None,
        )


def _words(text: str) -> frozenset[str]:
    return frozenset(text.replace(",", " ").split())


@cache
def settings() -> Settings:
    """The settings of this process."""
    return Settings.from_environment(os.environ)
