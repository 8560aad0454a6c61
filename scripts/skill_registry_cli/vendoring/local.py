"""The skills of a tree as they lie there: their files, links, and what their SKILL.md says."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from skill_registry.agent.regular import read_regular
from skill_registry.agent.skill_files import NEVER_TAKEN
from skill_registry.spec.frontmatter import read_document
from skill_registry.spec.model import MOST_BYTES, MOST_FILES, SKILL_MD, VERSION_SIDECAR, SkillFile
from skill_registry.spec.validation import read_skill

if TYPE_CHECKING:
    from skill_registry.spec.model import SkillMeta


@dataclass(slots=True)
class TreeSkill:
    """A directory of the tree.

    Attributes:
        name: The directory's.
        stated: What SKILL.md names the skill; None where it does not.
        meta: What else it says; None where it cannot be read, which ``unreadable`` explains.
        links: What each link leads to, by its path in the directory.
        odd: Paths of what is neither a file, a directory nor a link.
    """

    name: str
    files: list[SkillFile] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)
    odd: list[str] = field(default_factory=list)
    stated: str | None = None
    meta: SkillMeta | None = None
    unreadable: str = f"there is no {SKILL_MD}."


def directories(tree: Path) -> list[str]:
    """Return the names of the directories of a tree, and of links in their place.

    Those with a dot in front belong to tools.
    """
    with os.scandir(tree) as entries:
        found = [
            entry.name
            for entry in entries
            if not entry.name.startswith(".") and (entry.is_symlink() or entry.is_dir())
        ]
    return sorted(found)


def read(tree: Path, name: str) -> TreeSkill:
    """Read a skill of the tree; no link is followed, not even one in its own place.

    Raises:
        OSError: A file or directory cannot be read.
    """
    skill = TreeSkill(name)
    root = tree / name
    if root.is_symlink():
        skill.links[""] = str(root.readlink())
        skill.unreadable = "its directory is a link, which is not followed."
        return skill
    room = MOST_BYTES
    for folder, inner, names in os.walk(root, onerror=_raise):
        below = Path(folder)
        inner[:] = sorted(each for each in inner if each not in NEVER_TAKEN)
        for each in sorted([*names, *(one for one in inner if (below / one).is_symlink())]):
            path = (below / each).relative_to(root).as_posix()
            if each in NEVER_TAKEN or path == VERSION_SIDECAR:
                continue
            status = (below / each).lstat()
            if stat.S_ISLNK(status.st_mode):
                skill.links[path] = str((below / each).readlink())
            elif not stat.S_ISREG(status.st_mode) or len(skill.files) >= MOST_FILES:
                skill.odd.append(path)
            else:
                data, executable = read_regular(below / each, room)
                room -= len(data)
                skill.files.append(SkillFile(path, data, executable))
    _read_frontmatter(skill)
    return skill


def leaves(skill: TreeSkill, path: str) -> bool:
    """Tell whether a link leads out of its skill, by what it says: nothing is followed."""
    target = PurePosixPath(skill.links[path])
    here = os.path.normpath("/skill" / PurePosixPath(path).parent / target)
    return not path or target.is_absolute() or not f"{here}/".startswith("/skill/")


def _read_frontmatter(skill: TreeSkill) -> None:
    skill_md = next((file for file in skill.files if file.path == SKILL_MD), None)
    if skill_md is None:
        return
    report = read_skill(skill_md.data, directory=skill.name)
    skill.meta = report.meta
    stated = (read_document(skill_md.data, tolerant=True).mapping or {}).get("name")
    skill.stated = stated if isinstance(stated, str) and stated else None
    if report.meta is None and report.diagnostics:
        skill.unreadable = report.diagnostics[0].message


def _raise(failure: OSError) -> None:
    raise failure
