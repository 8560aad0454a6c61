"""What a walk over a skill's directory tells, besides what packing and loading make of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from trees import grow

from skill_registry.agent.regular import read_regular
from skill_registry.agent.skill_files import gather


def test_every_file_that_cannot_be_taken_is_named(tmp_path: Path) -> None:
    grow(tmp_path, {".gitignore": "SKILL.md\n", "SKILL.md": "", os.fsdecode(b"\xfe"): "", "z": ""})
    found = gather(tmp_path)
    assert [file.path for file in found.files] == [".gitignore", "z"]
    assert [each.code for each in found.errors] == ["skill_md_ignored", "path_not_utf8"]
    assert found.over is None


def test_a_walk_stops_where_there_is_too_much(tmp_path: Path) -> None:
    grow(tmp_path, {"a": "x" * 60, "b": "x" * 60, "c": "x", "d/e": "x"})
    found = gather(tmp_path, most_bytes=100)
    assert [file.path for file in found.files] == ["a"]
    assert found.over is not None
    assert (found.over.code, found.over.limit, found.over.actual) == ("skill_too_large", 100, 120)


def test_no_more_is_read_than_asked_for(tmp_path: Path) -> None:
    grow(tmp_path, {"a": "x" * 60})
    assert read_regular(tmp_path / "a", 10) == (b"x" * 10, False)
    (tmp_path / "a").chmod(0o700)
    assert read_regular(tmp_path / "a", 100) == (b"x" * 60, True)


def test_only_regular_files_are_read_and_links_only_where_asked_for(tmp_path: Path) -> None:
    grow(tmp_path, {"a": "x"}, {"link": "a"})
    os.mkfifo(tmp_path / "pipe")
    assert read_regular(tmp_path / "link", 10, follow=True)[0] == b"x"
    for path, follow in (("link", False), ("pipe", False), ("pipe", True), (".", True)):
        with pytest.raises(OSError) as refused:
            read_regular(tmp_path / path, 10, follow=follow)
        assert refused.value.filename in (tmp_path / path, str(tmp_path / path))
