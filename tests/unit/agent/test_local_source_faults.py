"""What may lie in a skill's directory costs nobody a wait, a crash or another file."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from trees import grow

from skill_registry.agent.local import LocalSource
from skill_registry.agent.mount import Mount
from skill_registry.agent.problems import SourceUnreadable
from skill_registry.agent.walking import MOST_IGNORE_BYTES
from skill_registry.errors import SkillInvalid
from skill_registry.spec.model import Limits

SKILL = "---\nname: ant\ndescription: Does one.\nversion: 2.3\n---\nBody.\n"


@pytest.fixture
def ant(tmp_path: Path) -> Path:
    return grow(tmp_path / "skills", {"ant/SKILL.md": SKILL}) / "ant"


def _paths(ant: Path) -> list[str]:
    copy = LocalSource(ant.parent).load_skill("ant")
    assert copy is not None
    return [file.path for file in copy.files]


def _left_out(ant: Path) -> list[tuple[str, str]]:
    told = LocalSource(ant.parent).view_skill("ant").answer.get("diagnostics", [])
    assert {each["severity"] for each in told} <= {"warning"}
    return [(each["code"], each["file"]) for each in told]


def _reach(directory: Path, levels: int) -> None:
    """Make directories one in another with a file in the last."""
    here = os.open(directory, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(os.open("x", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


@pytest.mark.parametrize("kind", ["pipe", "device", "directory", "link", "long", "letters", "none"])
def test_a_sidecar_that_states_no_number_counts_for_nothing(ant: Path, kind: str) -> None:
    sidecar = ant / ".version"
    if kind == "pipe":
        os.mkfifo(sidecar)
    elif kind == "device":
        sidecar.symlink_to("/dev/zero")
    elif kind == "directory":
        sidecar.mkdir()
    elif kind == "link":
        grow(ant.parent, {"number": "4"})
        sidecar.symlink_to("../number")
    elif kind != "none":
        sidecar.write_text({"long": "1" * 1000, "letters": "４"}[kind])
    source = LocalSource(ant.parent)
    assert source.list_all().skills[0].version == "2.3"
    assert source.view_skill("ant").version == "2.3"


def test_links_and_what_is_no_file_are_left_out_and_told(ant: Path) -> None:
    grow(ant.parent, {"secret": "s", "more/a": "a"}, {"ant/in": "SKILL.md", "ant/out": "../secret"})
    (ant / "folder").symlink_to("../more")
    (ant / "loop").symlink_to(".")
    os.mkfifo(ant / "pipe")
    assert _paths(ant) == ["SKILL.md"]
    assert _left_out(ant) == [
        ("link_skipped", "folder"),
        ("link_skipped", "in"),
        ("link_skipped", "loop"),
        ("link_skipped", "out"),
        ("special_file_skipped", "pipe"),
    ]


def test_a_name_that_no_skill_can_have_costs_only_its_own_file(ant: Path, tmp_path: Path) -> None:
    names = ["a\\b", "a\nb", os.fsdecode(b"\xff.txt"), "good.txt"]
    grow(ant, dict.fromkeys(names, "x"))
    copy = LocalSource(ant.parent).load_skill("ant")
    assert copy is not None
    assert [file.path for file in copy.files] == ["SKILL.md", "good.txt"]
    assert sorted(code for code, _ in _left_out(ant)) == [
        "path_backslash",
        "path_control",
        "path_not_utf8",
    ]
    assert Mount(tmp_path).put("ant", copy.files).name == "ant"


def test_what_a_system_left_is_told(ant: Path) -> None:
    grow(ant, {"Thumbs.db": "x"})
    assert _left_out(ant) == [("file_ignored", "Thumbs.db")]


@pytest.mark.parametrize("levels", [70, 300])
def test_directories_without_end_are_left_out_and_told(ant: Path, levels: int) -> None:
    _reach(ant, levels)
    assert _paths(ant) == ["SKILL.md"]
    assert [code for code, _ in _left_out(ant)] == ["path_too_deep"]


def test_a_path_that_the_system_cannot_open_is_named(ant: Path) -> None:
    here = os.open(ant, os.O_RDONLY)
    for _ in range(25):
        os.mkdir("d" * 200, dir_fd=here)
        inner = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    with pytest.raises(SourceUnreadable, match=r"ddd.*too long"):
        LocalSource(ant.parent).load_skill("ant")


def test_a_skill_md_that_its_own_ignore_file_names_is_still_read(ant: Path) -> None:
    grow(ant, {".gitignore": "*\n", ".fdignore": "!SKILL.md\n", "x": ""})
    assert _paths(ant) == ["SKILL.md"]
    assert _left_out(ant) == []


def test_an_ignore_file_that_is_too_long_counts_for_nothing(ant: Path) -> None:
    grow(ant, {"sub/.gitignore": "x\n" + "#" * MOST_IGNORE_BYTES, "sub/x": ""})
    assert _paths(ant) == ["SKILL.md", "sub/.gitignore", "sub/x"]
    assert _left_out(ant) == [("ignore_file_skipped", "sub/.gitignore")]


def test_without_pathspec_an_ignore_file_counts_for_nothing(
    ant: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(ant, {".gitignore": "x\n", "x": ""})
    monkeypatch.setitem(sys.modules, "pathspec", None)
    assert _paths(ant) == [".gitignore", "SKILL.md", "x"]
    assert _left_out(ant) == [("ignore_file_skipped", ".gitignore")]


@pytest.mark.parametrize(
    ("limits", "code", "file"),
    [
        (Limits(file_bytes=500), "file_too_large", "b.txt"),
        (Limits(files=2), "too_many_files", None),
        (Limits(total_bytes=500), "skill_too_large", None),
    ],
)
def test_a_skill_over_a_limit_is_listed_and_its_path_named_when_it_is_loaded(
    ant: Path, limits: Limits, code: str, file: str | None
) -> None:
    grow(ant, {"a.txt": "x" * 100, "b.txt": "x" * 1000})
    source = LocalSource(ant.parent, limits=limits)
    assert len(source.list_all().skills) == 1
    for call in (source.load_skill, source.view_skill):
        with pytest.raises(SkillInvalid, match=r"ant/SKILL\.md") as refused:
            call("ant")
        assert [(each.code, each.file) for each in refused.value.diagnostics] == [(code, file)]


def test_a_huge_file_is_not_read(ant: Path) -> None:
    with (ant / "huge").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(SkillInvalid) as refused:
        LocalSource(ant.parent).load_skill("ant")
    assert [each.code for each in refused.value.diagnostics] == ["skill_too_large"]


@pytest.mark.parametrize("source", ["\ud83d", "a\0b", "", "~nobody/x", "/dev/zero", "n" * 5000])
def test_a_source_that_is_none_is_told(tmp_path: Path, source: str) -> None:
    listed = LocalSource(source, cwd=tmp_path).list_all()
    assert listed.skills == ()
    assert len(listed.diagnostics) == 1
