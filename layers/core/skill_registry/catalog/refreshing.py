"""Refresh: what an event, a publish or the schedule does for a skill. Each step may run again.

Heal rolls the log forward, project brings the plain tree to the head, refresh brings the catalog
entry up to date. Order is everything in refresh: the catalog's ETag first, the authority second,
then the conditional write; duplicates and reordering of events are harmless by that alone
(architecture, section 6).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from skill_registry.catalog.snapshot import Catalog, decode
from skill_registry.errors import Unavailable
from skill_registry.spec.names import is_directory_name
from skill_registry.store import keys
from skill_registry.store.base import IfAbsent, IfMatch, StoredObject, Written, list_folders
from skill_registry.store.keys import SkillId

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skill_registry.catalog.entries import EntryReader
    from skill_registry.catalog.log import RevisionLog
    from skill_registry.catalog.projection import Projected, Projection
    from skill_registry.catalog.runtime import Runtime
    from skill_registry.store.base import SkillStore

ATTEMPTS = 60


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
        self._log.heal(skill)
        return self._projection.project(skill)

    def take_over(self, skill: SkillId, number: int) -> Projected:
        """Project the head after a publish of ``number``, over what was edited by hand."""
        return self._projection.project(skill, number, take_over=True)

    def refresh(self, scope: str, names: Iterable[str]) -> bool:
        """Bring the catalog entries of these skills up to date, in one write for all of them.

        Returns whether the catalog changed. A scope whose catalog is missing or broken is listed
        and rebuilt as a whole.

        Raises:
            Unavailable: Others kept winning, or the store does not answer.
        """
        asked = set(names)
        for attempt in range(ATTEMPTS):
            found = self._store.get(keys.catalog(scope))
            stored = found if isinstance(found, StoredObject) else None
            catalog = decode(scope, stored.body) if stored else None
            wanted = asked if catalog else asked | self._all_names(scope)
            updated = self._updated(catalog or Catalog(scope, 0, {}), sorted(wanted))
            if updated is None:
                return False
            result = self._store.put(
                keys.catalog(scope),
                updated.encode(),
                condition=IfMatch(stored.etag) if stored else IfAbsent(),
                content_type="application/gzip",
            )
            if isinstance(result, Written):
                return True
            self._runtime.pause(attempt)
        raise Unavailable(f"Too many writers on the catalog of `{scope}`; try again.")

    def _updated(self, catalog: Catalog, names: list[str]) -> Catalog | None:
        """Read the authority of each name; None where the catalog says all of it already."""
        calls = [partial(self._entries.read, SkillId(catalog.scope, name)) for name in names]
        entries = self._runtime.parallel(calls)
        # A catalog made anew continues above any that was lost: milliseconds outrun its writes.
        floor = int(self._runtime.clock() * 1000)
        return catalog.changed(dict(zip(names, entries, strict=True)), floor=floor)

    def _all_names(self, scope: str) -> set[str]:
        trees = list_folders(self._store, keys.scope_tree(scope))
        records = list_folders(self._store, keys.scope_records(scope))
        return {name for name in {*trees, *records} if is_directory_name(name)}
