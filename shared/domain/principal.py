"""Who is asking. A principal comes from the authorizer alone; nothing in a request can set or widen it."""

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """Roles do not imply one another."""

    READER = "reader"
    WRITER = "writer"
    ADMIN = "admin"


class Surface(StrEnum):
    """The door a request came through."""

    HTTP = "http"
    MCP = "mcp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A verified caller of one tenant.

    `agent_ids` may hold "*" (every agent). `scope_keys` is None for an unrestricted credential; a set, even an empty
    one, restricts reading to its `scope:key` pairs.
    """

    tenant_id: str
    principal_id: str
    roles: frozenset[Role]
    agent_ids: frozenset[str] = frozenset()
    scope_keys: frozenset[str] | None = None

    def may_act_as(self, agent_id: str) -> bool:
        return "*" in self.agent_ids or agent_id in self.agent_ids
