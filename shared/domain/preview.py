"""Cutting text to a budget of code points, the ellipsis included. It must never return more than was asked for."""

from collections.abc import Sequence

from shared.domain.normalise import WHITE_SPACE

ELLIPSIS = "…"


def preview(text: str, limit: int) -> tuple[str, bool]:
    """`text` in at most `limit` code points, and whether it was cut.

    The cut is at the last space (U+0020) that lies at or after half of the limit and leaves room for the ellipsis,
    else hard; white space before the ellipsis is dropped.
    """
    if len(text) <= limit:
        return text, False
    if limit <= 0:
        return "", True
    space = text.rfind(" ", 0, limit)
    end = space if 2 * space >= limit else limit - 1
    return text[:end].rstrip(WHITE_SPACE) + ELLIPSIS, True


def spend(contents: Sequence[str], budget: int) -> list[tuple[str, bool]]:
    """`contents` within one budget, spent in order: the first that does not fit is cut, all after it are emptied."""
    spent: list[tuple[str, bool]] = []
    for content in contents:
        shown, truncated = preview(content, budget)
        budget = 0 if truncated else budget - len(shown)
        spent.append((shown, truncated))
    return spent
