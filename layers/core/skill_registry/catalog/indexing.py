"""The index of one catalog: what a listing looks up, so that it need not look at every entry.

Made when it is first needed, from a catalog that never changes, and remembered with it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cached_property
from typing import TYPE_CHECKING

from skill_registry.catalog.bitsets import NOTHING, bits_of, members_of
from skill_registry.catalog.principal import SYSTEM
from skill_registry.catalog.searching import WordIndex
from skill_registry.catalog.snapshot import State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from skill_registry.catalog.searching import Query
    from skill_registry.catalog.snapshot import Catalog, Entry

Audience = tuple[tuple[str, ...] | None, str | None]


class CatalogIndex:
    """Looks up entries of a catalog: by name, by who may see them, by tool, by word.

    Entries that nobody may have, deleted and disabled ones, are not in it. Sets of the others are
    bits, the lowest for the first by name.
    """

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.scope = catalog.scope
        self.entries = catalog.entries

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of what is enabled and not deleted, sorted."""
        return tuple(sorted(name for name, e in self.entries.items() if _is_there(e)))

    @cached_property
    def masked(self) -> frozenset[str]:
        """Names that the owner of the scope wants from no scope."""
        return frozenset(name for name, e in self.entries.items() if e.masked)

    @cached_property
    def sealed(self) -> frozenset[str]:
        """Names that come from this scope or from nowhere. Only ``system`` has that say."""
        if self.scope != SYSTEM:
            return frozenset()
        return frozenset(name for name, e in self.entries.items() if e.sealed)

    @cached_property
    def told(self) -> tuple[str, ...]:
        """Names, sorted, of what a diagnostic has to be told of.

        Of a published skill its author was told; of a directory, nobody.
        """
        return tuple(
            name
            for name in self.names
            if (entry := self.entries[name]).state is State.INVALID
            or (entry.revision is None and entry.diagnostics)
        )

    def position(self, name: str) -> int | None:
        """Return the place of a name among ``names``, None where it has none."""
        place = bisect_left(self.names, name)
        return place if self.names[place : place + 1] == (name,) else None

    def at(self, bits: int, after: str | None = None) -> Iterator[str]:
        """Return the names of a set in order, behind ``after`` where it is given."""
        start = bisect_right(self.names, after) if after is not None else 0
        return (self.names[place] for place in members_of(bits, start))

    def listed(self, sees: Callable[[Audience], bool]) -> int:
        """Return what a caller finds in a listing of this scope alone."""
        return _joined(bits for audience, bits in self._audiences.items() if sees(audience))

    def usable(self, lets: Callable[[tuple[str, ...]], bool]) -> int:
        """Return the entries whose tools the caller has."""
        return _joined(bits for tools, bits in self._tools.items() if lets(tools))

    def ranked(self, query: Query) -> list[tuple[int, int]]:
        """Return score and entries of those that match, as ``WordIndex.ranked``."""
        exact = {self.position("-".join(query.words)), self.position(query.text)} - {None}
        return self._words.ranked(query, (place for place in exact if place is not None))

    @cached_property
    def everything(self) -> int:
        """Return all entries of the index."""
        return (1 << len(self.names)) - 1

    @cached_property
    def _words(self) -> WordIndex:
        return WordIndex([self.entries[name] for name in self.names])

    @cached_property
    def _audiences(self) -> Mapping[Audience, int]:
        """What can be listed, by whom it is for: few answers for many entries."""
        places: dict[Audience, list[int]] = {}
        for place, name in enumerate(self.names):
            entry = self.entries[name]
            if entry.state is State.LIVE and not entry.hidden:
                places.setdefault((entry.agents, entry.min_tier), []).append(place)
        return {audience: bits_of(some, len(self.names)) for audience, some in places.items()}

    @cached_property
    def _tools(self) -> Mapping[tuple[str, ...], int]:
        places: dict[tuple[str, ...], list[int]] = {}
        for place, name in enumerate(self.names):
            places.setdefault(self.entries[name].allowed_tools, []).append(place)
        return {tools: bits_of(some, len(self.names)) for tools, some in places.items()}


def _is_there(entry: Entry) -> bool:
    return entry.enabled and entry.state is not State.DELETED


def _joined(sets: Iterable[int]) -> int:
    bits = NOTHING
    for each in sets:
        bits |= each
    return bits
