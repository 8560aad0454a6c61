"""Search: which entries of a catalog have words that begin as those of the query do, best first.

The score of an entry depends on the entry and the query alone, so that a page that is asked for
later, and one catalog beside another, rank alike.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skill_registry.catalog.bitsets import NOTHING, bits_of, holds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from skill_registry.catalog.snapshot import Entry

# Points of a whole word, by where it stands: name, tags, descriptions. One that only begins alike
# has one less. A name that is the query itself comes before everything else.
_POINTS = (6, 4, 2)
EXACT_NAME = 1000

# Chinese and Japanese put no blanks between words, so that each character counts as one.
_ALONE = (
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_WORD = re.compile(f"[{_ALONE}]|[^\\W_{_ALONE}]+")
_ASCII_WORD = re.compile("[a-z0-9]+")
_LAST = "\U0010ffff"

# A word of more than one entry in so many is kept as bits, which are then shorter than a list.
_DENSE = 64

# What so many words begin with is remembered once it was looked for; there is little of that.
_BROAD = 64

Posting = tuple[int, ...] | int


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for.

    Attributes:
        text: As it was given.
        words: Its words in order; without one, everything matches and nothing is ranked.
    """

    text: str = ""
    words: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> Query:
        """Read the words of a text."""
        return cls(text.strip(), tuple(words_of(text)))


NO_QUERY = Query()


def words_of(text: str) -> list[str]:
    """Return the words of a text in order, alike whatever their letter case or Unicode form."""
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _WORD.findall(unicodedata.normalize("NFKC", folded))


class WordIndex:
    """The words of the entries of one catalog. Entries are known by their position."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        gathered: tuple[dict[str, list[int]], ...] = ({}, {}, {})
        for position, entry in enumerate(entries):
            for words, field in zip(_words_by_field(entry), gathered, strict=True):
                for word in words:
                    field.setdefault(word, []).append(position)
        self._size = len(entries)
        self._fields = tuple(_Field(field, self._size) for field in gathered)

    def ranked(self, query: Query, exact: Iterable[int] = ()) -> list[tuple[int, int]]:
        """Return score and entries as bits, the highest score first; each entry is in one.

        Args:
            exact: Positions whose name is the query itself, where it matches at all.
        """
        classes = {0: (1 << self._size) - 1}
        for word in dict.fromkeys(query.words):
            levels = self._levels(word)
            following: dict[int, int] = {}
            for score, bits in classes.items():
                for points, level in levels:
                    if both := bits & level:
                        following[score + points] = following.get(score + points, 0) | both
            classes = following
        for position in exact:
            for score, bits in list(classes.items()):
                if holds(bits, position):
                    classes[score] = bits & ~(1 << position)
                    classes[EXACT_NAME] = classes.get(EXACT_NAME, 0) | 1 << position
                    break
        return sorted(((s, bits) for s, bits in classes.items() if bits), reverse=True)

    def _levels(self, word: str) -> list[tuple[int, int]]:
        """Return the entries that a word is in, by the best place that it has there."""
        levels = []
        seen = NOTHING
        for field, points in zip(self._fields, _POINTS, strict=True):
            for worth, found in ((points, field.whole(word)), (points - 1, field.begun(word))):
                if new := found & ~seen:
                    levels.append((worth, new))
                    seen |= new
        return levels


class _Field:
    """The words that stand in one kind of place, with the positions of the entries."""

    def __init__(self, gathered: Mapping[str, list[int]], size: int) -> None:
        self._size = size
        self._postings: dict[str, Posting] = {
            word: bits_of(found, size) if len(found) * _DENSE > size else tuple(found)
            for word, found in gathered.items()
        }
        self._vocabulary = sorted(self._postings)
        self._broad: dict[str, int] = {}

    def whole(self, word: str) -> int:
        """Return the entries that have the word."""
        found = self._postings.get(word, NOTHING)
        return found if isinstance(found, int) else bits_of(found, self._size)

    def begun(self, word: str) -> int:
        """Return the entries that have a word which begins with this one."""
        if word in self._broad:
            return self._broad[word]
        bits = NOTHING
        few: list[int] = []
        first = bisect_left(self._vocabulary, word)
        longer = self._vocabulary[first : bisect_left(self._vocabulary, word + _LAST)]
        for found in map(self._postings.__getitem__, longer):
            if isinstance(found, int):
                bits |= found
            else:
                few.extend(found)
        if few:
            bits |= bits_of(few, self._size)
        if len(longer) >= _BROAD:
            self._broad[word] = bits
        return bits


def _words_by_field(entry: Entry) -> tuple[set[str], set[str], set[str]]:
    described = " ".join((entry.description, *entry.descriptions.values()))
    return set(words_of(entry.name)), set(words_of(" ".join(entry.tags))), set(words_of(described))
