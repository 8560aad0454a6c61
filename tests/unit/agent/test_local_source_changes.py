"""A directory that somebody writes to while it is read: one state, or a refusal."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from skill_registry.agent.local import LocalSource
from skill_registry.agent.problems import SourceUnreadable
from skill_registry.agent.source import SkillQuery
from skill_registry.errors import SkillNotFound


def text(head: str = "", body: str = "one") -> str:
    return f"---\nname: ant\ndescription: Does {body}.\n{head}---\n{body}\n"


@pytest.fixture
def ant(tmp_path: Path) -> Path:
    directory = tmp_path / "ant"
    directory.mkdir()
    (directory / "SKILL.md").write_text(text())
    (directory / "a.txt").write_text("old")
    (directory / "b.txt").write_text("old")
    return directory


@pytest.fixture
def on_open(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable[[int], None]], list[str]]:
    """Call somebody, with the count, when a file of a name was opened: a SKILL.md to be discovered,
    then each file twice.
    """

    def hook(name: str, act: Callable[[int], None]) -> list[str]:
        real = os.open
        opened: list[str] = []

        def open_and_act(path: str | Path, flags: int, *args: int) -> int:
            descriptor = real(path, flags, *args)
            if Path(path).name == name:
                opened.append(name)
                act(len(opened))
            return descriptor

        monkeypatch.setattr(os, "open", open_and_act)
        return opened

    return hook


def test_a_change_in_between_is_read_again(ant: Path, on_open: Callable[..., list[str]]) -> None:
    def act(count: int) -> None:
        if count == 1:
            for name in ("a.txt", "b.txt"):
                (ant / name).write_text("new")

    opened = on_open("b.txt", act)
    copy = LocalSource(ant.parent).load_skill("ant")
    assert copy is not None
    assert {file.data for file in copy.files if file.path != "SKILL.md"} == {b"new"}
    assert len(opened) > 2


def test_a_directory_that_keeps_changing_is_not_read_half(
    ant: Path, on_open: Callable[..., list[str]]
) -> None:
    opened = on_open("a.txt", lambda count: (ant / "a.txt").write_text(str(count)))
    with pytest.raises(SourceUnreadable, match="changes faster") as refused:
        LocalSource(ant.parent).load_skill("ant")
    assert refused.value.code == "source_unreadable"
    assert len(opened) == 10


def test_a_file_that_is_away_for_a_moment_is_waited_for(
    ant: Path, on_open: Callable[..., list[str]]
) -> None:
    def act(count: int) -> None:
        if count == 1:
            (ant / "b.txt").unlink()
        else:
            (ant / "b.txt").write_text("new")

    on_open("a.txt", act)
    copy = LocalSource(ant.parent).load_skill("ant")
    assert copy is not None
    assert {file.path: file.data for file in copy.files}["b.txt"] == b"new"


def test_a_file_that_stays_unreadable_is_named(ant: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open

    def refuse(path: str | Path, flags: int, *args: int) -> int:
        if Path(path).name == "a.txt":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, flags, *args)

    monkeypatch.setattr(os, "open", refuse)
    source = LocalSource(ant.parent)
    for call in (source.load_skill, source.view_skill):
        with pytest.raises(SourceUnreadable, match=r"ant/a\.txt: permission denied") as refused:
            call("ant")
        assert refused.value.code == "source_unreadable"
    assert [skill.name for skill in source.list_all().skills] == ["ant"]


def test_what_is_told_of_a_copy_is_of_its_own_bytes(
    ant: Path, on_open: Callable[..., list[str]]
) -> None:
    (ant / "SKILL.md").write_text(text("version: 1.1\n"))

    def act(count: int) -> None:
        if count == 2:
            (ant / "SKILL.md").write_text(text("version: 2.2\n", "two"))

    on_open("SKILL.md", act)
    view = LocalSource(ant.parent).view_skill("ant")
    assert (view.version, view.data) == ("2.2", b"two\n")
    assert view.metadata["description"] == "Does two."


def test_a_number_belongs_to_the_files_beside_it(
    ant: Path, on_open: Callable[..., list[str]]
) -> None:
    (ant / ".version").write_text("1")

    def act(count: int) -> None:
        if count == 1:
            (ant / "a.txt").write_text("new")
            (ant / ".version").write_text("2")

    on_open("a.txt", act)
    copy = LocalSource(ant.parent).load_skill("ant")
    assert copy is not None
    assert (copy.version, copy.files[1].data) == (2, b"new")


def test_who_may_see_a_skill_is_what_its_own_bytes_say(
    ant: Path, on_open: Callable[..., list[str]]
) -> None:
    def act(count: int) -> None:
        if count == 2:
            (ant / "SKILL.md").write_text(text("agents: [dba]\n"))

    on_open("SKILL.md", act)
    with pytest.raises(SkillNotFound):
        LocalSource(ant.parent).view_skill("ant", query=SkillQuery(agent="review"))
    assert "dba" in (ant / "SKILL.md").read_text()


def test_a_skill_that_is_taken_away_meanwhile_is_not_found(
    ant: Path, on_open: Callable[..., list[str]]
) -> None:
    def act(count: int) -> None:
        if count == 2:
            (ant / "SKILL.md").unlink()

    on_open("SKILL.md", act)
    with pytest.raises(SkillNotFound):
        LocalSource(ant.parent).load_skill("ant")
    assert not (ant / "SKILL.md").exists()


def test_equal_sizes_and_times_hide_no_change(ant: Path) -> None:
    source = LocalSource(ant.parent)
    before = source.load_skill("ant")
    status = (ant / "a.txt").stat()
    (ant / "a.txt").write_text("new")
    os.utime(ant / "a.txt", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert before is not None
    after = source.load_skill("ant", known=before.tag)
    assert after is not None
    assert after.files[1].data == b"new"
