"""Presigned targets of the stores that answer no HTTP: what was signed is kept, then enforced.

S3 checks a signature; these stores compare with what they handed out. A target lives in the
process that made it.
"""

from __future__ import annotations

import base64
import hashlib
import threading
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skill_registry.errors import Forbidden, RequestInvalid
from skill_registry.store.base import IfAbsent, Lost, SkillStore, UploadTarget, Written
from skill_registry.store.metadata import headers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ARCHIVE_TYPE = "application/zip"


def checksum(sha256: str) -> str:
    """Return a hex digest the way S3's checksum header spells it: base64 of the raw digest.

    Raises:
        RequestInvalid: ``sha256_invalid``; it is not 64 hex digits.
    """
    try:
        digest = bytes.fromhex(sha256)
    except ValueError:
        digest = b""
    if len(digest) != 32 or len(sha256) != 64:
        raise RequestInvalid("sha256 must be 64 hex digits.", code="sha256_invalid")
    return base64.b64encode(digest).decode()


@dataclass(frozen=True, slots=True)
class Grant:
    """What a target allows: one key, a range of sizes in bytes, a digest, a deadline."""

    key: str
    metadata: Mapping[str, str]
    expires_at: float
    target: UploadTarget
    smallest: int
    largest: int
    sha256: str | None = None


class Grants:
    """The targets that one store handed out in this process.

    Args:
        clock: POSIX seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._issued: dict[str, Grant] = {}

    def put(
        self,
        key: str,
        url: str,
        *,
        size: int,
        sha256: str,
        metadata: Mapping[str, str],
        expires: int,
    ) -> UploadTarget:
        """Grant one write of exactly these bytes. ``expires`` is in seconds."""
        target = UploadTarget(
            "PUT",
            self._signed(url),
            headers={
                "content-length": str(size),
                "content-type": ARCHIVE_TYPE,
                "if-none-match": "*",
                "x-amz-checksum-sha256": checksum(sha256),
                **headers(metadata),
            },
        )
        deadline = self._clock() + expires
        return self._keep(Grant(key, metadata, deadline, target, size, size, sha256.lower()))

    def post(
        self, key: str, url: str, *, max_size: int, metadata: Mapping[str, str], expires: int
    ) -> UploadTarget:
        """Grant writes of 1 to ``max_size`` bytes for ``expires`` seconds."""
        fields = {"key": key, "Content-Type": ARCHIVE_TYPE, **headers(metadata)}
        target = UploadTarget("POST", self._signed(url), fields=fields)
        return self._keep(Grant(key, metadata, self._clock() + expires, target, 1, max_size))

    def deliver(self, store: SkillStore, target: UploadTarget, data: bytes) -> Written | Lost:
        """Check a delivery against what was signed, and store it.

        Returns:
            ``Lost`` when a PUT was used before.

        Raises:
            Forbidden: Another target than any handed out, an altered one, or an expired one.
            RequestInvalid: The bytes are not those, or not as many, as were signed.
        """
        with self._lock:
            grant = self._issued.get(target.url)
        if grant is None or grant.target != target:
            raise Forbidden("The upload is not what was signed; ask for a new target.")
        if self._clock() >= grant.expires_at:
            raise Forbidden("The signed target has expired; ask for a new one.")
        if not grant.smallest <= len(data) <= grant.largest:
            raise RequestInvalid(
                f"{len(data)} bytes arrived; {grant.smallest} to {grant.largest} were signed.",
                code="upload_size_mismatch",
            )
        if grant.sha256 is not None and hashlib.sha256(data).hexdigest() != grant.sha256:
            raise RequestInvalid(
                "The bytes do not have the signed sha256.", code="upload_digest_mismatch"
            )
        return store.put(
            grant.key,
            data,
            condition=IfAbsent() if target.method == "PUT" else None,
            metadata=grant.metadata,
            content_type=ARCHIVE_TYPE,
        )

    def _signed(self, url: str) -> str:
        return f"{url}?grant={uuid.uuid4().hex}"

    def _keep(self, grant: Grant) -> UploadTarget:
        with self._lock:
            self._issued[grant.target.url] = grant
        return grant.target
