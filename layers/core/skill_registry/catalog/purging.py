"""Purge: the bytes of one leaked revision leave the bucket, its number stays taken.

Written down first, so that from that moment every environment answers it as gone, whatever it
remembers. Then the revision becomes a stub without a message, and every older S3 version of what
held its bytes or words is removed: of the revision, its bundle, its upload with the outcome, the
plain tree and the catalog. Running it again goes on where a crash ended it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from skill_registry.catalog.configuring import noted
from skill_registry.catalog.overrides import Overrides
from skill_registry.catalog.revision import Kind, RevisionInfo
from skill_registry.catalog.uploads import Outcomes
from skill_registry.errors import (
    RevisionDamaged,
    SkillNotFound,
    Unavailable,
    VersionInUse,
    VersionNotFound,
)
from skill_registry.store import keys
from skill_registry.store.base import all_versions
from skill_registry.store.keys import UploadId

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from skill_registry.catalog.configuring import SettingsFiles
    from skill_registry.catalog.loading import Loader
    from skill_registry.catalog.log import RevisionLog
    from skill_registry.catalog.principal import Principal
    from skill_registry.catalog.pruning import Pruner
    from skill_registry.catalog.refreshing import Refresher
    from skill_registry.catalog.runtime import Runtime
    from skill_registry.store.base import SkillStore, StoredVersion
    from skill_registry.store.keys import SkillId

ATTEMPTS = 8
LOOK_BACK = 100


@dataclass(frozen=True, slots=True)
class Purged:
    """What a purge did.

    Attributes:
        removed: Stored versions of objects that are gone from the bucket.
        also_in: Other revisions that hold a file of this one which the head no longer has: the
            paths by version. Whoever purges a leak will want these too.
    """

    skill: SkillId
    number: int
    removed: int
    also_in: Mapping[int, tuple[str, ...]]


class Purger:
    """The purge use case."""

    def __init__(
        self,
        store: SkillStore,
        runtime: Runtime,
        log: RevisionLog,
        loader: Loader,
        files: SettingsFiles,
        pruner: Pruner,
        refresher: Refresher,
    ) -> None:
        self._store = store
        self._runtime = runtime
        self._log = log
        self._loader = loader
        self._files = files
        self._outcomes = Outcomes(store)
        self._pruner = pruner
        self._refresher = refresher

    def purge(
        self, principal: Principal, skill: SkillId, number: int, *, reason: str | None = None
    ) -> Purged:
        """Purge a revision that is neither the head nor labelled.

        Raises:
            SkillNotFound: The skill has no revision at all.
            VersionNotFound: There never was one, or it is the mark of a deletion.
            VersionInUse: It is the head (publish or delete first), or has a label.
            SettingsUnreadable: The skill's labels cannot be read.
            Unavailable: The store does not answer. Bytes may be left: purge again.
        """
        info = self._check(skill, number)
        also_in = self._also_in(skill, number)

        def marked(current: Overrides) -> Overrides:
            if labels := current.labels_of(number):
                raise VersionInUse(f"Version {number} has the label `{labels[0]}`; move it first.")
            if number in current.purged:
                return current
            wanted = replace(current, purged=(*current.purged, number))
            return noted(wanted, principal, self._runtime.now(), {"purged": number}, reason)

        self._files.update(skill, marked)
        self._stub(skill, number)
        # The tree may lag behind the head, and then still show what is to go.
        self._refresher.take_over(skill, self._log.head(skill).number)
        self._refresher.refresh(skill.scope, [skill.name])
        removed = self._remove_versions(skill, number, info)
        return Purged(skill, number, removed, also_in)

    def _check(self, skill: SkillId, number: int) -> RevisionInfo:
        head = self._log.heal(skill)
        if not head.number:
            raise SkillNotFound(f"`{skill.name}` has no versions to purge.")
        info = self._log.info(skill, number) if number >= 1 else None
        if info is None or info.kind is Kind.TOMBSTONE:
            raise VersionNotFound(f"`{skill.name}` has no version {number} with files.")
        if number >= head.number:
            raise VersionInUse(
                f"Version {number} is the current one. Publish one without the leak, or delete the"
                " skill, then purge it."
            )
        return info

    def _also_in(self, skill: SkillId, number: int) -> dict[int, tuple[str, ...]]:
        """Find the files that the head no longer has in the other revisions."""
        overrides, _ = self._files.read(skill)
        head = self._log.head(skill).number
        current = self._shas(skill, head)
        leaked = set(self._shas(skill, number)) - set(current)
        found = {}
        for other in range(head - 1, max(0, head - 1 - LOOK_BACK), -1):
            if other == number or not leaked or not overrides.keeps(other):
                continue
            shas = self._shas(skill, other)
            if paths := tuple(sorted(path for sha, path in shas.items() if sha in leaked)):
                found[other] = paths
        return found

    def _shas(self, skill: SkillId, number: int) -> dict[str, str]:
        """Return path by digest of a revision's files; nothing for a damaged one."""
        try:
            loaded = self._loader.revision(skill, number)
        except RevisionDamaged:
            return {}
        return {file.sha256: path for path, file in loaded.files.items()} if loaded else {}

    def _stub(self, skill: SkillId, number: int) -> None:
        for attempt in range(ATTEMPTS):
            found = self._store.head(keys.revision(skill, number))
            if found is None or _is_bare(RevisionInfo.from_object(number, found)):
                return
            # Its author's message may hold the leak as well.
            if self._pruner.stub(skill, number, found.etag, message=False):
                return
            self._runtime.pause(attempt)
        raise Unavailable(f"Version {number} could not be replaced; purge it again.")

    def _remove_versions(self, skill: SkillId, number: int, info: RevisionInfo) -> int:
        """Remove what versioning kept of everything that held the bytes or words of a revision.

        Older trees are in the log, older catalogs are derived, so all of them may go.
        """
        principal, _, upload_id = info.upload_id.partition("/")
        upload = UploadId(principal, upload_id)
        stale = list(self._older(keys.revision(skill, number), keys.catalog(skill.scope)))
        stale += (each for each in self._older(keys.tree(skill)) if not _is_sidecar(each, skill))
        stale += all_versions(self._store, keys.snapshot(skill, info.sha256))
        if keys.parse_upload(keys.upload(upload)) is not None:
            self._outcomes.redact(upload)
            stale += self._older(keys.outcome(upload))
            stale += all_versions(self._store, keys.upload(upload))
        for version in stale:
            self._store.delete_version(version.key, version.version_id)
        return len(stale)

    def _older(self, *prefixes: str) -> Iterator[StoredVersion]:
        for prefix in prefixes:
            yield from (each for each in all_versions(self._store, prefix) if not each.current)


def _is_bare(info: RevisionInfo) -> bool:
    """Whether it is a stub that nobody's words are left in."""
    return info.kind is Kind.PRUNED and info.message is None


def _is_sidecar(version: StoredVersion, skill: SkillId) -> bool:
    return version.key == keys.sidecar(skill)
