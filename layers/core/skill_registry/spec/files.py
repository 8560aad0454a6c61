"""The rules for a skill's files together: how many, how large, and under which paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skill_registry.spec.diagnostics import Place, error, first_of_each
from skill_registry.spec.model import DEFAULT_LIMITS, SKILL_MD
from skill_registry.spec.names import check_path, find_collisions, is_sidecar, shown_path
from skill_registry.spec.text import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from skill_registry.spec.model import Diagnostic, Limits, SkillFile

_LONGEST_SIDECAR = 12


def without_sidecar(files: Iterable[SkillFile]) -> tuple[SkillFile, ...]:
    """Leave out ``.version``: the registry writes it, an author's copy of it means nothing."""
    return tuple(file for file in files if not is_sidecar(file.path))


def parse_sidecar(body: bytes) -> int | None:
    """Read the integer of a ``.version``; None for anything else."""
    text = body.strip()
    if not text.isdigit() or len(text) > _LONGEST_SIDECAR:
        return None
    return int(text) or None


def skill_md_of(files: Iterable[SkillFile]) -> SkillFile | None:
    """Return the skill's SKILL.md, None where it has none."""
    return next((file for file in files if file.path == SKILL_MD), None)


def check_files(files: Sequence[SkillFile], limits: Limits = DEFAULT_LIMITS) -> list[Diagnostic]:
    """Name every rule that the files break; SKILL.md is asked to be there, not to be right."""
    found = check_count(len(files), limits)
    sound: list[str] = []
    for file in files:
        broken = check_path(file.path, limits)
        found.extend(broken)
        found.extend(check_size(file.path, len(file.data), limits))
        if not broken:
            sound.append(file.path)
    found.extend(find_collisions(sound))
    found.extend(check_total(sum(len(file.data) for file in files), limits))
    if skill_md_of(files) is None:
        found.append(missing_skill_md(file.path for file in files))
    return first_of_each(found)


def check_count(count: int, limits: Limits) -> list[Diagnostic]:
    """Name the limit on files, where the count is over it."""
    if count <= limits.files:
        return []
    message = f"The skill has {count} files; at most {limits.files} are allowed."
    return [error("too_many_files", message, limit=limits.files, actual=count)]


def check_size(path: str, size: int, limits: Limits) -> list[Diagnostic]:
    """Name the limit on one file's bytes, where the size is over it."""
    if size <= limits.file_bytes:
        return []
    message = f"{shown(path)} has {size} bytes; at most {limits.file_bytes} are allowed."
    place = Place(shown_path(path))
    return [error("file_too_large", message, place=place, limit=limits.file_bytes, actual=size)]


def check_total(size: int, limits: Limits) -> list[Diagnostic]:
    """Name the limit on all bytes, where the sum is over it."""
    if size <= limits.total_bytes:
        return []
    message = f"The files have {size} bytes together; at most {limits.total_bytes} are allowed."
    return [error("skill_too_large", message, limit=limits.total_bytes, actual=size)]


def missing_skill_md(paths: Iterable[str]) -> Diagnostic:
    """Say that there is no SKILL.md, and what there is instead."""
    tops = sorted({path.split("/", 1)[0] for path in paths})
    listed = ", ".join(shown(top) for top in tops[:10])
    seen = f" Found at the top: {listed}." if listed else " There are no files at all."
    message = f"There is no {SKILL_MD} at the root or in the one top-level folder.{seen}"
    return error("skill_md_missing", message, place=Place(SKILL_MD), hint=f"Add a {SKILL_MD}.")
