"""Ignore files count as git counts them."""

from __future__ import annotations

import random
import subprocess
from typing import TYPE_CHECKING

import pytest

from skill_registry.agent.ignore import IgnoreRules, read_rules

if TYPE_CHECKING:
    from pathlib import Path


def _rules(text: str, directory: str = "", above: IgnoreRules | None = None) -> IgnoreRules:
    rules, found = read_rules(f"{directory}.gitignore", text.encode())
    assert found == []
    return (above or IgnoreRules()).extended(directory, rules)


@pytest.mark.parametrize(
    ("text", "ignored", "kept"),
    [
        ("*.log", ["a.log", "sub/b.log"], ["log", "a.log.txt"]),
        ("/top", ["top"], ["sub/top"]),
        ("a/b", ["a/b"], ["c/a/b"]),
        ("**/b", ["b", "a/b"], ["ab"]),
        ("a/**/z", ["a/z", "a/b/c/z"], ["z"]),
        ("*.md\n!keep.md", ["drop.md"], ["keep.md", "sub/keep.md"]),
        ("!keep.md\n*.md", ["keep.md"], []),
        ("docs/*\n!docs/keep.md", ["docs/x"], ["docs/keep.md"]),
        ("# note\n\n\\#real\n\\!real", ["#real", "!real"], ["# note", "real"]),
        ("trailing   \nkept\\ ", ["trailing", "kept "], ["kept"]),
        ("\ufeffmarked", ["marked"], []),
        ("one\r\ntwo\r\n", ["one", "two"], []),
        ("[ab].txt", ["a.txt", "b.txt"], ["c.txt"]),
        ("Drop", ["Drop"], ["drop"]),
        ("ünï", ["ünï", "sub/ünï"], []),
    ],
)
def test_patterns_of_one_file(text: str, ignored: list[str], kept: list[str]) -> None:
    rules = _rules(text)
    assert [path for path in ignored if not rules.ignores(path, is_directory=False)] == []
    assert [path for path in kept if rules.ignores(path, is_directory=False)] == []


def test_a_slash_at_the_end_speaks_of_directories_only() -> None:
    rules = _rules("build/\n*\n!*/\n!*.md")
    assert rules.ignores("other.txt", is_directory=False)
    assert not rules.ignores("other", is_directory=True)
    assert not rules.ignores("build", is_directory=True)
    assert _rules("build/").ignores("build", is_directory=True)
    assert not _rules("build/").ignores("build", is_directory=False)


def test_patterns_of_a_subdirectory_hold_below_it_only() -> None:
    rules = _rules("/only\nany", "sub/")
    assert rules.ignores("sub/only", is_directory=False)
    assert not rules.ignores("sub/deep/only", is_directory=False)
    assert rules.ignores("sub/deep/any", is_directory=False)


def test_a_deeper_file_takes_back_what_a_higher_one_ignores() -> None:
    rules = _rules("!keep.log", "sub/", above=_rules("*.log"))
    assert not rules.ignores("sub/keep.log", is_directory=False)
    assert rules.ignores("sub/other.log", is_directory=False)
    assert rules.ignores("keep.log", is_directory=False)


def test_taking_back_a_directory_takes_back_nothing_in_it_by_itself() -> None:
    rules = _rules("!keep/", "sub/", above=_rules("*.log"))
    assert not rules.ignores("sub/keep", is_directory=True)
    assert rules.ignores("sub/keep/a.log", is_directory=False)


def test_a_line_that_is_no_pattern_is_reported_and_the_others_count() -> None:
    rules, found = read_rules("sub/.ignore", b"a\n!\nb\\\nc\n")
    held = IgnoreRules().extended("sub/", rules)
    assert [held.ignores(f"sub/{name}", is_directory=False) for name in "abc"] == [
        True,
        False,
        True,
    ]
    assert [(each.code, each.file, each.line) for each in found] == [
        ("ignore_pattern_invalid", "sub/.ignore", 2),
        ("ignore_pattern_invalid", "sub/.ignore", 3),
    ]


def test_names_that_are_no_utf8_match_as_they_are_spelled() -> None:
    rules, _ = read_rules(".gitignore", b"caf\xe9\n")
    assert IgnoreRules().extended("", rules).ignores("caf\udce9", is_directory=False)


def test_a_character_class_in_brackets_warns_nobody() -> None:
    rules, found = read_rules(".gitignore", b"[[:alpha:]]\n[\n")
    assert found == []
    assert len(rules) <= 1


_NAMES = ["a", "b", "x.txt", "foo", "keep.md", "[q]", "a b", "ä"]
_PATTERNS = """\
*
!*/
*.txt
!keep.md
a/
/a
a/b
a/**
**/b
a/**/b
!a/
!b
foo
!foo/
/foo/*
!/foo/keep.md
**/foo/*
a*
[ab]
!x.txt
/*
!/a
!/a/
**
a/*/b/
!**/keep.md
\\[q\\]
a\\ b
ä
b/x.txt
!b/x.txt
*/b
**/
!/**/x.txt
a/b/**
# note""".splitlines()


def _grow(root: Path, chance: random.Random) -> None:
    """Make a small tree of random names with a few random ignore files."""
    directories = [root]
    for _ in range(3):
        for directory in list(directories):
            for name in chance.sample(_NAMES, 3):
                path = directory / name
                if path.exists():
                    continue
                if chance.random() < 0.5:
                    path.mkdir()
                    directories.append(path)
                else:
                    path.write_text("x")
    for directory in chance.sample(directories, min(3, len(directories))):
        lines = chance.choices(_PATTERNS, k=chance.randint(1, 5))
        (directory / ".gitignore").write_text("\n".join(lines) + "\n", "utf-8")


def _walk(root: Path, prefix: str, rules: IgnoreRules) -> set[str]:
    own = root / prefix / ".gitignore"
    if own.is_file():
        rules = rules.extended(prefix, read_rules(".gitignore", own.read_bytes())[0])
    found: set[str] = set()
    for entry in (root / prefix).iterdir():
        path = prefix + entry.name
        if entry.name == ".git" or rules.ignores(path, is_directory=entry.is_dir()):
            continue
        found |= _walk(root, f"{path}/", rules) if entry.is_dir() else {path}
    return found


def test_random_trees_keep_exactly_what_git_keeps(tmp_path: Path) -> None:
    chance = random.Random(20)
    for number in range(60):
        (tmp_path / f"tree{number}").mkdir()
        _grow(tmp_path / f"tree{number}", chance)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    command = ["git", "ls-files", "-z", "--others", "--exclude-per-directory=.gitignore"]
    listed = subprocess.check_output(command, cwd=tmp_path).decode().split("\0")
    assert _walk(tmp_path, "", IgnoreRules()) == set(filter(None, listed))
