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
import stat
import threading
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from errno import EINVAL, ENOTSUP
from typing import TYPE_CHECKING, Any

from skill_registry.agent import clamped
from skill_registry_cli.vendoring.problems import VendoringRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from skill_registry.spec.model import SkillFile

_WORK = ".vendor-"
# Nobody else's directory that happens to begin like that.
_LEFT = re.compile(re.escape(_WORK) + r"[0-9a-f]+")
_PLAN, _DRAFT = "plan.json", "plan.part"
_NEW, _OLD = "new", "old"
_MOST_PLAN_BYTES = 16 * 1024 * 1024
# A plan may come with a repository that somebody else made: its names lead nowhere else.
_NAME = re.compile(r"[^./\0][^/\0]*")
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


@dataclass(frozen=True, slots=True)
class _Text:
    """A text of a plan: whether there was one before, and the digest of the new one."""

    replaces: bool
    sha256: str


@dataclass(frozen=True, slots=True)
class _Plan:
    skills: tuple[str, ...]
    removed: tuple[str, ...]
    texts: Mapping[str, _Text]


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
    texts: dict[str, _Text] = {}
    with (
        clamped.descended(staged, [_NEW], create=True) as new,
        clamped.descended(staged, [_OLD], create=True) as old,
    ):
        for name, files in change.skills.items():
            if came:
                raise KeyboardInterrupt
            for file in files:
                *above, last = file.path.split("/")
                with clamped.descended(new, [name, *above], create=True) as parent:
                    clamped.write(parent, last, file.data, int(file.mode, 8))
        for name, data in change.texts.items():
            before = _text(folder, name)
            if name in change.read and (before is None or before[0] != change.read[name]):
                message = f"{name} was edited while the sync was at work. Run it again."
                raise VendoringRefused(message, code="edited_meanwhile")
            if before is not None:
                _write(old, name, *before)
            _write(new, name, data, before[1] if before is not None else 0o644)
            texts[name] = _Text(before is not None, hashlib.sha256(data).hexdigest())
    plan = _Plan(tuple(change.skills), change.removed, texts)
    # Under its name it is whole, also where the machine stops.
    _write(staged, _DRAFT, json.dumps(asdict(plan)).encode(), 0o600)
    os.rename(_DRAFT, _PLAN, src_dir_fd=staged, dst_dir_fd=staged)
    _flush(staged)


def _swap(folder: int, staged: int, change: Change, came: Sequence[int]) -> None:
    with clamped.opened(_NEW, staged) as new, clamped.opened(_OLD, staged) as old:
        for name in (*change.skills, *change.removed):
            with suppress(FileNotFoundError):
                os.rename(name, name, src_dir_fd=folder, dst_dir_fd=old)
        for name in (*change.skills, *change.texts):
            os.rename(name, name, src_dir_fd=new, dst_dir_fd=folder)
        _flush(folder)
        if came:
            raise KeyboardInterrupt
    try:
        os.unlink(_PLAN, dir_fd=staged)
    except OSError:
        if _plan(staged) is not None:
            raise
    # It is done: nobody puts anything back without a plan, and no failure counts any more.
    with suppress(OSError):
        os.fsync(staged)


def _undo(tree: Path, folder: int, work: str) -> None:
    """Put back what a change without an end has moved, and remove its directory."""
    try:
        _recover(folder, work)
    except (OSError, ValueError) as failure:
        where, why = _told(failure)
        message = (
            f"A sync of {tree} was interrupted, and what it left in {work} cannot be put back yet"
            f"{where}: {why}. The next sync tries again."
        )
        raise VendoringRefused(message, code="sync_interrupted") from failure
    _clear(folder, work)


def _recover(folder: int, work: str) -> None:
    """Put everything back if there is a plan. May stop anywhere and be done again."""
    with ExitStack() as held:
        try:
            staged = held.enter_context(clamped.opened(work, folder))
        except FileNotFoundError:
            return
        plan = _plan(staged)
        if plan is None:
            return
        new = held.enter_context(clamped.opened(_NEW, staged))
        old = held.enter_context(clamped.opened(_OLD, staged))
        _put_back(folder, new, old, plan)
        _flush(folder)
        os.unlink(_PLAN, dir_fd=staged)
        _flush(staged)


def _put_back(folder: int, new: int, old: int, plan: _Plan) -> None:
    came, kept = _names(new), _names(old)
    for name in plan.skills:
        if name not in came:
            # It is in its place already: out of the way, and what was there comes back.
            with suppress(FileNotFoundError):
                os.rename(name, name, src_dir_fd=folder, dst_dir_fd=new)
    for name in (*plan.skills, *plan.removed):
        if name in kept:
            os.rename(name, name, src_dir_fd=old, dst_dir_fd=folder)
    for name, text in plan.texts.items():
        if name in came or not _may_go(folder, name, text):
            continue
        if name in kept:
            os.rename(name, name, src_dir_fd=old, dst_dir_fd=folder)
        elif not text.replaces:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)


def _names(directory: int) -> set[str]:
    with os.scandir(directory) as entries:
        return {entry.name for entry in entries}


def _may_go(folder: int, name: str, text: _Text) -> bool:
    """Tell whether a text is the one that came, and not what somebody has written since."""
    try:
        now = _text(folder, name)
    except VendoringRefused:
        return False
    return now is None or hashlib.sha256(now[0]).hexdigest() == text.sha256


def _plan(staged: int) -> _Plan | None:
    """Read the plan; None where there is none.

    Raises:
        ValueError: What is there is no plan.
    """
    try:
        data, _ = clamped.read(staged, _PLAN, _MOST_PLAN_BYTES)
    except FileNotFoundError:
        return None
    try:
        read = json.loads(data)
        texts = {
            name: _Text(bool(text["replaces"]), str(text["sha256"]))
            for name, text in read["texts"].items()
        }
        plan = _Plan(tuple(read["skills"]), tuple(read["removed"]), texts)
        whole = all(_NAME.fullmatch(name) for name in (*plan.skills, *plan.removed, *texts))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        whole = False
    if not whole:
        raise ValueError(f"{_PLAN} is none that a sync has written")
    return plan


def _text(folder: int, name: str) -> tuple[bytes, int] | None:
    """Return the bytes and the mode of a text, None where there is none.

    Raises:
        VendoringRefused: It is a link, which a rename would replace, or no file at all.
    """
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        kind = "a link" if stat.S_ISLNK(found.st_mode) else "no file"
        message = f"{name} is {kind}, which a sync does not replace. Put the file itself there."
        raise VendoringRefused(message, code="tree_unwritable")
    with os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder), "rb") as file:
        return file.read(), stat.S_IMODE(found.st_mode)


def _write(parent: int, name: str, data: bytes, mode: int) -> None:
    """Write a file so that it outlasts a machine that stops."""
    clamped.write(parent, name, data, mode)
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=parent)
    try:
        _flush(descriptor)
    finally:
        os.close(descriptor)


def _flush(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    except OSError as failure:
        # Some file systems have nothing to flush directories with.
        if failure.errno not in (EINVAL, ENOTSUP):
            raise


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
