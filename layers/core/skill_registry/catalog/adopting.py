"""Adoption: the first publish or delete of a vendored skill commits its directory as a revision.

So nothing that lies in the bucket is ever the only copy that a publish destroys. The revision is
numbered by the directory's ``.version``, else 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skill_registry.catalog.log import Precondition
from skill_registry.catalog.revision import draft
from skill_registry.errors import Unavailable
from skill_registry.spec.model import SKILL_MD
from skill_registry.store import keys
from skill_registry.store.base import IfAbsent
from skill_registry.store.conditional import Taken, put_once

if TYPE_CHECKING:
    from skill_registry.catalog.log import Head, RevisionLog
    from skill_registry.catalog.runtime import Runtime
    from skill_registry.catalog.vendored import Listing, VendoredReader
    from skill_registry.store.base import SkillStore
    from skill_registry.store.keys import SkillId

AUTHOR = "adoption"


class Adopter:
    """Turns a vendored directory into the first revision of a managed skill."""

    def __init__(
        self, store: SkillStore, runtime: Runtime, log: RevisionLog, vendored: VendoredReader
    ) -> None:
        self._store = store
        self._runtime = runtime
        self._log = log
        self._vendored = vendored

    def adopt(self, skill: SkillId, head: Head, precondition: Precondition) -> Precondition | None:
        """Commit the directory of a skill that has no revision; None where there is no directory.

        Returns what has to hold for the publish that follows.

        Raises:
            VersionConflict: The precondition does not hold for the directory; nothing was changed.
            SkillInvalid: The directory is over the limits of a skill.
            Unavailable: The store does not answer, or another write is under way.
        """
        listing = self._vendored.listing(skill)
        if not listing.objects:
            return self._without_directory(skill, head, listing, precondition)
        # Only a sidecar states a version that a writer can have meant.
        precondition.check(head.stated or 0, exists=SKILL_MD in listing.objects)
        number = head.stated or 1
        directory = self._vendored.read(skill, listing)
        if directory is None:
            return self._without_directory(skill, head, listing, precondition)
        if directory.stated != head.stated:
            # Number and files are of one state, so that everybody adopts it by the same number.
            return precondition
        made = draft(
            tuple(directory.files.values()),
            upload_id=f"{AUTHOR}/{directory.fingerprint}",
            author=AUTHOR,
            message="Adopted from the plain tree",
        )
        info = made.info(number, self._runtime.now(), None)
        result = put_once(
            self._store,
            keys.revision(skill, number),
            made.archive,
            condition=IfAbsent(),
            metadata=info.to_metadata(),
            content_type="application/zip",
            write_id=self._runtime.new_id(),
        )
        if isinstance(result, Taken) and result.current is None:
            raise Unavailable(f"Adopting {skill} met another write; publish again.")
        self._log.make_visible(skill, number, head)
        return Precondition(version=number) if precondition.create_only else precondition

    def _without_directory(
        self, skill: SkillId, head: Head, listing: Listing, precondition: Precondition
    ) -> Precondition | None:
        """Tell a skill that never was from one that somebody adopted, and deleted since.

        Its log may begin at any number, so that a revision 1 would not meet it.
        """
        there_was = head.etag is not None or listing.sidecar is not None or listing.objects
        return precondition if there_was and self._log.top(skill) else None
