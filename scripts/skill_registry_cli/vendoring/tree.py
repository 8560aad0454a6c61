"""Changing several skills and the manifest at once: all of it, or nothing.

What is new is written beside, in ``.vendor-*``; then each directory that goes is renamed into it
and each that comes out of it. A plan lies there from before the first rename until after the last.
Whoever comes next and finds one puts everything back, so that also a killed process leaves the tree
as it was. Signals that a process could live through are held back meanwhile.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import signal
import threading
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from skill_registry.agent import clamped
from skill_registry_cli.vendoring.plan import (
    NEW,
    OLD,
    PLAN,
    Plan,
    Text,
    flush,
    read_plan,
    recover,
    text_of,
)
from skill_registry_cli.vendoring.problems import VendoringRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from skill_registry.spec.model import SkillFile

_WORK = ".vendor-"
# Nobody else's directory that happens to begin like that.
_LEFT = re.compile(re.escape(_WORK) + r"[0-9a-f]+")
_DRAFT = "plan.part"
_HELD_BACK = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


@dataclass(frozen=True, slots=True)
class Change:
    """What is to become of a tree.

    Attributes:
        skills: The new files of each skill that changes.
        removed: Skills that go.
        texts: The new bytes of files at the top of the tree, by name.
        read: What some of these were when the change was made up; they must still be.
    """

    skills: Mapping[str, Sequence[SkillFile]] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    texts: Mapping[str, bytes] = field(default_factory=dict)
    read: Mapping[str, bytes] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Tell whether anything is to be done."""
        return bool(self.skills or self.removed or self.texts)


@contextmanager
def locked(tree: Path, *, untouched: bool = False) -> Iterator[int]:
    """Hold a tree against other syncs, and put back what a killed one left.

    Yields the open directory.

    Args:
        tree: The directory.
        untouched: Put nothing back; refuse instead.

    Raises:
        VendoringRefused: ``sync_running``, ``tree_unwritable``, ``manifest_missing`` where there is
            no tree, or ``sync_interrupted`` where what a killed sync left is not put back.
    """
    if not clamped.SUPPORTED:
        message = "This system cannot rename below open directories, which a sync needs."
        raise VendoringRefused(message, code="tree_unwritable")
    with ExitStack() as held:
        with _telling(tree):
            try:
                folder = held.enter_context(clamped.opened(str(tree)))
            except (FileNotFoundError, NotADirectoryError) as absent:
                message = f"There is no folder {tree}, so no manifest either."
                raise VendoringRefused(message, code="manifest_missing") from absent
            _lock(folder, tree)
            left = unfinished(tree)
        if left and untouched:
            message = f"A sync of {tree} was killed and left {left[0]}; the next one puts it back."
            raise VendoringRefused(message, code="sync_interrupted")
        for name in left:
            _undo(tree, folder, name)
        yield folder


def _lock(folder: int, tree: Path) -> None:
    # Not there on Windows, where nothing gets here.
    import fcntl

    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as held:
        message = f"Another sync is at work in {tree}; wait until it has ended."
        raise VendoringRefused(message, code="sync_running") from held


def being_synced(tree: Path) -> bool:
    """Tell whether a sync is at work there just now."""
    try:
        with clamped.opened(str(tree)) as folder:
            _lock(folder, tree)
    except VendoringRefused:
        return True
    except OSError:
        return False
    return False


def unfinished(tree: Path) -> list[str]:
    """Return the names of the directories that killed syncs left behind."""
    with os.scandir(tree) as entries:
        return sorted(
            entry.name
            for entry in entries
            if _LEFT.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
        )


def apply(tree: Path, folder: int, change: Change, done: Callable[[], None] = lambda: None) -> None:
    """Do all of a change, or nothing of it.

    A signal that ends the process is delivered when the tree is as before, or the change is done.

    Args:
        tree: The directory, for messages.
        folder: The same, as ``locked`` opened it.
        change: What is to be done.
        done: Called when it is done, before a signal is delivered.

    Raises:
        VendoringRefused: ``tree_unwritable`` or ``edited_meanwhile``; the tree is as before.
            ``sync_interrupted``: it could not even be put back; the next sync does so first.
    """
    work = _WORK + secrets.token_hex(8)
    with _signals_held() as came, _telling(tree):
        try:
            os.mkdir(work, 0o700, dir_fd=folder)
            with clamped.opened(work, folder) as staged:
                _stage(staged, folder, change, came)
                _swap(folder, staged, change, came)
        except BaseException:
            _undo(tree, folder, work)
            raise
        done()
        _clear(folder, work)


def _stage(staged: int, folder: int, change: Change, came: Sequence[int]) -> None:
    """Write what is new, what the texts were, and at last the plan."""
    texts: dict[str, Text] = {}
    with (
        clamped.descended(staged, [NEW], create=True) as new,
        clamped.descended(staged, [OLD], create=True) as old,
    ):
        for name, files in change.skills.items():
            if came:
                raise KeyboardInterrupt
            for file in files:
                *above, last = file.path.split("/")
                with clamped.descended(new, [name, *above], create=True) as parent:
                    clamped.write(parent, last, file.data, int(file.mode, 8))
        for name, data in change.texts.items():
            before = text_of(folder, name)
            if name in change.read and (before is None or before[0] != change.read[name]):
                message = f"{name} was edited while the sync was at work. Run it again."
                raise VendoringRefused(message, code="edited_meanwhile")
            if before is not None:
                _write(old, name, *before)
            _write(new, name, data, before[1] if before is not None else 0o644)
            texts[name] = Text(before is not None, hashlib.sha256(data).hexdigest())
    plan = Plan(tuple(change.skills), change.removed, texts)
    # Under its name it is whole, also where the machine stops.
    _write(staged, _DRAFT, json.dumps(asdict(plan)).encode(), 0o600)
    os.rename(_DRAFT, PLAN, src_dir_fd=staged, dst_dir_fd=staged)
    flush(staged)


def _swap(folder: int, staged: int, change: Change, came: Sequence[int]) -> None:
    with clamped.opened(NEW, staged) as new, clamped.opened(OLD, staged) as old:
        for name in (*change.skills, *change.removed):
            with suppress(FileNotFoundError):
                os.rename(name, name, src_dir_fd=folder, dst_dir_fd=old)
        for name in (*change.skills, *change.texts):
            os.rename(name, name, src_dir_fd=new, dst_dir_fd=folder)
        flush(folder)
        if came:
            raise KeyboardInterrupt
    try:
        os.unlink(PLAN, dir_fd=staged)
    except OSError:
        if read_plan(staged) is not None:
            raise
    # It is done: nobody puts anything back without a plan, and no failure counts any more.
    with suppress(OSError):
        os.fsync(staged)


def _undo(tree: Path, folder: int, work: str) -> None:
    """Put back what a change without an end has moved, and remove its directory."""
    try:
        recover(folder, work)
    except (OSError, ValueError) as failure:
        where, why = _told(failure)
        message = (
            f"A sync of {tree} was interrupted, and what it left in {work} cannot be put back yet"
            f"{where}: {why}. The next sync tries again."
        )
        raise VendoringRefused(message, code="sync_interrupted") from failure
    _clear(folder, work)


def _write(parent: int, name: str, data: bytes, mode: int) -> None:
    """Write a file so that it outlasts a machine that stops."""
    clamped.write(parent, name, data, mode)
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=parent)
    try:
        flush(descriptor)
    finally:
        os.close(descriptor)


def _clear(folder: int, work: str) -> None:
    """Remove a work directory; what cannot be removed costs the next sync a look."""
    with suppress(OSError):
        clamped.remove(folder, work)


@contextmanager
def _signals_held() -> Iterator[Sequence[int]]:
    """Hold back what a user or a system ends a process with, until the block is through.

    Yields the signals that came. Whoever ignores one, as ``nohup`` does, goes on ignoring it.
    """
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    before: list[tuple[int, Any]] = []
    try:
        for each in _HELD_BACK:
            handler = signal.getsignal(each)
            if handler is not None and handler != signal.SIG_IGN:
                before.append((each, handler))
                signal.signal(each, lambda number, _: came.append(number))
        yield came
    finally:
        # The one that Python turns into an exception comes last, as it went first.
        for each, handler in reversed(before):
            signal.signal(each, handler)
        for number in came:
            signal.raise_signal(number)


def _told(failure: OSError | ValueError) -> tuple[str, str]:
    """Return where and why, for a message."""
    name = getattr(failure, "filename", None)
    why = getattr(failure, "strerror", None) or str(failure)
    return f" ({name})" if name else "", why


@contextmanager
def _telling(tree: Path) -> Iterator[None]:
    try:
        yield
    except OSError as failure:
        where, why = _told(failure)
        message = f"{tree} cannot be written{where}: {why}."
        raise VendoringRefused(message, code="tree_unwritable") from failure
