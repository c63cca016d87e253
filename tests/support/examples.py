"""How many examples a property is tried on."""

import os

from hypothesis import Phase, settings


def examples(count: int) -> settings:
    """So many; where mutants are run few, always the same and never shrunk."""
    if "HOPSCOPE_MUTATING" in os.environ:
        return settings(max_examples=count // 4, deadline=None, derandomize=True, phases=[Phase.generate])
    return settings(max_examples=count, deadline=None)
