"""The archive of a repository at a commit, read with suspicion: the skills in it, and licences.

Archives are zip files as ``git archive`` makes them: one folder at the top, Unix modes, links as
entries, and the commit as the comment.
"""

from __future__ import annotations

import re
import stat
import zipfile
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from skill_registry.spec.model import MOST_BYTES, MOST_FILES, SKILL_MD, SkillFile
from skill_registry.spec.names import check_path, find_collisions, is_sidecar
from skill_registry.spec.text import shown
from skill_registry_cli.vendoring.problems import VendoringRefused, caution, problem

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from skill_registry.spec.model import Diagnostic

# All that zipfile and zlib raise for bytes that are not what the headers promise.
_CORRUPT = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    ValueError,
)
# No author means these, and a push leaves them out too.
_NEVER = frozenset({".git", "node_modules", "__pycache__", ".DS_Store"})
_LICENCE = re.compile(r"(?:licen[cs]e|copying|unlicense)(?:[.-].*)?", re.IGNORECASE)
_NOTICE = re.compile(r"notice(?:[.-].*)?", re.IGNORECASE)
_COMMIT = re.compile(rb"[0-9a-f]{40}")
# A repository that has this line in a .gitattributes gives other bytes to archives than to clones.
_ATTRIBUTES = re.compile(rb"^[^#\r\n]*\bexport-(?:ignore|subst)\b", re.MULTILINE)


@dataclass(slots=True)
class UpstreamSkill:
    """A skill as its repository has it, with the licence files that it lies under.

    Attributes:
        warnings: What was left out, and what is missing.
    """

    files: tuple[SkillFile, ...]
    warnings: list[Diagnostic] = field(default_factory=list)


class RepositoryArchive:
    """An open archive. Close it, or use it in ``with``.

    Args:
        path: The zip file.
        commit: What it has to be of.

    Raises:
        VendoringRefused: ``archive_invalid`` or ``archive_unsafe``.
    """

    def __init__(self, path: Path, commit: str) -> None:
        try:
            self._zip = zipfile.ZipFile(path)
        except (*_CORRUPT, OSError) as odd:
            raise _invalid(f"it is no whole zip file ({odd})") from odd
        try:
            # git writes the commit there; a host that writes nothing is taken at its word.
            comment = self._zip.comment
            if _COMMIT.fullmatch(comment) and comment.decode() != commit:
                raise _invalid(f"it is of the commit {comment.decode()}")
            self._entries = dict(_entries(self._zip))
        except BaseException:
            self._zip.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._zip.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def skill(self, directory: str) -> UpstreamSkill:
        """Return the skill in a directory of the repository, ``""`` for its root.

        Links are reported and not followed; ``.version`` and what tools leave behind is not taken.

        Raises:
            VendoringRefused: There is none, or its files cannot be a skill's.
        """
        prefix = f"{directory}/" if directory else ""
        inside = {p: info for p, info in self._entries.items() if p.startswith(prefix)}
        if not inside:
            message = f"The repository has nothing at {directory or 'its root'}."
            raise _refused("path_not_found", message, directory)
        skill = UpstreamSkill(())
        taken: dict[str, zipfile.ZipInfo] = {}
        for path, info in inside.items():
            inner = path.removeprefix(prefix)
            if _is_link(info):
                skill.warnings.append(self._left_out(path, info))
            elif not is_sidecar(inner) and not _NEVER.intersection(inner.split("/")):
                taken[inner] = info
        if SKILL_MD not in taken:
            raise _refused("path_not_found", _no_skill(directory, inside, prefix), directory)
        self._with_licences(skill, taken, directory)
        self._check(taken, directory)
        skill.files = tuple(self._file(path, info) for path, info in sorted(taken.items()))
        return skill

    def warnings(self) -> list[Diagnostic]:
        """Return what makes the archive differ from a clone of the repository."""
        return [
            caution(
                "attributes_change_files",
                f"{path} changes what archives hold; bytes may differ from a clone's.",
                file=path,
            )
            for path, info in self._entries.items()
            if path.rsplit("/", 1)[-1] == ".gitattributes"
            and not _is_link(info)
            and _ATTRIBUTES.search(self._read(info))
        ]

    def _with_licences(
        self, skill: UpstreamSkill, taken: dict[str, zipfile.ZipInfo], directory: str
    ) -> None:
        """Add the licence and the notice of the nearest folder above, where the skill has none."""
        for pattern in (_LICENCE, _NOTICE):
            if any(pattern.fullmatch(path) for path in taken):
                continue
            above = directory
            found: dict[str, zipfile.ZipInfo] = {}
            while above and not found:
                above = above.rpartition("/")[0]
                found = self._files_in(above, pattern)
            taken |= {name: info for name, info in found.items() if name not in taken}
        if not any(_LICENCE.fullmatch(path) for path in taken):
            message = (
                f"Neither {directory or 'the root'} nor what lies above it has a licence file."
            )
            skill.warnings.append(caution("licence_missing", message, file=directory or None))

    def _files_in(self, directory: str, pattern: re.Pattern[str]) -> dict[str, zipfile.ZipInfo]:
        prefix = f"{directory}/" if directory else ""
        return {
            path.removeprefix(prefix): info
            for path, info in self._entries.items()
            if path.startswith(prefix)
            and pattern.fullmatch(path.removeprefix(prefix))
            and not _is_link(info)
        }

    def _check(self, taken: dict[str, zipfile.ZipInfo], directory: str) -> None:
        if len(taken) > MOST_FILES or sum(i.file_size for i in taken.values()) > MOST_BYTES:
            message = f"{directory} has over {MOST_FILES} files or {MOST_BYTES} bytes."
            raise _refused("skill_unusable", message, directory)
        found = [fault for path in taken for fault in check_path(path)] or find_collisions(taken)
        if found:
            message = f"{directory} cannot be a skill here: {found[0].message}"
            raise _refused("skill_unusable", message, directory)

    def _file(self, path: str, info: zipfile.ZipInfo) -> SkillFile:
        executable = bool(info.external_attr >> 16 & stat.S_IXUSR)
        return SkillFile(path, self._read(info), executable)

    def _left_out(self, path: str, info: zipfile.ZipInfo) -> Diagnostic:
        target = self._read(info).decode("utf-8", "replace")
        message = f"{path} is a link to {shown(target)}, which is not followed."
        return caution("link_left_out", message, file=path)

    def _read(self, info: zipfile.ZipInfo) -> bytes:
        try:
            data = self._zip.read(info)
        except (*_CORRUPT, OSError) as odd:
            raise _invalid(f"{shown(info.filename)} cannot be unpacked ({odd})") from odd
        return data


def _entries(archive: zipfile.ZipFile) -> list[tuple[str, zipfile.ZipInfo]]:
    """Return every file and link, below the one folder at the top."""
    found: dict[str, zipfile.ZipInfo] = {}
    tops: set[str] = set()
    for info in archive.infolist():
        path = info.orig_filename
        bare = path.removesuffix("/")
        if _leads_out(bare):
            message = f"The archive holds the path {shown(path)}, which leads out of it."
            raise VendoringRefused(message, code="archive_unsafe")
        top, _, inner = bare.partition("/")
        tops.add(top)
        if path.endswith("/") or stat.S_ISDIR(info.external_attr >> 16):
            continue
        if not inner or inner in found:
            raise _invalid(f"it has the path {shown(path)} twice, or beside its folder")
        found[inner] = info
    if len(tops) > 1:
        raise _invalid("it has more than one folder at the top")
    return list(found.items())


def _leads_out(path: str) -> bool:
    parts = path.replace("\\", "/").split("/")
    return path.startswith(("/", "\\")) or ".." in parts or ":" in parts[0] or "\0" in path


def _is_link(info: zipfile.ZipInfo) -> bool:
    return stat.S_ISLNK(info.external_attr >> 16)


def _no_skill(directory: str, inside: dict[str, zipfile.ZipInfo], prefix: str) -> str:
    info = inside.get(f"{prefix}{SKILL_MD}")
    if info is not None:
        return f"{prefix}{SKILL_MD} is a link; name the directory that it leads to."
    inner = sorted(path for path in inside if path.endswith(f"/{SKILL_MD}"))[:3]
    more = f"; there are {', '.join(inner)}" if inner else ""
    return f"{directory or 'The root'} of the repository has no {SKILL_MD}{more}."


def _invalid(why: str) -> VendoringRefused:
    message = f"The archive of the repository cannot be used: {why}."
    return VendoringRefused(message, code="archive_invalid")


def _refused(code: str, message: str, directory: str) -> VendoringRefused:
    return VendoringRefused(
        message, diagnostics=[problem(code, message, file=directory or SKILL_MD)]
    )
