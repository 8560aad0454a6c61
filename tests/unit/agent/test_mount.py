"""Skills in a workspace: whole or not at all, nowhere else, and noticed when they change."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from mounts import Watched, expected, files, left_over, tree

from skill_registry.agent.mount import CopyFailed, Mount, MountChanged, MountedFile
from skill_registry.errors import FileNotFound, PathInvalid
from skill_registry.spec.model import SkillFile


def test_a_copy_is_every_file_as_it_is_and_nothing_else(tmp_path: Path) -> None:
    mounted = Mount(tmp_path).put("a", [*files(), SkillFile(".version", b"3\n")])
    assert mounted.directory == ".skills/a"
    assert tree(tmp_path) == {f".skills/a/{path}": data for path, data in expected().items()}
    assert left_over(tmp_path) == []


def test_executable_bits_are_kept_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        Mount(tmp_path).put("a", files())
    finally:
        os.umask(before)
    folder = tmp_path / ".skills" / "a"
    for directory in (folder.parent, folder, folder / "references/deep"):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o755
    assert stat.S_IMODE((folder / "scripts/run.py").stat().st_mode) == 0o755
    assert stat.S_IMODE((folder / "SKILL.md").stat().st_mode) == 0o644


def test_a_script_runs_from_the_workspace(tmp_path: Path) -> None:
    Mount(tmp_path).put("a", files())
    command = [sys.executable, ".skills/a/scripts/run.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "one\n"


def test_a_second_copy_replaces_the_first_and_what_scripts_left_in_it(tmp_path: Path) -> None:
    made = Mount(tmp_path)
    made.put("a", [*files(), SkillFile("old.txt", b"old")])
    (tmp_path / ".skills/a/out.txt").write_text("output")
    mounted = made.put("a", files("two"))
    assert tree(tmp_path / ".skills/a") == expected("two")
    assert made.read(mounted, "references/deep/er.md") == b"more of two"


@pytest.mark.parametrize(
    "path",
    [
        "../x",
        "/etc/passwd",
        "a\\b",
        "a/../../x",
        "",
        ".",
        "a//b",
        "a\0b",
        "c:/x" * 100,
    ],
)
def test_a_hostile_copy_is_refused_before_anything_is_touched(tmp_path: Path, path: str) -> None:
    with pytest.raises(CopyFailed):
        Mount(tmp_path).put("a", [*files(), SkillFile(path, b"x")])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("paths", [("a", "a/b"), ("A.md", "a.md"), ("x", "x")])
def test_paths_that_exclude_each_other_are_refused(tmp_path: Path, paths: tuple[str, str]) -> None:
    with pytest.raises(CopyFailed):
        Mount(tmp_path).put("a", [SkillFile(path, b"") for path in paths])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "../a", "a\0", ".staged-x"])
def test_a_name_that_is_none_for_a_directory_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(CopyFailed):
        Mount(tmp_path).put(name, files())
    with pytest.raises(CopyFailed):
        Mount(tmp_path).remove(name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a\\b", "a/../../x", "%2e%2e/x", "a\0b"])
def test_a_path_that_leaves_the_skill_is_refused_before_anything_is_touched(
    tmp_path: Path, path: str
) -> None:
    made = Mount(tmp_path)
    mounted = made.put("a", files())
    watched = Watched(lambda number, name, call: call())
    with pytest.MonkeyPatch.context() as patch, pytest.raises(PathInvalid) as refused:
        watched.install(patch)
        made.read(mounted, path)
    assert refused.value.code == "skill_path_invalid"
    assert watched.calls == 0


@pytest.mark.parametrize("path", ["../../x", "..", "a/../../../x", "{}/x", "./SKILL.md", ""])
def test_the_second_clamp_holds_where_the_first_was_passed(tmp_path: Path, path: str) -> None:
    (tmp_path / "x").write_bytes(b"outside")
    made = Mount(tmp_path)
    mounted = made.put("a", files())
    outside = MountedFile(sha256(b"outside").hexdigest(), len(b"outside"), executable=False)
    forged = replace(mounted, files={path.format(tmp_path): outside})
    assert made.changed(forged) == (path.format(tmp_path),)
    assert made.changed(replace(mounted, name="../.skills/a")) == tuple(mounted.files)


def test_a_path_that_is_no_file_of_the_skill_names_those_that_are(tmp_path: Path) -> None:
    made = Mount(tmp_path)
    mounted = made.put("a", files())
    (tmp_path / ".skills/a/out.txt").write_text("output")
    for path in ("out.txt", "references", "none.md", ".version", "references/.version"):
        with pytest.raises(FileNotFound) as refused:
            made.read(mounted, path)
        assert refused.value.available == tuple(sorted(expected()))


def test_at_most_twenty_paths_are_named(tmp_path: Path) -> None:
    made = Mount(tmp_path)
    mounted = made.put("a", [SkillFile(f"{number:02}.md", b"") for number in range(30)])
    with pytest.raises(FileNotFound) as refused:
        made.read(mounted, "none.md")
    assert len(refused.value.available) == 20


def _edit(folder: Path) -> None:
    (folder / "SKILL.md").write_text("---\nname: b\n---\nEVIL\n")


def _delete(folder: Path) -> None:
    (folder / "SKILL.md").unlink()


def _link(folder: Path) -> None:
    (folder / "SKILL.md").unlink()
    (folder / "SKILL.md").symlink_to("/etc/hostname")


def _fifo(folder: Path) -> None:
    (folder / "SKILL.md").unlink()
    os.mkfifo(folder / "SKILL.md")


def _directory(folder: Path) -> None:
    (folder / "SKILL.md").unlink()
    (folder / "SKILL.md").mkdir()


def _outside(folder: Path) -> None:
    elsewhere = folder.parent.parent / "elsewhere"
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere, target_is_directory=True)


def _gone(folder: Path) -> None:
    folder.rename(folder.parent.parent / "elsewhere")


EDITS = [_edit, _delete, _link, _fifo, _directory, _outside, _gone]


@pytest.mark.parametrize("edit", EDITS)
def test_a_change_is_noticed_and_the_next_copy_is_whole(
    tmp_path: Path, edit: Callable[[Path], None]
) -> None:
    made = Mount(tmp_path)
    mounted = made.put("a", files())
    assert made.changed(mounted) == ()
    edit(tmp_path / ".skills" / "a")
    assert "SKILL.md" in made.changed(mounted)
    with pytest.raises(MountChanged):
        made.read(mounted, "SKILL.md")
    made.put("a", files("two"))
    assert tree(tmp_path / ".skills" / "a") == expected("two")
    assert left_over(tmp_path) == []


@pytest.mark.parametrize(("put", "found"), [(b"", b"x"), (b"x", b""), (b"xy", b"xyz")])
def test_other_bytes_are_noticed_whatever_their_number(
    tmp_path: Path, put: bytes, found: bytes
) -> None:
    made = Mount(tmp_path)
    mounted = made.put("a", [SkillFile("SKILL.md", b"body"), SkillFile("data.txt", put)])
    assert made.read(mounted, "data.txt") == put
    (tmp_path / ".skills/a/data.txt").write_bytes(found)
    assert made.changed(mounted) == ("data.txt",)


def test_a_pipe_in_place_of_an_empty_file_is_noticed(tmp_path: Path) -> None:
    made = Mount(tmp_path)
    mounted = made.put("a", [SkillFile("data.txt", b"")])
    (tmp_path / ".skills/a/data.txt").unlink()
    os.mkfifo(tmp_path / ".skills/a/data.txt")
    assert made.changed(mounted) == ("data.txt",)


def test_a_script_that_lost_its_bit_is_changed_and_one_that_got_it_is_not(tmp_path: Path) -> None:
    made = Mount(tmp_path)
    mounted = made.put("a", files())
    (tmp_path / ".skills/a/SKILL.md").chmod(0o755)
    assert made.changed(mounted) == ()
    (tmp_path / ".skills/a/scripts/run.py").chmod(0o644)
    assert made.changed(mounted) == ("scripts/run.py",)


def test_further_files_are_no_change(tmp_path: Path) -> None:
    made = Mount(tmp_path)
    mounted = made.put("a", files())
    (tmp_path / ".skills/a/scripts/__pycache__").mkdir()
    (tmp_path / ".skills/a/scripts/__pycache__/run.pyc").write_bytes(b"x")
    assert made.changed(mounted) == ()


def test_a_folder_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    workspace.mkdir()
    outside.mkdir()
    (workspace / ".skills").symlink_to(outside, target_is_directory=True)
    why = r"\.skills is a link or a file"
    with pytest.raises(CopyFailed, match=why):
        Mount(workspace).put("a", files())
    with pytest.raises(CopyFailed, match=why):
        Mount(workspace).remove("a")
    assert list(outside.iterdir()) == []


def test_the_workspace_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "seen").symlink_to(tmp_path / "real", target_is_directory=True)
    Mount(tmp_path / "seen").put("a", files())
    assert tree(tmp_path / "real" / ".skills" / "a") == expected()


def test_a_relative_workspace_stays_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "w").mkdir()
    monkeypatch.chdir(tmp_path / "w")
    made = Mount(".")
    monkeypatch.chdir(tmp_path)
    made.put("a", files())
    assert tree(tmp_path / "w" / ".skills" / "a") == expected()


@pytest.mark.parametrize("workspace", ["none", "file", "file/below", "x" * 300, "a\0b"])
def test_a_workspace_that_cannot_be_opened_is_told_as_such(tmp_path: Path, workspace: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CopyFailed) as refused:
        Mount(tmp_path / workspace).put("a", files())
    assert refused.value.code == "skill_copy_failed"
    assert refused.value.message.startswith("`a` was not copied to .skills/ in the workspace: ")
    assert isinstance(refused.value.__cause__, OSError | ValueError)
    assert str(tmp_path) not in refused.value.message


@pytest.mark.parametrize("name", ["é" * 128, "ö" * 128])
def test_a_name_that_is_too_long_for_the_disk_leaves_nothing(tmp_path: Path, name: str) -> None:
    with pytest.raises(CopyFailed, match="file name too long"):
        Mount(tmp_path).put(name, files())
    assert left_over(tmp_path) == []


def test_removing_takes_all_of_it_and_follows_no_link(tmp_path: Path) -> None:
    made = Mount(tmp_path)
    made.put("a", files())
    made.put("b", files())
    canary = tmp_path / "canary"
    canary.write_text("safe")
    folder = tmp_path / ".skills" / "a"
    (folder / "link").symlink_to(tmp_path, target_is_directory=True)
    (folder / "references").chmod(0o555)
    folder.chmod(0o555)
    made.remove("a")
    made.remove("a")
    assert not folder.exists()
    assert left_over(tmp_path) == []
    assert canary.read_text() == "safe"
    assert tree(tmp_path / ".skills" / "b") == expected()


def test_a_copy_that_is_nested_deeper_than_any_stack_is_removed(tmp_path: Path) -> None:
    made = Mount(tmp_path)
    made.put("a", files())
    bottom = os.open(tmp_path / ".skills" / "a", os.O_RDONLY)
    for _ in range(1_500):
        os.mkdir("d", dir_fd=bottom)
        below = os.open("d", os.O_RDONLY, dir_fd=bottom)
        os.close(bottom)
        bottom = below
    os.close(bottom)
    made.remove("a")
    assert list((tmp_path / ".skills").iterdir()) == []


def test_removing_where_nothing_was_ever_put_does_nothing(tmp_path: Path) -> None:
    Mount(tmp_path).remove("a")
    Mount(tmp_path / "none").remove("a")
    assert list(tmp_path.iterdir()) == []


def test_without_a_folder_copies_lie_in_the_workspace_beside_their_version(tmp_path: Path) -> None:
    made = Mount(tmp_path, folder=None)
    mounted = made.put("a", files(), version=12)
    assert mounted.directory == "a"
    assert tree(tmp_path / "a") == {**expected(), ".version": b"12\n"}
    assert made.changed(mounted) == ()
    made.put("a", files("two"))
    assert tree(tmp_path) == {f"a/{path}": data for path, data in expected("two").items()}
    made.remove("a")
    assert list(tmp_path.iterdir()) == []


def test_what_only_looks_like_a_leftover_stays(tmp_path: Path) -> None:
    names = [".staged-mine", ".aside-0123456789abcde-0", "x.staged-0123456789abcdef"]
    for name in names:
        (tmp_path / name).mkdir()
    (tmp_path / ".staged-0123456789abcdef").mkdir()
    Mount(tmp_path, folder=None).put("a", files())
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["a", *names])
