"""A bucket in memory, with S3's conditional semantics to the letter. For tests and trials."""

from __future__ import annotations

import threading
import time
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from skill_registry.store.base import (
    Condition,
    Lost,
    NotModified,
    ObjectInfo,
    Page,
    StoredObject,
    StoredVersion,
    UploadTarget,
    VersionPage,
    Written,
)
from skill_registry.store.conditions import refused
from skill_registry.store.etags import content_etag
from skill_registry.store.limits import check_key
from skill_registry.store.listing import UNVERSIONED, page_of, unversioned
from skill_registry.store.metadata import encode
from skill_registry.store.presigned import Grants

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class MemorySkillStore:
    """The port over a dictionary. One lock makes every request one atomic step.

    Args:
        clock: POSIX seconds, for ``modified`` and for the deadlines of targets.
        opaque_etags: Give every write an ETag of its own, as S3 does under KMS. Otherwise the ETag
            is the quoted MD5 of the bytes: writing old bytes again brings the old ETag back.
        versioned: Keep what is overwritten or deleted as older versions.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.time,
        opaque_etags: bool = False,
        versioned: bool = False,
    ) -> None:
        self._clock = clock
        self._opaque_etags = opaque_etags
        self._lock = threading.Lock()
        self._objects: dict[str, StoredObject] = {}
        # Per key, newest first; None is a delete marker.
        self._versions: dict[str, list[tuple[str, StoredObject | None]]] | None = (
            {} if versioned else None
        )
        self._grants = Grants(clock)

    def get(
        self, key: str, *, if_none_match: str | None = None, if_match: str | None = None
    ) -> StoredObject | NotModified | None:
        """Read an object whole."""
        check_key(key)
        with self._lock:
            found = self._objects.get(key)
        if found is None or (if_match is not None and found.etag != if_match):
            return None
        return NotModified(found.etag) if found.etag == if_none_match else found

    def head(self, key: str) -> ObjectInfo | None:
        """Read what is known of an object."""
        check_key(key)
        with self._lock:
            found = self._objects.get(key)
        return None if found is None else found.info

    def put(
        self,
        key: str,
        body: bytes,
        *,
        condition: Condition | None = None,
        metadata: Mapping[str, str] | None = None,
        content_type: str = "application/octet-stream",
    ) -> Written | Lost:
        """Write an object whole, or tell that the condition does not hold."""
        check_key(key)
        kept = dict(metadata or {})
        encode(kept)
        data = bytes(body)
        etag = self._etag_of(data)
        with self._lock:
            found = self._objects.get(key)
            lost = refused(condition, None if found is None else found.etag)
            if lost is not None:
                return lost
            info = ObjectInfo(key, etag, len(data), self._clock(), kept, content_type)
            self._objects[key] = StoredObject(info, data)
            self._keep(key, self._objects[key])
        return Written(etag)

    def delete(self, key: str, *, if_match: str | None = None) -> bool:
        """Remove an object; an absent one counts as removed."""
        check_key(key)
        with self._lock:
            found = self._objects.get(key)
            if found is not None and if_match is not None and found.etag != if_match:
                return False
            if self._objects.pop(key, None) is not None:
                self._keep(key, None)
        return True

    def list_page(
        self, prefix: str, *, delimiter: str = "", after: str | None = None, limit: int = 1000
    ) -> Page:
        """List keys under a prefix; ``metadata`` and ``content_type`` are left out, as S3 does."""
        with self._lock:
            infos = {key: found.info for key, found in self._objects.items()}
        page = page_of(infos, prefix, delimiter=delimiter, after=after, limit=limit)
        listed = tuple(replace(infos[key], metadata={}, content_type=None) for key in page.keys)
        return Page(listed, page.prefixes, page.after)

    def list_versions(
        self, prefix: str, *, after: str | None = None, limit: int = 1000
    ) -> VersionPage:
        """List every stored version of the keys under a prefix; a page holds whole keys."""
        with self._lock:
            if self._versions is None:
                page = page_of(self._objects, prefix, delimiter="", after=after, limit=limit)
                return VersionPage(unversioned(page.keys), page.after)
            page = page_of(self._versions, prefix, delimiter="", after=after, limit=limit)
            found = [
                StoredVersion(key, version_id, index == 0, stored is None)
                for key in page.keys
                for index, (version_id, stored) in enumerate(self._versions[key])
            ]
        return VersionPage(tuple(found), page.after)

    def delete_version(self, key: str, version_id: str) -> None:
        """Remove one stored version; where it was the current one, the one before it is now."""
        check_key(key)
        if self._versions is None:
            if version_id == UNVERSIONED:
                self.delete(key)
            return
        with self._lock:
            left = [each for each in self._versions.get(key, ()) if each[0] != version_id]
            self._versions[key] = left
            current = left[0][1] if left else None
            if current is None:
                self._objects.pop(key, None)
            else:
                self._objects[key] = current
            if not left:
                del self._versions[key]

    def _keep(self, key: str, stored: StoredObject | None) -> None:
        if self._versions is not None:
            self._versions.setdefault(key, []).insert(0, (uuid.uuid4().hex, stored))

    def presign_get(self, key: str, *, expires: int, filename: str | None = None) -> str:
        """Name the object; nothing answers at this URL."""
        check_key(key)
        query = {"expires": str(expires)} | ({"filename": filename} if filename else {})
        return f"{_url(key)}?{urlencode(query)}"

    def presign_put(
        self, key: str, *, size: int, sha256: str, metadata: Mapping[str, str], expires: int
    ) -> UploadTarget:
        """Make a target for ``receive``, good for one write of exactly these bytes."""
        check_key(key)
        return self._grants.put(
            key, _url(key), size=size, sha256=sha256, metadata=metadata, expires=expires
        )

    def presign_post(
        self, key: str, *, max_size: int, metadata: Mapping[str, str], expires: int
    ) -> UploadTarget:
        """Make a target for ``receive``, good for any bytes within the range until it expires."""
        check_key(key)
        return self._grants.post(
            key, _url(key), max_size=max_size, metadata=metadata, expires=expires
        )

    def receive(self, target: UploadTarget, data: bytes) -> Written | Lost:
        """Deliver an upload to a target, as a client would over HTTP.

        Returns:
            ``Lost`` when a PUT was used before.

        Raises:
            Forbidden: The target was altered, has expired, or is not of this store.
            RequestInvalid: Size or digest differ from what was signed.
        """
        return self._grants.deliver(self, target, data)

    def _etag_of(self, data: bytes) -> str:
        if self._opaque_etags:
            return f'"{uuid.uuid4().hex}"'
        return content_etag(data)


def _url(key: str) -> str:
    return f"memory:///{quote(key)}"
