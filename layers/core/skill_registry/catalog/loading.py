"""Loading: the states of one skill, each whole: a revision, the head, a vendored directory.

The version that is answered belongs to the object that supplied the bytes (invariant I6).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from skill_registry.catalog.cache import ByteLru
from skill_registry.catalog.log import RevisionLog
from skill_registry.catalog.overrides import NO_OVERRIDES, Overrides
from skill_registry.catalog.revision import (
    Kind,
    Revision,
    RevisionInfo,
    damaged_message,
    read_stored,
)
from skill_registry.catalog.vendored import Directory, VendoredReader
from skill_registry.errors import Gone, RevisionDamaged, Unavailable, VersionNotFound
from skill_registry.spec.files import parse_sidecar
from skill_registry.spec.model import SKILL_MD, Limits, SkillFile, SkillMeta
from skill_registry.spec.validation import read_skill
from skill_registry.store import keys
from skill_registry.store.base import NotModified, StoredObject

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set

    from skill_registry.catalog.principal import Principal
    from skill_registry.catalog.runtime import Runtime
    from skill_registry.spec.model import Diagnostic
    from skill_registry.store.base import SkillStore
    from skill_registry.store.keys import SkillId

ATTEMPTS = 5

Pin = int | str | None


@dataclass(frozen=True, slots=True)
class Loaded:
    """One state of a skill, whole.

    Attributes:
        version: The revision's number; for a vendored skill its own version, or None.
        revision: None for a vendored skill.
        directory: None for a managed skill.
    """

    skill: SkillId
    version: int | str | None
    files: Mapping[str, SkillFile]
    meta: SkillMeta | None
    diagnostics: tuple[Diagnostic, ...]
    overrides: Overrides
    revision: RevisionInfo | None = None
    directory: Directory | None = None

    def refusal(self, principal: Principal) -> str | None:
        """Say why this caller may not know of the skill, None where it may.

        Nobody may of one whose frontmatter cannot be read: it might have named its agents.
        """
        if self.revision is not None and self.revision.kind is Kind.TOMBSTONE:
            return "deleted"
        if not self.overrides.enabled:
            return "disabled"
        if self.meta is None:
            return "unreadable"
        named = self.overrides.agents if self.overrides.agents is not None else self.meta.agents
        if principal.sees(named, self.meta.min_tier):
            return None
        return "tier" if principal.sees(named, None) else "agent"


class Loader:
    """Loads skills. Remembers revisions, which are immutable, and small objects by their ETag."""

    def __init__(
        self,
        store: SkillStore,
        runtime: Runtime,
        limits: Limits,
        *,
        cache_bytes: int = 64 * 1024 * 1024,
    ) -> None:
        self._store = store
        self._runtime = runtime
        self._limits = limits
        self._log = RevisionLog(store, runtime)
        self.vendored = VendoredReader(store, runtime, limits)
        self._revisions: ByteLru[Loaded] = ByteLru(cache_bytes)
        self._objects: ByteLru[StoredObject] = ByteLru(4 * 1024 * 1024)

    def current(self, key: str) -> StoredObject | None:
        """Read a small object as it is now; nothing but a 304 travels when it is known."""
        known = self._objects.get(key)
        found = self._store.get(key, if_none_match=known.etag if known else None)
        if isinstance(found, NotModified):
            return known
        if found is not None:
            self._objects.put(key, found, len(found.body) + len(key))
        return found

    def visible_revision(
        self, skill: SkillId, number: int | None, overrides: Overrides = NO_OVERRIDES
    ) -> Loaded | None:
        """Load the revision that a sidecar states, or the log's highest where it states none.

        Tombstones are answered as such, a pruned stub never: a number whose bytes are gone was
        superseded, so the sidecar is read again. None where the log is empty.

        Raises:
            RevisionDamaged: The head's bytes are damaged, or were pruned by another hand.
            Unavailable: The store does not answer, or the head keeps moving.
        """
        lost = 0
        stubs: set[int] = set()
        for _ in range(ATTEMPTS):
            loaded = self.revision(skill, number, overrides) if number else None
            if loaded is None:
                # No sidecar, garbage, or one past the log: the log decides.
                number = self._newest(skill, stubs)
                loaded = self.revision(skill, number, overrides) if number else None
                if loaded is not None and _is_stub(loaded) and number == lost:
                    message = damaged_message(skill, number, "was pruned, and is the newest")
                    raise RevisionDamaged(message, number=number)
                lost = number
            if loaded is None or loaded.revision is None:
                return None
            if not _is_stub(loaded):
                return loaded
            stubs.add(loaded.revision.number)
            again = self.current(keys.sidecar(skill))
            stated = parse_sidecar(again.body) if again else None
            number = None if stated == number else stated
        raise Unavailable(f"{skill} keeps changing; try again.")

    def _newest(self, skill: SkillId, stubs: Set[int]) -> int:
        """Return the log's highest number, 0 for none.

        Where the sidecar came to be of use meanwhile, it is the sidecar's: no answer leads another.
        """
        numbers = self._log.numbers(skill)
        again = self.current(keys.sidecar(skill)) if numbers else None
        stated = parse_sidecar(again.body) if again else None
        usable = stated in numbers and stated not in stubs
        return stated if usable and stated is not None else max(numbers, default=0)

    def content(self, skill: SkillId, number: int, overrides: Overrides, *, head: int) -> Loaded:
        """Load the files of one revision, below the head or the head itself.

        Args:
            overrides: The skill's, as they are now: what they do not keep is gone from here on,
                whatever this environment remembers.
            head: Number of the head, whose bytes are always kept.

        Raises:
            VersionNotFound: There never was one, or it is the mark of a deletion.
            Gone: Its bytes were pruned.
        """
        if 1 <= number < head and not overrides.keeps(number):
            raise Gone(f"Version {number} of `{skill.name}` was pruned.")
        loaded = self.revision(skill, number, overrides) if 1 <= number <= head else None
        kind = loaded.revision.kind if loaded and loaded.revision else None
        if kind is Kind.PRUNED:
            raise Gone(f"Version {number} of `{skill.name}` was pruned.")
        if loaded is None or kind is not Kind.CONTENT:
            raise VersionNotFound(f"`{skill.name}` has no version {number} with files.")
        return loaded

    def revision(
        self, skill: SkillId, number: int, overrides: Overrides = NO_OVERRIDES
    ) -> Loaded | None:
        """Load one revision, from memory where it was loaded before; None where there is none.

        Raises:
            RevisionDamaged: The object is there and is not the revision that was published.
        """
        known = self._revisions.get((skill, number))
        if known is not None:
            return _with(known, overrides)
        found = self._store.get(keys.revision(skill, number))
        if not isinstance(found, StoredObject):
            return None
        read = read_stored(number, found)
        if read.fault is not None and read.info.kind is not Kind.PRUNED:
            raise RevisionDamaged(damaged_message(skill, number), number=number)
        files = {file.path: file for file in read.files}
        loaded = _loaded(skill, Revision(read.info, files), self._limits)
        self._keep(loaded, read.info)
        return _with(loaded, overrides)

    def remember(self, skill: SkillId, info: RevisionInfo, files: Sequence[SkillFile]) -> None:
        """Keep a revision that this environment just committed, to be read from memory."""
        revision = Revision(info, {file.path: file for file in files})
        self._keep(_loaded(skill, revision, self._limits), info)

    def _keep(self, loaded: Loaded, info: RevisionInfo) -> None:
        if info.kind is not Kind.PRUNED:
            size = sum(len(file.data) for file in loaded.files.values())
            self._revisions.put((loaded.skill, info.number), loaded, size + 1024)

    def directory(self, skill: SkillId, overrides: Overrides) -> Loaded | None:
        """Load a directory that has no revision, None where there is no skill in it."""
        listing = self.vendored.listing(skill)
        if SKILL_MD not in listing.objects:
            return None
        stamp = (skill, listing.fingerprint)
        known = self._revisions.get(stamp)
        if known is not None:
            return _with(known, overrides)
        directory = self.vendored.read(skill, listing)
        if directory is None or SKILL_MD not in directory.files:
            return None
        report = read_skill(
            directory.files[SKILL_MD].data, directory=skill.name, limits=self._limits
        )
        version = directory.stated or (report.meta.version if report.meta else None)
        loaded = Loaded(
            skill=skill,
            version=version,
            files=directory.files,
            meta=report.meta,
            diagnostics=(*report.diagnostics, *directory.left_out),
            overrides=NO_OVERRIDES,
            directory=directory,
        )
        if directory.fingerprint == listing.fingerprint:
            self._revisions.put(stamp, loaded, listing.size + 1024)
        return _with(loaded, overrides)


def _is_stub(loaded: Loaded) -> bool:
    return loaded.revision is not None and loaded.revision.kind is Kind.PRUNED


def _loaded(skill: SkillId, revision: Revision, limits: Limits) -> Loaded:
    text = revision.skill_md
    report = read_skill(text, directory=skill.name, limits=limits) if text is not None else None
    return Loaded(
        skill=skill,
        version=revision.info.number,
        files=revision.files,
        meta=report.meta if report else None,
        diagnostics=report.diagnostics if report else (),
        overrides=NO_OVERRIDES,
        revision=revision.info,
    )


def _with(loaded: Loaded, overrides: Overrides) -> Loaded:
    return loaded if loaded.overrides == overrides else replace(loaded, overrides=overrides)
