"""Compare two states of a skill: which files differ, and how their text does."""

from __future__ import annotations

import difflib
import io
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from skill_registry.spec.model import SkillFile

# The comparison of lines is quadratic at worst.
LONGEST = 10_000
# Of UTF-8, in one diff.
MOST_TEXT = 1024 * 1024


class ChangeKind(StrEnum):
    """What happened to a file. ``mode``: its executable bit alone."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    MODE = "mode"


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that differs; ``old`` is None where it was added, ``new`` where it was removed."""

    path: str
    kind: ChangeKind
    old: SkillFile | None
    new: SkillFile | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs between two states.

    Attributes:
        changes: By path, in byte order.
        text: Unified diffs of the text files, one after the other.
        truncated: Whether ``text`` lacks some of them: it ends at the limit, or a file has too many
            lines to be compared.
    """

    changes: tuple[FileChange, ...]
    text: str
    truncated: bool


def compare(
    old: Mapping[str, SkillFile],
    new: Mapping[str, SkillFile],
    *,
    names: tuple[str, str],
    limit: int = MOST_TEXT,
) -> Comparison:
    """Compare two sets of files by path.

    Args:
        names: What the two states are called in the headers of the diffs.
        limit: Bytes of UTF-8 that the text may have; it is cut at the end of a line.
    """
    changes = tuple(_changes(old, new))
    texts = [(_text(change.old), _text(change.new)) for change in changes]
    kept: list[str] = []
    size = 0
    for change, (before, after) in zip(changes, texts, strict=True):
        for line in _lines(change, before, after, names):
            size += len(line.encode())
            if size > limit:
                return Comparison(changes, "".join(kept), truncated=True)
            kept.append(line)
    return Comparison(changes, "".join(kept), truncated=any(map(_is_too_long, texts)))


def _changes(old: Mapping[str, SkillFile], new: Mapping[str, SkillFile]) -> Iterator[FileChange]:
    for path in sorted({*old, *new}, key=str.encode):
        before, after = old.get(path), new.get(path)
        if before is None or after is None:
            kind = ChangeKind.ADDED if before is None else ChangeKind.REMOVED
        elif before.data != after.data:
            kind = ChangeKind.CHANGED
        elif before.mode != after.mode:
            kind = ChangeKind.MODE
        else:
            continue
        yield FileChange(path, kind, before, after)


def _lines(
    change: FileChange,
    before: list[str] | None,
    after: list[str] | None,
    names: tuple[str, str],
) -> Iterator[str]:
    """Yield the lines of one file's diff, each with its end."""
    modes = [file.mode for file in (change.old, change.new) if file]
    if len(set(modes)) == 2:
        yield f"mode of {change.path}: {modes[0]} -> {modes[1]}\n"
    if change.kind is ChangeKind.MODE:
        return
    if before is None or after is None:
        yield f"binary file {change.path} {change.kind}\n"
    elif _is_too_long((before, after)):
        yield f"file {change.path} {change.kind}: over {LONGEST} lines, not compared\n"
    elif before == after:
        yield f"empty file {change.path} {change.kind}\n"
    else:
        old = f"{names[0]}/{change.path}" if change.old else "/dev/null"
        new = f"{names[1]}/{change.path}" if change.new else "/dev/null"
        for line in difflib.unified_diff(before, after, old, new):
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _is_too_long(texts: tuple[list[str] | None, list[str] | None]) -> bool:
    before, after = texts
    return before is not None and after is not None and max(len(before), len(after)) > LONGEST


def _text(file: SkillFile | None) -> list[str] | None:
    """Return the lines with their ends; None for a file that is no UTF-8 text, as git sees it."""
    if file is None:
        return []
    try:
        text = file.data.decode()
    except UnicodeDecodeError:
        return None
    # Lines end with "\n" alone: str.splitlines knows ten more ends.
    return None if "\0" in text else list(io.StringIO(text, newline="\n"))
