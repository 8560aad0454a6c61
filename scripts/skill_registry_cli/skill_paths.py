"""From the paths that somebody typed to the skills that are meant, and the names they go by."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skill_registry.agent.packing import take_archive, target_name
from skill_registry.agent.regular import read_regular
from skill_registry.agent.skill_files import is_skill_md
from skill_registry.agent.walking import real_path, walk
from skill_registry.errors import RegistryError, SkillInvalid
from skill_registry.spec.model import MOST_BYTES
from skill_registry.spec.names import shown_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from skill_registry.spec.model import Diagnostic


class NameDuplicate(RegistryError):
    """Several directories or archives of one call would be published as the same skill."""

    code = "name_duplicate"


@dataclass(frozen=True, slots=True)
class Item:
    """A directory or a zip file that is to be one skill.

    Attributes:
        path: Where it was found, below what was typed.
        typed: What was typed.
        empty: It is a folder that was looked through, and there is no skill in it.
    """

    path: Path
    typed: Path
    empty: bool = False

    @property
    def shown(self) -> str:
        """The path as a message and a JSON document have it."""
        return shown_path(os.path.normpath(self.path))

    @property
    def prefix(self) -> str:
        """What leads from where the user stands to the files that diagnostics name."""
        # Editors jump to a place that is told so.
        return f"{self.shown}/" if self.path.is_dir() else ""


@dataclass(frozen=True, slots=True)
class Meant:
    """What was typed means these.

    Attributes:
        items: In the order in which they were typed, those of a folder by their paths; each once.
        alone: One path was typed, and it is no folder of skills.
        diagnostics: Of folders: what is nearly a skill, or cannot be read.
    """

    items: tuple[Item, ...]
    alone: bool
    diagnostics: tuple[Diagnostic, ...] = ()


def find(paths: Sequence[Path]) -> Meant:
    """Return the skills that paths mean.

    A path is a skill's directory, a file, or a folder without a SKILL.md of its own: then every
    skill below it counts, at any depth, found as discovery finds them.
    """
    items: dict[str, Item] = {}
    said: list[Diagnostic] = []
    alone = len(paths) == 1
    for typed in paths:
        found = [Item(typed, typed)]
        if _is_folder(typed):
            walked = walk(typed)
            within = [Item(each.path.parent, typed) for each in walked.files if each.meant]
            said.extend(walked.diagnostics)
            alone = alone and not within
            found = within or [Item(typed, typed, empty=True)]
        for item in found:
            items.setdefault(real_path(item.path), item)
    return Meant(tuple(items.values()), alone, tuple(said))


def name_of(item: Item) -> str | None:
    """Return the skill that a push of an item would be of; None where none would be sent."""
    try:
        if not item.path.is_dir():
            return take_archive(item.path).name
        entries = sorted(entry for entry in item.path.iterdir() if is_skill_md(entry.name))
        data, _ = read_regular(entries[0], MOST_BYTES)
    except (SkillInvalid, OSError, IndexError):
        return None
    return target_name(data, item.path.resolve().name)


def duplicates(items: Iterable[Item]) -> dict[Item, NameDuplicate]:
    """Return the items that would be published under one name, each with what it is refused for."""
    by_name: defaultdict[str, list[Item]] = defaultdict(list)
    for item in items:
        if (name := name_of(item)) is not None:
            by_name[name].append(item)
    found = {}
    for name, same in by_name.items():
        if len(same) > 1:
            named = ", ".join(item.shown for item in same)
            why = f"`{name}` would be published {len(same)} times: {named}. Push one of them."
            found.update({item: NameDuplicate(why) for item in same})
    return found


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir() and not any(is_skill_md(entry.name) for entry in path.iterdir())
    except OSError:
        # Who packs it says why it cannot be read.
        return False
