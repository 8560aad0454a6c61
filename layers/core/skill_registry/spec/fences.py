"""Where the frontmatter ends: decided on bytes, so that the body is an exact slice of the file.

A fence is a line of exactly ``---`` and optional trailing blanks. Line ends may be LF, CRLF or CR.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"
# Possessive: CRLF is also CR and LF, and trying both ways of each would take for ever.
_OPENING = re.compile(rb"(?:[ \t]*+(?:\r\n|\n|\r))*+---[ \t]*(?:\r\n|\n|\r|\Z)")
_FENCE = re.compile(rb"(?<=[\r\n])---[ \t]*(?:\r\n|\n|\r|\Z)")
_KEY = re.compile(rb"(?:\A|[\r\n])(?:name|description)[ \t]*:")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_WIDE = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
    (b"-\x00-\x00", "UTF-16"),
    (b"\x00-\x00-", "UTF-16"),
)
_WIDE_MARKS = tuple(mark for mark, _ in _WIDE)


@dataclass(frozen=True, slots=True)
class Split:
    """A file cut at its fences. Offsets are bytes.

    Attributes:
        fault: Code of what is wrong with the fences, None where both are there.
        start: Where the block begins, behind the opening fence.
        end: Where the closing fence begins.
        body: Where the body begins: 0, or behind the byte-order mark, where there is no block.
        blank_lines: Lines above the opening fence, blank all of them.
    """

    fault: str | None
    start: int = 0
    end: int = 0
    body: int = 0
    blank_lines: int = 0


def split(data: bytes) -> Split:
    """Cut a SKILL.md at its fences."""
    origin = len(_BOM) if data.startswith(_BOM) else 0
    opening = _OPENING.match(data, origin)
    if opening is None:
        empty = not data[origin:].strip()
        return Split("skill_md_empty" if empty else _why_no_opening(data), body=origin)
    closing = _FENCE.search(data, opening.end())
    if closing is None:
        return Split("fence_unclosed", start=opening.end(), end=len(data), body=origin)
    above = data[origin : data.index(b"-", origin)]
    blank_lines = len(_LINE_END.findall(above)) if above else 0
    return Split(None, opening.end(), closing.start(), closing.end(), blank_lines)


def _why_no_opening(data: bytes) -> str:
    opening = _FENCE.search(data)
    closing = _FENCE.search(data, opening.end()) if opening else None
    if opening and closing and _KEY.search(data, opening.end() - 1, closing.start()):
        return "text_above_frontmatter"
    return "frontmatter_missing"


def wide_encoding(data: bytes) -> str | None:
    """Name the encoding of a file that is plainly UTF-16 or UTF-32, else None."""
    if not data.startswith(_WIDE_MARKS):
        return None
    return next(name for mark, name in _WIDE if data.startswith(mark))


def body_of(data: bytes) -> str:
    """Return the text of a SKILL.md without its frontmatter and byte-order mark, else as it is.

    A file without (closed) frontmatter is returned whole. Bytes that are not UTF-8 come back as
    U+FFFD.
    """
    return data[split(data).body :].decode("utf-8", "replace")
