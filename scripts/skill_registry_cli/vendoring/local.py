"""The skills of a tree as they lie there: their files, links, and what their SKILL.md says."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from skill_registry.agent.regular import read_regular
from skill_registry.agent.skill_files import NEVER_TAKEN
from skill_registry.spec.diagnostics import Place
from skill_registry.spec.frontmatter import read_document
from skill_registry.spec.model import MOST_BYTES, MOST_FILES, SKILL_MD, VERSION_SIDECAR, SkillFile
from skill_registry.spec.validation import read_skill

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from skill_registry.spec.frontmatter import Document
    from skill_registry.spec.model import SkillMeta

_REPOSITORY = ".git"


@dataclass(slots=True)
class TreeSkill:
    """A directory of the tree.

    Attributes:
        name: The directory's.
        stated: What SKILL.md names the skill; None where it does not.
        meta: What else it says; None where it cannot be read, which ``unreadable`` explains.
        links: What each link leads to, by its path in the directory.
        odd: Paths of what is neither a file, a directory nor a link.
        unread: Why a file or directory cannot be read, by its path.
        repository: Whether it is a git repository of its own, or holds one.
    """

    name: str
    files: list[SkillFile] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)
    odd: list[str] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)
    repository: bool = False
    stated: str | None = None
    meta: SkillMeta | None = None
    unreadable: str = f"there is no {SKILL_MD}."
    document: Document | None = None

    @classmethod
    def of(cls, name: str, files: Iterable[SkillFile]) -> Self:
        """Return the skill that files make."""
        skill = cls(name, list(files))
        _read_frontmatter(skill)
        return skill

    @property
    def plain(self) -> bool:
        """Whether ``files`` is all that it is."""
        return not (self.links or self.odd or self.unread)

    def position(self, *keys: str) -> tuple[int, int] | None:
        """Return line and column of a key of the frontmatter, None where it is not known."""
        place = self.document.place(*keys) if self.document is not None else Place()
        return (place.line, place.column or 1) if place.line is not None else None


def directories(tree: Path) -> list[str]:
    """Return the names of the directories of a tree, and of links in their place.

    Those with a dot in front belong to tools. A link to a file is in no directory's place.
    """
    with os.scandir(tree) as entries:
        found = [
            entry.name
            for entry in entries
            if not entry.name.startswith(".")
            and (entry.is_dir() or (entry.is_symlink() and not entry.is_file()))
        ]
    return sorted(found)


def read(tree: Path, name: str) -> TreeSkill:
    """Read a skill of the tree; no link is followed, not even one in its own place."""
    skill = TreeSkill(name)
    root = tree / name
    if root.is_symlink():
        skill.links[""] = str(root.readlink())
        skill.unreadable = "its directory is a link, which is not followed."
        return skill
    room = MOST_BYTES

    def note(failure: OSError) -> None:
        path = Path(os.fsdecode(failure.filename or root))
        skill.unread[path.relative_to(root).as_posix()] = failure.strerror or str(failure)

    for folder, inner, names in os.walk(root, onerror=note):
        below = Path(folder)
        skill.repository |= _REPOSITORY in inner or _REPOSITORY in names
        inner[:] = sorted(each for each in inner if each not in NEVER_TAKEN)
        for each in sorted([*names, *(one for one in inner if (below / one).is_symlink())]):
            path = (below / each).relative_to(root).as_posix()
            if each in NEVER_TAKEN or path == VERSION_SIDECAR:
                continue
            try:
                room -= _take(skill, below / each, path, room)
            except OSError as failure:
                note(failure)
    _read_frontmatter(skill)
    return skill


def _take(skill: TreeSkill, file: Path, path: str, room: int) -> int:
    """Read one file of a skill, or note what else it is; return its bytes' number."""
    status = file.lstat()
    if stat.S_ISLNK(status.st_mode):
        skill.links[path] = str(file.readlink())
    elif not stat.S_ISREG(status.st_mode) or len(skill.files) >= MOST_FILES:
        skill.odd.append(path)
    else:
        data, executable = read_regular(file, room)
        skill.files.append(SkillFile(path, data, executable))
        return len(data)
    return 0


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
    skill.document = read_document(skill_md.data, tolerant=True)
    stated = (skill.document.mapping or {}).get("name")
    skill.stated = stated if isinstance(stated, str) and stated else None
    if report.meta is None and report.diagnostics:
        skill.unreadable = report.diagnostics[0].message
