"""Examining: the doctor. Names every disagreement between log, sidecar, tree, settings, catalog.

A disagreement counts when a second look finds it too: what a publish is just doing is none.
Examining writes nothing, repairing only what differs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skill_registry.catalog.comparing import TreeComparer
from skill_registry.catalog.disagreements import (
    of_access,
    of_catalog,
    of_difference,
    of_directory,
    of_entry,
    of_failure,
    of_log_missing,
    of_nothing_mended,
    of_strays,
    of_unsafe_path,
)
from skill_registry.catalog.places import read_place
from skill_registry.catalog.revision import Kind
from skill_registry.catalog.snapshot import Catalog, Unreadable, read_catalog
from skill_registry.catalog.surveying import names_of, scopes_of, strays_beside, strays_of
from skill_registry.errors import RegistryError, RevisionDamaged
from skill_registry.store import keys
from skill_registry.store.base import NotModified, StoredObject
from skill_registry.store.keys import SkillId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from skill_registry.catalog.checking import CheckedLog, LogChecker
    from skill_registry.catalog.configuring import SettingsFiles
    from skill_registry.catalog.entries import EntryReader
    from skill_registry.catalog.findings import Finding
    from skill_registry.catalog.loading import Loader
    from skill_registry.catalog.pruning import Pruner
    from skill_registry.catalog.refreshing import Refresher
    from skill_registry.catalog.runtime import Runtime
    from skill_registry.catalog.snapshot import Entry
    from skill_registry.catalog.vendored import Listing
    from skill_registry.store.base import SkillStore

# Seconds that one call works, which leaves room below the 30 of API Gateway.
BUDGET = 20.0
DOCTOR = "doctor"


@dataclass(frozen=True, slots=True)
class Examined:
    """What a call of the doctor found.

    Attributes:
        findings: What is wrong; after a repair, what is left.
        repaired: What was wrong and is mended.
        examined: Skills that it looked at.
        next: Where another call goes on, None where this one came to the end.
    """

    findings: tuple[Finding, ...]
    repaired: tuple[Finding, ...] = ()
    examined: int = 0
    next: str | None = None


class Examiner:
    """The doctor use case. Give it a loader that remembers nothing: what is stored counts."""

    def __init__(
        self,
        store: SkillStore,
        runtime: Runtime,
        loader: Loader,
        checker: LogChecker,
        entries: EntryReader,
        refresher: Refresher,
        pruner: Pruner,
        settings: SettingsFiles,
    ) -> None:
        self._store = store
        self._runtime = runtime
        self._loader = loader
        self._checker = checker
        self._comparer = TreeComparer(store, runtime, loader)
        self._entries = entries
        self._refresher = refresher
        self._pruner = pruner
        self._settings = settings
        # One scope's catalog, asked for again before each use.
        self._known: tuple[str, str, Catalog | Unreadable] | None = None

    def knows(self, skill: SkillId) -> bool:
        """Whether the bucket has anything of a skill, an entry in the catalog included."""
        records = f"{keys.scope_records(skill.scope)}{skill.name}/"
        for prefix in (keys.tree(skill), records):
            if self._store.list_page(prefix, limit=1).objects:
                return True
        known = self._catalog(skill.scope)
        return isinstance(known, Catalog) and skill.name in known.entries

    def examine(self, skill: SkillId) -> list[Finding]:
        """Return every disagreement about one skill, its scope's catalog included.

        Raises:
            Unavailable: The store does not answer.
        """
        return self._twice(lambda: self._of_skill(skill))

    def scope(self, scope: str) -> list[Finding]:
        """Return what concerns a whole scope: its catalog, and objects that belong to no skill."""

        def look() -> list[Finding]:
            has_skills = bool(names_of(self._store, scope))
            found = of_catalog(scope, self._catalog(scope), has_skills=has_skills)
            return found + of_strays(strays_of(self._store, scope), keys.scope_tree(scope))

        return self._twice(look)

    def repair(self, skill: SkillId, *, who: str = DOCTOR) -> list[Finding]:
        """Heal the log, project the head over what was edited by hand, refresh the catalog.

        Unreadable settings become closed ones first. Returns what is left: nothing that is
        ``fixable`` without a ``repair_failed`` that names it.

        Args:
            who: Is noted where settings are replaced.
        """
        before = self.examine(skill)
        try:
            codes = {each.code for each in before if each.fixable}
            if "settings_broken" in codes:
                stubs = self._checker.check(skill, has_files=True).stubs
                self._settings.replace_unreadable(skill, who, gone=stubs)
            self._refresher.mend(skill)
            if "revision_unpruned" in codes:
                self._pruner.prune(skill)
            self._refresh(skill.scope, (skill.name,))
        except RegistryError as error:
            return [
                *self.examine(skill),
                of_failure("repair_failed", skill, keys.tree(skill), error),
            ]
        left = self.examine(skill)
        return left + of_nothing_mended(skill, keys.tree(skill), before, left)

    def repair_scope(self, scope: str) -> list[Finding]:
        """Rebuild a catalog that is missing or cannot be read; return what is left."""
        before = self.scope(scope)
        if not any(finding.fixable for finding in before):
            return before
        try:
            self._refresh(scope, ())
        except RegistryError as error:
            failed = of_failure("repair_failed", None, keys.catalog(scope), error)
            return [*self.scope(scope), failed]
        left = self.scope(scope)
        return left + of_nothing_mended(None, keys.catalog(scope), before, left)

    def examine_all(
        self,
        *,
        scope: str | None = None,
        start: str | None = None,
        fix: bool = False,
        budget: float = BUDGET,
        who: str = DOCTOR,
    ) -> Examined:
        """Work through the bucket, scope by scope and skill by skill.

        Args:
            scope: Only this one; without it also what lies beside the scopes.
            start: ``next`` of an earlier call.
            fix: Repair what can be.
            budget: Seconds after which nothing further is begun; one scope or skill always is.
            who: Is noted where settings are replaced.

        Raises:
            RequestInvalid: ``cursor_invalid``.
            Unavailable: The store does not answer. Call again with the same ``start``.
        """
        behind = read_place(start, within=scope)
        deadline = self._runtime.monotonic() + budget
        found: list[Finding] = []
        mended: list[Finding] = []
        examined = 0
        place: str | None = None
        if start is None and scope is None:
            found += of_strays(strays_beside(self._store), "") + self._of_access()
        scopes = [scope] if scope else scopes_of(self._store)
        for within, name in self._places(scopes, behind):
            if place is not None and self._runtime.monotonic() >= deadline:
                return Examined(tuple(found), tuple(mended), examined, place)
            before, left = self._visit(within, name, fix=fix, who=who)
            found += left
            mended += [each for each in before if each not in left]
            place = f"{within}/{name}"
            examined += 1 if name else 0
        return Examined(tuple(found), tuple(mended), examined)

    def _of_access(self) -> list[Finding]:
        found = self._store.get(keys.access())
        return of_access(found.body if isinstance(found, StoredObject) else None)

    def _places(self, scopes: Iterable[str], behind: tuple[str, str]) -> Iterator[tuple[str, str]]:
        """Yield each scope, with an empty name, and each of its skills, behind a place."""
        first, after = behind
        for scope in scopes:
            if scope < first:
                continue
            if scope != first:
                yield scope, ""
            known = self._catalog(scope)
            listed = set(known.entries) if isinstance(known, Catalog) else set()
            for name in sorted(listed | names_of(self._store, scope)):
                if scope != first or name > after:
                    yield scope, name

    def _visit(
        self, scope: str, name: str, *, fix: bool, who: str
    ) -> tuple[list[Finding], list[Finding]]:
        """Return what was wrong and what is left. One skill that fails stops no other."""
        skill = SkillId(scope, name) if name else None
        try:
            before = self._about(scope, skill)
            if not (fix and any(each.fixable for each in before)):
                return before, before
            if skill is None:
                return before, self.repair_scope(scope)
            left = self.repair(skill, who=who)
            return before, [each for each in left if each.skill is not None]
        except RegistryError as error:
            key = keys.tree(skill) if skill else keys.scope_tree(scope)
            failed = [of_failure("examine_failed", skill, key, error)]
            return failed, failed

    def _about(self, scope: str, skill: SkillId | None) -> list[Finding]:
        """Return what concerns the scope alone, or the skill alone."""
        if skill is None:
            return self.scope(scope)
        return [each for each in self.examine(skill) if each.skill is not None]

    def _twice(self, look: Callable[[], list[Finding]]) -> list[Finding]:
        """Keep what two looks find: the first may have met a publish on its way."""
        first = look()
        again = set(look()) if first else set()
        return [finding for finding in first if finding in again]

    def _of_skill(self, skill: SkillId) -> list[Finding]:
        known = self._catalog(skill.scope)
        listed = known.entries.get(skill.name) if isinstance(known, Catalog) else None
        listing = self._loader.vendored.listing(skill)
        log = self._checker.check(skill, has_files=bool(listing.objects))
        found = list(log.findings)
        found += [of_unsafe_path(skill, each) for each in listing.left_out]
        entry = self._entries.read(skill, log.head or None)
        if log.head:
            found += self._of_tree(skill, log.head, listing)
        elif entry is None:
            found += of_directory(skill, listing)
        elif why := self._why_managed(log, listing, listed):
            found.append(of_log_missing(skill, why))
        if isinstance(known, Catalog):
            return found + of_entry(skill, listed, entry)
        return found + of_catalog(skill.scope, known, has_skills=entry is not None)

    def _of_tree(self, skill: SkillId, number: int, listing: Listing) -> list[Finding]:
        """Compare the tree with the head. Where that cannot be read, there is nothing to say."""
        try:
            head = self._loader.revision(skill, number)
        except RevisionDamaged:
            return []
        if head is None or head.revision is None or head.revision.kind is Kind.PRUNED:
            return []
        differences = self._comparer.compare(head, listing, exact=True)
        return [of_difference(skill, each) for each in differences]

    def _why_managed(self, log: CheckedLog, listing: Listing, listed: Entry | None) -> str | None:
        """Say how one knows that a directory without a log once had one; None where it had not."""
        if listed is not None and listed.revision is not None:
            return f"the catalog lists version {listed.revision}"
        decided = log.overrides
        if decided is not None and (decided.labels or decided.prune_below or decided.purged):
            return "its settings speak of versions"
        if log.stated is None or not listing.objects:
            return None
        found = self._store.head(next(iter(listing.objects.values())).key)
        # A projection writes the digest beside the bytes, a sync does not.
        ours = found is not None and "sha256" in found.metadata
        return f"publishes wrote its files up to version {log.stated}" if ours else None

    def _catalog(self, scope: str) -> Catalog | Unreadable | None:
        known = self._known if self._known and self._known[0] == scope else None
        found = self._store.get(keys.catalog(scope), if_none_match=known[1] if known else None)
        if isinstance(found, StoredObject):
            self._known = (scope, found.etag, read_catalog(scope, found.body))
            return self._known[2]
        return known[2] if known and isinstance(found, NotModified) else None

    def _refresh(self, scope: str, names: tuple[str, ...]) -> None:
        known = self._catalog(scope)
        if not (isinstance(known, Unreadable) and known.newer):
            self._refresher.refresh(scope, names)
