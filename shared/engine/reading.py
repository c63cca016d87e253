"""Authority read live, and read last: what every reading verb does around its content (docs/architecture.md)."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TypeVar

from shared.domain.authority import Authority
from shared.domain.instants import utc_text
from shared.domain.model import Memberships
from shared.domain.principal import Principal
from shared.engine.port import AuthorityWave, Pending, Waves
from shared.engine.session import Session

W = TypeVar("W", bound=AuthorityWave)

CLOCK_ALLOWANCE = timedelta(seconds=5)
"""Rows written by a machine whose clock runs this far behind ours are still taken for fresh."""


@dataclass(slots=True)
class LiveAuthority:
    """The authority of one request, read in its first wave and again when fresh content makes that necessary."""

    session: Session
    value: Authority = field(init=False)
    _current: bool = False
    """Whether nothing was read after the authority."""

    def __post_init__(self) -> None:
        self.value = Authority(self.session.principal, Memberships(), {})

    @property
    def principal(self) -> Principal:
        return self.session.principal

    def new_wave(self, store: Waves[W]) -> W:
        """A wave of this request; raises `Unavailable` when its time is over."""
        self.session.deadline.check()
        self._current = False
        return store.wave(self.principal.tenant_id, self.principal.principal_id, self.session.deadline)

    def ask(self, wave: AuthorityWave) -> "AskedAuthority":
        """Ask for the authority in `wave`; `take` it from the answer once the wave has run."""
        return AskedAuthority(self, wave)

    def reread(self, store: Waves[AuthorityWave]) -> bool:
        """Read the authority alone, after the content. Says whether it differs from what the answer was made with."""
        before = self.value
        wave = self.new_wave(store)
        asked = self.ask(wave)
        wave.run()
        asked.take()
        self._current = True
        return self.value != before

    def settles(self, written: Iterable[str]) -> bool:
        """Whether an answer made of rows written at these instants may stand on the authority as it was read.

        Only a row written after a revocation could be opened by a membership read before it; such a row is younger
        than the request.
        """
        threshold = utc_text(self.session.arrived - CLOCK_ALLOWANCE)
        return self._current or all(instant < threshold for instant in written)


class AskedAuthority:
    """The authority, asked for in a wave."""

    def __init__(self, live: LiveAuthority, wave: AuthorityWave) -> None:
        self._live = live
        self._memberships: Pending[Memberships] = wave.memberships()
        self._purges = wave.purges()

    def take(self) -> None:
        """Take what the wave answered."""
        self._live.value = replace(
            self._live.value, memberships=self._memberships.value, purges=dict(self._purges.value)
        )
