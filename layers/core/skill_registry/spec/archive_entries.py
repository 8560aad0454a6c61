"""What a zip's directory says, read with suspicion, before any byte is unpacked."""

from __future__ import annotations

import stat
import struct
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skill_registry.spec.diagnostics import Place, error, first_of_each
from skill_registry.spec.names import shown_path
from skill_registry.spec.text import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skill_registry.spec.model import Diagnostic, Limits

_ENCRYPTED = 0x1 | 0x40 | 0x2000
_UTF8 = 0x800
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_DOS_DIRECTORY = 0x10
_UNIX_LIKE = frozenset({3, 19})
_SHEBANG = b"#!"

# End of central directory: signature, 4 disk and count fields, then size and offset.
_END = struct.Struct("<4s4H2LH")
_END_MARK = b"PK\x05\x06"
_END_SEARCH = _END.size + 0xFFFF
_ZIP64_LOCATOR = 20
_ZIP64_END = struct.Struct("<4sQ2H2L4Q")
_ZIP64_MARK = b"PK\x06\x06"
_UNKNOWN = 0xFFFFFFFF
# Fixed part of an entry, a long name and generous extra fields; twice, for folders and left-overs.
_ENTRY_BYTES = 2 * (46 + 255 + 700)


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of an archive: its path with ``/`` between folders, and what zipfile knows of it."""

    path: str
    info: zipfile.ZipInfo

    def is_executable(self, data: bytes) -> bool:
        """Tell whether the file may be run; packed without Unix modes, its first bytes decide."""
        mode = self.info.external_attr >> 16
        if mode & stat.S_IXUSR:
            return True
        has_modes = mode != 0 and self.info.create_system in _UNIX_LIKE
        return not has_modes and data.startswith(_SHEBANG)


def largest_directory(limits: Limits) -> int:
    """Return the bytes that the directory of an archive may have to be read at all."""
    return (limits.files + 64) * _ENTRY_BYTES


def directory_size(data: bytes) -> int:
    """Return the bytes of the central directory as zipfile will read them, 0 where there is none.

    zipfile makes an object for each entry before anything can be counted, so this is asked first.
    """
    start = data.rfind(_END_MARK, max(0, len(data) - _END_SEARCH))
    if start < 0 or start + _END.size > len(data):
        return 0
    size: int = _END.unpack_from(data, start)[5]
    wide = start - _ZIP64_LOCATOR - _ZIP64_END.size
    if wide >= 0 and data.startswith(_ZIP64_MARK, wide):
        size = max(size if size != _UNKNOWN else 0, _ZIP64_END.unpack_from(data, wide)[8])
    return size


def list_entries(
    infos: Sequence[zipfile.ZipInfo],
) -> tuple[list[Entry], list[Diagnostic]]:
    """Return the files of an archive's directory, and what no skill may hold.

    Folders are left out; a path that leaves the skill is for the layout to refuse.
    """
    entries: list[Entry] = []
    found: list[Diagnostic] = []
    seen: set[str] = set()
    for info in infos:
        path = _path_of(info)
        if path == "":
            continue
        mode = info.external_attr >> 16
        if path.endswith("/") or stat.S_ISDIR(mode) or _is_dos_folder(info, mode):
            continue
        if fault := _refusal(info, path, mode):
            found.append(fault)
        elif path in seen:
            message = f"{shown(path)} is in the archive twice."
            found.append(error("entry_duplicate", message, place=Place(shown_path(path))))
        else:
            seen.add(path)
            entries.append(Entry(path, info))
    return entries, first_of_each(found)


def _path_of(info: zipfile.ZipInfo) -> str:
    """Return the name as its bytes spell it, with Windows separators turned.

    zipfile cuts ``filename`` at a NUL, and reads names without the UTF-8 flag as code page 437,
    which hardly any tool means today.
    """
    name = info.orig_filename
    if not info.flag_bits & _UTF8:
        try:
            name = name.encode("cp437").decode("utf-8")
        except UnicodeError:
            name = info.orig_filename
    return name.replace("\\", "/").removeprefix("./")


def _is_dos_folder(info: zipfile.ZipInfo, mode: int) -> bool:
    return not mode and bool(info.external_attr & _DOS_DIRECTORY) and info.file_size == 0


def _refusal(info: zipfile.ZipInfo, path: str, mode: int) -> Diagnostic | None:
    place = Place(shown_path(path))
    if stat.S_ISLNK(mode):
        hint = "Put the file itself there."
        message = f"{shown(path)} is a symbolic link."
        return error("entry_link", message, place=place, hint=hint)
    if stat.S_IFMT(mode) not in {0, stat.S_IFREG}:
        return error("entry_special", f"{shown(path)} is not a regular file.", place=place)
    if info.flag_bits & _ENCRYPTED:
        hint = "Pack the skill without a password."
        message = f"{shown(path)} is encrypted."
        return error("entry_encrypted", message, place=place, hint=hint)
    if info.compress_type not in _METHODS:
        message = f"{shown(path)} is compressed with method {info.compress_type}."
        hint = "Pack the skill with the deflate method."
        return error("entry_compression", message, place=place, hint=hint)
    return None
