"""Loading: from a name to the bytes of one state, and who may have them.

For each scope asked, ``.version`` and ``settings.json`` are read in one parallel round; a managed
skill's revision comes from memory or is one more GET. The version that is answered belongs to the
object that supplied the bytes (invariant I6).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from skill_registry.catalog.cache import ByteLru
from skill_registry.catalog.log import RevisionLog, parse_sidecar
from skill_registry.catalog.overrides import NO_OVERRIDES, Overrides, overrides_of
from skill_registry.catalog.revision import (
    Kind,
    Revision,
    RevisionInfo,
    damaged_message,
    read_stored,
)
from skill_registry.catalog.vendored import Directory, VendoredReader
from skill_registry.errors import Gone, RevisionDamaged, Unavailable, VersionNotFound
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

    def visible_to(self, principal: Principal) -> bool:
        """Whether this caller may know of the skill at all.

        Nobody may of one whose frontmatter cannot be read: it might have named its agents.
        """
        if not self.overrides.enabled or self.meta is None:
            return False
        named = self.overrides.agents if self.overrides.agents is not None else self.meta.agents
        return principal.sees(named, self.meta.min_tier)


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

    def load(
        self, skills: Sequence[SkillId], principal: Principal, pin: Pin = None
    ) -> Loaded | None:
        """Load the first of the skills that exists and that the principal may see.

        Args:
            skills: The same name in each scope, in order of precedence.
            pin: A revision number or ``@label`` instead of the head.

        Raises:
            VersionNotFound: The skill is there, the pinned version is not.
            Gone: The pinned version's bytes were pruned.
            RevisionDamaged: Its bytes are not those that were published.
            Unavailable: The store does not answer.
        """
        wanted = [key for skill in skills for key in (keys.sidecar(skill), keys.settings(skill))]
        found = self._runtime.parallel([partial(self._current, key) for key in wanted])
        pairs = zip(skills, found[::2], found[1::2], strict=True)
        for skill, sidecar, settings in pairs:
            overrides = overrides_of(settings.body if settings else None)
            try:
                loaded = self._head(skill, sidecar, overrides)
            except RevisionDamaged:
                if overrides.enabled:
                    raise
                continue
            if loaded is not None and loaded.visible_to(principal):
                return loaded if pin is None else self._pinned(loaded, pin)
        return None

    def _current(self, key: str) -> StoredObject | None:
        """Read a small object as it is now; nothing but a 304 travels when it is known."""
        known = self._objects.get(key)
        found = self._store.get(key, if_none_match=known.etag if known else None)
        if isinstance(found, NotModified):
            return known
        if found is not None:
            self._objects.put(key, found, len(found.body) + len(key))
        return found

    def _head(
        self, skill: SkillId, sidecar: StoredObject | None, overrides: Overrides
    ) -> Loaded | None:
        number = parse_sidecar(sidecar.body) if sidecar else None
        loaded = self.visible_revision(skill, number, overrides)
        if loaded is None:
            return self._directory(skill, overrides)
        deleted = loaded.revision is not None and loaded.revision.kind is Kind.TOMBSTONE
        return None if deleted else loaded

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
            again = self._current(keys.sidecar(skill))
            stated = parse_sidecar(again.body) if again else None
            number = None if stated == number else stated
        raise Unavailable(f"{skill} keeps changing; try again.")

    def _newest(self, skill: SkillId, stubs: Set[int]) -> int:
        """Return the log's highest number, 0 for none.

        Where the sidecar came to be of use meanwhile, it is the sidecar's: no answer leads another.
        """
        numbers = self._log.numbers(skill)
        again = self._current(keys.sidecar(skill)) if numbers else None
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

    def _pinned(self, head: Loaded, pin: int | str) -> Loaded:
        number = head.overrides.number_of(pin, head.skill.name)
        if head.revision is None:
            raise VersionNotFound(f"`{head.skill.name}` has no version `{pin}`.")
        if number == head.revision.number:
            return head
        return self.content(head.skill, number, head.overrides, head=head.revision.number)

    def _directory(self, skill: SkillId, overrides: Overrides) -> Loaded | None:
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
