"""A directory of somebody whom the system refuses things, unlike root."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

NOBODY = 65_534


@contextmanager
def directory_of_nobody() -> Iterator[Path]:
    """Give a directory of a user who is not root, whose rights this process has for a while."""
    directory = Path(tempfile.mkdtemp())
    is_root = os.geteuid() == 0
    if is_root:
        os.chown(directory, NOBODY, -1)
        os.seteuid(NOBODY)
    try:
        yield directory
    finally:
        if is_root:
            os.seteuid(0)
        for path in [directory, *directory.rglob("*")]:
            if not path.is_symlink():
                path.chmod(0o700)
        shutil.rmtree(directory)
