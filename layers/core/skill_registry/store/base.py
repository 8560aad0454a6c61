"""The store port: S3's semantics at the grain of one request, so that each call can be counted.

Losing a race is an ordinary outcome: a conditional ``put`` returns ``Lost``, it does not raise.
Only ``Unavailable`` is raised, and after it the outcome of a write is unknown. Sources: AWS S3
user guide, "conditional requests" and "data consistency model".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """What HEAD and LIST tell. LIST knows neither ``metadata`` nor ``content_type``.

    Attributes:
        etag: Opaque, with its quotes. Equal for equal bytes in the stores that we run on, but
            never to be read as a digest.
        size: Bytes.
        modified: POSIX seconds of the last write.
    """

    key: str
    etag: str
    size: int
    modified: float
    metadata: Mapping[str, str] = field(default_factory=dict)
    content_type: str | None = None


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object with its bytes; both are of one write."""

    info: ObjectInfo
    body: bytes

    @property
    def etag(self) -> str:
        """The ETag of exactly these bytes."""
        return self.info.etag


@dataclass(frozen=True, slots=True)
class NotModified:
    """The object still has the ETag that the caller named (304)."""

    etag: str


@dataclass(frozen=True, slots=True)
class Written:
    """The write was applied; the object now has this ETag."""

    etag: str


@dataclass(frozen=True, slots=True)
class Lost:
    """The condition did not hold, or another write was in flight (404, 409, 412 of S3).

    Never decide by the reason: read, then decide.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class IfAbsent:
    """Write only where no object is (``If-None-Match: *``)."""


@dataclass(frozen=True, slots=True)
class IfMatch:
    """Write only over exactly this ETag (``If-Match``)."""

    etag: str


Condition = IfAbsent | IfMatch


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a listing, in UTF-8 byte order of the keys.

    ``after`` is the token for the next page, None on the last one.
    """

    objects: tuple[ObjectInfo, ...]
    prefixes: tuple[str, ...] = ()
    after: str | None = None


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """One stored version of an object: what a key holds, or held and an overwrite left behind.

    Attributes:
        version_id: S3's, ``null`` where the bucket does not keep versions.
        current: Whether it is what the key holds, or the marker that it holds nothing.
        marker: A delete marker has no bytes.
    """

    key: str
    version_id: str
    current: bool
    marker: bool = False


@dataclass(frozen=True, slots=True)
class VersionPage:
    """One page of stored versions. ``after`` is the token for the next page, None on the last."""

    versions: tuple[StoredVersion, ...]
    after: str | None = None


@dataclass(frozen=True, slots=True)
class UploadTarget:
    """Where and how a client sends its bytes, straight to the store.

    For ``PUT`` send ``headers`` as they are; for ``POST`` send ``fields`` as a multipart form with
    the file last.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)


class SkillStore(Protocol):
    """The bucket. Every method is one request, and raises ``Unavailable`` when that fails.

    Signing is no request.
    """

    def get(
        self, key: str, *, if_none_match: str | None = None, if_match: str | None = None
    ) -> StoredObject | NotModified | None:
        """Read an object whole.

        Returns None when the key is absent, or when ``if_match`` names an ETag that it no longer
        has; ``NotModified`` when ``if_none_match`` names the one that it has.
        """
        ...

    def head(self, key: str) -> ObjectInfo | None:
        """Read what is known of an object, without its bytes; None when absent."""
        ...

    def put(
        self,
        key: str,
        body: bytes,
        *,
        condition: Condition | None = None,
        metadata: Mapping[str, str] | None = None,
        content_type: str = "application/octet-stream",
    ) -> Written | Lost:
        """Write an object whole. ``metadata`` values may hold any text; keys are lower case."""
        ...

    def delete(self, key: str, *, if_match: str | None = None) -> bool:
        """Remove an object. False when ``if_match`` did not hold; an absent key is True."""
        ...

    def list_page(
        self, prefix: str, *, delimiter: str = "", after: str | None = None, limit: int = 1000
    ) -> Page:
        """List keys under a prefix; with a delimiter, keys beyond it fold into ``prefixes``."""
        ...

    def list_versions(
        self, prefix: str, *, after: str | None = None, limit: int = 1000
    ) -> VersionPage:
        """List every stored version of the keys under a prefix, by key, the current one first.

        A store that keeps no versions answers what it holds now.
        """
        ...

    def delete_version(self, key: str, version_id: str) -> None:
        """Remove one stored version for good; an absent one counts as removed."""
        ...

    def presign_get(self, key: str, *, expires: int, filename: str | None = None) -> str:
        """Sign a URL that reads the object for ``expires`` seconds."""
        ...

    def presign_put(
        self, key: str, *, size: int, sha256: str, metadata: Mapping[str, str], expires: int
    ) -> UploadTarget:
        """Sign a single-use write of exactly ``size`` bytes with the hex digest ``sha256``."""
        ...

    def presign_post(
        self, key: str, *, max_size: int, metadata: Mapping[str, str], expires: int
    ) -> UploadTarget:
        """Sign a form upload to exactly this key, of 1 to ``max_size`` bytes."""
        ...


def list_all(store: SkillStore, prefix: str) -> Iterator[ObjectInfo]:
    """Yield every object under a prefix, one request a page."""
    after: str | None = None
    while True:
        page = store.list_page(prefix, after=after)
        yield from page.objects
        if page.after is None:
            return
        after = page.after


def list_folders(store: SkillStore, prefix: str) -> Iterator[str]:
    """Yield the names of the folders directly under a prefix, one request a page."""
    after: str | None = None
    while True:
        page = store.list_page(prefix, delimiter="/", after=after)
        for folder in page.prefixes:
            yield folder[len(prefix) : -1]
        if page.after is None:
            return
        after = page.after


def all_versions(store: SkillStore, prefix: str) -> Iterator[StoredVersion]:
    """Yield every stored version of the keys under a prefix, one request a page."""
    after: str | None = None
    while True:
        page = store.list_versions(prefix, after=after)
        yield from page.versions
        if page.after is None:
            return
        after = page.after
