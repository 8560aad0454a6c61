"""Changing several skills and the manifest at once: all of it, or nothing.

What is new is written beside, in ``.vendor-*``; then each directory that goes is renamed into it
and each that comes out of it, with signals held back for these few renames. A plan lies there from
before the first rename until after the last. Whoever comes next and finds one puts everything back,
so that also a killed process leaves the tree as it was.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import threading
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from skill_registry.agent import clamped
from skill_registry_cli.vendoring.problems import VendoringRefused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from skill_registry.spec.model import SkillFile

WORK = ".vendor-"
_PLAN = "plan.json"
_NEW, _OLD = "new", "old"
_HELD_BACK = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Change:
    """What is to become of a tree.

    Attributes:
        skills: The new files of each skill that changes.
        removed: Skills that go.
        texts: The new bytes of files at the top of the tree, by name.
    """

    skills: Mapping[str, Sequence[SkillFile]] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    texts: Mapping[str, bytes] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Tell whether anything is to be done."""
        return bool(self.skills or self.removed or self.texts)


@contextmanager
def locked(tree: Path) -> Iterator[int]:
    """Hold a tree against other syncs, and put back what a killed one left.

    Yields the open directory.

    Raises:
        VendoringRefused: ``sync_running`` or ``tree_unwritable``.
    """
    if not clamped.SUPPORTED:
        message = "This system cannot rename below open directories, which a sync needs."
        raise VendoringRefused(message, code="tree_unwritable")
    with ExitStack() as held:
        with _telling(tree):
            folder = held.enter_context(clamped.opened(str(tree)))
            _lock(folder, tree)
            for name in unfinished(tree):
                _recover(folder, name)
        yield folder


def _lock(folder: int, tree: Path) -> None:
    # Not there on Windows, where nothing gets here.
    import fcntl

    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as held:
        message = f"Another sync is at work in {tree}; wait until it has ended."
        raise VendoringRefused(message, code="sync_running") from held


def unfinished(tree: Path) -> list[str]:
    """Return the names of what syncs left behind that were killed."""
    with os.scandir(tree) as entries:
        return sorted(entry.name for entry in entries if entry.name.startswith(WORK))


def apply(tree: Path, folder: int, change: Change) -> None:
    """Do all of a change, or nothing of it.

    Args:
        tree: The directory, for messages.
        folder: The same, as ``locked`` opened it.
        change: What is to be done.

    Raises:
        VendoringRefused: ``tree_unwritable``; the tree is as before.
    """
    work = WORK + secrets.token_hex(8)
    with _telling(tree), ExitStack() as undo:
        undo.callback(_recover, folder, work)
        os.mkdir(work, 0o700, dir_fd=folder)
        with clamped.opened(work, folder) as staged:
            _stage(staged, folder, change)
            with _signals_held() as came:
                _swap(folder, work, staged, change, came)


def _stage(staged: int, folder: int, change: Change) -> None:
    """Write what is new, what the texts were, and at last the plan."""
    with (
        clamped.descended(staged, [_NEW], create=True) as new,
        clamped.descended(staged, [_OLD], create=True) as old,
    ):
        for name, files in change.skills.items():
            for file in files:
                *above, last = file.path.split("/")
                with clamped.descended(new, [name, *above], create=True) as parent:
                    clamped.write(parent, last, file.data, int(file.mode, 8))
        kept = {}
        for name, data in change.texts.items():
            mode = _copied(folder, old, name)
            kept[name] = mode is not None
            clamped.write(new, name, data, mode if mode is not None else 0o644)
    plan = {"skills": sorted(change.skills), "removed": list(change.removed), "texts": kept}
    clamped.write(staged, _PLAN, json.dumps(plan).encode(), 0o600)
    os.fsync(staged)


def _copied(folder: int, old: int, name: str) -> int | None:
    """Keep what a text is before; return its mode, None where there is none."""
    try:
        descriptor = os.open(name, os.O_RDONLY, dir_fd=folder)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        mode = os.fstat(file.fileno()).st_mode & 0o777
        clamped.write(old, name, file.read(), mode)
    return mode


def _swap(folder: int, work: str, staged: int, change: Change, came: Sequence[int]) -> None:
    with clamped.opened(_NEW, staged) as new, clamped.opened(_OLD, staged) as old:
        try:
            for name in (*change.skills, *change.removed):
                with suppress(FileNotFoundError):
                    os.rename(name, name, src_dir_fd=folder, dst_dir_fd=old)
            for name in (*change.skills, *change.texts):
                os.rename(name, name, src_dir_fd=new, dst_dir_fd=folder)
            if came:
                raise KeyboardInterrupt
        except BaseException:
            _recover(folder, work)
            raise
    # From here on it is done: nobody puts anything back without a plan.
    os.unlink(_PLAN, dir_fd=staged)
    os.fsync(folder)


def _recover(folder: int, work: str) -> None:
    """Put back what a change without an end has moved, and remove its directory."""
    with suppress(FileNotFoundError, NotADirectoryError), clamped.opened(work, folder) as staged:
        plan = _plan(staged)
        if plan is not None:
            with clamped.opened(_NEW, staged) as new, clamped.opened(_OLD, staged) as old:
                _put_back(folder, new, old, plan)
            os.unlink(_PLAN, dir_fd=staged)
    _clear(folder, work)


def _put_back(folder: int, new: int, old: int, plan: Mapping[str, Any]) -> None:
    came, kept = set(os.listdir(new)), set(os.listdir(old))
    for name in plan["skills"]:
        if name not in came:
            # It is in its place already: out of the way, and what was there comes back.
            with suppress(FileNotFoundError):
                os.rename(name, name, src_dir_fd=folder, dst_dir_fd=new)
    for name in (*plan["skills"], *plan["removed"]):
        if name in kept:
            os.rename(name, name, src_dir_fd=old, dst_dir_fd=folder)
    for name, was_there in plan["texts"].items():
        if was_there and name in kept:
            os.rename(name, name, src_dir_fd=old, dst_dir_fd=folder)
        elif not was_there and name not in came:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)


def _plan(staged: int) -> Mapping[str, Any] | None:
    try:
        data, _ = clamped.read(staged, _PLAN, 1 << 24)
        plan: Mapping[str, Any] = json.loads(data)
    except (FileNotFoundError, ValueError):
        # Killed before it was whole, and so before the first rename.
        return None
    return plan


def _clear(folder: int, work: str) -> None:
    """Remove a work directory; what cannot be removed costs the next sync a look."""
    with suppress(OSError):
        clamped.remove(folder, work)


@contextmanager
def _signals_held() -> Iterator[Sequence[int]]:
    """Hold back what a user or a system ends a process with, until the block is through.

    Yields the signals that came.
    """
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    before = {each: signal.getsignal(each) for each in _HELD_BACK}
    for each in _HELD_BACK:
        signal.signal(each, lambda number, _: came.append(number))
    try:
        yield came
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    for number in came:
        signal.raise_signal(number)


@contextmanager
def _telling(tree: Path) -> Iterator[None]:
    try:
        yield
    except OSError as failure:
        where = f" ({failure.filename})" if failure.filename else ""
        message = f"{tree} cannot be written{where}: {failure.strerror or failure}."
        raise VendoringRefused(message, code="tree_unwritable") from failure
