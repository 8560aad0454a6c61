"""Globs that come to an end: a pattern with many stars must not stop a search.

pathspec turns ``*`` into ``[^/]*``; a few of those in one name try every way of sharing it out. For
a glob only the last star of a name has a choice worth trying: each one before it may take the first
place where what follows it fits, and need not be asked again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import Pattern

_STAR = "[^/]*"
# Stands for a star while slashes are looked for: those inside of the star are no separators.
_MARK = "\0"


def linear(pattern: Pattern) -> Pattern:
    """Return a pattern that matches the same paths, each name in time linear in its length."""
    from pathspec import RegexPattern

    if not isinstance(pattern, RegexPattern) or pattern.regex is None:
        return pattern
    text = str(pattern.regex.pattern)
    if text.count(_STAR) < 2:
        return pattern
    marked = re.sub(_MARK + "+", _MARK, text.replace(_STAR, _MARK))
    rewritten = "/".join(_segment(part) for part in marked.split("/"))
    return type(pattern)(re.compile(rewritten), pattern.include)


def _segment(text: str) -> str:
    first, *others = text.split(_MARK)
    if not others:
        return first
    *inner, last = others
    # Atomic: once a star has found its place it keeps it.
    return first + "".join(f"(?>[^/]*?{part})" for part in inner) + _STAR + last
