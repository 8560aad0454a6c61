"""Regular files of this machine, read without a wait: what else has a file's name is refused."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

# A pipe must not make a reader wait, nor a terminal become the process's own. Windows has none of
# these but the last.
_READ = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


@contextmanager
def opened_regular(path: Path, *, follow: bool = False) -> Iterator[BinaryIO]:
    """Open a file to be read.

    What a listing calls a file may be something else by the time that it is opened, so it is asked
    again here.

    Raises:
        OSError: It cannot be opened, or is no regular file; ``follow`` lets it be a link to one.
    """
    descriptor = os.open(path, _READ if follow else _READ | _NO_LINK)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "Not a regular file", str(path))
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(descriptor)


def read_regular(path: Path, most: int, *, follow: bool = False) -> tuple[bytes, bool]:
    """Return at most ``most`` bytes of a file, and whether its owner may run it.

    Raises:
        OSError: As ``opened_regular``, or it cannot be read.
    """
    with opened_regular(path, follow=follow) as file:
        return file.read(most), bool(os.fstat(file.fileno()).st_mode & stat.S_IXUSR)
