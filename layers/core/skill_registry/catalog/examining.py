"""Examining: the doctor. Names every disagreement between log, sidecar, tree, settings, catalog.

A disagreement counts when a second look finds it too: what a publish is just doing is none.
Examining writes nothing, repairing only what differs.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from skill_registry.catalog.comparing import Difference, TreeComparer, Verdict
from skill_registry.catalog.findings import Finding, unfixable
from skill_registry.catalog.revision import Kind
from skill_registry.catalog.snapshot import Catalog, Entry, Unreadable, read_catalog
from skill_registry.catalog.surveying import names_of, scopes_of, strays_beside, strays_of
from skill_registry.errors import RegistryError, RevisionDamaged
from skill_registry.store import keys
from skill_registry.store.base import NotModified, StoredObject
from skill_registry.store.keys import SkillId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from skill_registry.catalog.checking import LogChecker
    from skill_registry.catalog.entries import EntryReader
    from skill_registry.catalog.loading import Loader
    from skill_registry.catalog.pruning import Pruner
    from skill_registry.catalog.refreshing import Refresher
    from skill_registry.catalog.runtime import Runtime
    from skill_registry.catalog.vendored import Listing
    from skill_registry.spec.model import Diagnostic
    from skill_registry.store.base import SkillStore

# Seconds that one call works, which leaves room below the 30 of API Gateway.
BUDGET = 20.0
# Stray objects of one scope that are named one by one.
MOST_STRAYS = 100
_SHOWN = 100


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
    ) -> None:
        self._store = store
        self._runtime = runtime
        self._loader = loader
        self._checker = checker
        self._comparer = TreeComparer(store, runtime, loader)
        self._entries = entries
        self._refresher = refresher
        self._pruner = pruner
        # One scope's catalog, asked for again before each use.
        self._known: tuple[str, str, Catalog | Unreadable] | None = None

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
            found = _of_catalog(scope, self._catalog(scope), has_skills=has_skills)
            return found + _of_strays(strays_of(self._store, scope), keys.scope_tree(scope))

        return self._twice(look)

    def repair(self, skill: SkillId) -> list[Finding]:
        """Heal the log, project the head over what was edited by hand, refresh the catalog.

        Returns what is left: nothing that is ``fixable``, unless somebody else is at work.
        """
        failed: list[Finding] = []
        unpruned = any(each.code == "revision_unpruned" for each in self.examine(skill))
        try:
            self._refresher.mend(skill)
            if unpruned:
                self._pruner.prune(skill)
            self._refresh(skill.scope, (skill.name,))
        except RegistryError as error:
            failed.append(_failed("repair_failed", skill, keys.tree(skill), error))
        return self.examine(skill) + failed

    def repair_scope(self, scope: str) -> list[Finding]:
        """Rebuild a catalog that is missing or cannot be read; return what is left."""
        failed: list[Finding] = []
        if any(finding.fixable for finding in self.scope(scope)):
            try:
                self._refresh(scope, ())
            except RegistryError as error:
                failed.append(_failed("repair_failed", None, keys.catalog(scope), error))
        return self.scope(scope) + failed

    def examine_all(
        self,
        *,
        scope: str | None = None,
        start: str | None = None,
        fix: bool = False,
        budget: float = BUDGET,
    ) -> Examined:
        """Work through the bucket, scope by scope and skill by skill.

        Args:
            scope: Only this one; without it also what lies beside the scopes.
            start: ``next`` of an earlier call.
            fix: Repair what can be.
            budget: Seconds after which nothing further is begun; one scope or skill always is.

        Raises:
            Unavailable: The store does not answer. Call again with the same ``start``.
        """
        deadline = self._runtime.monotonic() + budget
        found: list[Finding] = []
        mended: list[Finding] = []
        examined = 0
        place: str | None = None
        if start is None and scope is None:
            found += _of_strays(strays_beside(self._store), "")
        scopes = [scope] if scope else scopes_of(self._store)
        for within, name in self._places(scopes, start):
            if place is not None and self._runtime.monotonic() >= deadline:
                return Examined(tuple(found), tuple(mended), examined, place)
            before, left = self._visit(within, name, fix=fix)
            found += left
            mended += [each for each in before if each not in left]
            place = f"{within}/{name}"
            examined += 1 if name else 0
        return Examined(tuple(found), tuple(mended), examined)

    def _places(self, scopes: Iterable[str], start: str | None) -> Iterator[tuple[str, str]]:
        """Yield each scope, with an empty name, and each of its skills, behind ``start``."""
        first, _, after = (start or "").partition("/")
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

    def _visit(self, scope: str, name: str, *, fix: bool) -> tuple[list[Finding], list[Finding]]:
        """Return what was wrong and what is left. One skill that fails stops no other."""
        skill = SkillId(scope, name) if name else None
        try:
            before = self._about(scope, skill)
            if not (fix and any(each.fixable for each in before)):
                return before, before
            if skill is None:
                return before, self.repair_scope(scope)
            return before, [each for each in self.repair(skill) if each.skill is not None]
        except RegistryError as error:
            key = keys.tree(skill) if skill else keys.scope_tree(scope)
            failed = [_failed("examine_failed", skill, key, error)]
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
        listing = self._loader.vendored.listing(skill)
        top, found = self._checker.check(skill, has_files=bool(listing.objects))
        found += [_unsafe(skill, each) for each in listing.left_out]
        found += self._of_tree(skill, top, listing) if top else []
        entry = self._entries.read(skill, top or None)
        if isinstance(known, Catalog):
            return found + _of_entry(skill, known.entries.get(skill.name), entry)
        return found + _of_catalog(skill.scope, known, has_skills=entry is not None)

    def _of_tree(self, skill: SkillId, top: int, listing: Listing) -> list[Finding]:
        """Compare the tree with the head. Where that cannot be read, there is nothing to say."""
        try:
            head = self._loader.revision(skill, top)
        except RevisionDamaged:
            return []
        if head is None or head.revision is None or head.revision.kind is Kind.PRUNED:
            return []
        differences = self._comparer.compare(head, listing, exact=True)
        return [_of_difference(skill, each) for each in differences]

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


def _failed(code: str, skill: SkillId | None, key: str, error: RegistryError) -> Finding:
    return unfixable(code, skill, key, f"{error.code}: {error.message}", hint="Run it again.")


def _of_catalog(
    scope: str, known: Catalog | Unreadable | None, *, has_skills: bool
) -> list[Finding]:
    key = keys.catalog(scope)
    if known is None:
        detail = "There is none, should list what the scope has."
        return [Finding("catalog_missing", None, key, detail)] if has_skills else []
    if isinstance(known, Catalog):
        return []
    detail = f"It cannot be read: {known.why}."
    if known.newer:
        hint = (
            "Later code wrote it, which this one must not undo. Finish that deployment; where it "
            "was rolled back, rebuild the catalog."
        )
        return [unfixable("catalog_schema", None, key, detail, hint=hint)]
    code = "catalog_broken" if known.schema is None else "catalog_schema"
    return [Finding(code, None, key, detail)]


def _of_entry(skill: SkillId, listed: Entry | None, entry: Entry | None) -> list[Finding]:
    key = keys.catalog(skill.scope)
    if listed == entry:
        return []
    if listed is None:
        detail = f"There is no entry, should be one of version {entry.version if entry else None}."
        return [Finding("catalog_entry_missing", skill, key, detail)]
    if entry is None:
        detail = f"There is an entry of version {listed.version}, should be none."
        return [Finding("catalog_entry_extra", skill, key, detail)]
    differing = [
        f"{member.name} is {_shown(getattr(listed, member.name))}, "
        f"should be {_shown(getattr(entry, member.name))}"
        for member in fields(Entry)
        if getattr(listed, member.name) != getattr(entry, member.name)
    ]
    return [Finding("catalog_entry_stale", skill, key, "; ".join(differing) + ".")]


def _of_difference(skill: SkillId, each: Difference) -> Finding:
    key = keys.tree_file(skill, each.path)
    has = f"{each.listed.size} bytes" if each.listed else "no bytes"
    if each.wanted is None:
        whose = "by hand" if each.by_hand else "by an earlier version"
        return Finding("tree_extra_file", skill, key, f"It was put there {whose}, should be gone.")
    should = f"{len(each.wanted.data)} bytes with sha256 {each.wanted.sha256}"
    if each.verdict is Verdict.MISSING:
        return Finding("tree_missing_file", skill, key, f"There is none, should have {should}.")
    if each.verdict in (Verdict.MODE, Verdict.FOREIGN_MODE):
        return Finding("tree_mode", skill, key, f"Its mode should be {each.wanted.mode}.")
    code = "tree_foreign_file" if each.by_hand else "tree_stale_file"
    whose = "that no version has there" if each.by_hand else "of an earlier version"
    return Finding(code, skill, key, f"It has {has} {whose}, should have {should}.")


def _unsafe(skill: SkillId, fault: Diagnostic) -> Finding:
    key = keys.tree_file(skill, fault.file or "")
    hint = "Nothing reads it. Remove it by hand."
    return unfixable("tree_unsafe_path", skill, key, fault.message, hint=hint)


def _of_strays(strays: Iterable[str], prefix: str) -> list[Finding]:
    hint = "Nothing reads it. Remove it by hand."
    detail = "It belongs to no skill, should not be there."
    named = list(strays)
    found = [unfixable("stray_object", None, k, detail, hint=hint) for k in named[:MOST_STRAYS]]
    if more := len(named) - MOST_STRAYS if len(named) > MOST_STRAYS else 0:
        found.append(unfixable("stray_object", None, prefix, f"There are {more} more.", hint=hint))
    return found


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
