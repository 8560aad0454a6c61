"""Refresh: what an event, a publish or the schedule does for a skill. Each step may run again.

Heal rolls the log forward, project brings the plain tree to the head, refresh brings the catalog
entry up to date. Order is everything in refresh: the catalog's ETag first, the authority second,
then the conditional write; duplicates and reordering of events are harmless by that alone
(architecture, section 6).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from skill_registry.catalog.projection import Projected
from skill_registry.catalog.snapshot import Catalog, Unreadable, read_catalog
from skill_registry.catalog.surveying import names_of
from skill_registry.errors import Unavailable
from skill_registry.store import keys
from skill_registry.store.base import IfAbsent, IfMatch, StoredObject, Written
from skill_registry.store.keys import SkillId

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skill_registry.catalog.entries import EntryReader
    from skill_registry.catalog.log import RevisionLog
    from skill_registry.catalog.projection import Projection
    from skill_registry.catalog.runtime import Runtime
    from skill_registry.catalog.snapshot import Entry
    from skill_registry.store.base import SkillStore

ATTEMPTS = 60


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a refresh did.

    Attributes:
        catalog: What the scope's catalog says now.
        written: Whether it was written.
        names: Skills whose entries are others than before.
    """

    catalog: Catalog
    written: bool = False
    names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Known:
    """A scope's catalog as it was read; ``etag`` is None where there is none."""

    catalog: Catalog | Unreadable
    etag: str | None


class Refresher:
    """Brings everything that is derived from a skill up to date."""

    def __init__(
        self,
        store: SkillStore,
        runtime: Runtime,
        log: RevisionLog,
        entries: EntryReader,
        projection: Projection,
    ) -> None:
        self._store = store
        self._runtime = runtime
        self._log = log
        self._entries = entries
        self._projection = projection

    def settle(self, skill: SkillId) -> Projected:
        """Heal a skill's log and project its head. Writes nothing where all is well."""
        head = self._log.heal(skill)
        done = self._projection.project(skill, head.number) if head.number else Projected()
        return replace(done, sidecar=head.etag)

    def mend(self, skill: SkillId) -> Projected:
        """Heal, and project over what was edited by hand, believing nothing but bytes."""
        head = self._log.heal(skill)
        if not head.number:
            return Projected()
        return self._projection.project(skill, head.number, take_over=True, exact=True)

    def take_over(self, skill: SkillId, number: int) -> Projected:
        """Project the head after a publish of ``number``, over what was edited by hand."""
        return self._projection.project(skill, number, take_over=True)

    def refresh(self, scope: str, names: Iterable[str]) -> Refreshed:
        """Bring the catalog entries of these skills up to date, in one write for all of them.

        A scope whose catalog is missing or broken is listed and rebuilt as a whole; one that later
        code wrote is left to that code.

        Raises:
            Unavailable: Others kept winning, the catalog is of a later schema, or the store does
                not answer.
        """
        return self._update(scope, set(names))

    def rebuild(self, scope: str) -> Catalog:
        """Read every entry anew, whatever the catalog says; return the catalog that results.

        Its version never decreases, and only an entry that differs raises it: a second rebuild
        writes nothing. An operator who asks for it wants it over a later schema too: that is what
        a deployment which was rolled back leaves behind.

        Raises:
            Unavailable: Others kept winning, or the store does not answer.
        """
        return self._update(scope, None).catalog

    def known(self, scope: str) -> Known:
        """Read a scope's catalog: what comes first where an entry is to be written."""
        found = self._store.get(keys.catalog(scope))
        if not isinstance(found, StoredObject):
            return Known(Unreadable("it is missing"), None)
        return Known(read_catalog(scope, found.body), found.etag)

    def open(self, scope: str) -> None:
        """Give a scope that has no record yet its catalog.

        Before its first record: a listing that found a record and no catalog would have to take the
        catalog for lost.
        """
        if self._store.head(keys.catalog(scope)) is not None:
            return
        if not self._store.list_page(keys.scope_records(scope), limit=1).objects:
            self.refresh(scope, ())

    def enter(self, known: Known, skill: SkillId, entry: Entry | None) -> None:
        """Write the entry of a skill, read from the authority after ``known`` was.

        Where others wrote the catalog meanwhile, the entry is read again.

        Raises:
            Unavailable: As ``refresh``.
        """
        catalog = known.catalog
        if isinstance(catalog, Catalog):
            after = catalog.changed({skill.name: entry}, floor=0)
            if after is None or self._put(known, after):
                return
        self.refresh(skill.scope, [skill.name])

    def _put(self, known: Known, catalog: Catalog) -> bool:
        result = self._store.put(
            keys.catalog(catalog.scope),
            catalog.encode(),
            condition=IfMatch(known.etag) if known.etag else IfAbsent(),
            content_type="application/gzip",
        )
        return isinstance(result, Written)

    def _update(self, scope: str, names: set[str] | None) -> Refreshed:
        """Compare and set; without names, every entry is read."""
        for attempt in range(ATTEMPTS):
            known = self.known(scope)
            stored = known.catalog
            if isinstance(stored, Unreadable) and stored.newer and names is not None:
                raise Unavailable(f"The catalog of `{scope}` cannot be read: {stored.why}.")
            before = stored if isinstance(stored, Catalog) else Catalog(scope, 0, {})
            after = self._renewed(before, stored, names)
            if after is None or (known.etag is None and names is None and not after.entries):
                return Refreshed(before)
            if self._put(known, after):
                return Refreshed(after, True, _differing(before, after))
            self._runtime.pause(attempt)
        raise Unavailable(f"Too many writers on the catalog of `{scope}`; try again.")

    def _renewed(
        self, before: Catalog, known: Catalog | Unreadable, names: set[str] | None
    ) -> Catalog | None:
        """Read the authority of each name; None where the catalog says all of it already."""
        floor = 0
        if names is None or isinstance(known, Unreadable):
            names = {*(names or ()), *before.entries, *names_of(self._store, before.scope)}
        if isinstance(known, Unreadable):
            # A catalog made anew goes on above the one that was lost: milliseconds outrun writes.
            floor = max(int(self._runtime.clock() * 1000), known.version + 1)
        wanted = sorted(names)
        calls = [partial(self._entries.read, SkillId(before.scope, name)) for name in wanted]
        entries = self._runtime.parallel(calls)
        return before.changed(dict(zip(wanted, entries, strict=True)), floor=floor)


def _differing(before: Catalog, after: Catalog) -> frozenset[str]:
    names = {*before.entries, *after.entries}
    return frozenset(n for n in names if before.entries.get(n) != after.entries.get(n))
