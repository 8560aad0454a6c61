"""Publish: from bytes to a visible revision, exactly once, whoever asks and however often.

One path serves the presigned upload (by call and by event), the inline publish and the delete.
Architecture, section 4.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from skill_registry.catalog.log import NO_PRECONDITION, Precondition
from skill_registry.catalog.revision import Kind, draft
from skill_registry.catalog.uploads import Outcomes, Ticket
from skill_registry.errors import Gone, SkillInvalid, SkillNotFound, UploadAlreadyUsed
from skill_registry.spec.validation import check_contents
from skill_registry.store.keys import UploadId

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skill_registry.catalog.adopting import Adopter
    from skill_registry.catalog.configuring import SettingsFiles
    from skill_registry.catalog.following import Follower
    from skill_registry.catalog.loading import Loader
    from skill_registry.catalog.log import RevisionLog
    from skill_registry.catalog.principal import Principal
    from skill_registry.catalog.revision import Draft, RevisionInfo
    from skill_registry.catalog.runtime import Runtime
    from skill_registry.spec.layout import ArchiveContents
    from skill_registry.spec.model import Diagnostic, Limits, SkillFile
    from skill_registry.store.base import SkillStore
    from skill_registry.store.keys import SkillId


@dataclass(frozen=True, slots=True)
class Published:
    """A publish that is visible. ``diagnostics`` holds its warnings."""

    upload: UploadId
    skill: SkillId
    info: RevisionInfo
    diagnostics: tuple[Diagnostic, ...] = ()


class Publisher:
    """Commits drafts: adopts a vendored directory first, makes the catalog and the tree follow."""

    def __init__(
        self,
        store: SkillStore,
        runtime: Runtime,
        log: RevisionLog,
        adopter: Adopter,
        loader: Loader,
        files: SettingsFiles,
        follower: Follower,
        limits: Limits,
    ) -> None:
        self._runtime = runtime
        self._log = log
        self._adopter = adopter
        self._loader = loader
        self._files = files
        self._follower = follower
        self._limits = limits
        self._outcomes = Outcomes(store)

    def check(self, name: str | None, contents: ArchiveContents) -> tuple[Diagnostic, ...]:
        """Return every diagnostic of what was sent, warnings included.

        Args:
            name: The skill that it is to be; None to take the frontmatter's word.

        Raises:
            SkillInvalid: One of them is an error.
        """
        report = check_contents(contents, name=name, limits=self._limits)
        if not report.ok:
            raise SkillInvalid(f"`{name or 'The skill'}` breaks rules.", report.diagnostics)
        return report.diagnostics

    def publish_inline(
        self,
        principal: Principal,
        skill: SkillId,
        contents: ArchiveContents,
        *,
        precondition: Precondition = NO_PRECONDITION,
        message: str | None = None,
        idempotency_key: str | None = None,
    ) -> Published:
        """Publish what came with the call.

        Args:
            idempotency_key: The same key with the same call never makes a second revision, for a
                day.

        Raises:
            SkillInvalid: The skill breaks rules; nothing was changed.
            VersionConflict: The precondition does not hold; nothing was changed.
            UploadAlreadyUsed: The key was used for something else.
            Unavailable: The store does not answer. With a key, send the call again.
        """
        diagnostics = self.check(skill.name, contents)
        ticket = Ticket(skill, 0, principal.subject, precondition, message)
        done = self._inline(principal, ticket, contents.files, idempotency_key)
        return replace(done, diagnostics=diagnostics)

    def delete(
        self,
        principal: Principal,
        skill: SkillId,
        *,
        precondition: Precondition = NO_PRECONDITION,
        idempotency_key: str | None = None,
    ) -> Published:
        """Publish a tombstone: the skill is gone, its number stays taken.

        Raises:
            SkillNotFound: There is nothing to delete.
            VersionConflict: The precondition does not hold.
        """
        ticket = Ticket(skill, 0, principal.subject, replace(precondition, must_exist=True))
        return self._inline(principal, ticket, (), idempotency_key, kind=Kind.TOMBSTONE)

    def rollback(
        self,
        principal: Principal,
        skill: SkillId,
        version: int | str,
        *,
        precondition: Precondition = NO_PRECONDITION,
        message: str | None = None,
        idempotency_key: str | None = None,
    ) -> Published:
        """Publish the files of an earlier revision again, as the next one. Brings back a deletion.

        Args:
            version: Its number, or ``@`` and a label.

        Raises:
            SkillNotFound: The skill has no revision at all.
            VersionNotFound: It never had that one, or it is the mark of a deletion.
            Gone: Its bytes were pruned.
            VersionConflict: The precondition does not hold.
        """
        overrides, _ = self._files.read(skill)
        number = overrides.number_of(version, skill.name)
        head = self._log.head(skill).number
        if not head:
            raise SkillNotFound(f"`{skill.name}` has no versions to go back to.")
        try:
            files = tuple(self._loader.content(skill, number, overrides, head=head).files.values())
        except Gone:
            if (done := self._restored(principal, skill, number, idempotency_key)) is not None:
                return done
            raise
        ticket = Ticket(skill, 0, principal.subject, precondition, message)
        return self._inline(principal, ticket, files, idempotency_key, restores=number)

    def _restored(
        self, principal: Principal, skill: SkillId, number: int, idempotency_key: str | None
    ) -> Published | None:
        """Find what a rollback under this key published before its source was pruned."""
        if idempotency_key is None:
            return None
        upload = UploadId(principal.hash, _upload_id(idempotency_key))
        base = self._outcomes.base(upload, skill)
        info = None if base is None else self._log.find(skill, str(upload), base)
        done = info is not None and info.restores == number
        return Published(upload, skill, info) if info is not None and done else None

    def _inline(
        self,
        principal: Principal,
        ticket: Ticket,
        files: Sequence[SkillFile],
        idempotency_key: str | None,
        *,
        kind: Kind = Kind.CONTENT,
        restores: int | None = None,
    ) -> Published:
        upload_id = _upload_id(idempotency_key) if idempotency_key else self._runtime.new_id()
        upload = UploadId(principal.hash, upload_id)
        made = draft(
            files,
            upload_id=str(upload),
            author=ticket.author,
            kind=kind,
            message=ticket.message,
            restores=restores,
        )
        base = None
        if idempotency_key:
            current = replace(ticket, base=self._log.head(ticket.skill).number)
            base = self._outcomes.announce(upload, current, made.digest)
        info = self.commit(ticket, made, base=base)
        return Published(upload, ticket.skill, info)

    def commit(
        self, ticket: Ticket, made: Draft, *, base: int | None, follow: bool = True
    ) -> RevisionInfo:
        """Commit a draft and let catalog and tree follow as far as they can.

        Raises:
            UploadAlreadyUsed: The upload id was committed with other bytes.
        """
        skill = ticket.skill
        info = self._log.commit(
            skill,
            made,
            base=base,
            precondition=ticket.precondition,
            adopt=self._adopter.adopt,
        )
        if info.digest != made.digest or info.kind not in (made.kind, Kind.PRUNED):
            raise UploadAlreadyUsed(
                f"This upload was published as version {info.number} with other bytes. "
                "Start a new upload."
            )
        self._loader.remember(skill, info, made.files)
        if follow:
            self._follower.publish(skill, info.number)
        return info


def _upload_id(idempotency_key: str) -> str:
    return hashlib.sha256(idempotency_key.encode()).hexdigest()[:32]
