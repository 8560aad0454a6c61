"""The one place that every request of a store passes: to count it, hold it back or fail it."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from skill_registry.store.base import (
    Condition,
    IfMatch,
    Lost,
    NotModified,
    ObjectInfo,
    Page,
    SkillStore,
    StoredObject,
    UploadTarget,
    VersionPage,
    Written,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Op = Literal["GET", "HEAD", "PUT", "DELETE", "LIST"]
Result = StoredObject | NotModified | ObjectInfo | Written | Lost | Page | VersionPage | bool | None
R = TypeVar("R", bound=Result)


@dataclass(frozen=True, slots=True)
class IfChanged:
    """Read only what no longer has this ETag (``If-None-Match`` of a GET)."""

    etag: str


@dataclass(frozen=True, slots=True)
class Request:
    """One request to the store.

    Attributes:
        key: The prefix of a LIST.
        versioned: A LIST of stored versions, or the removal of one.
    """

    op: Op
    key: str
    condition: Condition | IfChanged | None = None
    versioned: bool = False


class Gate(Protocol):
    """What happens around a request. Called from many threads at once."""

    def before(self, request: Request) -> None:
        """Run before the request is sent; raising ``Unavailable`` means it never was."""
        ...

    def after(self, request: Request, result: Result) -> None:
        """Run after the store has answered; raising means that the answer was lost."""
        ...


class GatedStore:
    """A store behind a gate. Signing is no request and passes by.

    Args:
        store: Any store, a gated one included.
        gate: Asked before and after each request.
    """

    def __init__(self, store: SkillStore, gate: Gate) -> None:
        self._store = store
        self._gate = gate

    def get(
        self, key: str, *, if_none_match: str | None = None, if_match: str | None = None
    ) -> StoredObject | NotModified | None:
        """Read an object whole."""
        condition: Condition | IfChanged | None = None
        if if_match is not None:
            condition = IfMatch(if_match)
        elif if_none_match is not None:
            condition = IfChanged(if_none_match)
        return self._pass(
            Request("GET", key, condition),
            lambda: self._store.get(key, if_none_match=if_none_match, if_match=if_match),
        )

    def head(self, key: str) -> ObjectInfo | None:
        """Read what is known of an object."""
        return self._pass(Request("HEAD", key), lambda: self._store.head(key))

    def put(
        self,
        key: str,
        body: bytes,
        *,
        condition: Condition | None = None,
        metadata: Mapping[str, str] | None = None,
        content_type: str = "application/octet-stream",
    ) -> Written | Lost:
        """Write an object whole."""
        return self._pass(
            Request("PUT", key, condition),
            lambda: self._store.put(
                key, body, condition=condition, metadata=metadata, content_type=content_type
            ),
        )

    def delete(self, key: str, *, if_match: str | None = None) -> bool:
        """Remove an object."""
        condition = None if if_match is None else IfMatch(if_match)
        return self._pass(
            Request("DELETE", key, condition), lambda: self._store.delete(key, if_match=if_match)
        )

    def list_page(
        self, prefix: str, *, delimiter: str = "", after: str | None = None, limit: int = 1000
    ) -> Page:
        """List keys under a prefix."""
        return self._pass(
            Request("LIST", prefix),
            lambda: self._store.list_page(prefix, delimiter=delimiter, after=after, limit=limit),
        )

    def list_versions(
        self, prefix: str, *, after: str | None = None, limit: int = 1000
    ) -> VersionPage:
        """List every stored version of the keys under a prefix."""
        return self._pass(
            Request("LIST", prefix, versioned=True),
            lambda: self._store.list_versions(prefix, after=after, limit=limit),
        )

    def delete_version(self, key: str, version_id: str) -> None:
        """Remove one stored version for good."""
        return self._pass(
            Request("DELETE", key, versioned=True),
            lambda: self._store.delete_version(key, version_id),
        )

    def presign_get(self, key: str, *, expires: int, filename: str | None = None) -> str:
        """Sign a URL that reads the object."""
        return self._store.presign_get(key, expires=expires, filename=filename)

    def presign_put(
        self, key: str, *, size: int, sha256: str, metadata: Mapping[str, str], expires: int
    ) -> UploadTarget:
        """Sign a single-use write of exact bytes."""
        return self._store.presign_put(
            key, size=size, sha256=sha256, metadata=metadata, expires=expires
        )

    def presign_post(
        self, key: str, *, max_size: int, metadata: Mapping[str, str], expires: int
    ) -> UploadTarget:
        """Sign a form upload."""
        return self._store.presign_post(key, max_size=max_size, metadata=metadata, expires=expires)

    def _pass(self, request: Request, send: Callable[[], R]) -> R:
        self._gate.before(request)
        result = send()
        self._gate.after(request, result)
        return result


class Counter:
    """A gate that lets everything pass and remembers it, for tests that pin request counts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: list[Request] = []
        self._bodies = 0

    def before(self, request: Request) -> None:
        """Count the request, whatever becomes of it."""
        with self._lock:
            self._requests.append(request)

    def after(self, request: Request, result: Result) -> None:
        """Count the bodies that came back."""
        if isinstance(result, StoredObject):
            with self._lock:
                self._bodies += 1

    @property
    def requests(self) -> tuple[Request, ...]:
        """Every request since the start or the last ``reset``, in order."""
        with self._lock:
            return tuple(self._requests)

    def count(self, *ops: Op) -> int:
        """Count the requests of the given operations, all of them without any."""
        return sum(1 for request in self.requests if not ops or request.op in ops)

    @property
    def puts(self) -> int:
        """PUT requests."""
        return self.count("PUT")

    @property
    def gets(self) -> int:
        """GET and HEAD requests; S3 bills both alike."""
        return self.count("GET", "HEAD")

    @property
    def lists(self) -> int:
        """LIST requests."""
        return self.count("LIST")

    @property
    def bodies(self) -> int:
        """GET requests that were answered with bytes."""
        with self._lock:
            return self._bodies

    def reset(self) -> None:
        """Forget everything so far."""
        with self._lock:
            self._requests.clear()
            self._bodies = 0
