"""Prune: old revisions lose their bytes and keep their numbers.

First the floor in ``settings.json`` rises, by compare-and-set; then each revision below it that no
label protects is replaced in place by a stub, on its ETag. A number stays taken for ever, so that
no put-if-absent can bring it back; and since a label is set in the same object as the floor,
neither can overtake the other (architecture, section 6; invariant I9).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skill_registry.catalog.revision import Kind, RevisionInfo
from skill_registry.errors import SettingsUnreadable
from skill_registry.spec.archive import write_archive
from skill_registry.store import keys
from skill_registry.store.base import IfMatch, Written, list_all

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skill_registry.catalog.configuring import SettingsFiles
    from skill_registry.catalog.log import RevisionLog
    from skill_registry.catalog.overrides import Overrides, Retention
    from skill_registry.catalog.runtime import Runtime
    from skill_registry.store.base import ObjectInfo, SkillStore
    from skill_registry.store.keys import SkillId

DAY = 24 * 60 * 60
STUB = write_archive(())


class Pruner:
    """The prune use case. Running it again writes nothing."""

    def __init__(
        self,
        store: SkillStore,
        runtime: Runtime,
        log: RevisionLog,
        files: SettingsFiles,
        retention: Retention,
    ) -> None:
        self._store = store
        self._runtime = runtime
        self._log = log
        self._files = files
        self._retention = retention

    def is_due(self, revisions: Iterable[ObjectInfo]) -> bool:
        """Whether a LIST of a skill's revisions shows bytes that may go. Labels are not looked at.

        Args:
            revisions: The objects under ``revisions/``, in any order.
        """
        numbered = _numbered(revisions)
        floor = self._floor(numbered, max(numbered, default=0))
        return any(number < floor and has_bytes(info) for number, info in numbered.items())

    def prune(self, skill: SkillId) -> tuple[int, ...]:
        """Prune a skill; return the numbers that lost their bytes now.

        Raises:
            SettingsUnreadable: Its labels or its floor cannot be right, so nothing is pruned.
            Unavailable: The store does not answer; run it again.
        """
        head = self._log.head(skill).number
        numbered = _numbered(list_all(self._store, keys.revisions(skill)))
        overrides = self._raise_floor(skill, self._floor(numbered, head))
        if overrides.prune_below > head:
            # Another run may have seen a newer head.
            head = self._log.head(skill).number
        if overrides.prune_below > head:
            # No retention writes this. Whoever did may not have meant every version but one.
            raise SettingsUnreadable(
                f"The settings.json of {skill} prunes below a version to come."
            )
        doomed = [number for number in sorted(numbered) if _is_doomed(number, head, overrides)]
        return tuple(
            number
            for number in doomed
            if has_bytes(numbered[number]) and self.stub(skill, number, numbered[number].etag)
        )

    def _floor(self, numbered: dict[int, ObjectInfo], head: int) -> int:
        """Return the number below which retention lets go, given the head."""
        oldest = self._runtime.clock() - self._retention.days * DAY
        beyond = [
            number
            for number, info in numbered.items()
            if number <= head - self._retention.versions and info.modified <= oldest
        ]
        return max(beyond, default=0) + 1

    def _raise_floor(self, skill: SkillId, floor: int) -> Overrides:
        """Write the floor down before a byte goes; return the overrides that it was written to."""

        def raised(current: Overrides) -> Overrides:
            return replace(current, prune_below=max(current.prune_below, floor))

        if floor <= 1:
            return self._files.read(skill)[0]
        return self._files.update(skill, raised)

    def stub(self, skill: SkillId, number: int, etag: str, *, message: bool = True) -> bool:
        """Replace a revision's bytes by nothing, on its ETag; whether it was this call.

        What the revision says of itself stays: its number is taken, and the upload that made it is
        still found.

        Args:
            message: Keep the message of its publish too.
        """
        key = keys.revision(skill, number)
        found = self._store.head(key)
        if found is None or found.etag != etag:
            return False
        info = RevisionInfo.from_object(number, found)
        if info.kind is Kind.TOMBSTONE or (info.kind is Kind.PRUNED and message):
            return False
        stub = replace(info, kind=Kind.PRUNED, message=info.message if message else None)
        result = self._store.put(
            key,
            STUB,
            condition=IfMatch(etag),
            metadata=stub.to_metadata(),
            content_type="application/zip",
        )
        return isinstance(result, Written)


def _is_doomed(number: int, head: int, overrides: Overrides) -> bool:
    """Whether a revision loses its bytes: never the head, never one with a label."""
    return number < head and not overrides.keeps(number)


def has_bytes(info: ObjectInfo) -> bool:
    """Whether a revision's listing shows more than an empty archive: no stub, no tombstone."""
    return info.size > len(STUB)


def _numbered(revisions: Iterable[ObjectInfo]) -> dict[int, ObjectInfo]:
    found = {keys.revision_number(info.key): info for info in revisions}
    return {number: info for number, info in found.items() if number is not None}
