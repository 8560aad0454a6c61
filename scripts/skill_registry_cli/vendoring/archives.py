"""The archive of a repository at a commit, read with suspicion: the skills in it, and licences.

Archives are zip files as ``git archive`` makes them: one folder at the top, Unix modes, links as
entries, and the commit as the comment.
"""

from __future__ import annotations

import os
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
    from collections.abc import Iterable
    from types import TracebackType
    from typing import BinaryIO

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
# Followed by which licence it is at most, so that license-checker.py is none: a word, a version,
# and what belongs to a licence's name (BSD-3-Clause, GPL-3.0-or-later, CC-BY-SA-4.0).
_WHICH = (
    r"(?:[-._](?:mit|apache|bsd|gpl|lgpl|lesser|agpl|mpl|isc|cc0|cc[-_]by|epl|zlib|ofl|boost|bsl"
    r"|unlicense)(?:[-._]?v?[0-9]+)?(?:[-._](?:[0-9]+|clause|only|or|later|sa|nc|nd))*)?"
    r"(?:\.(?:md|txt|rst|adoc|html))?"
)
_LICENCE = re.compile(rf"(?:licen[cs]e|copying|unlicense){_WHICH}", re.IGNORECASE | re.ASCII)
_NOTICE = re.compile(rf"notice{_WHICH}", re.IGNORECASE | re.ASCII)
_COMMIT = re.compile(rb"[0-9a-f]{40}")
# Attributes that give other bytes to archives than the repository has: gitattributes(5).
_ATTRIBUTES = re.compile(
    rb"^(?![ \t]*#)[^\n]*[ \t]"
    rb"(?:export-(?:ignore|subst)|eol=crlf|ident|filter=\S+|working-tree-encoding=\S+)(?!\S)",
    re.MULTILINE,
)
_LFS_POINTER = b"version https://git-lfs.github.com/spec/v1"
_MOST_POINTER_BYTES = 1024
_UTF8_NAME = 0x800


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
        file: The zip file.
        commit: What it has to be of.

    Raises:
        VendoringRefused: ``archive_invalid`` or ``archive_unsafe``.
    """

    def __init__(self, file: BinaryIO, commit: str) -> None:
        try:
            self._zip = zipfile.ZipFile(file)
        except (*_CORRUPT, OSError) as odd:
            raise _invalid(f"it is no whole zip file ({odd})") from odd
        try:
            _check_end(file, self._zip.comment, commit)
            self._entries, self._empty = _entries(self._zip)
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

        Links, submodules, ``.version`` and what tools leave behind are reported and not taken.

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
            if is_sidecar(inner) or _NEVER.intersection(inner.split("/")):
                continue
            if _is_link(info):
                skill.warnings.append(self._link(path, info))
            else:
                taken[inner] = info
        skill.warnings += _left_out(prefix, inside, self._empty)
        if SKILL_MD not in taken:
            raise _refused("path_not_found", _no_skill(directory, inside, prefix), directory)
        self._with_licences(skill, taken, directory)
        self._check(taken, directory)
        skill.files = tuple(self._file(path, info) for path, info in sorted(taken.items()))
        skill.warnings += [
            caution("lfs_pointer", f"{prefix}{file.path} stands for a file of Git LFS.", file=path)
            for file in skill.files
            if len(file.data) < _MOST_POINTER_BYTES and file.data.startswith(_LFS_POINTER)
            for path in [f"{prefix}{file.path}"]
        ]
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
        foreign = next((i for i in taken.values() if not _is_utf8(i)), None)
        if foreign is not None:
            name = foreign.orig_filename.encode("cp437").partition(b"/")[2]
            message = f"{directory} cannot be a skill here: the path {name!r} is not UTF-8."
            raise _refused("skill_unusable", message, directory)
        found = [fault for path in taken for fault in check_path(path)] or find_collisions(taken)
        if found:
            message = f"{directory} cannot be a skill here: {found[0].message}"
            raise _refused("skill_unusable", message, directory)

    def _file(self, path: str, info: zipfile.ZipInfo) -> SkillFile:
        executable = bool(info.external_attr >> 16 & stat.S_IXUSR)
        return SkillFile(path, self._read(info), executable)

    def _link(self, path: str, info: zipfile.ZipInfo) -> Diagnostic:
        target = self._read(info).decode("utf-8", "replace")
        message = f"{path} is a link to {shown(target)}, which is not followed."
        return caution("link_left_out", message, file=path)

    def _read(self, info: zipfile.ZipInfo) -> bytes:
        try:
            data = self._zip.read(info)
        except (*_CORRUPT, OSError) as odd:
            raise _invalid(f"{shown(info.filename)} cannot be unpacked ({odd})") from odd
        return data


def _check_end(file: BinaryIO, comment: bytes, commit: str) -> None:
    """Refuse an archive of another commit, and one whose end is missing.

    git writes the commit there; a host that writes nothing is taken at its word.
    """
    # The last field before the comment is its length.
    file.seek(-len(comment) - 2, os.SEEK_END)
    if int.from_bytes(file.read(2), "little") != len(comment):
        raise _invalid("its end is missing")
    if comment and comment != commit.encode():
        whose = comment.decode() if _COMMIT.fullmatch(comment) else "no commit"
        raise _invalid(f"it is of {whose}")


def _entries(archive: zipfile.ZipFile) -> tuple[dict[str, zipfile.ZipInfo], set[str]]:
    """Return every file and link, and every directory, below the one folder at the top."""
    found: dict[str, zipfile.ZipInfo] = {}
    directories: set[str] = set()
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
            directories.add(inner)
            continue
        if not inner or inner in found:
            raise _invalid(f"it has the path {shown(path)} twice, or beside its folder")
        found[inner] = info
    if len(tops) > 1:
        raise _invalid("it has more than one folder at the top")
    filled = {path[:end] for path in found for end, each in enumerate(path) if each == "/"}
    return found, directories - filled - {""}


def _left_out(prefix: str, inside: Iterable[str], empty: set[str]) -> list[Diagnostic]:
    """Report submodules, which are empty directories in archives, and what tools leave behind."""
    found = {
        path: "is a submodule, which is not fetched" for path in empty if path.startswith(prefix)
    }
    for path in inside:
        inner = path.removeprefix(prefix)
        names = inner.split("/")
        for name in _NEVER.intersection(names):
            found[prefix + "/".join(names[: names.index(name) + 1])] = "is no part of a skill"
        if is_sidecar(inner):
            found[path] = "is the registry's own"
    return [
        caution("file_left_out", f"{path} {why}; it is left out.", file=path)
        for path, why in sorted(found.items())
    ]


def _leads_out(path: str) -> bool:
    parts = path.replace("\\", "/").split("/")
    return path.startswith(("/", "\\")) or ".." in parts or ":" in parts[0] or "\0" in path


def _is_utf8(info: zipfile.ZipInfo) -> bool:
    return bool(info.flag_bits & _UTF8_NAME) or info.orig_filename.isascii()


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
