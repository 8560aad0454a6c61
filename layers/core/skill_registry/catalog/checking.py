"""Checking a log: its revisions by their bytes, its sidecar, labels and settings against it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from skill_registry.catalog.configuring import SettingsFiles
from skill_registry.catalog.findings import Finding, hint_of_stray, unfixable
from skill_registry.catalog.overrides import NO_OVERRIDES, Overrides, read_overrides
from skill_registry.catalog.revision import Kind, read_stored
from skill_registry.spec.files import parse_sidecar
from skill_registry.spec.names import is_skill_name
from skill_registry.spec.text import counted, shown
from skill_registry.store import keys
from skill_registry.store.base import StoredObject, list_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from skill_registry.catalog.runtime import Runtime
    from skill_registry.store.base import ObjectInfo, SkillStore
    from skill_registry.store.keys import SkillId

# Bytes of revisions that are in memory at once.
_BATCH = 32 * 1024 * 1024
_SHOWN = 40
_RESTORE = "lift the bucket policy and restore it from its older S3 versions"


@dataclass(frozen=True, slots=True)
class CheckedLog:
    """What a log is.

    Attributes:
        head: Number that a heal makes visible, or leaves so; 0 for an empty log.
        findings: What is wrong.
        stubs: Numbers that lost their bytes.
        overrides: What an operator decided, None where that cannot be read.
        stated: What ``.version`` says, None where it is missing or garbage.
    """

    head: int
    findings: tuple[Finding, ...]
    stubs: tuple[int, ...]
    overrides: Overrides | None
    stated: int | None


@dataclass(frozen=True, slots=True)
class _Checked:
    """A revision that was read: its kind, and what is wrong with it."""

    kind: Kind
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class _Read:
    """What a log's objects hold.

    Attributes:
        has_files: Whether anything but ``.version`` lies in the plain tree.
        due: Whether the next reconcile prunes.
    """

    skill: SkillId
    revisions: Mapping[int, _Checked]
    strays: tuple[str, ...]
    sidecar: StoredObject | None
    settings: StoredObject | None
    overrides: Overrides | None
    has_files: bool
    due: bool

    @property
    def top(self) -> int:
        """The highest number, 0 for none."""
        return max(self.revisions, default=0)

    @property
    def stated(self) -> int | None:
        """What ``.version`` says, None where it is missing or garbage."""
        return parse_sidecar(self.sidecar.body) if self.sidecar else None

    @property
    def head(self) -> int:
        """The number that a heal ends at: it goes forward only from one to the next."""
        stated = self.stated
        known = self.revisions.get(stated) if stated else None
        if stated is None or known is None or known.kind is Kind.PRUNED:
            return self.top
        return self.top if stated + 1 in self.revisions else stated


class LogChecker:
    """Checks logs. Reads every revision whole, and writes nothing."""

    def __init__(
        self,
        store: SkillStore,
        runtime: Runtime,
        is_due: Callable[[Iterable[ObjectInfo]], bool] = lambda _: False,
    ) -> None:
        """Check logs of a store.

        Args:
            is_due: Whether a LIST of revisions makes the next reconcile prune. What that is about
                to do is no disagreement.
        """
        self._store = store
        self._runtime = runtime
        self._is_due = is_due

    def check(self, skill: SkillId, *, has_files: bool) -> CheckedLog:
        """Read a log and everything that speaks of it.

        Args:
            has_files: Whether anything but ``.version`` lies in the plain tree.
        """
        listed = list(list_all(self._store, keys.revisions(skill)))
        sizes: dict[int, int] = {}
        strays = []
        for info in listed:
            number = keys.revision_number(info.key)
            if number is not None:
                sizes[number] = info.size
            elif not info.key.endswith("/"):
                strays.append(info.key)
        sidecar = self._get(keys.sidecar(skill))
        settings = self._get(keys.settings(skill))
        overrides = read_overrides(settings.body) if settings else NO_OVERRIDES
        read = _Read(
            skill,
            self._revisions(skill, sizes),
            tuple(strays),
            sidecar,
            settings,
            overrides,
            has_files,
            self._is_due(listed),
        )
        parts = (_sidecar, _revisions, _gaps, _kept, _labels, _strays, _settings)
        found = tuple(finding for part in parts for finding in part(read))
        stubs = tuple(n for n, each in read.revisions.items() if each.kind is Kind.PRUNED)
        return CheckedLog(read.head, found, stubs, overrides, read.stated)

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
        if stored is None:
            return None
        read = read_stored(number, stored)
        return _Checked(read.info.kind, read.fault)


def _sidecar(read: _Read) -> Iterator[Finding]:
    skill, head, key = read.skill, read.head, keys.sidecar(read.skill)
    if read.sidecar is None:
        if head:
            yield Finding("sidecar_missing", skill, key, f"There is none, should be {head}.")
        return
    stated = read.stated
    if stated is None:
        found = _shown(read.sidecar.body)
        if head:
            yield Finding("sidecar_garbage", skill, key, f"It holds {found}, should be {head}.")
        else:
            detail = f"It holds {found}, should be a number or not be there."
            hint = f"Nothing was published here, so it counts for nothing. {_publish(skill)}"
            yield unfixable("sidecar_garbage", skill, key, detail, hint=hint.strip())
    elif stated > read.top:
        yield from _past_log(read, stated)
    elif stated != head:
        yield Finding("sidecar_behind", skill, key, f"It states {stated}, should be {head}.")


def _past_log(read: _Read, stated: int) -> Iterator[Finding]:
    """Tell of a number that is not in the log. That of a directory is its own."""
    skill, key = read.skill, keys.sidecar(read.skill)
    if read.top:
        detail = (
            f"It states {stated}, should be {read.top}: the log ends there. A version may have been"
            " removed; the next publish takes its number again."
        )
        yield Finding("sidecar_past_log", skill, key, detail)
    elif not read.has_files:
        detail = f"It states {stated}, should be absent: there is no log and no directory."
        hint = f"The log is gone: {_RESTORE}. {_publish(skill)}"
        yield unfixable("sidecar_past_log", skill, key, detail, hint=hint.strip())


def _publish(skill: SkillId) -> str:
    """Advise a publish where the format allows the name."""
    return "A publish begins anew." if is_skill_name(skill.name) else ""


def _revisions(read: _Read) -> Iterator[Finding]:
    for number, checked in read.revisions.items():
        if checked.fault is None:
            continue
        if number == read.head:
            hint = _of_damaged_head(read)
        elif number < read.head:
            hint = (
                "It is not the current version: nothing but pins, diffs and rollbacks of it fail."
            )
        else:
            hint = "Nobody reads it; the publish that comes to this number goes on behind it."
        key = keys.revision(read.skill, number)
        detail = f"Version {number}: {checked.fault}."
        yield unfixable("revision_damaged", read.skill, key, detail, hint=hint)


def _of_damaged_head(read: _Read) -> str:
    if not is_skill_name(read.skill.name):
        return f"No skill can be called so, and nobody can load it. To have it back, {_RESTORE}."
    whole = [
        number
        for number, each in read.revisions.items()
        if each == _Checked(Kind.CONTENT) and number < read.head
        if read.overrides is not None and read.overrides.keeps(number)
    ]
    back = f", or roll back to {max(whole)}" if whole else ""
    return f"Nobody can load the skill: publish it again{back}."


def _gaps(read: _Read) -> Iterator[Finding]:
    for before, after in pairwise(sorted(read.revisions)):
        if after - before == 1:
            continue
        one = after - before == 2
        missing = f"Version {before + 1} is" if one else f"Versions {before + 1} to {after - 1} are"
        detail = f"{missing} missing, should be between {before} and {after}."
        if read.head < after:
            detail += f" The current version is {read.head}, so nothing from {after} on is served."
        hint = f"The other versions are served. To have what is missing back, {_RESTORE}."
        key = keys.revision(read.skill, before + 1)
        yield unfixable("revision_gap", read.skill, key, detail, hint=hint)


def _kept(read: _Read) -> Iterator[Finding]:
    """Compare what lost its bytes with what should have."""
    overrides = read.overrides
    if overrides is None:
        return
    for number, checked in read.revisions.items():
        key = keys.revision(read.skill, number)
        kept = number == read.head or overrides.keeps(number)
        if kept and checked.kind is Kind.PRUNED:
            why = "is the current version" if number == read.head else "is to be kept"
            detail = f"Version {number} has no bytes, should have: it {why}."
            again = " A publish makes another version the current one."
            hint = f"To have them back, {_RESTORE}.{again if number == read.head else ''}"
            yield unfixable("revision_pruned", read.skill, key, detail, hint=hint)
        elif not kept and checked.kind is Kind.CONTENT and number < read.head:
            purged = number in overrides.purged
            # What the next reconcile prunes needs nobody, and of a floor that cannot be right
            # nothing follows.
            if _floor_is_right(read) and (purged or not read.due):
                what = "purge" if purged else "pruning"
                detail = f"Version {number} has bytes, should have none: its {what} is unfinished."
                yield Finding("revision_unpruned", read.skill, key, detail)


def _floor_is_right(read: _Read) -> bool:
    return read.overrides is None or read.overrides.prune_below <= max(read.head, 1)


def _labels(read: _Read) -> Iterator[Finding]:
    for label, number in sorted((read.overrides or NO_OVERRIDES).labels.items()):
        checked = read.revisions.get(number)
        if checked == _Checked(Kind.CONTENT):
            continue
        detail = f"`{label}` names version {number}, which {_lack(checked)}; should have files."
        hint = "Set the label to another version, or remove it."
        yield unfixable("label_dangling", read.skill, keys.settings(read.skill), detail, hint=hint)


def _lack(checked: _Checked | None) -> str:
    if checked is None:
        return "does not exist"
    if checked.fault is not None:
        return "is damaged"
    return "was pruned" if checked.kind is Kind.PRUNED else "is the mark of a deletion"


def _strays(read: _Read) -> Iterator[Finding]:
    for key in read.strays:
        detail = "Its name is no number of eight digits or more, should not be there."
        yield unfixable("revision_stray", read.skill, key, detail, hint=hint_of_stray(key))


def _settings(read: _Read) -> Iterator[Finding]:
    skill, key = read.skill, keys.settings(read.skill)
    if read.overrides is not None:
        if not _floor_is_right(read):
            detail = (
                f"It prunes below {read.overrides.prune_below}, should be at most"
                f" {max(read.head, 1)}: the log ends there. Nothing is pruned."
            )
            hint = (
                "Older versions without a label answer as pruned until publishes come to that"
                f" number. To have them back before, {_RESTORE}."
            )
            yield unfixable("settings_broken", skill, key, detail, hint=hint)
    elif read.settings is not None and SettingsFiles.is_replaceable(read.settings.body):
        detail = (
            f"It holds {_shown(read.settings.body)}, should be settings of the registry. A repair"
            " writes closed ones: the skill stays disabled, and loses its labels."
        )
        yield Finding("settings_broken", skill, key, detail)
    elif read.settings is not None:
        detail = "Its schema is later than the one of this code, should be the same or none."
        hint = "Later code wrote it: finish that deployment. The skill is disabled until then."
        yield unfixable("settings_broken", skill, key, detail, hint=hint)


def _shown(body: bytes) -> str:
    try:
        text = body.decode().strip()
    except UnicodeDecodeError:
        return f"{counted(len(body), 'byte')} that are no text"
    return shown(text, _SHOWN) if text else "nothing"
