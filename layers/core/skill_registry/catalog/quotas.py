"""Quotas: how much one principal may leave lying about, and how much a scope may hold.

There is no database to count in. Both are read off what is there anyway: the folder of the
principal's uploads, and the scope's catalog. They protect cost, not safety: a catalog lags behind
the publishes that are under way, so that those at one moment may go over a limit together, and
where it cannot be read nothing is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skill_registry.catalog.snapshot import State
from skill_registry.errors import ScopeFull, TooManyUploads, Unavailable
from skill_registry.spec.text import counted
from skill_registry.store import keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from skill_registry.catalog.cache import CatalogCache
    from skill_registry.catalog.log import Head
    from skill_registry.catalog.principal import Principal
    from skill_registry.catalog.runtime import Runtime
    from skill_registry.store.base import ObjectInfo, SkillStore
    from skill_registry.store.keys import SkillId

PAGES = 3
RETRY_AFTER = 60
_DAY = 24 * 60 * 60
_HOUR = 60 * 60
# What an archive may have more bytes than its files: headers and paths, of the most files.
_ZIP_ADDS = 128 * 1024


@dataclass(frozen=True, slots=True)
class QuotaLimits:
    """What a deployment allows.

    Attributes:
        uploads: Uploads of a principal that arrived and became nothing yet.
        skills: Skills of a scope.
        bytes: Bytes of the current versions of a scope's skills, unpacked.
    """

    uploads: int
    skills: int
    bytes: int


class Quotas:
    """Refuses what would go over a limit."""

    def __init__(
        self, store: SkillStore, runtime: Runtime, catalogs: CatalogCache, limits: QuotaLimits
    ) -> None:
        self._store = store
        self._runtime = runtime
        self._catalogs = catalogs
        self._limits = limits

    def check_uploads(self, principal: Principal) -> None:
        """Refuse another upload to who has too many that wait. One LIST, of three pages at most.

        An upload waits from its arrival until it was published or refused. A ticket that nobody
        used costs nothing, so it does not count. What lies beyond 3,000 objects of one day is not
        counted either.

        Raises:
            TooManyUploads: It has as many as it may.
        """
        listed = {info.key: info for info in self._uploads_of(principal)}
        waiting = [
            info
            for key, info in listed.items()
            if (upload := keys.parse_upload(key)) and keys.outcome(upload) not in listed
        ]
        limit = self._limits.uploads
        if len(waiting) < limit:
            return
        oldest = min(info.modified for info in waiting) if waiting else self._runtime.clock()
        left = max(0.0, oldest + _DAY - self._runtime.clock())
        hours = counted(max(1, round(left / _HOUR)), "hour")
        raise TooManyUploads(
            f"{counted(len(waiting), 'upload')} of yours arrived and became nothing yet; at most"
            f" {limit} may. Complete them, or wait: the oldest expires in about {hours}.",
            retry_after=RETRY_AFTER,
        )

    def _uploads_of(self, principal: Principal) -> Iterator[ObjectInfo]:
        after: str | None = None
        for _ in range(PAGES):
            page = self._store.list_page(keys.uploads_of(principal.hash), after=after)
            yield from page.objects
            if page.after is None:
                return
            after = page.after

    def check_announced(self, skill: SkillId, size: int | None, *, exists: bool) -> None:
        """Refuse an upload that can never become a version, as far as its size in bytes tells.

        Raises:
            ScopeFull: The scope has no room for it.
        """
        self._check(skill, None if size is None else size - _ZIP_ADDS, exists=exists)

    def admission(
        self, skill: SkillId, size: int, *, restores: bool = False
    ) -> Callable[[Head], None]:
        """Return what lets a version in, once the head that it follows is known.

        The first answer holds: a commit that tries again asks nothing again.

        Args:
            size: Bytes of its files.
            restores: It is a rollback: of a skill that is there, always let in.

        Raises (the result):
            ScopeFull: The scope has no room for it.
        """
        admitted = False

        def admit(head: Head) -> None:
            nonlocal admitted
            if not admitted and not (restores and head.exists):
                self._check(skill, size, exists=head.exists)
            admitted = True

        return admit

    def _check(self, skill: SkillId, size: int | None, *, exists: bool) -> None:
        """Compare with the scope's catalog. A version not larger than the one before it passes.

        Args:
            size: Bytes of the files; None where they are not known.
            exists: Whether the log has a current version, which the catalog may not know yet.
        """
        try:
            entries = self._catalogs.get(skill.scope).catalog.entries
        except Unavailable:
            return
        held = {name: e.bytes for name, e in entries.items() if e.state is not State.DELETED}
        before = held.get(skill.name)
        if before is None and exists:
            return
        if before is None and len(held) >= self._limits.skills:
            raise ScopeFull(
                f"The scope `{skill.scope}` holds {counted(len(held), 'skill')}; at most"
                f" {self._limits.skills} are allowed. Delete one that is not needed."
            )
        total = sum(held.values()) - (before or 0) + (size or 0)
        if size is not None and size > (before or 0) and total > self._limits.bytes:
            raise ScopeFull(
                f"With this version the skills of the scope `{skill.scope}` would have {total}"
                f" bytes; at most {self._limits.bytes} are allowed. Delete what is not needed."
            )
