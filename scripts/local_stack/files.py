"""Folders and file locks of a stack's data, and the pipe by which children notice its end."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from local_stack.errors import StackError


def make_folder(path: Path) -> Path:
    """Make a folder with its parents and return it.

    Raises:
        StackError: It cannot be made or written.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StackError(f"The folder {path} cannot be made: {error.strerror}.") from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise StackError(f"The folder {path} cannot be written.")
    return path


class FileLock:
    """An advisory lock with its owner's process id inside; the kernel frees it when owners end.

    A child that inherits ``descriptor`` shares the lock, and keeps it when its parent is gone.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StackError(f"The file {path} cannot be written: {error.strerror}.") from error

    def acquire(self) -> bool:
        """Take the lock if it is free; never waits."""
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def name_owner(self, process: int) -> None:
        """Write down who holds the lock."""
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, f"{process}\n".encode(), 0)

    def owner(self) -> int | None:
        """Read the process id of the last owner; None where none was written."""
        text = os.pread(self.descriptor, 32, 0).decode(errors="replace").strip()
        return int(text) if text.isdecimal() else None

    def close(self) -> None:
        """Let go of the lock, unless a child shares it."""
        os.close(self.descriptor)


class Lifeline:
    """A pipe that nobody writes to: its read end reports the end of file when the parent is gone.

    This holds for every way to die, ``kill -9`` included, and on every system.
    """

    def __init__(self) -> None:
        self.read_end, self._write_end = os.pipe()

    def close(self) -> None:
        """Tell every child that still lives to end."""
        os.close(self._write_end)
        os.close(self.read_end)
