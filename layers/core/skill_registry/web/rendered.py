"""Answers that were rendered before, as this environment remembers them.

An agent asks for the same listing at every turn. What answers it is the same as long as catalogs,
caller and question are, and the key of an answer holds all three.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skill_registry.catalog.cache import ByteLru

if TYPE_CHECKING:
    from collections.abc import Hashable

    from skill_registry.web.http import Response

MAX_BYTES = 8 * 1024 * 1024

# What keys and headers take.
_FRAME = 2048


@dataclass(frozen=True, slots=True)
class Rendered:
    """An answer, whole.

    Attributes:
        response: With its validators, in one coding.
        count: Skills that it lists.
        own: Whether it holds a cursor, which belongs to one caller and one spelling of the query.
    """

    response: Response
    count: int
    own: bool


class RenderedAnswers:
    """The answers that were given last, bounded by their bytes."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._known: ByteLru[Rendered] = ByteLru(max_bytes)

    def get(self, key: Hashable, own_key: Hashable) -> Rendered | None:
        """Return an answer that anybody may have who asks the same, else one to this caller."""
        return self._known.get((key, None)) or self._known.get((key, own_key))

    def put(self, key: Hashable, own_key: Hashable, answer: Rendered) -> None:
        """Remember an answer."""
        body = answer.response.body
        size = len(body) if isinstance(body, bytes) else _size(body)
        self._known.put((key, own_key if answer.own else None), answer, size + _FRAME)


def _size(text: str) -> int:
    """Bytes that a text takes in memory, at most: four a character where any is not Latin."""
    return len(text) if text.isascii() else 4 * len(text)
