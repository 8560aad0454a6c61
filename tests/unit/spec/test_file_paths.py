"""What a file of a skill may be called, and which paths a request may ask for."""

from __future__ import annotations

import tracemalloc

import pytest

from skill_registry.errors import FileNotFound, PathInvalid
from skill_registry.spec.model import Limits
from skill_registry.spec.names import check_path, clean_path, find_collisions

_SOUND = [
    "SKILL.md",
    "references/spring harvest.md",
    "references/c++.md",
    "references/100%.md",
    "references/café.md",
    "a/b/c/d/e/f/g/h/i/j",
    ".hidden/x",
    "~/x",
    "...",
]


@pytest.mark.parametrize("path", _SOUND)
def test_a_plain_relative_path_is_sound(path: str) -> None:
    assert check_path(path) == []
    assert clean_path(path) == path


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("", "path_empty"),
        ("/etc/hostname", "path_absolute"),
        ("C:/x", "path_absolute"),
        ("c:x", "path_absolute"),
        ("../x", "path_traversal"),
        ("a/..", "path_traversal"),
        ("a/./x", "path_segment"),
        ("a//x", "path_segment"),
        ("a/", "path_segment"),
        (".", "path_segment"),
        ("a\\b.md", "path_backslash"),
        ("a\x00.md", "path_control"),
        ("a\nb.md", "path_control"),
        ("a\u2028b.md", "path_control"),
        ("a\x85b.md", "path_control"),
        ("a\udc80.md", "path_not_utf8"),
        ("cafe\u0301.md", "path_not_nfc"),
    ],
)
def test_a_path_that_breaks_a_rule_is_refused(path: str, code: str) -> None:
    assert [found.code for found in check_path(path)] == [code]
    if path:
        with pytest.raises(PathInvalid) as refused:
            clean_path(path)
        assert refused.value.code == "skill_path_invalid"


def test_every_broken_rule_of_a_path_is_named() -> None:
    codes = [found.code for found in check_path("/a/..\\../x\x00")]
    assert codes == ["path_absolute", "path_backslash", "path_control"]


def test_the_length_of_a_path_is_bytes_and_its_depth_segments() -> None:
    limits = Limits(path_bytes=5, path_depth=2)
    assert check_path("éé", limits) == []
    (long,) = check_path("ééé", limits)
    assert (long.code, long.limit, long.actual) == ("path_too_long", 5, 6)
    (deep,) = check_path("a/b/c", limits)
    assert (deep.code, deep.limit, deep.actual) == ("path_too_deep", 2, 3)


@pytest.mark.parametrize("path", [None, "", "SKILL.md"])
def test_no_path_is_the_skill_itself(path: str | None) -> None:
    assert clean_path(path) == "SKILL.md"


@pytest.mark.parametrize(
    "path",
    ["%2e%2e%2fother", "..%2Fother%2FSKILL.md", "references/%00.md", "a%5Cb.md", "%2Fetc/hostname"],
)
def test_a_path_that_one_more_decoding_turns_bad_is_refused(path: str) -> None:
    with pytest.raises(PathInvalid):
        clean_path(path)


def test_the_version_sidecar_is_no_file_of_the_skill() -> None:
    with pytest.raises(FileNotFound):
        clean_path(".version")


@pytest.mark.parametrize(
    ("paths", "codes"),
    [
        (["a.md", "b.md", "a/b.md"], []),
        (["a.md", "A.md"], ["path_collision"]),
        (["straße.md", "STRASSE.md"], ["path_collision"]),
        (["café.md", "cafe\u0301.md"], ["path_collision"]),
        (["dir/a.md", "DIR/A.md"], ["path_collision"]),
        (["a.md", "a.md"], ["path_duplicate"]),
        (["a", "a/b.md"], ["path_file_and_directory"]),
        (["A/b.md", "a"], ["path_file_and_directory"]),
    ],
)
def test_paths_that_some_file_system_confuses_are_named(paths: list[str], codes: list[str]) -> None:
    found = find_collisions(paths)
    assert [one.code for one in found] == codes


def test_a_collision_names_both_paths() -> None:
    (found,) = find_collisions(["notes/A.md", "notes/a.md"])
    assert "notes/A.md" in found.message
    assert "notes/a.md" in found.message


def test_a_path_of_many_segments_costs_little_memory() -> None:
    path = "a/" * 30_000 + "b"
    tracemalloc.start()
    find_collisions([path, path + "c"])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 * 1024 * 1024
