"""Archives whose bytes lie, and the canonical one."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zipfile
from typing import Any

import pytest
from zips import make_zip, skill_text

from skill_registry.spec.archive import (
    content_digest,
    read_archive,
    read_revision,
    write_archive,
)
from skill_registry.spec.model import Limits, SkillFile

_SKILL_MD: tuple[str, bytes, dict[str, Any]] = ("SKILL.md", skill_text(), {})
_MEBIBYTE = 1024 * 1024


def codes(data: bytes, limits: Limits | None = None) -> list[str]:
    contents = read_archive(data, limits=limits or Limits())
    return [found.code for found in contents.diagnostics]


def patched(data: bytes, signature: bytes, offset: int, value: bytes) -> bytes:
    """Overwrite a field of the last record that starts with a signature."""
    start = data.rindex(signature) + offset
    return data[:start] + value + data[start + len(value) :]


@pytest.mark.parametrize(
    "data", [b"", b"PK", b"not a zip", b"PK\x05\x06", b"PK\x05\x06" + bytes(18)]
)
def test_bytes_that_are_no_archive_are_refused(data: bytes) -> None:
    assert codes(data) in (["archive_invalid"], ["skill_md_missing"])


def test_a_cut_archive_is_refused() -> None:
    data = make_zip(_SKILL_MD)
    assert codes(data[:-30]) == ["archive_invalid"]
    assert codes(data[20:]) == ["entry_corrupt"]


def test_an_archive_over_its_limit_is_not_opened() -> None:
    data = make_zip(_SKILL_MD)
    assert codes(data, Limits(archive_bytes=len(data))) == []
    assert codes(data, Limits(archive_bytes=len(data) - 1)) == ["archive_too_large"]


def test_a_size_that_lies_is_found_in_the_bytes() -> None:
    data = make_zip(_SKILL_MD, ("a.bin", bytes(5_000), {}))
    smaller = patched(data, b"PK\x01\x02", 24, struct.pack("<L", 10))
    larger = patched(data, b"PK\x01\x02", 24, struct.pack("<L", 50_000))
    assert codes(smaller) == ["entry_corrupt"]
    assert codes(larger) == ["entry_corrupt"]


def test_a_wrong_checksum_is_found_in_the_bytes() -> None:
    data = patched(make_zip(_SKILL_MD, ("a.bin", b"abc", {})), b"PK\x01\x02", 16, bytes(4))
    assert codes(data) == ["entry_corrupt"]


def test_an_entry_under_two_names_is_refused() -> None:
    data = make_zip(_SKILL_MD, ("a.bin", b"abc", {}))
    renamed = patched(data, b"PK\x01\x02", 46, b"b")
    assert codes(renamed) == ["entry_corrupt"]


def test_an_encrypted_entry_is_refused() -> None:
    data = patched(make_zip(_SKILL_MD, ("a.bin", b"abc", {})), b"PK\x01\x02", 8, b"\x01\x00")
    assert codes(data) == ["entry_encrypted"]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_rare_compression_is_refused(method: int) -> None:
    assert codes(make_zip(_SKILL_MD, ("a.bin", b"abc", {"method": method}))) == [
        "entry_compression"
    ]


def test_a_stored_entry_is_as_good_as_a_deflated_one() -> None:
    data = make_zip(_SKILL_MD, ("a.bin", b"abc", {"method": zipfile.ZIP_STORED}))
    assert read_archive(data).files[1].data == b"abc"


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    data = make_zip(_SKILL_MD, ("a.bin", bytes(9 * _MEBIBYTE), {}))
    assert codes(data) == ["archive_ratio"]
    assert codes(data, Limits(file_bytes=_MEBIBYTE)) == ["file_too_large"]


def test_a_small_repetitive_archive_is_no_bomb() -> None:
    assert codes(make_zip(_SKILL_MD, ("a.csv", bytes(900_000), {}))) == []


def test_files_beyond_the_total_are_not_unpacked() -> None:
    data = make_zip(_SKILL_MD, ("a", bytes(600), {}), ("b", bytes(600), {}), ("c", bytes(9), {}))
    contents = read_archive(data, limits=Limits(total_bytes=1_000))
    assert [found.code for found in contents.diagnostics] == ["skill_too_large"]
    assert [file.path for file in contents.files] == ["SKILL.md", "a"]


def test_entries_are_counted_before_they_are_unpacked() -> None:
    data = make_zip(_SKILL_MD, *((f"{n}.md", b"", {}) for n in range(3)))
    assert codes(data, Limits(files=4)) == []
    assert codes(data, Limits(files=3)) == ["too_many_files"]


def test_a_directory_of_very_many_entries_is_not_even_listed() -> None:
    data = make_zip(_SKILL_MD, *((f"{n}.md", b"", {}) for n in range(3_000)))
    tracemalloc.start()
    found = codes(data, Limits(files=1))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == ["too_many_files"]
    assert peak < _MEBIBYTE


def test_a_directory_of_unknown_size_is_read_from_the_wide_record() -> None:
    data = make_zip(_SKILL_MD, *((f"{n}.md", b"", {}) for n in range(3_000)))
    end = data.rindex(b"PK\x05\x06")
    size, offset = struct.unpack_from("<2L", data, end + 12)
    wide = struct.pack(
        "<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 3_001, 3_001, size, offset
    ) + struct.pack("<4sLQL", b"PK\x06\x07", 0, end, 1)
    short = patched(data, b"PK\x05\x06", 12, b"\xff\xff\xff\xff\xff\xff\xff\xff")
    wider = short[:end] + wide + short[end:]
    assert len(zipfile.ZipFile(io.BytesIO(wider)).infolist()) == 3_001
    assert codes(wider, Limits(files=1)) == ["too_many_files"]


def test_a_name_in_utf8_needs_no_flag() -> None:
    data = make_zip(_SKILL_MD, ("caf\u00e9.md", b"x", {}))
    for signature in (b"PK\x01\x02", b"PK\x03\x04"):
        field = 8 if signature == b"PK\x01\x02" else 6
        data = patched(data, signature, field, b"\x00\x00")
    assert read_archive(data).files[1].path == "café.md"


def test_a_name_in_an_old_code_page_stays_readable() -> None:
    data = make_zip(_SKILL_MD, ("caff.md", b"x", {}))
    data = data.replace(b"caff.md", b"caf\x82.md")
    assert read_archive(data).files[1].path == "café.md"


def test_the_executable_bit_is_kept_and_no_other() -> None:
    contents = read_archive(
        make_zip(
            _SKILL_MD,
            ("run.sh", b"#!/bin/sh\n", {"mode": 0o104755}),
            ("plain.sh", b"#!/bin/sh\n", {"mode": 0o100644}),
            ("windows.sh", b"#!/bin/sh\n", {"system": 0}),
            ("data.csv", b"a,b\n", {"system": 0}),
        )
    )
    assert {file.path: file.mode for file in contents.files} == {
        "SKILL.md": "0644",
        "run.sh": "0755",
        "plain.sh": "0644",
        "windows.sh": "0755",
        "data.csv": "0644",
    }


def test_a_skill_at_the_limit_is_read_within_its_memory() -> None:
    noise = bytes(range(256)) * 4
    files = [SkillFile("SKILL.md", skill_text())]
    files += [SkillFile(f"{n}.bin", noise * 3_900) for n in range(4)]
    data = write_archive(files)
    limits = Limits(compression_ratio=10_000)
    tracemalloc.start()
    contents = read_archive(data, limits=limits)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert contents.diagnostics == ()
    assert sum(len(file.data) for file in contents.files) > 15 * _MEBIBYTE
    assert peak < 32 * _MEBIBYTE


def test_a_revision_is_packed_one_way_only() -> None:
    files = [
        SkillFile("z.md", b"z"),
        SkillFile("SKILL.md", skill_text()),
        SkillFile("é.md", b"e"),
        SkillFile("run.sh", b"#!/bin/sh\n", True),
    ]
    data = write_archive(files)
    assert data == write_archive(reversed(files))
    infos = zipfile.ZipFile(io.BytesIO(data)).infolist()
    assert [info.filename for info in infos] == ["SKILL.md", "run.sh", "z.md", "é.md"]
    assert {info.date_time for info in infos} == {(1980, 1, 1, 0, 0, 0)}
    assert [info.external_attr >> 16 for info in infos] == [0o100644, 0o100755, 0o100644, 0o100644]
    assert {info.create_system for info in infos} == {3}


def test_the_version_sidecar_is_in_no_archive_and_no_digest() -> None:
    files = (SkillFile("SKILL.md", skill_text()),)
    marked = (*files, SkillFile(".version", b"6\n"))
    assert write_archive(marked) == write_archive(files)
    assert content_digest(marked) == content_digest(files)


def test_a_damaged_revision_raises_value_error() -> None:
    data = write_archive([SkillFile("SKILL.md", skill_text() * 50)])
    for damaged in (b"", data[:-9], data[:60] + b"\x00\x00\x00" + data[63:]):
        with pytest.raises(ValueError, match="damaged"):
            read_revision(damaged)


def test_the_digest_is_of_paths_modes_and_bytes() -> None:
    plain = SkillFile("a", b"x")
    digests = {
        content_digest([plain]),
        content_digest([SkillFile("b", b"x")]),
        content_digest([SkillFile("a", b"y")]),
        content_digest([SkillFile("a", b"x", True)]),
    }
    assert len(digests) == 4
    assert content_digest([plain, SkillFile("b", b"")]) == content_digest(
        [SkillFile("b", b""), plain]
    )
