"""Text made safe to show, and text by lines.

Lines end with LF, CRLF or CR here, as editors count them; Python and YAML know more line ends.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right

# Control characters that are not white space, and what UTF-8 or XML 1.0 cannot hold.
_UNSHOWABLE = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_LINE_END = re.compile(r"\r\n|\n|\r")
_QUOTED = 80


def one_line(text: str) -> str:
    """Fold white space, line ends of every kind and control characters to single blanks.

    The result has no line break for any reader of Unicode (U+2028 and NEL included), encodes as
    UTF-8, is legal in XML 1.0, and is its own ``one_line``.
    """
    return " ".join(_UNSHOWABLE.sub(" ", text).split())


def shown(text: str, limit: int = _QUOTED) -> str:
    """Quote text for a message: escapes what cannot be seen, cuts after ``limit`` characters."""
    visible = "".join(_visible(character) for character in text[:limit])
    return f'"{visible}"' if len(text) <= limit else f'"{visible}…"'


def counted(number: int, noun: str) -> str:
    """Count things in words: ``1 file``, ``2 files``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _visible(character: str) -> str:
    if character == " " or not unicodedata.category(character).startswith(("C", "Z")):
        return character
    return f"\\u{ord(character):04x}"


def split_lines(text: str) -> list[str]:
    """Cut a text into lines, each with its line end."""
    return _LINE.findall(text)


class Lines:
    """Finds line and column of a code point in a text."""

    __slots__ = ("_starts",)

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def position(self, index: int) -> tuple[int, int]:
        """Return line and column, both 1-based and in code points."""
        line = bisect_right(self._starts, index)
        return line, index - self._starts[line - 1] + 1
