"""Upload: announce it, let it go straight to the store, publish what arrived.

The call ``complete``, the S3 event and every retry run the same code; the ticket in the object's
metadata makes them agree.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skill_registry.catalog.publishing import Published
from skill_registry.catalog.revision import draft
from skill_registry.catalog.uploads import Outcomes, Ticket
from skill_registry.errors import (
    RegistryError,
    SkillInvalid,
    TicketStale,
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
    from skill_registry.catalog.log import Precondition, RevisionLog
    from skill_registry.catalog.principal import Principal
    from skill_registry.catalog.publishing import Publisher
    from skill_registry.catalog.runtime import Runtime
    from skill_registry.spec.model import Limits
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


class Uploader:
    """The upload use case."""

    def __init__(
        self,
        store: SkillStore,
        runtime: Runtime,
        log: RevisionLog,
        publisher: Publisher,
        limits: Limits,
        *,
        expires: int = 900,
    ) -> None:
        self._store = store
        self._runtime = runtime
        self._log = log
        self._publisher = publisher
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
    ) -> Announced:
        """Issue a ticket with a presigned target.

        Args:
            size: Bytes of the archive. With ``sha256`` the target takes exactly these bytes, once.
            sha256: Hex digest of the archive.

        Raises:
            TooLarge: The archive is over the limit.
            VersionConflict: The precondition does not hold now, so it never will.
        """
        if size is not None and size > self._limits.archive_bytes:
            raise TooLarge(
                f"The archive has {size} bytes; at most {self._limits.archive_bytes} are accepted."
            )
        head = self._log.head(skill)
        if head.info is not None:
            # A vendored skill is looked at when the upload arrives.
            precondition.check(head.number, exists=head.exists)
        ticket = Ticket(skill, head.number, principal.subject, precondition, message)
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

    def complete(self, principal: Principal, upload_id: str) -> Published:
        """Publish an upload of this principal, or say again what it became.

        Raises:
            UploadNotFound: There is none, or nothing arrived yet.
            SkillInvalid, VersionConflict, TicketStale: It is refused; the outcome says so too.
            UploadAlreadyUsed: Other bytes were published under it.
            Unavailable: The store does not answer; call again.
        """
        return self.publish(_upload(principal, upload_id))

    def publish(self, upload: UploadId, *, follow: bool = True) -> Published:
        """Publish an upload that arrived; the outcome is written beside it.

        Args:
            follow: Bring catalog and tree along; False where the caller does that for a batch.
        """
        found = self._store.get(keys.upload(upload))
        stored = found if isinstance(found, StoredObject) else None
        ticket = Ticket.from_metadata(stored.info.metadata) if stored else None
        if stored is None or ticket is None:
            raise UploadNotFound("No such upload arrived. Send the archive to the target first.")
        try:
            published = self._commit(upload, ticket, stored.body, follow=follow)
        except (SkillInvalid, VersionConflict, TicketStale) as error:
            if isinstance(error, TicketStale) and (done := self._told(upload, ticket)) is not None:
                return done
            self._outcomes.rejected(upload, refusal_record(upload, ticket.skill, error))
            raise
        try:
            self._outcomes.published(upload, publish_record(published))
        except Unavailable:
            # The log knows: reading the outcome finds it there.
            _LOGGER.warning("outcome_not_written", extra={"upload": upload.id})
        return published

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
        info = self._publisher.commit(ticket, made, base=ticket.base, follow=follow)
        return Published(upload, ticket.skill, info, diagnostics)

    def outcome(self, principal: Principal, upload_id: str) -> Record:
        """Return what became of an upload or of an idempotency key's call.

        ``state`` is ``received``, ``published`` or ``rejected``.

        Raises:
            UploadNotFound: Nothing of that id arrived, or it expired.
        """
        upload = _upload(principal, upload_id)
        record = self._outcomes.read(upload) or {}
        if record.get("state") in ("published", "rejected"):
            return {"upload_id": upload.id, **record}
        ticket = self._ticket(upload, record)
        info = self._log.find(ticket.skill, str(upload), ticket.base)
        if info is None:
            return {
                "upload_id": upload.id,
                "state": "received",
                "name": ticket.skill.name,
                "scope": ticket.skill.scope,
            }
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
    return {
        "upload_id": published.upload.id,
        "name": published.skill.name,
        "scope": published.skill.scope,
        "version": published.info.number,
        "sha256": published.info.sha256,
        "unchanged": published.info.unchanged,
        "diagnostics": [d.to_dict() for d in published.diagnostics],
    }


def refusal_record(upload: UploadId, skill: SkillId, error: RegistryError) -> Record:
    """Return the JSON form of a refusal."""
    record: Record = {
        "upload_id": upload.id,
        "name": skill.name,
        "scope": skill.scope,
        "code": error.code,
        "detail": error.message,
    }
    if isinstance(error, SkillInvalid):
        record["diagnostics"] = [d.to_dict() for d in error.diagnostics]
    if isinstance(error, VersionConflict):
        record["current"] = error.current
    return record


def _upload(principal: Principal, upload_id: str) -> UploadId:
    """Another principal's id is one that does not exist."""
    if _ID.fullmatch(upload_id) is None:
        raise UploadNotFound("No such upload.")
    return UploadId(principal.hash, upload_id)
