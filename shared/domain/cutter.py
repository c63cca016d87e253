"""Cutting a body into passages that partition it exactly. Works on code points, iteratively, in linear time.

It must never lose or change a character, and never look at who will read it.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shared.domain.model import Span
from shared.domain.preview import ELLIPSIS, preview

CEILING = 2_000
"""The longest passage, and the longest body that is kept whole, in code points."""
TARGET = (600, 1_200)
BREADCRUMB_LIMIT = 200
WINDOW, BUDGET = 64, 50_000
"""The widest window of a slice and its largest budget. A body that one window could hold must fit its budget too."""

_NARROWER = (1_200, 1_000, 850, 750, 680, 640)
"""Upper bounds of the target for bodies over the budget, until they have more passages than a window."""
MAX_SPANS = 64
MAX_SPAN = 17_648

# How good it is to cut before a code point. A heading of level n has _HEADING_TOP − n, at least SECTION.
JOINED, ANYWHERE, WORD, SENTENCE, LINE, PARAGRAPH, SECTION = range(7)
_HEADING_TOP = 40

_RANK_AFTER = bytes(
    LINE if c in b"\n" else WORD if c in b" \t" else SENTENCE if c in b"\x01" else ANYWHERE for c in range(256)
)
_AT_MOST_A_WORD = bytes(min(rank, WORD) for rank in range(256))
_EXOTIC = str.maketrans(
    dict.fromkeys("。！？｡\u2028\u2029\x85", "\x01") | dict.fromkeys("\u1680\u2000\u2002\u2003\u2009\u205f\u3000", " ")
)
_SENTENCE_END = re.compile(r"""(?<=[^\s.!?…][.!?…])["'’”)\]*_]*+\s+""")
_PARAGRAPH_GAP = re.compile(r"\n(?:[ \t\r]*+\n)+")
_NOT_SPACE = re.compile(r"\S")
_REGIONAL = re.compile("(?:[\U0001f1e6-\U0001f1ff]{2})+")

_ADORN = r"[!-/:-@\[-`{-~]"
_MARKUP = re.compile(
    rf"""^(?:
      [ \t]*+(?P<fence>`{{3,}}+(?=[^`\n]*$)|~{{3,}}+).*\n?
    | (?P<over>{_ADORN})(?P=over){{2,}}+[ \t\r]*+\n
        [ \t]*+(?P<overlined>[^\s][^\n]*+)\n(?P=over){{3,}}+[ \t\r]*+(?:\n|\Z)
    | [ ]{{0,3}}+(?P<atx>\#{{1,6}}+)(?![^ \t\r\n])(?P<headed>[^\n]*+)(?:\n|\Z)
    | (?P<titled>[^\s][^\n]*+)\n(?P<under>{_ADORN})(?P=under){{2,}}+[ \t\r]*+(?:\n|\Z)
    | (?P<directive>\.\.[ ][^\n]*\n?)
    | (?P<indent>[ \t]*+)[^\n]*::[ \t\r]*+\n(?:[ \t\r]*+\n)+(?=(?P=indent)[ \t])
    )""",
    re.MULTILINE | re.VERBOSE,
)
_NOT_A_TITLE = re.compile(rf"[-*+>|] |\||({_ADORN})\1*[ \t\r]*$")


@dataclass(frozen=True, slots=True)
class Piece:
    """One passage: `[start, end)` in code points of the body, and the heading path in force at its first one."""

    start: int
    end: int
    breadcrumb: str


@dataclass(frozen=True, slots=True)
class _Heading:
    """A heading with its block `[start, end)`: of Markdown's `#` form with its `level`, else with its adornment."""

    start: int
    end: int
    title: str
    adornment: str = ""
    level: int = 0


@dataclass(slots=True)
class _Structure:
    headings: list[_Heading]
    blocks: list[tuple[int, int]]
    restructured: bool = False


def cut(body: str) -> tuple[Piece, ...]:
    """The passages of `body`, in order: concatenated they are the body. Each has 1 to 2,000 code points.

    At most 64 of them are at most 50,000 code points, so that a slice of them all can be whole, but where blocks that
    are kept whole make them longer.
    """
    structure = _structure(body)
    headings = _levelled(structure)
    ranks = _ranks(body, structure.blocks, headings)
    ends = _ends(ranks, TARGET[1])
    if len(body) > BUDGET:
        ends = next((more for most in _NARROWER if len(more := _ends(ranks, most)) > WINDOW), ends)
    starts = [0, *ends[:-1]] if ends else []
    crumbs = _breadcrumbs(body, starts, headings)
    return tuple(Piece(start, end, crumb) for start, end, crumb in zip(starts, ends, crumbs, strict=True))


def checked_spans(spans: Sequence[Span], body_length: int) -> tuple[Span, ...]:
    """The author's seams, or a ValueError that says which one is wrong."""
    if len(spans) > MAX_SPANS:
        raise ValueError(f"at most {MAX_SPANS} spans")
    last = 0
    for index, span in enumerate(spans):
        if not 0 <= span.start < span.end <= body_length:
            raise ValueError(f"span {index} is empty or outside the content")
        if span.start < last:
            raise ValueError(f"span {index} overlaps or precedes the one before it")
        if span.end - span.start > MAX_SPAN:
            raise ValueError(f"span {index} is longer than {MAX_SPAN} code points")
        last = span.end
    return tuple(spans)


def pieces_of(spans: Iterable[Span]) -> tuple[Piece, ...]:
    """The passages that checked spans make: their labels are the breadcrumbs."""
    return tuple(Piece(span.start, span.end, span.label) for span in spans)


def covers(pieces: Sequence[Piece], body_length: int) -> bool:
    """Whether the pieces, in order and without overlap, are all of the body."""
    return sum(piece.end - piece.start for piece in pieces) == body_length


def _structure(body: str) -> _Structure:
    """Headings and blocks that are kept whole; nothing inside a block is a heading."""
    found = _Structure([], [])
    position = 0
    while match := _MARKUP.search(body, position):
        position = max(match.end(), position + 1)
        if match["fence"]:
            position = _fence_end(body, match)
            found.blocks.append((match.start(), position))
        elif match["indent"] is not None:
            position = _literal_end(body, match)
            if position > match.end():
                found.blocks.append((match.end(), position))
            found.restructured = True
        elif match["directive"]:
            found.restructured = True
        elif heading := _heading(body, match, after_heading=_ends_at(found.headings, match.start())):
            found.headings.append(heading)
        elif match["atx"] is None:
            # No title after all: what follows its first line may still be markup.
            position = body.index("\n", match.start()) + 1
    return found


def _ends_at(headings: Sequence[_Heading], position: int) -> bool:
    return bool(headings) and headings[-1].end == position


def _heading(body: str, match: re.Match[str], *, after_heading: bool) -> _Heading | None:
    if match["atx"]:
        title = re.sub(r"(?:^|[ \t])#+$", "", match["headed"].strip())
        return _Heading(match.start(), match.end(), _tidy(title), level=len(match["atx"]))
    title = (match["overlined"] or match["titled"]).strip()
    if _NOT_A_TITLE.match(title) or not (after_heading or _opens_paragraph(body, match.start())):
        return None
    adornment = match["over"] * 2 if match["over"] else match["under"]
    return _Heading(match.start(), match.end(), _tidy(title), adornment)


def _tidy(title: str) -> str:
    return preview(" ".join(title.split()), BREADCRUMB_LIMIT)[0]


def _opens_paragraph(body: str, start: int) -> bool:
    """Whether the line at `start` is the first or follows a blank one."""
    return start == 0 or not body[body.rfind("\n", 0, start - 1) + 1 : start].strip()


def _fence_end(body: str, match: re.Match[str]) -> int:
    fence = match["fence"]
    closing = re.compile(rf"^[ \t]*+{re.escape(fence)}{re.escape(fence[0])}*+[ \t\r]*+(?:\n|\Z)", re.MULTILINE)
    closed = closing.search(body, match.end())
    return closed.end() if closed else len(body)


def _literal_end(body: str, match: re.Match[str]) -> int:
    """The end of an indented block: its last line that is deeper than `indent`, blank lines between included."""
    block = re.compile(rf"(?:(?:[ \t\r]*+\n)*+{re.escape(match['indent'])}[ \t]+[^\s][^\n]*+(?:\n|\Z))*+")
    inside = block.match(body, match.end())
    return inside.end() if inside else match.end()


def _levelled(structure: _Structure) -> list[tuple[int, _Heading]]:
    """The headings with their levels: Markdown fixes them, in reStructuredText adornments rank by first appearance."""
    headings = structure.headings
    if not structure.restructured and any(heading.level for heading in headings):
        fixed = {"=": 1, "-": 2}
        return [(level, h) for h in headings if (level := h.level or fixed.get(h.adornment, 0))]
    ranking = list(dict.fromkeys(heading.adornment for heading in headings if heading.adornment))
    return [(ranking.index(h.adornment) + 1, h) for h in headings if h.adornment]


def _ranks(body: str, blocks: Iterable[tuple[int, int]], headings: Iterable[tuple[int, _Heading]]) -> bytearray:
    """For each position how good a seam it is; the one before the first code point counts for nothing."""
    plain = body if body.isascii() else body.translate(_EXOTIC)
    ranks = bytearray(1) + plain.encode("latin-1", "replace").translate(_RANK_AFTER)
    for match in _SENTENCE_END.finditer(body):
        ranks[match.end()] = max(ranks[match.end()], SENTENCE)
    for match in _PARAGRAPH_GAP.finditer(body):
        ranks[match.end()] = PARAGRAPH
    for _, heading in headings:
        # A heading stays with what it opens.
        inside = slice(heading.start + 1, min(_skip_space(body, heading.end), heading.start + CEILING) + 1)
        ranks[inside] = ranks[inside].translate(_AT_MOST_A_WORD)
    for level, heading in headings:
        ranks[heading.start] = max(SECTION, _HEADING_TOP - level)
    for start, end in blocks:
        # What announces a block stays with it when there is a better seam.
        ranks[start] = min(ranks[start], LINE)
        if end - start <= CEILING:
            ranks[start + 1 : end] = bytes(end - start - 1)
    _join_clusters(body, ranks)
    ranks[-1] = _HEADING_TOP
    return ranks


def _skip_space(body: str, start: int) -> int:
    found = _NOT_SPACE.search(body, start, start + CEILING)
    return found.start() if found else start


def _join_clusters(body: str, ranks: bytearray) -> None:
    """Bar the seams inside a CRLF and inside what is one character to a reader."""
    position = -1
    while (position := body.find("\r\n", position + 1)) >= 0:
        ranks[position + 1] = JOINED
    if body.isascii():
        return
    extending = "".join(c for c in set(body) if _extends(c))
    if extending:
        for match in re.finditer(rf"(?<=[^\n])[{re.escape(extending)}]+", body):
            ranks[match.start() : match.end()] = bytes(match.end() - match.start())
    while (position := body.find("\u200d", position + 1)) >= 0:
        ranks[position + 1] = JOINED
    for match in _REGIONAL.finditer(body):
        for inner in range(match.start() + 1, match.end(), 2):
            ranks[inner] = JOINED


def _extends(character: str) -> bool:
    """Whether it belongs to the character before it: marks, joiners, emoji modifiers and tags, medial jamo."""
    return (
        unicodedata.category(character) in ("Mn", "Mc", "Me")
        or character in "\u200c\u200d"
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\U000e0020" <= character <= "\U000e007f"
        or "\u1160" <= character <= "\u11ff"
        or "\ud7b0" <= character <= "\ud7fb"
    )


def _ends(ranks: bytearray, most: int) -> list[int]:
    length = len(ranks) - 1
    ends: list[int] = []
    start = 0
    while start < length:
        start = _next_end(ranks, start, length, most)
        ends.append(start)
    return ends


def _next_end(ranks: bytearray, start: int, length: int, most: int) -> int:
    """The best seam in the target range that leaves no stub behind; else a later one; else an earlier one."""
    least = TARGET[0]
    left = length - start
    if left <= TARGET[1]:
        return length
    window = _best(ranks, start + least, min(start + most, length - least))
    if ranks[window] != JOINED:
        return window
    if left <= CEILING:
        return length
    for low, high in ((start + most, start + CEILING), (start + 1, start + least)):
        seam = _best(ranks, low, min(high, length))
        if ranks[seam] != JOINED:
            return seam
    return start + most


def _best(ranks: bytearray, low: int, high: int) -> int:
    """The last position of the highest rank in `[low, high]`."""
    return ranks.rindex(max(ranks[low : high + 1]), low, high + 1)


def _breadcrumbs(body: str, starts: Sequence[int], headings: Sequence[tuple[int, _Heading]]) -> list[str]:
    """The heading path at each start. White space before a heading does not keep it from opening the passage."""
    offsets = [heading.start for _, heading in headings]
    crumbs: list[str] = []
    path: list[tuple[int, str]] = []
    done = 0
    for start in starts:
        opened = bisect_right(offsets, start)
        if opened < len(offsets) and offsets[opened] - start < CEILING and body[start : offsets[opened]].isspace():
            opened += 1
        for level, heading in headings[done:opened]:
            while path and path[-1][0] >= level:
                path.pop()
            path.append((level, heading.title))
        done = max(done, opened)
        crumbs.append(_crumb([title for _, title in path if title]))
    return crumbs


def _crumb(titles: Sequence[str]) -> str:
    """Titles joined; where that is too long the outermost give way to an ellipsis, the innermost is cut last."""
    if not titles:
        return ""
    kept = titles[-1]
    for index in range(len(titles) - 2, -1, -1):
        longer = f"{titles[index]} > {kept}"
        room = BREADCRUMB_LIMIT - (len(ELLIPSIS) + 3 if index else 0)
        if len(longer) > room:
            short = f"{ELLIPSIS} > {kept}"
            return short if len(short) <= BREADCRUMB_LIMIT else kept
        kept = longer
    return kept
