"""Opaque ids: their shape, their order, and the forms that the product mints itself."""

import re
import unicodedata
from dataclasses import dataclass

from shared.domain import normalise

MAX_ID_LENGTH = 256
"""Code points in an id (contract, section 1)."""

_MINTED = re.compile(r"psg_[a-z2-7]{32}_[0-9a-z]{16}_[0-9]{5}|(?:ent|rel)_[a-z2-7]{32}")


def trimmed(text: str) -> str:
    """`text` without surrounding Unicode white space."""
    return normalise.trimmed(text)


def is_id(text: str) -> bool:
    """Whether `text`, already trimmed, is an id: 1–256 code points, no control characters, no lone surrogates."""
    return 0 < len(text) <= MAX_ID_LENGTH and not any(unicodedata.category(c) in ("Cc", "Cs") for c in text)


def is_minted(text: str) -> bool:
    """Whether `text` has the form of an id that only the product gives out (passage, entity, relation).

    Such an id is refused for a memory: it would be taken for the other kind.
    """
    return _MINTED.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class PassageId:
    """A passage id taken apart: the partition of its memory, the cut, the index."""

    ref: str
    cut: str
    index: int

    def __str__(self) -> str:
        return f"psg_{self.ref}_{self.cut}_{self.index:05}"


def passage_id(text: str) -> PassageId | None:
    """`text` taken apart when it has the form of a passage id, else None."""
    if _MINTED.fullmatch(text) is None or not text.startswith("psg_"):
        return None
    _, ref, cut, index = text.split("_")
    return PassageId(ref, cut, int(index))


def is_entity_id(text: str) -> bool:
    """Whether `text` has the form of an entity id."""
    return text.startswith("ent_") and _MINTED.fullmatch(text) is not None
