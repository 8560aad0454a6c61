"""Files below a directory, reached in a way that no link and no race can lead out of it.

Each name is opened relative to the open directory above it and never through a link (``openat``
with ``O_NOFOLLOW``), so that what was checked is what is used. Everything raises OSError.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Windows has none of these; there nothing is copied (``mount.py``).
SUPPORTED = hasattr(os, "O_NOFOLLOW") and {os.open, os.mkdir, os.rename} <= os.supports_dir_fd
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINK
# A FIFO must not make a reader wait, nor a terminal become the process's own.
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | _NO_LINK
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK
# One round takes one level away. Whoever nests deeper, or writes faster, keeps a directory.
_ROUNDS = 10_000


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
    name = _inner(names[0])
    made = create and _make(parent, name)
    with opened(name, parent) as child:
        if made:
            os.fchmod(child, 0o755)
        with descended(child, names[1:], create=create) as last:
            yield last


def write(parent: int, name: str, data: bytes, mode: int) -> None:
    """Write a file that must not be there yet, with exactly that mode."""
    descriptor = os.open(_inner(name), _WRITE, 0o600, dir_fd=parent)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fchmod(descriptor, mode)
    finally:
        os.close(descriptor)


def read(parent: int, name: str, size: int) -> tuple[bytes, bool]:
    """Return a regular file's bytes, and whether its owner may run it.

    Of more bytes than ``size`` one too many is read, so that it is noticed.
    """
    descriptor = os.open(_inner(name), _READ, dir_fd=parent)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "It is no file")
        data = b""
        while len(data) <= size and (chunk := os.read(descriptor, size + 1 - len(data))):
            data += chunk
        return data, bool(status.st_mode & stat.S_IXUSR)
    finally:
        os.close(descriptor)


def remove(parent: int, name: str) -> None:
    """Remove a directory with all that is in it, or whatever else has that name, if anything.

    Directories that are not writable are made so; a link is removed, not followed. Any depth costs
    three descriptors: what directories hold is lifted to the top, and removed there.
    """
    top = _entered(parent, name)
    if top is None:
        return
    try:
        for _ in range(_ROUNDS):
            if not _thinned(top):
                break
    finally:
        os.close(top)
    with suppress(FileNotFoundError):
        os.rmdir(name, dir_fd=parent)


def _thinned(top: int) -> bool:
    """Remove the files and the uppermost directories; tell whether there was anything."""
    names = os.listdir(top)
    for name in names:
        directory = _entered(top, name)
        if directory is not None:
            try:
                _lift(directory, top)
            finally:
                os.close(directory)
            # Where somebody else still writes, the next round goes on.
            with suppress(OSError):
                os.rmdir(name, dir_fd=top)
    return bool(names)


def _lift(directory: int, top: int) -> None:
    """Remove the files of a directory; those of its directories come to lie beside it."""
    for name in os.listdir(directory):
        inner = _entered(directory, name)
        if inner is not None:
            os.close(inner)
            with suppress(FileNotFoundError):
                os.rename(name, secrets.token_hex(8), src_dir_fd=directory, dst_dir_fd=top)


def _entered(parent: int, name: str) -> int | None:
    """Open a directory so that it can be emptied; remove what is none, and return None."""
    try:
        try:
            descriptor = os.open(name, _DIRECTORY, dir_fd=parent)
        except PermissionError:
            # Some systems cannot change a mode without following a link; then it stays.
            with suppress(ValueError, NotImplementedError):
                os.chmod(name, 0o700, dir_fd=parent, follow_symlinks=False)
            descriptor = os.open(name, _DIRECTORY, dir_fd=parent)
    except FileNotFoundError:
        return None
    except PermissionError:
        raise
    except OSError:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=parent)
        return None
    with suppress(PermissionError):
        os.fchmod(descriptor, 0o700)
    return descriptor


def _make(parent: int, name: str) -> bool:
    """Make a directory, unless there is something of that name; tell whether it was made."""
    try:
        os.mkdir(name, 0o755, dir_fd=parent)
    except FileExistsError:
        return False
    return True


def _inner(name: str) -> str:
    """Return a name that leads one step down and nowhere else."""
    if name in ("", ".", "..") or "/" in name:
        raise OSError(errno.EINVAL, "It is no name of one file")
    return name
