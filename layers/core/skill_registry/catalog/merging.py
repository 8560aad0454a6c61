"""Several scopes as one: which of the skills of a name is the one that a caller means.

The first scope in order that has it for the caller. A name that is sealed comes from ``system`` or
from nowhere, one that a user hides from nowhere. A view decides alike, from the skills themselves.
"""

from __future__ import annotations

from functools import cached_property
from heapq import merge
from typing import TYPE_CHECKING

from skill_registry.catalog.bitsets import holds
from skill_registry.catalog.filters import NO_FILTERS
from skill_registry.catalog.snapshot import State

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skill_registry.catalog.cursors import Position
    from skill_registry.catalog.filters import Filters
    from skill_registry.catalog.indexing import Audience, CatalogIndex
    from skill_registry.catalog.principal import Principal
    from skill_registry.catalog.snapshot import Entry

Place = tuple[int, str]


class Merge:
    """The catalogs of some scopes, in order of precedence, as one caller sees them.

    A place is a name with the number of its scope in that order. Work is done for what is asked
    for: a page looks at its own entries, and at those of the same names in other scopes.
    """

    def __init__(
        self,
        indexes: Sequence[CatalogIndex],
        principal: Principal,
        filters: Filters = NO_FILTERS,
    ) -> None:
        self._indexes = indexes
        self._principal = principal
        self._filters = filters
        self._seen: dict[Audience, bool] = {}

    def sees(self, audience: Audience) -> bool:
        """Tell whether the caller is one of those whom a skill is for."""
        if audience not in self._seen:
            self._seen[audience] = self._principal.sees(*audience)
        return self._seen[audience]

    def winner(self, name: str) -> int | None:
        """Return the number of the scope that a name comes from, None where from nowhere."""
        return next((number for number in self.sources(name) if self._has(number, name)), None)

    def sources(self, name: str) -> Sequence[int]:
        """Return the numbers of the scopes that may have a say about a name, in order."""
        for number, index in enumerate(self._indexes):
            if name in index.sealed:
                return () if self.is_masked(name) else (number,)
        return () if self.is_masked(name) else range(len(self._indexes))

    def is_masked(self, name: str) -> bool:
        """Tell whether the owner of one of the scopes wants no skill of this name."""
        return any(name in index.masked for index in self._indexes)

    def listed(self, after: Position | None = None) -> Iterator[tuple[int, Place]]:
        """Return score and place of what is listed, best first and then by name.

        Args:
            after: Where the page before ended.
        """
        streams = [self._stream(number, after) for number in range(len(self._indexes))]
        for score, name, number in merge(*streams):
            if self.winner(name) == number:
                yield -score, (number, name)

    def is_listed(self, place: Place) -> bool:
        """Tell whether a place is listed, if it wins."""
        number, name = place
        position = self._indexes[number].position(name)
        return position is not None and any(
            holds(bits, position) for _, bits in self._listable[number]
        )

    def matches(self, place: Place) -> bool:
        """Tell whether a place passes the filters, whatever the caller may see."""
        number, name = place
        position = self._indexes[number].position(name)
        return position is not None and any(
            holds(bits, position) for _, bits in self._matching[number]
        )

    def entry(self, place: Place) -> Entry:
        """Return the entry of a place."""
        number, name = place
        return self._indexes[number].entries[name]

    def find(self, place: Place) -> Entry | None:
        """Return the entry of a place, None where the scope has none of the name."""
        number, name = place
        return self._indexes[number].entries.get(name)

    def _has(self, number: int, name: str) -> bool:
        entry = self.find((number, name))
        return entry is not None and self.may_load(entry)

    def may_load(self, entry: Entry) -> bool:
        """Tell whether the caller may load what an entry stands for, hidden or not."""
        there = entry.state is State.LIVE and entry.enabled
        return there and self.sees((entry.agents, entry.min_tier))

    def _stream(self, number: int, after: Position | None) -> Iterator[tuple[int, str, int]]:
        """Return what one scope would list, as tuples that sort as a listing does."""
        index = self._indexes[number]
        for score, bits in self._listable[number]:
            if after is not None and score > after.score:
                continue
            begin = after.name if after is not None and score == after.score else None
            for name in index.at(bits, begin):
                yield -score, name, number

    @cached_property
    def _listable(self) -> list[list[tuple[int, int]]]:
        """Return, by scope, score and entries that a listing of it alone would have."""
        seen = [index.listed(self.sees) for index in self._indexes]
        return [
            [(score, bits & mine) for score, bits in classes]
            for classes, mine in zip(self._matching, seen, strict=True)
        ]

    @cached_property
    def _matching(self) -> list[list[tuple[int, int]]]:
        """Return, by scope, score and entries that pass the filters."""
        return [self._passing(index) for index in self._indexes]

    def _passing(self, index: CatalogIndex) -> list[tuple[int, int]]:
        filters = self._filters
        found = [(0, index.everything)]
        if filters.query.words:
            found = index.ranked(filters.query)
        if filters.tools is None:
            return found
        usable = index.usable(filters.lets)
        return [(score, bits & usable) for score, bits in found]
