"""Files below a directory, reached in a way that no link and no race can lead out of it.

Each name is opened relative to the open directory above it and never through a link (``openat``
with ``O_NOFOLLOW``), so that what was checked is what is used. Everything raises OSError.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Windows has none of these; there nothing is copied (``mount.py``).
SUPPORTED = hasattr(os, "O_NOFOLLOW") and {os.open, os.mkdir, os.rename} <= os.supports_dir_fd
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINK
# A FIFO must not make a reader wait.
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _NO_LINK
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK
# Nobody's skill is that deep; whoever nests a directory deeper may clear it away.
_DEEPEST = 200


@contextmanager
def opened(name: str, parent: int | None = None) -> Iterator[int]:
    """Open a directory; only the one without a parent may be a link."""
    flags = _DIRECTORY if parent is not None else _DIRECTORY & ~getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(name, flags, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def descended(parent: int, names: Sequence[str], *, create: bool = False) -> Iterator[int]:
    """Open the directory at a path below another one, making what is missing where asked to."""
    if not names:
        yield parent
        return
    if create:
        make(parent, names[0])
    with opened(names[0], parent) as child, descended(child, names[1:], create=create) as last:
        yield last


def make(parent: int, name: str) -> None:
    """Make a directory, unless there is something of that name."""
    try:
        os.mkdir(name, 0o755, dir_fd=parent)
    except FileExistsError:
        return


def write(parent: int, name: str, data: bytes, mode: int) -> None:
    """Write a file that must not be there yet, with exactly that mode."""
    descriptor = os.open(name, _WRITE, 0o600, dir_fd=parent)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fchmod(descriptor, mode)
    finally:
        os.close(descriptor)


def read(parent: int, name: str, size: int) -> tuple[bytes, bool]:
    """Return a regular file's bytes, and whether its owner may run it.

    A file of another size is not read: it comes back empty.
    """
    descriptor = os.open(name, _READ, dir_fd=parent)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise IsADirectoryError(f"{name} is no file")
        executable = bool(status.st_mode & stat.S_IXUSR)
        if status.st_size != size:
            return b"", executable
        # It may grow meanwhile.
        data = b""
        while len(data) <= size and (chunk := os.read(descriptor, size + 1 - len(data))):
            data += chunk
        return data, executable
    finally:
        os.close(descriptor)


def remove(parent: int, name: str, *, depth: int = 0) -> None:
    """Remove a directory with all that is in it, or whatever else has that name.

    Directories that are not writable are made so; a link is removed, not followed.
    """
    if depth > _DEEPEST:
        raise OSError("nested too deeply")
    try:
        child = os.open(name, _DIRECTORY, dir_fd=parent)
    except OSError:
        os.unlink(name, dir_fd=parent)
        return
    try:
        os.fchmod(child, 0o700)
        with os.scandir(child) as entries:
            for entry in entries:
                remove(child, entry.name, depth=depth + 1)
    finally:
        os.close(child)
    os.rmdir(name, dir_fd=parent)
