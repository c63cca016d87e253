"""What one request for records has in view: its project or origin under the read rule, and what a grant adds."""

from dataclasses import dataclass

from shared.domain.authority import Authority
from shared.domain.model import Json, Memory
from shared.engine.grants import Presented


@dataclass(frozen=True, slots=True)
class ReadScope:
    """The project, or else the origin, that a request names."""

    project: str | None = None
    origin_id: str | None = None


@dataclass(frozen=True, slots=True)
class View:
    """Decides which memories exist for one request."""

    authority: Authority
    scope: ReadScope
    presented: Presented | None = None

    @property
    def project(self) -> str | None:
        """The project in view, of which the principal is a member."""
        named = self.scope.project
        return named if named is not None and self.authority.is_member(named) else None

    @property
    def state(self) -> str:
        if self.project is not None:
            return "project_selected"
        return "unresolved" if self.scope.origin_id is None else "origin_only"

    @property
    def grant(self) -> Presented | None:
        """The grant, when it is accepted."""
        return self.presented if self.presented is not None and self.presented.refused is None else None

    def holds(self, memory: Memory) -> bool:
        return self.own(memory) or self.granted(memory)

    def own(self, memory: Memory) -> bool:
        """Whether the memory is in view without a grant."""
        if self.project is not None:
            within = memory.project_id == self.project
        else:
            within = memory.project_id is None and None is not self.scope.origin_id == memory.origin_id
        return within and self.authority.may_read_memory(memory)

    def granted(self, memory: Memory) -> bool:
        """Whether the grant opens the memory."""
        return self.grant is not None and self.authority.may_read_granted(memory, self.grant.projects)

    def as_json(self, surface: str) -> dict[str, Json]:
        grant: dict[str, Json] | None = None
        if self.grant is not None:
            grant = {"accessId": self.grant.id, "expiresAt": self.grant.expires_at, "surface": surface}
        return {
            "project": self.project,
            "requestState": self.state,
            "originPresented": self.scope.origin_id is not None,
            "grant": grant,
        }
