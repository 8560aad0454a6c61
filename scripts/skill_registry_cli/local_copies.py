"""A skill's directory on this machine as a value: its files, and how they stand to a registry's."""

from __future__ import annotations

import hashlib
import os
import stat
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skill_registry.agent.answers import ViewedFile
from skill_registry.agent.packing import collect
from skill_registry.agent.regular import opened_regular
from skill_registry.errors import SkillInvalid
from skill_registry.spec.diff import ChangeKind, compare
from skill_registry.spec.layout import arrange
from skill_registry.spec.model import (
    MOST_BYTES,
    MOST_FILES,
    VERSION_SIDECAR,
    SkillFile,
    has_errors,
)
from skill_registry.spec.names import shown_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from skill_registry.agent.answers import Version
    from skill_registry.agent.source import SkillCopy

    Files = Mapping[str, ViewedFile]

_CHUNK = 1024 * 1024


class State(StrEnum):
    """How a directory stands to the registry; ``check`` explains each to its users."""

    CURRENT = "current"
    EDITED = "edited"
    STALE = "stale"
    STALE_AND_EDITED = "stale and edited"
    DIFFERS = "differs"
    UNKNOWN = "unknown"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Difference:
    """A path that is not what it was: ``change`` says what became of it."""

    path: str
    change: ChangeKind

    def to_dict(self) -> dict[str, str]:
        """Return the JSON form."""
        return {"path": self.path, "change": self.change.value}


@dataclass(frozen=True, slots=True)
class Verdict:
    """A state, and what was edited here: against the head, or the version that is stale."""

    state: State
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class Pushed:
    """What a push of a directory would publish: under which name, and which files."""

    name: str
    files: tuple[SkillFile, ...]


def by_path(files: Iterable[ViewedFile]) -> dict[str, ViewedFile]:
    """Return a registry's files by their paths."""
    return {file.path: file for file in files}


def listed(files: Iterable[SkillFile]) -> dict[str, ViewedFile]:
    """Return files as a registry lists them, by their paths."""
    return by_path(ViewedFile(f.path, len(f.data), f.sha256, f.mode) for f in files)


def differences(old: Files, new: Files) -> tuple[Difference, ...]:
    """Return what differs, by path, in byte order."""
    found = ((path, _change(old.get(path), new.get(path))) for path in {*old, *new})
    changed = [Difference(path, change) for path, change in found if change is not None]
    return tuple(sorted(changed, key=lambda each: each.path.encode()))


def judge(
    here: Files, stated: int | None, head: Version, current: Files, own: Files | None
) -> Verdict:
    """Say how a directory stands to the registry.

    Args:
        here: What a push of it would publish.
        stated: What its ``.version`` says.
        head: The registry's version.
        current: The files of that.
        own: The files of the stated version; None where that is the head, or is not to be had.
    """
    to_head = differences(current, here)
    if not to_head:
        return Verdict(State.CURRENT)
    if stated is not None and stated == head:
        return Verdict(State.EDITED, to_head)
    if own is None:
        return Verdict(State.DIFFERS, to_head)
    edits = differences(own, here)
    return Verdict(State.STALE_AND_EDITED if edits else State.STALE, edits)


def would_push(directory: Path) -> Pushed:
    """Read a directory as a push does: ignore files count, links and ``.version`` are left out.

    Raises:
        SkillInvalid: A push would not get so far as to send it.
        OSError: It cannot be read.
    """
    found = collect(directory)
    contents = arrange(found.files)
    if has_errors(contents.diagnostics):
        raise SkillInvalid(f"{directory} cannot be packed as it is.", contents.diagnostics)
    return Pushed(found.name, contents.files)


def compare_with(copy: SkillCopy, here: Pushed, to: str) -> dict[str, Any]:
    """Return what a push would change of a registry's version, as the registry answers diffs.

    Args:
        copy: The version.
        here: What would be pushed.
        to: What to call it.
    """
    found = compare(
        {file.path: file for file in copy.files},
        {file.path: file for file in here.files},
        names=("registry" if copy.version is None else f"v{copy.version}", to),
    )
    return {
        "name": copy.name,
        "scope": copy.scope,
        "from": copy.version,
        "to": to,
        "files": [
            {
                "path": each.path,
                "change": each.kind.value,
                "old": _side(each.old),
                "new": _side(each.new),
            }
            for each in found.changes
        ],
        "diff": found.text,
        "truncated": found.truncated,
    }


def everything(directory: Path) -> dict[str, ViewedFile]:
    """Read all that lies in a directory but its ``.version``, ignored files and links too.

    A link, and what is neither file nor directory, has a mode that no registry's file has. What
    is over any registry's limits is not read, and equals nothing of a registry's either.

    Raises:
        OSError: Something in it cannot be read.
    """
    found: dict[str, ViewedFile] = {}
    room = MOST_BYTES
    for entry in _walk(directory):
        path = entry.path[len(str(directory)) :].replace(os.sep, "/").strip("/")
        if path == VERSION_SIDECAR and entry.is_file(follow_symlinks=False):
            continue
        name = unicodedata.normalize("NFC", shown_path(path))
        # Two forms of one name are two files here, and at most one in a registry.
        name = path if name in found else name
        found[name] = _described(name, entry, room)
        room -= found[name].size
        if len(found) > MOST_FILES:
            break
    return found


def _walk(directory: Path) -> Iterator[os.DirEntry[str]]:
    """Yield every entry that is no directory, at any depth; no link is followed."""
    pending = [str(directory)]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                else:
                    yield entry


def _described(path: str, entry: os.DirEntry[str], room: int) -> ViewedFile:
    status = entry.stat(follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode):
        return ViewedFile(path, 0, "", "link" if stat.S_ISLNK(status.st_mode) else "special")
    executable = bool(status.st_mode & stat.S_IXUSR)
    mode = "0755" if executable else "0644"
    if status.st_size > room:
        return ViewedFile(path, status.st_size, "", mode)
    digest = hashlib.sha256()
    with opened_regular(Path(entry.path)) as file:
        for chunk in iter(lambda: file.read(_CHUNK), b""):
            digest.update(chunk)
    return ViewedFile(path, status.st_size, digest.hexdigest(), mode)


def _side(file: SkillFile | None) -> dict[str, Any] | None:
    if file is None:
        return None
    return {"size": len(file.data), "sha256": file.sha256, "mode": file.mode}


def _change(old: ViewedFile | None, new: ViewedFile | None) -> ChangeKind | None:
    if old is None:
        return ChangeKind.ADDED
    if new is None:
        return ChangeKind.REMOVED
    if old.sha256 != new.sha256:
        return ChangeKind.CHANGED
    return None if old.mode == new.mode else ChangeKind.MODE
