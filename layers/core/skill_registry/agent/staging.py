"""Directories that are filled beside their place, put there by a rename, and cleared away after.

Who fills one holds a lock on it (``flock``), which ends with its process, however that dies. What
nobody holds is a leftover, and whoever comes next takes it away.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from skill_registry.agent import clamped

if TYPE_CHECKING:
    from collections.abc import Iterator

_STAGED, _ASIDE = ".staged-", ".aside-"
# Whole, since the folder may be anybody's: only what is called exactly so was made here.
_OURS = re.compile(r"\.(?:staged|aside)-([0-9a-f]{16})(?:-[0-9]+)?")
# Each time somebody else put something in the same place in between.
_ATTEMPTS = 20
# What a rename to a name says that something has already.
_TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.EISDIR)


@contextmanager
def staged(folder: int) -> Iterator[tuple[str, int]]:
    """Make a directory to fill; yield a token that ``swap`` takes, and the open directory."""
    # Not there on Windows, where nothing gets here.
    import fcntl

    for _ in range(_ATTEMPTS):
        token = secrets.token_hex(8)
        os.mkdir(_STAGED + token, 0o700, dir_fd=folder)
        with ExitStack() as opened:
            # Somebody may have taken it for a leftover until it is held, or hold it for good.
            try:
                target = opened.enter_context(clamped.opened(_STAGED + token, folder))
                fcntl.flock(target, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except (FileNotFoundError, BlockingIOError):
                continue
            if not _is_there(folder, _STAGED + token):
                continue
            os.fchmod(target, 0o755)
            yield token, target
            return
    raise OSError("somebody else keeps taking it away")


def swap(folder: int, token: str, name: str) -> None:
    """Rename a filled directory to its place; what is there goes aside, and back on failure.

    Raises OSError also where others were faster each time; then what they put is there.
    """
    for attempt in range(_ATTEMPTS):
        try:
            _renamed(folder, name, f"{_ASIDE}{token}-{attempt}")
            os.rename(_STAGED + token, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException as failure:
            # Another one may have come in between; it goes aside in its turn.
            if isinstance(failure, OSError) and failure.errno in _TAKEN:
                continue
            _put_back(folder, token, name, attempt)
            raise
        return
    raise OSError("somebody else keeps writing it")


def take_away(folder: int, name: str) -> None:
    """Remove what has a name, if anything, so that it is gone from there at once."""
    aside = _ASIDE + secrets.token_hex(8)
    _renamed(folder, name, aside)
    clamped.remove(folder, aside)


def clear_away(folder: int) -> None:
    """Remove what is of no use any more: what went aside, and what crashes left half filled.

    What cannot be removed stays, and costs nobody anything. What went aside may be needed again
    until its successor is in its place.
    """
    with suppress(OSError):
        left = {name: found[1] for name in os.listdir(folder) if (found := _OURS.fullmatch(name))}
        for name in left:
            if name.startswith(_STAGED):
                _remove_unless_held(folder, name)
        for name, token in left.items():
            if name.startswith(_ASIDE) and not _is_there(folder, _STAGED + token):
                with suppress(OSError):
                    clamped.remove(folder, name)


def _put_back(folder: int, token: str, name: str, attempt: int) -> None:
    """Give its place back to what went aside last, unless there is something again."""
    for last in range(attempt, -1, -1):
        # No rename replaces a copy, unless it is empty.
        with suppress(OSError):
            if _renamed(folder, f"{_ASIDE}{token}-{last}", name):
                return


def _renamed(folder: int, name: str, to: str) -> bool:
    """Rename what has a name, and tell whether there was anything."""
    try:
        os.rename(name, to, src_dir_fd=folder, dst_dir_fd=folder)
    except FileNotFoundError:
        return False
    return True


def _is_there(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _remove_unless_held(folder: int, name: str) -> None:
    import fcntl

    with suppress(OSError), clamped.opened(name, folder) as target:
        fcntl.flock(target, fcntl.LOCK_EX | fcntl.LOCK_NB)
        clamped.remove(folder, name)
