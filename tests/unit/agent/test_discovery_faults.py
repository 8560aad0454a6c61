"""What a disk may hold costs its neighbours nothing, and is named."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from trees import grow

from skill_registry.agent.discovery import discover
from skill_registry.agent.walking import MOST_IGNORE_BYTES, walk
from skill_registry.errors import SkillInvalid
from skill_registry.spec.model import Limits, Severity

if TYPE_CHECKING:
    from skill_registry.agent.discovery import Discovered

_GOOD = "---\nname: {0}\ndescription: Grows beans.\n---\nWater them.\n"


def _found(root: Path, *sources: str) -> Discovered:
    return discover(sources or ["."], defaults=False, cwd=root)


def _names(found: Discovered) -> list[str]:
    return [skill.name for skill in found.skills]


def _deep(root: Path, levels: int) -> str:
    """Make directories one in another, further down than a path can say; return the last one."""
    here = os.open(root, os.O_RDONLY)
    for number in range(levels):
        name = f"{number:02d}".ljust(200, "d")
        os.mkdir(name, dir_fd=here)
        inner = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    return name


def test_a_directory_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    grow(tmp_path, {"pots/SKILL.md": _GOOD.format("pots")})
    (tmp_path / "deep").mkdir()
    _deep(tmp_path / "deep", 25)
    found = _found(tmp_path)
    assert _names(found) == ["pots"]
    (said,) = found.diagnostics
    assert (said.severity, said.code) == (Severity.ERROR, "unreadable")
    assert "too long" in said.message
    with pytest.raises(SkillInvalid, match="deep"):
        discover([tmp_path], defaults=False, strict=True)


def test_a_named_path_that_cannot_be_asked_is_an_error(tmp_path: Path) -> None:
    grow(tmp_path, {"pots/SKILL.md": _GOOD.format("pots")}, {"circle": "circle"})
    found = _found(tmp_path, "circle", "n" * 300, "pots/SKILL.md/below", "pots")
    assert _names(found) == ["pots"]
    assert [each.code for each in found.diagnostics] == [
        "unreadable",
        "unreadable",
        "source_missing",
    ]


def test_pipes_and_sockets_are_not_waited_for(tmp_path: Path) -> None:
    grow(tmp_path, {"pots/SKILL.md": _GOOD.format("pots"), "kit/inner/SKILL.md": "x\n"})
    os.mkfifo(tmp_path / "kit/SKILL.md")
    os.mkfifo(tmp_path / "loose.md")
    os.mkfifo(tmp_path / ".gitignore")
    found = _found(tmp_path, ".", "loose.md")
    assert _names(found) == ["pots"]
    assert [each.code for each in found.diagnostics] == [
        "frontmatter_missing",
        "source_not_markdown",
    ]


def test_a_file_over_the_limit_is_not_read(tmp_path: Path) -> None:
    grow(tmp_path, {"big/SKILL.md": _GOOD.format("big"), "small/SKILL.md": _GOOD.format("small")})
    with (tmp_path / "big/SKILL.md").open("ab") as file:
        file.truncate(500_000_000)
    limits = Limits(file_bytes=1_000)
    found = discover([tmp_path], defaults=False, limits=limits)
    assert _names(found) == ["small"]
    (said,) = found.diagnostics
    assert (said.code, said.limit, said.actual) == ("file_too_large", 1_000, 500_000_000)
    assert said.file == str(tmp_path / "big/SKILL.md")


def test_an_ignore_file_over_the_limit_counts_for_nothing(tmp_path: Path) -> None:
    grow(tmp_path, {"pots/SKILL.md": _GOOD.format("pots"), ".ignore": "pots\n"})
    with (tmp_path / ".ignore").open("ab") as file:
        file.truncate(MOST_IGNORE_BYTES + 1)
    found = _found(tmp_path)
    assert _names(found) == ["pots"]
    assert [each.code for each in found.diagnostics] == ["ignore_file_skipped"]


def test_an_ignore_file_that_is_a_directory_counts_for_nothing(tmp_path: Path) -> None:
    grow(tmp_path, {"pots/SKILL.md": _GOOD.format("pots"), ".gitignore/x": "pots\n"})
    assert (_names(_found(tmp_path)), _found(tmp_path).diagnostics) == (["pots"], ())


def test_names_that_are_no_utf8_are_named_in_utf8(tmp_path: Path) -> None:
    grow(tmp_path, {os.fsdecode(b"caf\xe9/SKILL.md"): _GOOD.format("cafe")})
    found = _found(tmp_path)
    assert _names(found) == ["caf\\udce9"]
    assert {each.code for each in found.diagnostics} == {"name_mismatch"}
    for each in found.diagnostics:
        str(each.file).encode()
        each.message.encode()


def test_control_characters_of_a_path_reach_no_terminal(tmp_path: Path) -> None:
    grow(tmp_path, {"a\nb\x1b[31m/SKILL.md": "x\n"})
    (said,) = _found(tmp_path).diagnostics
    assert str(said.file).isprintable()
    assert said.message.isprintable()


def test_a_search_ends_after_so_many_directories(tmp_path: Path) -> None:
    grow(tmp_path, {f"{number:02d}/SKILL.md": _GOOD.format("x") for number in range(20)})
    walked = walk(tmp_path, most=10)
    assert len(walked.files) == 9
    (said,) = walked.diagnostics
    assert (said.severity, said.code, said.limit) == (Severity.ERROR, "search_cut", 10)


def test_a_tree_within_the_limit_is_looked_through(tmp_path: Path) -> None:
    grow(tmp_path, {f"{number:02d}/SKILL.md": _GOOD.format("x") for number in range(9)})
    walked = walk(tmp_path, most=10)
    assert (len(walked.files), walked.diagnostics) == (9, ())


def test_many_links_to_each_other_are_entered_once(tmp_path: Path) -> None:
    files = {f"{number}/pots-{number}/SKILL.md": _GOOD.format("x") for number in range(6)}
    links = {f"{a}/to-{b}": f"../{b}" for a in range(6) for b in range(6) if a != b}
    found = _found(grow(tmp_path, files, links))
    assert [skill.path for skill in found.skills] == [
        tmp_path / f"{number}/pots-{number}/SKILL.md" for number in range(6)
    ]


def test_what_becomes_a_pipe_before_it_is_opened_makes_nobody_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = (".gitignore", "SKILL.md", "pots.md")
    grow(tmp_path, {"a/.gitignore": "x\n", "a/SKILL.md": "", "pots.md": _GOOD.format("pots")})
    real = os.open
    opened: list[str] = []

    def swap(path: str | Path, flags: int, *args: int) -> int:
        if (name := Path(path).name) in names:
            opened.append(name)
            Path(path).unlink()
            os.mkfifo(path)
        return real(path, flags, *args)

    monkeypatch.setattr(os, "open", swap)
    found = _found(tmp_path)
    assert (_names(found), sorted(opened)) == ([], sorted(names))
    assert [each.code for each in found.diagnostics] == [
        "ignore_file_skipped",
        "unreadable",
        "unreadable",
    ]
    assert all("regular file" in each.message for each in found.diagnostics)
