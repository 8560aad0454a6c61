"""The one repair that is offered: quotes round a top-level value that needs them.

Authors write ``description: Use for two jobs: plan and check``. The value is plain to see and YAML
stops there. Publishing refuses it with the quoted line as a hint; a vendored file is read as if the
quotes were there, and reported.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from skill_registry.spec.text import split_lines

_VALUE = re.compile(r"(?P<key>[A-Za-z_][\w.-]*)[ \t]*:[ \t]+(?P<value>\S.*)")
_BLOCK_SCALAR = re.compile(r"[|>](?:[+-]?[1-9]?|[1-9][+-])[ \t]*(?:#.*)?")
_CLOSERS = {"[": "]", "{": "}", '"': '"', "'": "'"}
_LONGEST_HINT = 1500


@dataclass(frozen=True, slots=True)
class Repair:
    """A block with one more value in quotes.

    Attributes:
        key: The top-level key whose value was quoted.
        scalar: The value in its quotes.
        block: The block, with the same lines.
    """

    key: str
    scalar: str
    block: str


def quote_value(block: str, line: int) -> Repair | None:
    """Put quotes round the top-level value that covers a line, None where that is no cure.

    A value may go on over indented and blank lines; single quotes fold them as a plain value would.

    Args:
        block: The YAML between the fences.
        line: 0-based line at which YAML stopped.
    """
    lines = split_lines(block)
    line = min(line, len(lines) - 1)
    while line >= 0 and (not lines[line].strip() or lines[line][0] in " \t"):
        line -= 1
    match = _VALUE.match(lines[line]) if line >= 0 else None
    if match is None or not _needs_quotes(match["value"].rstrip()):
        return None
    end = line + 1
    while end < len(lines) and (not lines[end].strip() or lines[end][0] in " \t"):
        end += 1
    while not lines[end - 1].strip():
        end -= 1
    value = lines[line][match.start("value") :] + "".join(lines[line + 1 : end])
    kept = value.rstrip()
    scalar = "'" + kept.replace("'", "''") + "'"
    head = "".join(lines[:line]) + lines[line][: match.start("value")]
    tail = value[len(kept) :] + "".join(lines[end:])
    return Repair(match["key"], scalar, head + scalar + tail)


def key_at(block: str, line: int) -> str | None:
    """Name the top-level key that a 0-based line belongs to."""
    lines = split_lines(block)
    for text in reversed(lines[: line + 1]):
        if text[:1].strip() and (match := re.match(r"[\w.-]+(?=[ \t]*:)", text)):
            return match[0]
    return None


def quoted_line(key: str, value: str) -> str | None:
    """Show ``key: "value"`` on one line as YAML reads it; None where it would be too long."""
    if len(value) > _LONGEST_HINT:
        return None
    return f"{key}: {json.dumps(value, ensure_ascii=False)}"


def _needs_quotes(value: str) -> bool:
    """Tell whether a value that YAML refuses is meant as plain text all the same.

    What opens a quote or a bracket counts when it closes on the line and text follows: closed at
    the end it is a real list or quotation with another fault, and never closed it is a guess.
    """
    first = value[0]
    if first in "&!#":
        return False
    if first in "|>":
        return _BLOCK_SCALAR.fullmatch(value) is None
    if (closer := _CLOSERS.get(first)) is None:
        return True
    rest = value[1:].partition(closer)[2]
    return bool(rest.strip()) and not (first in "'\"" and value.endswith(first))
