"""Short digests of several parts: what ids and keys that follow from others are made of."""

import base64
import hashlib

LENGTH = 32
"""Characters of a digest: 160 bits, so that no two lists of parts are ever met with one digest."""


def digest(purpose: bytes, *parts: str) -> str:
    """32 base-32 characters over the length-prefixed parts, so that no two lists of parts are confused.

    `purpose` (16 bytes at most) keeps digests of one kind apart from those of another.
    """
    hashed = hashlib.blake2b(digest_size=20, person=purpose)
    for part in parts:
        data = part.encode()
        hashed.update(len(data).to_bytes(4, "big"))
        hashed.update(data)
    return base64.b32encode(hashed.digest()).decode().lower()
