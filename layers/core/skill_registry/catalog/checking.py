"""Checking a log: its revisions by their bytes, its sidecar, labels and settings against it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from skill_registry.catalog.findings import Finding, unfixable
from skill_registry.catalog.log import parse_sidecar
from skill_registry.catalog.overrides import NO_OVERRIDES, Overrides, read_overrides
from skill_registry.catalog.revision import Kind
from skill_registry.spec.archive import content_digest, read_revision
from skill_registry.store import keys
from skill_registry.store.base import StoredObject, list_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from skill_registry.catalog.runtime import Runtime
    from skill_registry.store.base import SkillStore
    from skill_registry.store.keys import SkillId

# Bytes of revisions that are in memory at once.
_BATCH = 32 * 1024 * 1024
_SHOWN = 40


@dataclass(frozen=True, slots=True)
class _Checked:
    """A revision that was read: its kind, and what is wrong with it."""

    kind: Kind
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class _Read:
    """What a log's objects hold."""

    skill: SkillId
    revisions: Mapping[int, _Checked]
    strays: tuple[str, ...]
    sidecar: StoredObject | None
    settings: StoredObject | None
    overrides: Overrides | None
    has_files: bool

    @property
    def top(self) -> int:
        """The highest number, 0 for none."""
        return max(self.revisions, default=0)


class LogChecker:
    """Checks logs. Reads every revision whole, and writes nothing."""

    def __init__(self, store: SkillStore, runtime: Runtime) -> None:
        self._store = store
        self._runtime = runtime

    def check(self, skill: SkillId, *, has_files: bool) -> tuple[int, list[Finding]]:
        """Return the number of the newest revision, 0 for none, and what is wrong.

        Args:
            has_files: Whether anything but ``.version`` lies in the plain tree.
        """
        sizes: dict[int, int] = {}
        strays = []
        for info in list_all(self._store, keys.revisions(skill)):
            number = keys.revision_number(info.key)
            if number is not None:
                sizes[number] = info.size
            elif not info.key.endswith("/"):
                strays.append(info.key)
        sidecar = self._get(keys.sidecar(skill))
        settings = self._get(keys.settings(skill))
        overrides = read_overrides(settings.body) if settings else NO_OVERRIDES
        revisions = self._revisions(skill, sizes)
        read = _Read(skill, revisions, tuple(strays), sidecar, settings, overrides, has_files)
        parts = (_sidecar, _revisions, _gaps, _kept, _labels, _strays, _settings)
        return read.top, [finding for part in parts for finding in part(read)]

    def _get(self, key: str) -> StoredObject | None:
        found = self._store.get(key)
        return found if isinstance(found, StoredObject) else None

    def _revisions(self, skill: SkillId, sizes: Mapping[int, int]) -> dict[int, _Checked]:
        """Read the revisions, so many at once as memory allows."""
        checked: dict[int, _Checked] = {}
        batch: list[int] = []
        for number in sorted(sizes):
            if batch and sum(sizes[each] for each in batch) + sizes[number] > _BATCH:
                checked |= self._batch(skill, batch)
                batch = []
            batch.append(number)
        return checked | self._batch(skill, batch)

    def _batch(self, skill: SkillId, numbers: list[int]) -> dict[int, _Checked]:
        calls = [partial(self._one, skill, number) for number in numbers]
        found = zip(numbers, self._runtime.parallel(calls), strict=True)
        return {number: checked for number, checked in found if checked is not None}

    def _one(self, skill: SkillId, number: int) -> _Checked | None:
        stored = self._get(keys.revision(skill, number))
        return None if stored is None else _checked(stored)


def _checked(stored: StoredObject) -> _Checked:
    said = stored.info.metadata
    kind = said.get("kind")
    if kind not in set(Kind):
        what = f"the kind `{kind}`" if kind else "no kind"
        return _Checked(Kind.CONTENT, f"its metadata has {what}, so it is no revision of ours")
    try:
        files = read_revision(stored.body)
    except ValueError:
        return _Checked(Kind(kind), f"its {len(stored.body)} bytes are no readable zip archive")
    if kind != Kind.CONTENT and files:
        return _Checked(Kind(kind), f"it is a {kind} and holds {len(files)} files")
    if kind == Kind.PRUNED:
        return _Checked(Kind.PRUNED)
    pairs = (
        ("sha256", hashlib.sha256(stored.body).hexdigest()),
        ("digest", content_digest(files)),
    )
    for name, actual in pairs:
        if said.get(name) != actual:
            return _Checked(Kind(kind), f"its {name} is {actual}, should be {said.get(name)}")
    return _Checked(Kind(kind))


def _sidecar(read: _Read) -> Iterator[Finding]:
    skill, top, key = read.skill, read.top, keys.sidecar(read.skill)
    if read.sidecar is None:
        if top:
            detail = f"There is none, should be {top}."
            yield Finding("sidecar_missing", skill, key, detail)
        return
    stated = parse_sidecar(read.sidecar.body)
    if stated is None:
        found = repr(read.sidecar.body[:_SHOWN])[1:]
        if top:
            yield Finding("sidecar_garbage", skill, key, f"It holds {found}, should be {top}.")
        else:
            detail = f"It holds {found}, should be a number or not be there."
            hint = "Nothing was published here, so the directory is served without it; remove it."
            yield unfixable("sidecar_garbage", skill, key, detail, hint=hint)
    elif stated > top and (top or not read.has_files):
        detail = f"It states {stated}, should be {top or 'absent'}: the log ends there."
        hint = "The log is gone: restore its objects from their older versions, or publish again."
        if top:
            yield Finding("sidecar_past_log", skill, key, detail)
        else:
            yield unfixable("sidecar_past_log", skill, key, detail, hint=hint)
    elif stated < top:
        yield Finding("sidecar_behind", skill, key, f"It states {stated}, should be {top}.")


def _revisions(read: _Read) -> Iterator[Finding]:
    for number, checked in read.revisions.items():
        if checked.fault is None:
            continue
        hint = "It is not the current version: nothing but pins, diffs and rollbacks of it fail."
        if number == read.top:
            whole = [n for n, each in read.revisions.items() if each == _Checked(Kind.CONTENT)]
            back = f", or roll back to {max(whole)}" if whole else ""
            hint = f"Nobody can load the skill: publish it again{back}."
        key = keys.revision(read.skill, number)
        detail = f"Version {number}: {checked.fault}."
        yield unfixable("revision_damaged", read.skill, key, detail, hint=hint)


def _gaps(read: _Read) -> Iterator[Finding]:
    numbers = sorted(read.revisions)
    for before, after in pairwise(numbers):
        if after - before == 1:
            continue
        missing = f"{before + 1}" if after - before == 2 else f"{before + 1} to {after - 1}"
        detail = f"There is {before} and {after}, should be {missing} between them."
        hint = "Restore the objects from their older versions; a number never comes again."
        key = keys.revision(read.skill, before + 1)
        yield unfixable("revision_gap", read.skill, key, detail, hint=hint)


def _kept(read: _Read) -> Iterator[Finding]:
    """Compare what lost its bytes with what should have."""
    if read.overrides is None:
        return
    for number, checked in read.revisions.items():
        key = keys.revision(read.skill, number)
        kept = number == read.top or read.overrides.keeps(number)
        if kept and checked.kind is Kind.PRUNED:
            why = "is the current version" if number == read.top else "is to be kept"
            detail = f"Version {number} has no bytes, should have: it {why}."
            hint = "Restore the object from an older version of it, or publish the skill again."
            yield unfixable("revision_pruned", read.skill, key, detail, hint=hint)
        elif not kept and checked.kind is Kind.CONTENT:
            detail = f"Version {number} has bytes, should have none: its pruning is unfinished."
            yield Finding("revision_unpruned", read.skill, key, detail)


def _labels(read: _Read) -> Iterator[Finding]:
    for label, number in sorted((read.overrides or NO_OVERRIDES).labels.items()):
        checked = read.revisions.get(number)
        if checked is not None and checked.kind is Kind.CONTENT:
            continue
        what = "does not exist" if checked is None else f"is a {checked.kind}"
        detail = f"`{label}` names version {number}, which {what}; should be one with files."
        hint = "Set the label to another version, or remove it."
        yield unfixable("label_dangling", read.skill, keys.settings(read.skill), detail, hint=hint)


def _strays(read: _Read) -> Iterator[Finding]:
    for key in read.strays:
        detail = "Its name is no number of eight digits or more, should not be there."
        hint = "Nothing reads it. Remove it by hand."
        yield unfixable("revision_stray", read.skill, key, detail, hint=hint)


def _settings(read: _Read) -> Iterator[Finding]:
    if read.settings is not None and read.overrides is None:
        found = repr(read.settings.body[:_SHOWN])[1:]
        detail = f"It begins with {found}, should be JSON of the registry's settings."
        hint = "The skill is disabled until the object is restored or replaced."
        key = keys.settings(read.skill)
        yield unfixable("settings_broken", read.skill, key, detail, hint=hint)
