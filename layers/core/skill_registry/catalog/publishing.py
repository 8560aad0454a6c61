"""Publish: from bytes to a visible revision, exactly once, whoever asks and however often.

One path serves the presigned upload (by call and by event), the inline publish, the copy, the
rollback and the delete.
Architecture, section 4.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from skill_registry.catalog.facts import SkillPublished
from skill_registry.catalog.log import NO_PRECONDITION, Precondition, unlimited
from skill_registry.catalog.revision import Kind, draft
from skill_registry.catalog.uploads import Outcomes, Ticket
from skill_registry.errors import Gone, SkillInvalid, SkillNotFound, UploadAlreadyUsed
from skill_registry.spec.diagnostics import warning
from skill_registry.spec.validation import check_contents
from skill_registry.store.keys import UploadId

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skill_registry.catalog.adopting import Adopter
    from skill_registry.catalog.configuring import SettingsFiles
    from skill_registry.catalog.following import Follower
    from skill_registry.catalog.loading import Loader
    from skill_registry.catalog.log import Admit, Head, RevisionLog
    from skill_registry.catalog.principal import Principal
    from skill_registry.catalog.quotas import Quotas
    from skill_registry.catalog.revision import Draft, RevisionInfo, Source
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
        quotas: Quotas,
        limits: Limits,
    ) -> None:
        self._runtime = runtime
        self._log = log
        self._adopter = adopter
        self._loader = loader
        self._files = files
        self._follower = follower
        self._quotas = quotas
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
        copied_from: Source | None = None,
    ) -> Published:
        """Publish what came with the call, or what a copy took from another scope.

        Args:
            idempotency_key: The same key with the same call never makes a second revision, for a
                day.

        Raises:
            SkillInvalid: The skill breaks rules; nothing was changed.
            ScopeFull: The scope has no room for it; nothing was changed.
            VersionConflict: The precondition does not hold; nothing was changed.
            UploadAlreadyUsed: The key was used for something else.
            Unavailable: The store does not answer. With a key, send the call again.
        """
        diagnostics = self.check(skill.name, contents)
        ticket = Ticket(skill, 0, principal.subject, precondition, message)
        done = self._inline(
            principal, ticket, contents.files, idempotency_key, copied_from=copied_from
        )
        return replace(done, diagnostics=(*diagnostics, *done.diagnostics))

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
            ScopeFull: The skill was deleted, and the scope has no room for it any more.
            VersionConflict: The precondition does not hold.
        """
        overrides, _ = self._files.read(skill)
        head = self._log.head(skill).number
        if not head:
            raise SkillNotFound(f"`{skill.name}` has no versions to go back to.")
        number = overrides.number_of(version, skill.name)
        try:
            files = tuple(self._loader.content(skill, number, overrides, head=head).files.values())
        except Gone:
            done = self.earlier(principal, skill, idempotency_key)
            if done is not None and done.info.restores == number:
                return done
            raise
        ticket = Ticket(skill, 0, principal.subject, precondition, message)
        return self._inline(principal, ticket, files, idempotency_key, restores=number)

    def earlier(
        self, principal: Principal, skill: SkillId, idempotency_key: str | None
    ) -> Published | None:
        """Find what a call under this key published, for one whose source is no longer the same.

        Raises:
            TicketStale: Too many versions came since to tell.
        """
        if idempotency_key is None:
            return None
        upload = UploadId(principal.hash, _upload_id(idempotency_key))
        base = self._outcomes.base(upload, skill)
        info = None if base is None else self._log.find(skill, str(upload), base)
        return Published(upload, skill, info) if info is not None else None

    def _inline(
        self,
        principal: Principal,
        ticket: Ticket,
        files: Sequence[SkillFile],
        idempotency_key: str | None,
        *,
        kind: Kind = Kind.CONTENT,
        restores: int | None = None,
        copied_from: Source | None = None,
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
            copied_from=copied_from,
        )
        base, head = None, None
        if idempotency_key:
            head = self._log.head(ticket.skill)
            current = replace(ticket, base=head.number)
            source = str(restores) if restores is not None else None
            source = str(copied_from) if copied_from is not None else source
            base = self._outcomes.announce(upload, current, made.digest, source)
        return self.publish(upload, ticket, made, base=base, head=head)

    def publish(
        self,
        upload: UploadId,
        ticket: Ticket,
        made: Draft,
        *,
        base: int | None,
        head: Head | None = None,
        follow: bool = True,
    ) -> Published:
        """Commit a draft that the scope has room for, and let catalog and tree follow.

        Args:
            base: As ``RevisionLog.commit``.
            head: The head as it was read before, if it was.
            follow: False where the caller brings catalog and tree along for a batch.

        Raises:
            ScopeFull: The scope has no room for it; nothing was changed.
            UploadAlreadyUsed: The upload id was committed with other bytes.
        """
        admit: Admit = unlimited
        if made.kind is Kind.CONTENT:
            size = sum(len(file.data) for file in made.files)
            restores = made.restores is not None
            admit = self._quotas.admission(ticket.skill, size, restores=restores)
        info = self.commit(ticket, made, base=base, head=head, admit=admit)
        entry = self._follower.publish(ticket.skill, info.number) if follow else None
        told = (_DISABLED,) if entry is not None and not entry.enabled else ()
        return Published(upload, ticket.skill, info, told)

    def commit(
        self,
        ticket: Ticket,
        made: Draft,
        *,
        base: int | None,
        head: Head | None = None,
        admit: Admit = unlimited,
    ) -> RevisionInfo:
        """Commit a draft, exactly once. Where this call made the revision, it is told as a fact.

        Raises:
            UploadAlreadyUsed: The upload id was committed with other bytes.
        """
        skill = ticket.skill
        info = self._log.commit(
            skill,
            made,
            base=base,
            precondition=ticket.precondition,
            adopt=self._adopt,
            read=head,
            admit=admit,
            made=lambda info: self._runtime.tell(_fact(ticket, info)),
        )
        if info.digest != made.digest or info.kind not in (made.kind, Kind.PRUNED):
            raise UploadAlreadyUsed(
                f"This upload was published as version {info.number} with other bytes. "
                "Start a new upload."
            )
        self._loader.remember(skill, info, made.files)
        return info

    def _adopt(self, skill: SkillId, head: Head, precondition: Precondition) -> Precondition | None:
        adopted = self._adopter.adopt(skill, head, precondition)
        if adopted is None:
            # A refusal leaves nothing behind, so it comes first.
            precondition.check(head.number, exists=head.exists)
            self._follower.open(skill)
        return adopted


_DISABLED = warning(
    "skill_disabled",
    "The skill is disabled, so nobody sees this version.",
    hint="Enable it when it is ready to be seen.",
)


def _fact(ticket: Ticket, info: RevisionInfo) -> SkillPublished:
    return SkillPublished(
        skill=ticket.skill.name,
        version=info.number,
        scope=ticket.skill.scope,
        author=info.author,
        kind=str(info.kind),
        size=info.size,
        upload_id=info.upload_id,
        restores=info.restores,
        correlation=ticket.correlation,
    )


def _upload_id(idempotency_key: str) -> str:
    return hashlib.sha256(idempotency_key.encode()).hexdigest()[:32]
