"""The one normal form in which names, aliases and predicates are compared, and the White_Space property of Unicode.

It must never be applied to ids or to text that is given back.
"""

import re
from unicodedata import normalize

WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""The White_Space property exactly. `str.strip` and `\\s` also take U+001C–001F, which are control characters."""

_INVISIBLE = re.compile("[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufe0e\ufe0f\ufeff]+")
_SPACES = re.compile(f"[{WHITE_SPACE}]+")


def trimmed(text: str) -> str:
    """`text` without surrounding Unicode white space."""
    return text.strip(WHITE_SPACE)


def normalised(text: str) -> str:
    """The form in which two spellings of one name are equal. Joiners (U+200C, U+200D) stay: they tell words apart."""
    folded = normalize("NFD", _INVISIBLE.sub("", text)).casefold()
    folded = normalize("NFKC", normalize("NFKC", folded).casefold())
    return _SPACES.sub(" ", folded).strip(" ")
