"""Disagreements: what the doctor compared, put into findings."""

from __future__ import annotations

import json
from dataclasses import fields
from itertools import islice
from typing import TYPE_CHECKING

from skill_registry.catalog.access import read_access
from skill_registry.catalog.comparing import Difference, Verdict
from skill_registry.catalog.findings import Finding, hint_of_stray, unfixable
from skill_registry.catalog.snapshot import Catalog, Entry, Unreadable
from skill_registry.spec.text import counted
from skill_registry.store import keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from skill_registry.catalog.vendored import Listing
    from skill_registry.errors import RegistryError
    from skill_registry.spec.model import Diagnostic
    from skill_registry.store.keys import SkillId

# Stray objects of one place that are named one by one.
MOST_STRAYS = 100
_SHOWN = 100


def of_failure(code: str, skill: SkillId | None, key: str, error: RegistryError) -> Finding:
    """Tell what ended an examination, or a repair."""
    return unfixable(code, skill, key, f"{error.code}: {error.message}", hint="Run it again.")


def of_nothing_mended(
    skill: SkillId | None, key: str, before: Sequence[Finding], left: Sequence[Finding]
) -> list[Finding]:
    """Name what a repair should have mended and did not, so that no run of them is silent."""
    codes = sorted({each.code for each in left if each.fixable and each in before})
    if not codes:
        return []
    detail = f"It ended, and left {', '.join(codes)}."
    hint = "Somebody else may be writing: run it again. Where it stays, mend the other findings."
    return [unfixable("repair_failed", skill, key, detail, hint=hint)]


def of_catalog(
    scope: str, known: Catalog | Unreadable | None, *, has_skills: bool
) -> list[Finding]:
    """Tell of a catalog as a whole: it is missing, broken, or of another schema."""
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


def of_entry(skill: SkillId, listed: Entry | None, entry: Entry | None) -> list[Finding]:
    """Compare a catalog's entry with the one that the skill has."""
    key = keys.catalog(skill.scope)
    if listed == entry:
        return []
    if listed is None:
        detail = f"There is no entry, should be one{_of_version(entry)}."
        return [Finding("catalog_entry_missing", skill, key, detail)]
    if entry is None:
        detail = f"There is an entry{_of_version(listed)}, should be none."
        return [Finding("catalog_entry_extra", skill, key, detail)]
    differing = [
        f"{member.name} is {_shown(getattr(listed, member.name))}, "
        f"should be {_shown(getattr(entry, member.name))}"
        for member in fields(Entry)
        if getattr(listed, member.name) != getattr(entry, member.name)
    ]
    return [Finding("catalog_entry_stale", skill, key, "; ".join(differing) + ".")]


def _of_version(entry: Entry | None) -> str:
    return "" if entry is None or entry.version is None else f" of version {entry.version}"


def of_difference(skill: SkillId, each: Difference) -> Finding:
    """Tell of an object of the plain tree that is not as the head has it."""
    key = keys.tree_file(skill, each.path)
    has = counted(each.listed.size, "byte") if each.listed else "no bytes"
    if each.wanted is None:
        whose = "by hand" if each.by_hand else "by an earlier version"
        return Finding("tree_extra_file", skill, key, f"It was put there {whose}, should be gone.")
    should = f"{counted(len(each.wanted.data), 'byte')} with sha256 {each.wanted.sha256}"
    if each.verdict is Verdict.MISSING:
        return Finding("tree_missing_file", skill, key, f"There is none, should have {should}.")
    if each.verdict in (Verdict.MODE, Verdict.FOREIGN_MODE):
        return Finding("tree_mode", skill, key, f"Its mode should be {each.wanted.mode}.")
    code = "tree_foreign_file" if each.by_hand else "tree_stale_file"
    whose = "that no version has there" if each.by_hand else "of an earlier version"
    return Finding(code, skill, key, f"It has {has} {whose}, should have {should}.")


def of_access(body: bytes | None) -> list[Finding]:
    """Tell of grants that cannot be read. Only a person can know who should have which."""
    if body is None or read_access(body) is not None:
        return []
    detail = "It cannot be read, so no role is let in but those that the deployment names."
    hint = (
        "Where later code wrote it, finish that deployment. Else put its last good S3 version in "
        "its place, for which the bucket policy has to be lifted."
    )
    return [unfixable("access_broken", None, keys.access(), detail, hint=hint)]


def of_unsafe_path(skill: SkillId, fault: Diagnostic) -> Finding:
    """Tell of an object in a directory that is no file of a skill."""
    key = keys.tree_file(skill, fault.file or "")
    return unfixable("tree_unsafe_path", skill, key, fault.message, hint=hint_of_stray(key))


def of_directory(skill: SkillId, listing: Listing) -> list[Finding]:
    """Tell of the files of a directory that is no skill."""
    detail = "Its directory has no SKILL.md, so it belongs to no skill."
    prefix = keys.tree(skill)
    return of_strays((prefix + path for path in listing.objects), prefix, skill, detail)


def of_log_missing(skill: SkillId, why: str) -> Finding:
    """Tell of a directory that was managed, and now is served as if nobody ever published it."""
    detail = f"There are no versions, should be some: {why}. What lies in the tree is served."
    hint = (
        "To have the versions back, lift the bucket policy and restore their objects from their "
        "older S3 versions; else publish, which keeps the tree as a version first."
    )
    return unfixable("log_missing", skill, keys.revisions(skill), detail, hint=hint)


def of_strays(
    strays: Iterable[str],
    prefix: str,
    skill: SkillId | None = None,
    detail: str = "It belongs to no skill, should not be there.",
) -> list[Finding]:
    """Tell of objects, or folders, that nothing reads; of very many how many there are."""
    named = iter(strays)
    found = [
        unfixable("stray_object", skill, key, detail, hint=hint_of_stray(key))
        for key in islice(named, MOST_STRAYS)
    ]
    if more := sum(1 for _ in named):
        text = "There is 1 more." if more == 1 else f"There are {more} more."
        found.append(unfixable("stray_object", skill, prefix, text, hint=hint_of_stray(prefix)))
    return found


def _shown(value: object) -> str:
    """Show a member of an entry as the catalog holds it, cut where it is long."""
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
