"""Where the skill lies in what was uploaded: flat or in one folder, among what others left.

Works on paths only, so that an archive's bytes are read after its layout is known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skill_registry.spec.diagnostics import Place, error, first_of_each, warning
from skill_registry.spec.files import missing_skill_md
from skill_registry.spec.model import SKILL_MD, VERSION_SIDECAR, SkillFile
from skill_registry.spec.names import check_path_shape, find_collisions, is_sidecar, shown_path
from skill_registry.spec.text import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from skill_registry.spec.model import Diagnostic

_LEFT_BY_SYSTEMS = frozenset({".ds_store", "thumbs.db", "desktop.ini"})
_LEFT_BY_TOOLS = frozenset({".git", "node_modules"})
_MOST_LISTED = 20


@dataclass(frozen=True, slots=True)
class Layout:
    """Which uploaded path becomes which path of the skill, and what was found on the way."""

    paths: dict[str, str] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class ArchiveContents:
    """The skill's files and what was found wrong. With an error among it, ``files`` holds those
    that could be read, so that their faults can be named too; never store them.
    """

    files: tuple[SkillFile, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


def arrange(files: Iterable[SkillFile]) -> ArchiveContents:
    """Lay out files that did not come in an archive as if they had.

    The version sidecar is dropped, what systems and tools leave is ignored, and ``skill.md`` is
    renamed.
    """
    given = tuple(files)
    layout = plan([file.path for file in given])
    moved = tuple(
        SkillFile(layout.paths[file.path], file.data, file.executable)
        for file in given
        if file.path in layout.paths
    )
    return ArchiveContents(moved, layout.diagnostics)


def plan(paths: Sequence[str]) -> Layout:
    """Find the skill among uploaded paths, whose separators are ``/`` already.

    A path that leaves the skill is an error and has no place in the layout.
    """
    found: list[Diagnostic] = []
    kept: list[str] = []
    decomposed: list[str] = []
    for path in paths:
        if broken := check_path_shape(path):
            found.extend(broken)
            if {fault.code for fault in broken} == {"path_not_nfc"}:
                decomposed.append(path)
        elif who := _who_left(path):
            message = f"{shown(path)} was ignored: {who} left it there."
            found.append(warning("file_ignored", message, place=Place(shown_path(path))))
        else:
            kept.append(path)
    if decomposed:
        found.extend(find_collisions([*kept, *decomposed]))
    found = first_of_each(found)
    root, faults = _find_root(kept)
    found.extend(faults)
    if root is None:
        return Layout({}, tuple(found))
    found.extend(_outside(kept, root))
    inside = {path: path[len(root) :] for path in kept if path.startswith(root)}
    found.extend(_rename_skill_md(inside))
    targets = {path: target for path, target in inside.items() if not is_sidecar(target)}
    for path, target in inside.items():
        if is_sidecar(target) and target != VERSION_SIDECAR:
            message = (
                f"{shown(path)} was ignored: the registry keeps versions in files of that name."
            )
            found.append(warning("file_ignored", message, place=Place(shown_path(path))))
    return Layout(targets, tuple(found))


def _who_left(path: str) -> str | None:
    """Say what put a file there that no author means, None for a file of the skill."""
    parts = path.split("/")
    name = parts[-1].lower()
    if parts[0] == "__MACOSX" or name in _LEFT_BY_SYSTEMS or name.startswith("._"):
        return "an operating system"
    return None if _LEFT_BY_TOOLS.isdisjoint(parts) else "git or a package manager"


def _find_root(paths: Sequence[str]) -> tuple[str | None, list[Diagnostic]]:
    """Return the prefix of the skill's files, "" for a flat upload, None where there is no skill.

    The outermost SKILL.md owns all that lies below its folder, other SKILL.md files included.
    """
    entries = [path for path in paths if path.rsplit("/", 1)[-1].lower() == SKILL_MD.lower()]
    if any("/" not in path for path in entries):
        return "", []
    roots = sorted({path.rsplit("/", 1)[0] + "/" for path in entries if path.count("/") == 1})
    if len(roots) == 1:
        return roots[0], []
    if not roots:
        roots = _deeper_roots(entries)
    if len(roots) > 1:
        listed = ", ".join(shown(root + SKILL_MD) for root in roots[:_MOST_LISTED])
        message = f"The archive holds {len(roots)} skills: {listed}."
        hint = "Publish each skill in an archive of its own."
        return None, [error("several_skills", message, hint=hint)]
    if roots:
        deepest = roots[0] + SKILL_MD
        name = deepest.split("/")[-2]
        message = f"{shown(deepest)} lies too deep in the archive."
        hint = f"It may be {SKILL_MD} or {name}/{SKILL_MD}: pack the skill's own folder."
        place = Place(shown_path(deepest))
        return None, [error("skill_md_too_deep", message, place=place, hint=hint)]
    return None, [missing_skill_md(paths)]


def _deeper_roots(entries: Sequence[str]) -> list[str]:
    """Return the folders of the outermost skills that lie deeper than a skill may."""
    folders = sorted({path.rsplit("/", 1)[0] + "/" for path in entries}, key=len)
    roots: list[str] = []
    for folder in folders:
        if not any(folder.startswith(root) for root in roots):
            roots.append(folder)
    return sorted(roots)


def _outside(paths: Sequence[str], root: str) -> list[Diagnostic]:
    """Refuse what would be lost: files beside the folder that holds the skill."""
    outside = [path for path in paths if not path.startswith(root)]
    return first_of_each(
        error(
            "entry_outside_skill",
            f"{shown(path)} lies outside the skill's folder {shown(root)}.",
            place=Place(shown_path(path)),
            hint="Move it into the folder, or leave it out.",
        )
        for path in outside
    )


def _rename_skill_md(inside: dict[str, str]) -> list[Diagnostic]:
    """Spell the root's SKILL.md right, where that spelling is free."""
    if SKILL_MD in inside.values():
        return []
    others = sorted(path for path, target in inside.items() if target.lower() == SKILL_MD.lower())
    path = others[0]
    message = f"{shown(inside[path])} is stored as {SKILL_MD}: names are case-sensitive here."
    inside[path] = SKILL_MD
    return [warning("skill_md_renamed", message, place=Place(shown_path(path)))]
