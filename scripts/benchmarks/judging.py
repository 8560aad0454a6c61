"""What a publish makes of directories of skills, and whether their bytes come through it."""

from __future__ import annotations

import os
import stat
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from skill_registry.agent.packing import pack
from skill_registry.errors import SkillInvalid
from skill_registry.spec.archive import read_archive, read_revision, write_archive
from skill_registry.spec.model import SKILL_MD, Severity
from skill_registry.spec.validation import check_contents

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skill_registry.spec.model import Diagnostic, SkillFile


@dataclass(frozen=True, slots=True)
class Judged:
    """One skill at the publish door.

    Attributes:
        errors: Codes that refuse it, each once.
        warnings: Codes that do not.
        files: How many files of an accepted skill were compared with their source.
        changed: Those that are not what they were, in bytes or mode.
    """

    directory: Path
    errors: frozenset[str]
    warnings: frozenset[str]
    files: int = 0
    changed: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether a publish takes it."""
        return not self.errors


def find_skills(folder: Path) -> list[Path]:
    """Return the outermost directories that hold a SKILL.md, however it is spelled."""
    found = []
    for directory, folders, names in os.walk(folder):
        folders.sort()
        if any(name.lower() == SKILL_MD.lower() for name in names):
            found.append(Path(directory))
            folders.clear()
    return found


def judge(directory: Path) -> Judged:
    """Pack a directory, read it as an upload and check it under the name that it states."""
    try:
        packed = pack(directory)
    except SkillInvalid as refused:
        return Judged(directory, *_codes(refused.diagnostics))
    contents = read_archive(packed.archive)
    report = check_contents(contents, name=None)
    errors, warnings = _codes((*packed.diagnostics, *report.diagnostics))
    if not report.ok:
        return Judged(directory, errors, warnings)
    stored = read_revision(write_archive(contents.files))
    return Judged(directory, errors, warnings, len(stored), _changed(directory, stored))


def _codes(diagnostics: Iterable[Diagnostic]) -> tuple[frozenset[str], frozenset[str]]:
    found = list(diagnostics)
    errors = frozenset(each.code for each in found if each.severity is Severity.ERROR)
    return errors, frozenset(each.code for each in found) - errors


def _changed(directory: Path, stored: Iterable[SkillFile]) -> tuple[str, ...]:
    sources = {
        unicodedata.normalize("NFC", path.relative_to(directory).as_posix()): path
        for path in directory.rglob("*")
        if path.is_file()
    }
    spelled = next((path for path in sources if path.lower() == SKILL_MD.lower()), SKILL_MD)
    sources.setdefault(SKILL_MD, sources[spelled])
    return tuple(file.path for file in stored if not _is_same(file, sources[file.path]))


def _is_same(file: SkillFile, source: Path) -> bool:
    runnable = bool(source.stat().st_mode & stat.S_IXUSR)
    return file.data == source.read_bytes() and file.executable == runnable
