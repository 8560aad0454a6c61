"""Upload: announce it, let it go straight to the store, publish what arrived.

The call ``complete``, the S3 event and every retry run the same code; the ticket in the object's
metadata makes them agree. A dry run goes the same way and ends before the commit.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from skill_registry.catalog.facts import SkillRefused
from skill_registry.catalog.publishing import Published
from skill_registry.catalog.revision import draft
from skill_registry.catalog.uploads import DONE, Outcomes, Ticket
from skill_registry.errors import (
    RegistryError,
    ScopeFull,
    SkillInvalid,
    TicketStale,
    TimeIsUp,
    TooLarge,
    Unavailable,
    UploadNotFound,
    VersionConflict,
)
from skill_registry.spec.archive import read_archive
from skill_registry.store import keys
from skill_registry.store.base import StoredObject
from skill_registry.store.keys import SkillId, UploadId

if TYPE_CHECKING:
    from collections.abc import Callable

    from skill_registry.catalog.log import Head, Precondition, RevisionLog
    from skill_registry.catalog.principal import Principal
    from skill_registry.catalog.publishing import Publisher
    from skill_registry.catalog.quotas import Quotas
    from skill_registry.catalog.revision import Source
    from skill_registry.catalog.runtime import Runtime
    from skill_registry.spec.model import Diagnostic, Limits
    from skill_registry.store.base import SkillStore, UploadTarget

_LOGGER = logging.getLogger(__name__)
_ID = re.compile(r"[0-9a-f]{32}")

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Announced:
    """A ticket as its principal gets it.

    Attributes:
        base: Head version when it was issued, None for a new skill.
        expires: Seconds that the target accepts the upload.
        max_size: Bytes that it accepts.
    """

    upload: UploadId
    target: UploadTarget
    base: int | None
    expires: int
    max_size: int


@dataclass(frozen=True, slots=True)
class Validated:
    """What a publish of an upload would have said; nothing was published."""

    upload: UploadId
    skill: SkillId
    valid: bool
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class Received:
    """An upload that arrived, and that nobody had the time to finish yet."""

    upload: UploadId
    skill: SkillId


class Uploader:
    """The upload use case."""

    def __init__(
        self,
        store: SkillStore,
        runtime: Runtime,
        log: RevisionLog,
        publisher: Publisher,
        quotas: Quotas,
        limits: Limits,
        *,
        expires: int = 900,
    ) -> None:
        self._store = store
        self._runtime = runtime
        self._log = log
        self._publisher = publisher
        self._quotas = quotas
        self._limits = limits
        self._expires = expires
        self._outcomes = Outcomes(store)

    def announce(
        self,
        principal: Principal,
        skill: SkillId,
        *,
        precondition: Precondition,
        message: str | None = None,
        size: int | None = None,
        sha256: str | None = None,
        dry_run: bool = False,
        correlation: str | None = None,
    ) -> Announced:
        """Issue a ticket with a presigned target.

        Args:
            size: Bytes of the archive. With ``sha256`` the target takes exactly these bytes, once.
            sha256: Hex digest of the archive.
            dry_run: What arrives is looked at and never published.
            correlation: Id of this call, for the logs of those who finish the upload.

        Raises:
            TooLarge: The archive is over the limit.
            TooManyUploads: The principal has too many that wait.
            ScopeFull: The scope has no room for it.
            VersionConflict: The precondition does not hold now, so it never will.
        """
        if size is not None and size > self._limits.archive_bytes:
            raise TooLarge(
                f"The archive has {size} bytes; at most {self._limits.archive_bytes} are accepted."
            )
        read: list[Callable[[], Head | None]] = [
            partial(self._log.head, skill),
            partial(self._quotas.check_uploads, principal),
        ]
        head = self._runtime.parallel(read)[0]
        assert head is not None
        if head.info is not None:
            # A vendored skill is looked at when the upload arrives.
            precondition.check(head.number, exists=head.exists)
        if not dry_run:
            self._quotas.check_announced(skill, size, exists=head.exists)
        ticket = Ticket(
            skill, head.number, principal.subject, precondition, message, dry_run, correlation
        )
        upload = UploadId(principal.hash, self._runtime.new_id())
        target = self._target(keys.upload(upload), ticket, size, sha256)
        base = head.number or None
        return Announced(upload, target, base, self._expires, size or self._limits.archive_bytes)

    def _target(
        self, key: str, ticket: Ticket, size: int | None, sha256: str | None
    ) -> UploadTarget:
        metadata = ticket.to_metadata()
        if size is None or sha256 is None:
            return self._store.presign_post(
                key,
                max_size=self._limits.archive_bytes,
                metadata=metadata,
                expires=self._expires,
            )
        return self._store.presign_put(
            key, size=size, sha256=sha256, metadata=metadata, expires=self._expires
        )

    def complete(self, principal: Principal, upload_id: str) -> Published | Validated | Received:
        """Publish an upload of this principal, or say again what it became.

        ``Received`` where the time of this call ended before: calling again, or the S3 event, goes
        on where it stopped.

        Raises:
            UploadNotFound: There is none, or nothing arrived yet.
            SkillInvalid, ScopeFull, VersionConflict, TicketStale: It is refused; the outcome says
                so too.
            UploadAlreadyUsed: Other bytes were published under it.
            Unavailable: The store does not answer; call again.
        """
        upload = _upload(principal, upload_id)
        ticket, body = self._arrived(upload)
        try:
            return self._finish(upload, ticket, body)
        except TimeIsUp:
            return Received(upload, ticket.skill)

    def publish(self, upload: UploadId, *, follow: bool = True) -> Published | Validated:
        """Finish an upload without a client; the outcome is written beside it.

        Nobody is answered, so a refusal is told as a fact, by whoever writes it down first.

        Args:
            follow: Bring catalog and tree along; False where the caller does that for a batch.

        Raises:
            RegistryError: As ``complete``.
        """
        ticket, body = self._arrived(upload)
        return self._finish(upload, ticket, body, follow=follow, tell=True)

    def _arrived(self, upload: UploadId) -> tuple[Ticket, bytes]:
        found = self._store.get(keys.upload(upload))
        stored = found if isinstance(found, StoredObject) else None
        ticket = Ticket.from_metadata(stored.info.metadata) if stored else None
        if stored is None or ticket is None:
            raise UploadNotFound("No such upload arrived. Send the archive to the target first.")
        return ticket, stored.body

    def _finish(
        self,
        upload: UploadId,
        ticket: Ticket,
        body: bytes,
        *,
        follow: bool = True,
        tell: bool = False,
    ) -> Published | Validated:
        if ticket.dry_run:
            return self._validate(upload, ticket, body)
        try:
            published = self._commit(upload, ticket, body, follow=follow)
        except (SkillInvalid, ScopeFull, VersionConflict, TicketStale) as error:
            if isinstance(error, TicketStale) and (done := self._told(upload, ticket)) is not None:
                return done
            new = self._outcomes.rejected(upload, refusal_record(upload, ticket.skill, error))
            if new and tell:
                skill, scope = ticket.skill.name, ticket.skill.scope
                fact = SkillRefused(skill, error.code, scope, correlation=ticket.correlation)
                self._runtime.tell(fact)
            raise
        try:
            self._outcomes.published(upload, publish_record(published))
        except Unavailable:
            # The log knows: reading the outcome finds it there.
            _LOGGER.warning("outcome_not_written", extra={"upload": upload.id})
        return published

    def _validate(self, upload: UploadId, ticket: Ticket, body: bytes) -> Validated:
        """Look at an upload as a publish would; what breaks rules is an answer here."""
        try:
            contents = read_archive(body, limits=self._limits)
            found, valid = self._publisher.check(ticket.skill.name, contents), True
        except SkillInvalid as error:
            found, valid = error.diagnostics, False
        done = Validated(upload, ticket.skill, valid, found)
        self._outcomes.validated(upload, validation_record(done))
        return done

    def _told(self, upload: UploadId, ticket: Ticket) -> Published | None:
        """Find what an upload became by its outcome, where the log is too long to search."""
        number = (self._outcomes.read(upload) or {}).get("version")
        info = self._log.info(ticket.skill, number) if isinstance(number, int) else None
        if info is None or info.upload_id != str(upload):
            return None
        return Published(upload, ticket.skill, info)

    def _commit(self, upload: UploadId, ticket: Ticket, body: bytes, *, follow: bool) -> Published:
        contents = read_archive(body, limits=self._limits)
        diagnostics = self._publisher.check(ticket.skill.name, contents)
        made = draft(
            contents.files,
            upload_id=str(upload),
            author=ticket.author,
            message=ticket.message,
        )
        done = self._publisher.publish(upload, ticket, made, base=ticket.base, follow=follow)
        return replace(done, diagnostics=(*diagnostics, *done.diagnostics))

    def outcome(self, principal: Principal, upload_id: str) -> Record:
        """Return what became of an upload or of an idempotency key's call.

        ``state`` is ``received``, ``published``, ``rejected`` or ``validated``.

        Raises:
            UploadNotFound: Nothing of that id arrived, or it expired.
        """
        upload = _upload(principal, upload_id)
        record = self._outcomes.read(upload) or {}
        if record.get("state") in DONE:
            return {"upload_id": upload.id, **record}
        ticket = self._ticket(upload, record)
        info = None
        if not ticket.dry_run:
            info = self._log.find(ticket.skill, str(upload), ticket.base)
        if info is None:
            return {"state": "received", **_named(upload, ticket.skill)}
        published = publish_record(Published(upload, ticket.skill, info))
        return {"state": "published", **published}

    def _ticket(self, upload: UploadId, record: Record) -> Ticket:
        """Find the ticket: on the upload object, or in the record of an inline call."""
        metadata: dict[str, str] = {}
        call = record.get("call")
        if isinstance(call, dict):
            metadata = {"skill": str(call.get("skill")), "base": str(record.get("base"))}
        elif (info := self._store.head(keys.upload(upload))) is not None:
            metadata = dict(info.metadata)
        ticket = Ticket.from_metadata(metadata)
        if ticket is None:
            raise UploadNotFound("No such upload, or it expired after a day.")
        return ticket


def publish_record(published: Published) -> Record:
    """Return the JSON form of a publish."""
    info = published.info
    record: Record = {
        **_named(published.upload, published.skill),
        "version": info.number,
        "sha256": info.sha256,
        "unchanged": info.unchanged,
        "diagnostics": [d.to_dict() for d in published.diagnostics],
    }
    if info.restores is not None:
        record["restores"] = info.restores
    if info.copied_from is not None:
        record["copied_from"] = source_record(info.copied_from)
    return record


def source_record(source: Source) -> Record:
    """Return the JSON form of what a copy was made of."""
    return {"scope": source.skill.scope, "version": source.version}


def validation_record(done: Validated) -> Record:
    """Return the JSON form of a dry run."""
    return {
        **_named(done.upload, done.skill),
        "valid": done.valid,
        "diagnostics": [d.to_dict() for d in done.diagnostics],
    }


def received_record(done: Received) -> Record:
    """Return the JSON form of an upload that waits to be finished."""
    return _named(done.upload, done.skill)


def refusal_record(upload: UploadId, skill: SkillId, error: RegistryError) -> Record:
    """Return the JSON form of a refusal."""
    record: Record = {**_named(upload, skill), "code": error.code, "detail": error.message}
    if isinstance(error, SkillInvalid):
        record["diagnostics"] = [d.to_dict() for d in error.diagnostics]
    if isinstance(error, VersionConflict):
        record["current"] = error.current
    return record


def _named(upload: UploadId, skill: SkillId) -> Record:
    return {"upload_id": upload.id, "name": skill.name, "scope": skill.scope}


def _upload(principal: Principal, upload_id: str) -> UploadId:
    """Another principal's id is one that does not exist."""
    if _ID.fullmatch(upload_id) is None:
        raise UploadNotFound("No such upload.")
    return UploadId(principal.hash, upload_id)
