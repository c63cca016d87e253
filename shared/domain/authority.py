"""The read rule (contract, section 2). Nothing else decides whether a row may be read."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from shared.domain.model import Entity, Memberships, Memory, Scope, State
from shared.domain.principal import Principal


class _Purgeable(Protocol):
    @property
    def home(self) -> str | None: ...
    @property
    def epoch(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Authority:
    """What one principal may read, from memberships and purges read live in this request.

    `purges` maps a project to its purge count while the sweep of that purge is unfinished; a row of an older count is
    gone for everybody.
    """

    principal: Principal
    memberships: Memberships
    purges: Mapping[str, int]

    def is_member(self, project_id: str) -> bool:
        return project_id in self.memberships.projects

    def alive(self, row: _Purgeable) -> bool:
        """Whether no purge of the row's project has passed over it."""
        return row.home is None or row.epoch >= self.purges.get(row.home, 0)

    def may_read_memory(self, memory: Memory) -> bool:
        """The read rule for a memory, and so for each of its passages. Says nothing about its state."""
        return self.alive(memory) and self._scope_opens(memory) and self._credential_holds(_scope_pair(memory))

    def may_read_granted(self, memory: Memory, projects: Collection[str]) -> bool:
        """The read rule for a memory under a grant of `projects`: no private and no team rows, all keys granted."""
        governed = memory.scope is None or (memory.scope == Scope.PROJECT and memory.scope_key in projects)
        granted = governed and memory.project_id is not None and memory.project_id in projects
        return granted and self.alive(memory) and self._credential_holds(_scope_pair(memory))

    def may_read_declared(self, agent_id: str, project_id: str | None) -> bool:
        """The read rule for an entity or a relation of that agent and project (None: the global pool).

        The caller checks `alive` on the row besides.
        """
        return (
            self.principal.may_act_as(agent_id)
            and (project_id is None or self.is_member(project_id))
            and self._credential_holds(_project_pair(project_id))
        )

    def may_read_entity(self, entity: Entity) -> bool:
        return self.alive(entity) and self.may_read_declared(entity.agent_id, entity.project_id)

    def _scope_opens(self, memory: Memory) -> bool:
        match memory.scope:
            case Scope.PRIVATE:
                return memory.owner == self.principal.principal_id
            case Scope.PROJECT:
                return memory.scope_key is not None and self.is_member(memory.scope_key)
            case Scope.TEAM:
                return memory.scope_key is not None and memory.scope_key in self.memberships.teams
            case Scope.ORGANIZATION:
                return True
            case None:
                return memory.project_id is None or self.is_member(memory.project_id)
            case _:
                return False

    def _credential_holds(self, pair: str) -> bool:
        return self.principal.scope_keys is None or pair in self.principal.scope_keys


def is_retrievable(memory: Memory) -> bool:
    """Whether retrieval knows the memory at all: archived ones are absent for the walk, slices and mentions."""
    return memory.state != State.ARCHIVED


def _scope_pair(memory: Memory) -> str:
    """The `scope:key` pair that a restricted credential must hold for this row."""
    match memory.scope:
        case Scope.PRIVATE:
            return f"private:{memory.owner}"
        case Scope.PROJECT | Scope.TEAM:
            return f"{memory.scope}:{memory.scope_key}"
        case Scope.ORGANIZATION:
            return "organization:*"
        case _:
            return _project_pair(memory.project_id)


def _project_pair(project_id: str | None) -> str:
    return "organization:*" if project_id is None else f"project:{project_id}"
