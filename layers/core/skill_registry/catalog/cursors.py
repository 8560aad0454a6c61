"""Cursors: where a page ended, bound to the query that it is a page of."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass

from skill_registry.errors import RequestInvalid

_LONGEST = 4096


@dataclass(frozen=True, slots=True)
class Position:
    """The last skill of a page. A listing goes down by score, and up by name where it is equal."""

    score: int
    name: str


def write_cursor(query: str, position: Position) -> str:
    """Return the text by which ``query``, a hash, goes on behind a position."""
    document = [_seal(query, position), position.score, position.name]
    text = json.dumps(document, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(cursor: str, query: str) -> Position:
    """Read a cursor that was written for this query.

    Raises:
        RequestInvalid: ``cursor_invalid``: for another query, changed, cut, or no cursor at all.
    """
    position = _position(cursor) if len(cursor) <= _LONGEST else None
    if position is None or write_cursor(query, position) != cursor:
        raise RequestInvalid(
            "This cursor is not of this query. Start again without it.", code="cursor_invalid"
        )
    return position


def _position(cursor: str) -> Position | None:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        _, score, name = json.loads(base64.urlsafe_b64decode(padded.encode()))
    except (ValueError, TypeError, RecursionError):
        return None
    sound = isinstance(score, int) and not isinstance(score, bool) and isinstance(name, str)
    return Position(score, name) if sound else None


def _seal(query: str, position: Position) -> str:
    """Return what a cursor that was changed by hand does not have.

    It is no secret, and guards none: a position opens nothing that the listing would not show.
    """
    text = json.dumps([query, position.score, position.name])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
