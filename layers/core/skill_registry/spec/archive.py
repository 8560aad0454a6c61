"""Zip archives: any archive read with suspicion, our own written one way only.

``read_archive`` is for what strangers send: it trusts no size, name or count before it has seen
the bytes. ``read_revision`` is for what ``write_archive`` wrote.
"""

from __future__ import annotations

import hashlib
import io
import stat
import zipfile
import zlib
from typing import TYPE_CHECKING

from skill_registry.spec.archive_entries import (
    Entry,
    directory_size,
    largest_directory,
    list_entries,
)
from skill_registry.spec.diagnostics import Place, error
from skill_registry.spec.files import check_count, check_size, check_total, without_sidecar
from skill_registry.spec.layout import ArchiveContents, plan
from skill_registry.spec.model import DEFAULT_LIMITS, SkillFile
from skill_registry.spec.names import shown_path
from skill_registry.spec.text import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skill_registry.spec.model import Diagnostic, Limits

__all__ = ["ArchiveContents", "content_digest", "read_archive", "read_revision", "write_archive"]

_CHUNK = 64 * 1024
_EPOCH = (1980, 1, 1, 0, 0, 0)
_UNIX = 3
_REGULAR = 0o100000
# Small archives may be as repetitive as they like.
_RATIO_FLOOR = 1024 * 1024
# All that zipfile and zlib raise for bytes that are not what the headers promise.
_CORRUPT = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)


def read_archive(data: bytes, *, limits: Limits = DEFAULT_LIMITS) -> ArchiveContents:
    """Read an uploaded archive: its skill's files, and everything that is wrong with it.

    Never raises for bad input. Holds at most the unpacked limit besides the archive itself. The
    files' own rules (sizes of SKILL.md, collisions, frontmatter) are those of ``check_skill``.
    """
    if len(data) > limits.archive_bytes:
        message = f"The archive has {len(data)} bytes; at most {limits.archive_bytes} are allowed."
        found = error("archive_too_large", message, limit=limits.archive_bytes, actual=len(data))
        return ArchiveContents((), (found,))
    if (size := directory_size(data)) > largest_directory(limits):
        message = (
            f"The archive's list of files alone has {size} bytes; "
            f"at most {limits.files} files are allowed."
        )
        return ArchiveContents((), (error("too_many_files", message, limit=limits.files),))
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _read_entries(archive, len(data), limits)
    except _CORRUPT:
        hint = "Pack the skill's folder as a zip file."
        found = error("archive_invalid", "The upload is not a readable zip archive.", hint=hint)
        return ArchiveContents((), (found,))


def _read_entries(archive: zipfile.ZipFile, archive_size: int, limits: Limits) -> ArchiveContents:
    entries, diagnostics = list_entries(archive.infolist())
    layout = plan([entry.path for entry in entries])
    diagnostics.extend(layout.diagnostics)
    wanted = [entry for entry in entries if entry.path in layout.paths]
    if too_many := check_count(len(wanted), limits):
        return ArchiveContents((), (*diagnostics, *too_many))
    files: list[SkillFile] = []
    total = 0
    for entry in wanted:
        path = layout.paths[entry.path]
        room = min(limits.file_bytes, limits.total_bytes - total)
        data, fault = _read_entry(archive, entry, room)
        if fault is not None:
            diagnostics.append(fault)
            continue
        if data is None:
            beyond = max(entry.info.file_size, room + 1)
            diagnostics.extend(
                check_size(path, beyond, limits) or check_total(total + beyond, limits)
            )
            if room < limits.file_bytes:
                break
            continue
        total += len(data)
        if total > max(_RATIO_FLOOR, archive_size * limits.compression_ratio):
            diagnostics.append(_bomb(total, archive_size, limits))
            break
        files.append(SkillFile(path, data, entry.is_executable(data)))
    return ArchiveContents(tuple(files), tuple(diagnostics))


def _read_entry(
    archive: zipfile.ZipFile, entry: Entry, room: int
) -> tuple[bytes | None, Diagnostic | None]:
    """Unpack an entry as far as there is room; the bytes are None where it has more."""
    if entry.info.file_size > room:
        return None, None
    chunks: list[bytes] = []
    size = 0
    try:
        with archive.open(entry.info) as stream:
            while chunk := stream.read(_CHUNK):
                size += len(chunk)
                if size > room:
                    return None, None
                chunks.append(chunk)
    except _CORRUPT as odd:
        return None, _corrupt(entry, shown(str(odd), 200))
    if size != entry.info.file_size:
        return None, _corrupt(entry, f"it has {size} bytes and claims {entry.info.file_size}")
    return b"".join(chunks), None


def _corrupt(entry: Entry, why: str) -> Diagnostic:
    message = f"{shown(entry.path)} cannot be unpacked: {why}."
    place = Place(shown_path(entry.path))
    return error("entry_corrupt", message, place=place, hint="Pack the skill again.")


def _bomb(total: int, archive_size: int, limits: Limits) -> Diagnostic:
    ratio = total // archive_size
    message = (
        f"The archive unpacks to more than {limits.compression_ratio} times its "
        f"{archive_size} bytes."
    )
    return error("archive_ratio", message, limit=limits.compression_ratio, actual=ratio)


def write_archive(files: Iterable[SkillFile]) -> bytes:
    """Pack files the one way a revision is packed, without the version sidecar.

    Sorted by UTF-8 path, dated 1980-01-01, Unix modes, names in UTF-8. Equal files give equal
    bytes under one version of zlib; compare ``content_digest`` across versions.
    """
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in _in_order(files):
            info = zipfile.ZipInfo(file.path, _EPOCH)
            info.create_system = _UNIX
            info.external_attr = (_REGULAR | int(file.mode, 8)) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, file.data)
    return target.getvalue()


def read_revision(
    data: bytes, *, most_files: int | None = None, most_bytes: int | None = None
) -> tuple[SkillFile, ...]:
    """Unpack what ``write_archive`` packed, in its order.

    Args:
        data: The archive.
        most_files: Unpack nothing of an archive with more; None is for one's own.
        most_bytes: The same for its files together.

    Raises:
        ValueError: the bytes are damaged, are no archive of ours, or hold more.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            if most_files is not None and len(entries) > most_files:
                raise ValueError(f"more than {most_files} files")
            if most_bytes is not None and sum(info.file_size for info in entries) > most_bytes:
                raise ValueError(f"more than {most_bytes} bytes")
            return tuple(
                SkillFile(
                    info.filename,
                    archive.read(info),
                    bool(info.external_attr >> 16 & stat.S_IXUSR),
                )
                for info in entries
            )
    except _CORRUPT as odd:
        raise ValueError(f"the revision's archive is damaged: {odd}") from odd


def content_digest(files: Iterable[SkillFile]) -> str:
    """Return a hex SHA-256 over every path, mode and content, however the files are packed.

    The version sidecar does not count.
    """
    return digest_of((file.path, file.mode, file.sha256) for file in without_sidecar(files))


def digest_of(files: Iterable[tuple[str, str, str]]) -> str:
    """Return the ``content_digest`` of files that are known by path, mode and digest alone."""
    digest = hashlib.sha256()
    for path, mode, sha256 in sorted(files, key=lambda file: file[0].encode()):
        digest.update(f"{mode} {sha256} {path}\n".encode())
    return digest.hexdigest()


def _in_order(files: Iterable[SkillFile]) -> list[SkillFile]:
    return sorted(without_sidecar(files), key=lambda file: file.path.encode())
