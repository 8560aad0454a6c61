"""The skills folder of a repository as a store, for work without AWS.

``skills/<scope>/<name>/...`` is ``<root>/<name>/...``, readable and editable by hand; every other
key lies under ``<root>/.registry``. One file lock makes each request one atomic step, between
threads and between processes. A key and a longer one below it cannot both exist here.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from skill_registry.errors import PathInvalid, SkillInvalid, Unavailable
from skill_registry.spec.model import SKILL_MD, has_errors
from skill_registry.spec.validation import read_skill
from skill_registry.store.attributes import AttributeFiles, Attributes
from skill_registry.store.base import (
    Condition,
    Lost,
    NotModified,
    ObjectInfo,
    Page,
    StoredObject,
    UploadTarget,
    VersionPage,
    Written,
)
from skill_registry.store.conditions import refused
from skill_registry.store.etags import content_etag
from skill_registry.store.files import (
    RESERVED,
    KeyFiles,
    remove_empty_folders,
    write_atomically,
)
from skill_registry.store.keys import scope_tree
from skill_registry.store.listing import UNVERSIONED, page_of, unversioned
from skill_registry.store.metadata import encode
from skill_registry.store.presigned import Grants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from skill_registry.spec.model import Diagnostic

MODE = "mode"
EXECUTABLE = "0755"
PLAIN = "0644"


class DirectorySkillStore:
    """The port over a folder. ETags are quoted MD5s of the bytes, edits by hand included.

    The executable bit of a tree file is its metadata ``mode``: ``0755``, or ``0644`` where a mode
    was written. A file edited by hand keeps no other metadata.

    Args:
        root: The skills folder. Absent, it is an empty store; the first write makes it.
        scope: The scope whose plain trees lie directly in the root.
        strict: Check every skill now.
        clock: POSIX seconds, for the deadlines of targets.

    Raises:
        SkillInvalid: In strict mode; the message names each offending path.
    """

    def __init__(
        self,
        root: Path,
        *,
        scope: str = "system",
        strict: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._root = root.absolute()
        self._files = KeyFiles(self._root, scope_tree(scope))
        hidden = self._root / RESERVED
        self._scratch = hidden / "unfinished"
        self._attributes = AttributeFiles(hidden / "attributes", self._scratch)
        self._lock = hidden / "lock"
        self._grants = Grants(clock)
        if strict:
            self._check_skills()

    def get(
        self, key: str, *, if_none_match: str | None = None, if_match: str | None = None
    ) -> StoredObject | NotModified | None:
        """Read an object whole."""
        with self._locked(write=False):
            found = self._read(key)
        if found is None or (if_match is not None and found.etag != if_match):
            return None
        return NotModified(found.etag) if found.etag == if_none_match else found

    def head(self, key: str) -> ObjectInfo | None:
        """Read what is known of an object."""
        with self._locked(write=False):
            found = self._read(key)
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
        """Write an object whole, or tell that the condition does not hold.

        Raises:
            PathInvalid: The key would leave the root, or a file stands where a folder must be.
        """
        path = self._files.path(key)
        kept = dict(metadata or {})
        encode(kept)
        etag = content_etag(body)
        mode = 0o755 if self._files.in_tree(key) and kept.get(MODE) == EXECUTABLE else 0o644
        with self._locked(write=True):
            found = self._read(key)
            current = None if found is None else found.etag
            lost = refused(condition, current)
            if lost is not None:
                return lost
            if not self._files.stays_inside(key, path.parent):
                raise PathInvalid(f"A link on the way to {key!r} leaves the skills folder.")
            attributes = Attributes(kept, content_type)
            self._attributes.write(key, etag, attributes, current=current)
            try:
                write_atomically(path, body, scratch=self._scratch, mode=mode)
            except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
                self._attributes.remove(key)
                raise PathInvalid(
                    f"The key {key!r} needs a file where a folder is, or the reverse."
                ) from error
        return Written(etag)

    def delete(self, key: str, *, if_match: str | None = None) -> bool:
        """Remove an object; an absent one counts as removed."""
        path = self._files.path(key)
        with self._locked(write=True):
            found = self._read(key)
            if found is None:
                return True
            if if_match is not None and found.etag != if_match:
                return False
            path.unlink()
            self._attributes.remove(key)
            remove_empty_folders(path.parent, top=self._root)
        return True

    def list_page(
        self, prefix: str, *, delimiter: str = "", after: str | None = None, limit: int = 1000
    ) -> Page:
        """List keys under a prefix. Every file of the page is read, for its ETag."""
        with self._locked(write=False):
            keys = (key for key, _ in self._files.under(prefix))
            page = page_of(keys, prefix, delimiter=delimiter, after=after, limit=limit)
            found = [self._read(key) for key in page.keys]
        # A file removed by hand in the meantime is simply no longer there.
        infos = tuple(
            replace(item.info, metadata={}, content_type=None) for item in found if item is not None
        )
        return Page(infos, page.prefixes, page.after)

    def list_versions(
        self, prefix: str, *, after: str | None = None, limit: int = 1000
    ) -> VersionPage:
        """List the files under a prefix: a folder keeps no older ones."""
        with self._locked(write=False):
            keys = (key for key, _ in self._files.under(prefix))
            page = page_of(keys, prefix, delimiter="", after=after, limit=limit)
        return VersionPage(unversioned(page.keys), page.after)

    def delete_version(self, key: str, version_id: str) -> None:
        """Remove a file, whose only version is ``null``."""
        if version_id == UNVERSIONED:
            self.delete(key)

    def presign_get(self, key: str, *, expires: int, filename: str | None = None) -> str:
        """Name the file. The URL never expires and carries no file name."""
        return self._files.path(key).as_uri()

    def presign_put(
        self, key: str, *, size: int, sha256: str, metadata: Mapping[str, str], expires: int
    ) -> UploadTarget:
        """Make a target for ``receive``, good for one write of exactly these bytes."""
        url = self._files.path(key).as_uri()
        return self._grants.put(
            key, url, size=size, sha256=sha256, metadata=metadata, expires=expires
        )

    def presign_post(
        self, key: str, *, max_size: int, metadata: Mapping[str, str], expires: int
    ) -> UploadTarget:
        """Make a target for ``receive``, good for any bytes within the range until it expires."""
        url = self._files.path(key).as_uri()
        return self._grants.post(key, url, max_size=max_size, metadata=metadata, expires=expires)

    def receive(self, target: UploadTarget, data: bytes) -> Written | Lost:
        """Deliver an upload to a target of this very object, as a client would over HTTP.

        Returns:
            ``Lost`` when a PUT was used before.

        Raises:
            Forbidden: The target was altered, has expired, or is not of this store.
            RequestInvalid: Size or digest differ from what was signed.
        """
        return self._grants.deliver(self, target, data)

    def _check_skills(self) -> None:
        """Raise one ``SkillInvalid`` for all skills that the folder could not serve."""
        paths: list[str] = []
        diagnostics: list[Diagnostic] = []
        with self._locked(write=False):
            for key, path in sorted(self._files.under(self._files.tree)):
                name, _, file = key.removeprefix(self._files.tree).partition("/")
                if file != SKILL_MD:
                    continue
                report = read_skill(path.read_bytes(), directory=name)
                if has_errors(report.diagnostics):
                    paths.append(str(path))
                    inside = f"{name}/{file}"
                    diagnostics += (replace(found, file=inside) for found in report.diagnostics)
        if paths:
            raise SkillInvalid(f"These files hold no valid skill: {', '.join(paths)}.", diagnostics)

    def _read(self, key: str) -> StoredObject | None:
        path = self._files.path(key)
        if not path.is_file() or not self._files.stays_inside(key, path):
            return None
        try:
            with path.open("rb") as file:
                status = os.fstat(file.fileno())
                body = file.read()
        except FileNotFoundError:
            return None
        etag = content_etag(body)
        said = self._attributes.read(key, etag)
        metadata = dict(said.metadata)
        if self._files.in_tree(key):
            if status.st_mode & 0o100:
                metadata[MODE] = EXECUTABLE
            elif MODE in metadata:
                metadata[MODE] = PLAIN
        info = ObjectInfo(key, etag, len(body), status.st_mtime, metadata, said.content_type)
        return StoredObject(info, body)

    @contextmanager
    def _locked(self, *, write: bool) -> Iterator[None]:
        try:
            descriptor = self._open_lock(write=write)
            try:
                if descriptor is not None:
                    fcntl.flock(descriptor, fcntl.LOCK_EX if write else fcntl.LOCK_SH)
                yield
            finally:
                if descriptor is not None:
                    os.close(descriptor)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise Unavailable(f"The skills folder does not work: {reason}.") from error

    def _open_lock(self, *, write: bool) -> int | None:
        if write:
            self._lock.parent.mkdir(parents=True, exist_ok=True)
            return os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            return os.open(self._lock, os.O_RDONLY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            # No store ever wrote here, and a folder that may only be read must still be read.
            return None
