"""Discovery decides from names and listings alone."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest

from skill_registry.spec.discovery import (
    Claim,
    Collision,
    Entry,
    EntryKind,
    Plan,
    SourceKind,
    classify,
    expand,
    git_pattern,
    name_of,
    plan,
    settle,
)
from skill_registry.spec.model import Severity

_HOME = Path("/home/ann")
_HERE = Path("/garden")


def _file(name: str) -> Entry:
    return Entry(name, EntryKind.FILE)


def _directory(name: str) -> Entry:
    return Entry(name, EntryKind.DIRECTORY)


def _nothing(_name: str, _is_directory: bool) -> bool:
    return False


def test_a_skill_md_is_the_whole_plan_of_its_directory() -> None:
    entries = [_file("a.md"), _directory("b"), _file("SKILL.md")]
    assert plan(entries, at_root=True, ignores=_nothing) == Plan(skill=_file("SKILL.md"))


@pytest.mark.parametrize("kind", [EntryKind.DIRECTORY, EntryKind.BROKEN, EntryKind.OTHER])
def test_only_a_file_is_a_skill_md(kind: EntryKind) -> None:
    entries = [Entry("SKILL.md", kind, link=True), _directory("b")]
    found = plan(entries, at_root=False, ignores=_nothing)
    assert found.skill is None
    assert _directory("b") in found.directories


def test_an_ignored_skill_md_is_none() -> None:
    entries = [_file("SKILL.md"), _directory("b")]
    found = plan(entries, at_root=False, ignores=lambda name, _: name == "SKILL.md")
    assert found == Plan(directories=(_directory("b"),))


def test_a_plan_is_in_the_order_of_names() -> None:
    entries = [_directory(name) for name in ("b", "a", "B", "a-b")]
    found = plan(entries, at_root=True, ignores=_nothing)
    assert [entry.name for entry in found.directories] == ["B", "a", "a-b", "b"]


def test_dot_entries_and_node_modules_are_in_no_plan() -> None:
    entries = [_directory(".git"), _directory("node_modules"), _file(".a.md"), _file("a.MD")]
    assert plan(entries, at_root=True, ignores=_nothing) == Plan()


def test_loose_files_count_at_the_root_only() -> None:
    entries = [_file("a.md"), _file("a.txt")]
    assert plan(entries, at_root=True, ignores=_nothing) == Plan(loose=(_file("a.md"),))
    assert plan(entries, at_root=False, ignores=_nothing) == Plan()


def test_ignore_rules_are_asked_whether_it_is_a_directory() -> None:
    asked: list[tuple[str, bool]] = []

    def ignores(name: str, is_directory: bool) -> bool:
        asked.append((name, is_directory))
        return False

    plan([_directory("a"), _file("b.md"), _file(".c")], at_root=True, ignores=ignores)
    assert asked == [("a", True), ("b.md", False)]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/x/pots/SKILL.md", "pots"),
        ("/x/pots/skill.md", "pots"),
        ("/x/pots/notes.md", "notes"),
        ("/x/pots/v1.2.md", "v1.2"),
        ("/SKILL.md", "skill"),
        ("/x/.md", "skill"),
        ("/x/caf\udce9/SKILL.md", "caf\\udce9"),
    ],
)
def test_a_skill_goes_by_what_holds_it(path: str, name: str) -> None:
    assert name_of(PurePosixPath(path)) == name
    name_of(PurePosixPath(path)).encode()


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("~", "/home/ann"),
        ("~/kit", "/home/ann/kit"),
        ("~//kit/", "/home/ann/kit"),
        ("~/../eve", "/home/eve"),
        ("~eve/kit", "/garden/~eve/kit"),
        ("kit", "/garden/kit"),
        ("./kit/../bed", "/garden/bed"),
        (".", "/garden"),
        ("/else/kit", "/else/kit"),
    ],
)
def test_a_named_path_is_made_absolute(text: str, path: str) -> None:
    assert expand(text, home=_HOME, cwd=_HERE) == Path(path)


@pytest.mark.parametrize("text", ["", "a\0b"])
def test_what_is_no_path_has_no_place(text: str) -> None:
    assert expand(text, home=_HOME, cwd=_HERE) is None


def test_a_tilde_without_a_home_is_no_path() -> None:
    assert expand("~/kit", home=None, cwd=_HERE) is None
    assert expand("kit", home=None, cwd=_HERE) == Path("/garden/kit")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/u/skills", SourceKind.USER),
        ("/u/skills/a/b", SourceKind.USER),
        ("/u/skills-old", SourceKind.PATH),
        ("/u", SourceKind.PATH),
        ("/p/skills/a", SourceKind.PROJECT),
        ("/u/skills/p/a", SourceKind.USER),
    ],
)
def test_a_source_is_classified_by_whole_segments(path: str, kind: SourceKind) -> None:
    user, project = PurePosixPath("/u/skills"), PurePosixPath("/p/skills")
    assert classify(PurePosixPath(path), user=user, project=project) is kind


def test_letter_case_does_not_count_where_the_system_does_not_count_it() -> None:
    user = PureWindowsPath(r"C:\Users\Ann\.agents\skills")
    path = PureWindowsPath(r"c:\users\ANN\.agents\skills\pots")
    assert classify(path, user=user, project=None) is SourceKind.USER


def test_without_default_places_every_source_is_a_path() -> None:
    assert classify(PurePosixPath("/u"), user=None, project=None) is SourceKind.PATH


@pytest.mark.parametrize(
    ("line", "root", "below"),
    [
        ("foo", "foo", "/foo"),
        ("/foo", "foo", "/foo"),
        ("foo/", "foo/", "/foo/"),
        ("a/b", "a/b", "/a/b"),
        ("/a/b", "a/b", "/a/b"),
        ("**/b", "**/b", "/**/b"),
        ("*", "*", "/*"),
        ("!foo", "!foo", "!/foo"),
        ("!/foo", "!foo", "!/foo"),
        ("\\#foo", "\\#foo", "/\\#foo"),
        ("\\!foo", "\\!foo", "/\\!foo"),
        ("/#foo", "\\#foo", "/#foo"),
        ("/!foo", "\\!foo", "/!foo"),
        ("!/#foo", "!#foo", "!/#foo"),
        ("# note", "# note", "# note"),
        ("", "", ""),
        ("/", "/", "/"),
        ("!", "!", "!"),
    ],
)
def test_a_line_stands_for_a_git_pattern(line: str, root: str, below: str) -> None:
    assert git_pattern(line, at_root=True) == root
    assert git_pattern(line, at_root=False) == below


def test_the_first_claim_wins_and_each_loser_is_named() -> None:
    paths = [PurePosixPath(f"/{letter}/SKILL.md") for letter in "abcd"]
    claims = [Claim(name, path) for name, path in zip("xyxx", paths, strict=True)]
    kept, collisions = settle(claims)
    assert kept == [0, 1]
    assert collisions == [Collision("x", paths[0], paths[2]), Collision("x", paths[0], paths[3])]


def test_a_collision_names_winner_and_loser() -> None:
    said = Collision("pots", PurePosixPath("/a/SKILL.md"), PurePosixPath("/b/SKILL.md")).diagnostic
    assert (said.severity, said.code, said.file) == (
        Severity.COLLISION,
        "collision",
        "/b/SKILL.md",
    )
    assert "pots" in said.message
    assert "/a/SKILL.md" in said.message
