"""One skill of this machine in one state: its files at one moment, and what they say."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from skill_registry.agent.regular import read_regular
from skill_registry.agent.skill_files import gather
from skill_registry.errors import SkillInvalid
from skill_registry.spec.files import check_count, check_size, check_total, parse_sidecar
from skill_registry.spec.layout import arrange
from skill_registry.spec.model import SKILL_MD, VERSION_SIDECAR, Severity, SkillFile
from skill_registry.spec.names import shown_path
from skill_registry.spec.validation import read_skill

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from skill_registry.agent.answers import Version
    from skill_registry.agent.discovery import LocalSkill
    from skill_registry.spec.model import Diagnostic, Limits, SkillMeta

# Of SKILL.md, which is read whatever they say: discovery's ignore files decided on it.
_NO_MATTER = "skill_md_ignored"


@dataclass(frozen=True, slots=True)
class SkillState:
    """A skill as it was at one moment.

    Attributes:
        version: The number that ``.version`` states, else the frontmatter's version, else None.
        files: By path.
        left_out: What lies there and is not among them, as warnings.
    """

    meta: SkillMeta
    version: Version
    files: tuple[SkillFile, ...] = field(repr=False)
    left_out: tuple[Diagnostic, ...]


def version_of(skill: LocalSkill) -> Version:
    """Return the version that a skill has now."""
    return _stated(skill) or skill.meta.version


def stated_version(directory: Path) -> int | None:
    """Return the number that a directory's ``.version`` states, None where there is none."""
    try:
        data, _ = read_regular(directory / VERSION_SIDECAR, 100)
    except OSError:
        return None
    return parse_sidecar(data)


def read_state(skill: LocalSkill, limits: Limits) -> SkillState | None:
    """Read a skill whole; None where it changed meanwhile, or since it was discovered.

    Two readings that are alike show a state that was there between them, whatever the times of
    files say. What could leave the skill, or no file system can hold, is left out, as in a
    directory that lies in a registry's bucket.

    Raises:
        SkillInvalid: It is over a limit.
        OSError: It cannot be read.
    """
    reading = _read(skill, limits)
    if reading != _read(skill, limits):
        return None
    skill_md = reading.files[0]
    # What decided who may see the skill has to be what is given away.
    if read_skill(skill_md.data, directory=skill.name, limits=limits).meta != skill.meta:
        return None
    contents = arrange(reading.files)
    _check_limits(skill, contents.files, reading.over, limits)
    left_out = (*reading.left_out, *contents.diagnostics)
    return SkillState(
        skill.meta,
        reading.stated or skill.meta.version,
        tuple(sorted(contents.files, key=lambda file: file.path)),
        tuple(replace(each, severity=Severity.WARNING) for each in left_out),
    )


@dataclass(frozen=True, slots=True)
class _Reading:
    """What was read at once. The first file is SKILL.md; ``over`` is why others are missing."""

    stated: int | None
    files: tuple[SkillFile, ...]
    left_out: tuple[Diagnostic, ...] = ()
    over: Diagnostic | None = None


def _read(skill: LocalSkill, limits: Limits) -> _Reading:
    # Discovery follows a link to a SKILL.md (seed 3); all other files have to lie there.
    data, executable = read_regular(skill.path, limits.file_bytes + 1, follow=True)
    skill_md = SkillFile(SKILL_MD, data, executable)
    if skill.path.name != SKILL_MD:
        return _Reading(None, (skill_md,))
    stated = _stated(skill)
    found = gather(skill.base, most_bytes=limits.total_bytes)
    others = (file for file in found.files if file.path != SKILL_MD)
    told = [each for each in found.errors if each.code != _NO_MATTER]
    told.extend(each for each in found.warnings if each.file != SKILL_MD)
    return _Reading(stated, (skill_md, *others), tuple(told), found.over)


def _stated(skill: LocalSkill) -> int | None:
    return stated_version(skill.base) if skill.path.name == SKILL_MD else None


def _check_limits(
    skill: LocalSkill, files: Sequence[SkillFile], over: Diagnostic | None, limits: Limits
) -> None:
    faults = [fault for file in files for fault in check_size(file.path, len(file.data), limits)]
    faults.extend(check_count(len(files), limits))
    faults.extend(check_total(sum(len(file.data) for file in files), limits))
    if over is not None and not faults:
        faults.append(over)
    if faults:
        where = shown_path(str(skill.path))
        message = f"`{skill.name}` ({where}) cannot be loaded: {faults[0].message}"
        raise SkillInvalid(message, faults)
