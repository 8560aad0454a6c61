"""Uploads: the ticket that a presigned upload carries, and what became of it.

The ticket travels in the signed user metadata of the upload object, so that the API call and the
S3 event see the same one and nobody can change it. The outcome lies beside the upload, for its
author to read. Both live for a day.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skill_registry.catalog.log import NO_PRECONDITION, Precondition
from skill_registry.errors import RequestInvalid, Unavailable, UploadAlreadyUsed
from skill_registry.store import keys
from skill_registry.store.base import IfAbsent, IfMatch, StoredObject, Written
from skill_registry.store.keys import SkillId

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skill_registry.store.base import Condition, SkillStore
    from skill_registry.store.keys import UploadId

MESSAGE_BYTES = 300
ATTEMPTS = 8
LONGEST_CORRELATION = 64

# What an upload can have become.
DONE = frozenset({"published", "rejected", "validated"})


@dataclass(frozen=True, slots=True)
class Ticket:
    """What was agreed when an upload was announced.

    Attributes:
        base: Head at that moment, 0 for none; the search for an earlier commit starts after it.
        author: Subject of the principal.
        dry_run: Look at what arrives, and never publish it, whoever asks.
        correlation: Id of the call that announced it, for the logs of those who finish it.
    """

    skill: SkillId
    base: int
    author: str
    precondition: Precondition = NO_PRECONDITION
    message: str | None = None
    dry_run: bool = False
    correlation: str | None = None

    def to_metadata(self) -> dict[str, str]:
        """Return the user metadata to sign."""
        values = {
            "skill": str(self.skill),
            "base": str(self.base),
            "author": self.author,
            "if-version": None
            if self.precondition.version is None
            else str(self.precondition.version),
            "create-only": "1" if self.precondition.create_only else None,
            "message": self.message,
            "dry-run": "1" if self.dry_run else None,
            "correlation": (self.correlation or "")[:LONGEST_CORRELATION] or None,
        }
        return {key: value for key, value in values.items() if value is not None}

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, str]) -> Ticket | None:
        """Read the signed metadata; None where it is not of a ticket."""
        scope, _, name = metadata.get("skill", "").partition("/")
        base, version = metadata.get("base", ""), metadata.get("if-version")
        if not scope or not name or not base.isdecimal():
            return None
        if version is not None and not version.isdecimal():
            return None
        return cls(
            skill=SkillId(scope, name),
            base=int(base),
            author=metadata.get("author", ""),
            precondition=Precondition(
                version=None if version is None else int(version),
                create_only="create-only" in metadata,
            ),
            message=metadata.get("message"),
            dry_run="dry-run" in metadata,
            correlation=metadata.get("correlation"),
        )


def check_message(message: str | None) -> str | None:
    """Return a message or a reason that fits into user metadata, stripped; None for a blank one.

    Raises:
        RequestInvalid: ``message_invalid``.
    """
    if message is None or not message.strip():
        return None
    text = message.strip()
    if len(text.encode()) > MESSAGE_BYTES or not text.replace("\n", " ").isprintable():
        raise RequestInvalid(
            f"A message or reason is printable text of at most {MESSAGE_BYTES} bytes of UTF-8.",
            code="message_invalid",
        )
    return " ".join(text.split())


class Outcomes:
    """The records beside the uploads."""

    def __init__(self, store: SkillStore) -> None:
        self._store = store

    def read(self, upload: UploadId) -> dict[str, Any] | None:
        """Return the record, None where there is none."""
        found = self._read(upload)
        return found[0] if found else None

    def _read(self, upload: UploadId) -> tuple[dict[str, Any], str] | None:
        found = self._store.get(keys.outcome(upload))
        if not isinstance(found, StoredObject):
            return None
        try:
            record = json.loads(found.body)
        except ValueError:
            return None
        return (record, found.etag) if isinstance(record, dict) else None

    def published(self, upload: UploadId, record: Mapping[str, Any]) -> None:
        """Write down a publish, over a refusal too. It is final: a second time writes nothing."""
        self._write(upload, {**record, "state": "published"})

    def rejected(self, upload: UploadId, record: Mapping[str, Any]) -> bool:
        """Write down a refusal, but never over a publish; whether this call did."""
        return self._write(upload, {**record, "state": "rejected"})

    def validated(self, upload: UploadId, record: Mapping[str, Any]) -> None:
        """Write down what a dry run found."""
        self._write(upload, {**record, "state": "validated"})

    def _write(self, upload: UploadId, record: Mapping[str, Any]) -> bool:
        """Write a record unless a publish or the same one is there; the first try asks nothing."""
        condition: Condition = IfAbsent()
        for _ in range(ATTEMPTS):
            result = self._store.put(
                keys.outcome(upload), _body(record), condition=condition, content_type=_JSON
            )
            if isinstance(result, Written):
                return True
            found = self._read(upload)
            if found and (found[0] == record or found[0].get("state") == "published"):
                return False
            condition = IfMatch(found[1]) if found else IfAbsent()
        return False

    def redact(self, upload: UploadId) -> None:
        """Take out of a record what its author wrote and what quotes it.

        Raises:
            Unavailable: The store does not answer, or others kept winning.
        """
        for _ in range(ATTEMPTS):
            found = self._read(upload)
            if found is None:
                return
            bare = {key: value for key, value in found[0].items() if key != "diagnostics"}
            if isinstance(call := bare.get("call"), dict):
                bare["call"] = {key: value for key, value in call.items() if key != "message"}
            if bare == found[0]:
                return
            result = self._store.put(
                keys.outcome(upload),
                _body(bare),
                condition=IfMatch(found[1]),
                content_type=_JSON,
            )
            if isinstance(result, Written):
                return
        raise Unavailable("The record of the upload keeps changing; try again.")

    def base(self, upload: UploadId, skill: SkillId) -> int | None:
        """Return the base of an inline call to this skill; None where none was written down."""
        record = self.read(upload) or {}
        call, base = record.get("call"), record.get("base")
        if not isinstance(call, dict) or call.get("skill") != str(skill):
            return None
        return base if isinstance(base, int) else None

    def announce(
        self, upload: UploadId, ticket: Ticket, digest: str, source: str | None = None
    ) -> int:
        """Write down an inline call before it commits; return the base that a retry starts from.

        Args:
            source: The version whose files it publishes again, None where it brings them.

        Raises:
            UploadAlreadyUsed: The idempotency key was used for another call or other bytes.
            Unavailable: The store does not answer.
        """
        call = {"skill": str(ticket.skill), "digest": digest, **ticket.to_metadata()}
        del call["base"]
        if source is not None:
            call["source"] = source
        record = _body({"state": "received", "base": ticket.base, "call": call})
        for _ in range(ATTEMPTS):
            result = self._store.put(
                keys.outcome(upload), record, condition=IfAbsent(), content_type=_JSON
            )
            if isinstance(result, Written):
                return ticket.base
            known = self.read(upload)
            if known is None:
                continue
            if known.get("call") != call or not isinstance(known.get("base"), int):
                raise UploadAlreadyUsed(
                    "This Idempotency-Key was used for another call. Use a fresh one."
                )
            return int(known["base"])
        raise Unavailable("The idempotency record could not be written; try again.")


_JSON = "application/json"


def _body(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode()
