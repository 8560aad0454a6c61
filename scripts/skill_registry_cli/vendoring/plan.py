"""The plan of a change to a tree, and what is done with one that a killed process left.

It lies in the work directory beside what is new and what was there, ``new`` and ``old``.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from errno import EINVAL, ENOTSUP
from typing import TYPE_CHECKING

from skill_registry.agent import clamped
from skill_registry_cli.vendoring.problems import VendoringRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

PLAN = "plan.json"
NEW, OLD = "new", "old"
_MOST_BYTES = 16 * 1024 * 1024
# A plan may come with a repository that somebody else made: its names lead nowhere else.
_NAME = re.compile(r"[^./\0][^/\0]*")


@dataclass(frozen=True, slots=True)
class Text:
    """A text of a plan: whether there was one before, and the digest of the new one."""

    replaces: bool
    sha256: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What is renamed, skills and texts by name, and which of them come, go, or replace."""

    skills: tuple[str, ...]
    removed: tuple[str, ...]
    texts: Mapping[str, Text]


def recover(folder: int, work: str) -> None:
    """Put everything back if there is a plan. May stop anywhere and be done again.

    Args:
        folder: The open tree.
        work: The name of a work directory in it.

    Raises:
        OSError: Something cannot be put back yet.
        ValueError: The plan is none.
    """
    with ExitStack() as held:
        try:
            staged = held.enter_context(clamped.opened(work, folder))
        except FileNotFoundError:
            return
        plan = read_plan(staged)
        if plan is None:
            return
        new = held.enter_context(clamped.opened(NEW, staged))
        old = held.enter_context(clamped.opened(OLD, staged))
        _put_back(folder, new, old, plan)
        flush(folder)
        os.unlink(PLAN, dir_fd=staged)
        flush(staged)


def _put_back(folder: int, new: int, old: int, plan: Plan) -> None:
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


def _may_go(folder: int, name: str, text: Text) -> bool:
    """Tell whether a text is the one that came, and not what somebody has written since."""
    try:
        now = text_of(folder, name)
    except VendoringRefused:
        return False
    return now is None or hashlib.sha256(now[0]).hexdigest() == text.sha256


def read_plan(staged: int) -> Plan | None:
    """Read the plan; None where there is none.

    Raises:
        ValueError: What is there is no plan.
    """
    try:
        data, _ = clamped.read(staged, PLAN, _MOST_BYTES)
    except FileNotFoundError:
        return None
    try:
        read = json.loads(data)
        texts = {
            name: Text(bool(text["replaces"]), str(text["sha256"]))
            for name, text in read["texts"].items()
        }
        plan = Plan(tuple(read["skills"]), tuple(read["removed"]), texts)
        whole = all(_NAME.fullmatch(name) for name in (*plan.skills, *plan.removed, *texts))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        whole = False
    if not whole:
        raise ValueError(f"{PLAN} is none that a sync has written")
    return plan


def text_of(folder: int, name: str) -> tuple[bytes, int] | None:
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


def flush(descriptor: int) -> None:
    """Wait until a file or directory outlasts a machine that stops.

    Raises:
        OSError: It does not.
    """
    try:
        os.fsync(descriptor)
    except OSError as failure:
        # Some file systems have nothing to flush directories with.
        if failure.errno not in (EINVAL, ENOTSUP):
            raise
