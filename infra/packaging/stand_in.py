"""Takes the place of a module that a library imports and no request ever needs; whatever is called of it fails loudly.

It must never answer: a bundle that needs the real module has to carry it.
"""

from collections.abc import Callable
from typing import NoReturn


def __getattr__(name: str) -> Callable[..., NoReturn]:
    if name.startswith("__"):
        raise AttributeError(name)

    def absent(*_: object, **__: object) -> NoReturn:
        raise NotImplementedError(name)

    return absent
