"""Skills in a workspace: whole or not at all, nowhere else, and noticed when they change."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from skill_registry.agent import clamped, mount
from skill_registry.agent.mount import CopyFailed, Mount, MountChanged
from skill_registry.errors import FileNotFound, PathInvalid
from skill_registry.spec.model import SkillFile

ROOT = Path(__file__).resolve().parents[3] / "layers" / "core"


def files(text: str = "one") -> list[SkillFile]:
    return [
        SkillFile("SKILL.md", f"---\nname: a\n---\n{text}\n".encode()),
        SkillFile("references/deep/er.md", f"more of {text}".encode()),
        SkillFile("scripts/run.py", f"print('{text}')\n".encode(), executable=True),
        SkillFile("assets/logo.png", b"\x89PNG\xff" + text.encode()),
    ]


def tree(directory: Path) -> dict[str, bytes]:
    """Return the files below a directory; for a link what it is, not what it names."""
    return {
        str(path.relative_to(directory)): b"-> link" if path.is_symlink() else path.read_bytes()
        for path in directory.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def expected(text: str = "one") -> dict[str, bytes]:
    return {file.path: file.data for file in files(text)}


def left_over(workspace: Path) -> list[str]:
    return [path.name for path in (workspace / ".skills").iterdir() if path.name.startswith(".")]


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
        ".version/x",
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
def test_a_path_that_leaves_the_skill_is_refused(tmp_path: Path, path: str) -> None:
    made = Mount(tmp_path)
    mounted = made.put("a", files())
    with pytest.raises(PathInvalid):
        made.read(mounted, path)


def test_a_path_that_is_no_file_of_the_skill_names_those_that_are(tmp_path: Path) -> None:
    made = Mount(tmp_path)
    mounted = made.put("a", files())
    (tmp_path / ".skills/a/out.txt").write_text("output")
    for path in ("out.txt", "references", "none.md"):
        with pytest.raises(FileNotFound) as refused:
            made.read(mounted, path)
        assert "SKILL.md" in refused.value.available


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
    with pytest.raises(CopyFailed):
        Mount(workspace).put("a", files())
    with pytest.raises(CopyFailed):
        Mount(workspace).remove("a")
    assert list(outside.iterdir()) == []


def test_the_workspace_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "seen").symlink_to(tmp_path / "real", target_is_directory=True)
    Mount(tmp_path / "seen").put("a", files())
    assert tree(tmp_path / "real" / ".skills" / "a") == expected()


@pytest.mark.parametrize("kind", ["missing", "file", "read-only"])
def test_a_workspace_that_takes_nothing_is_told_as_such(tmp_path: Path, kind: str) -> None:
    workspace = {"missing": tmp_path / "none", "file": tmp_path / "f", "read-only": Path("/proc")}
    (tmp_path / "f").write_text("")
    with pytest.raises(CopyFailed) as refused:
        Mount(workspace[kind]).put("a", files())
    assert refused.value.code == "skill_copy_failed"
    assert isinstance(refused.value.__cause__, OSError)
    assert str(tmp_path) not in refused.value.message


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


def test_removing_where_nothing_was_ever_put_does_nothing(tmp_path: Path) -> None:
    Mount(tmp_path).remove("a")
    Mount(tmp_path / "none").remove("a")
    assert list(tmp_path.iterdir()) == []


WRITES = ("open", "mkdir", "write", "fchmod", "rename", "stat", "listdir", "scandir", "rmdir")


class Failing:
    """Makes the k-th call that touches files fail, in the modules under test alone."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.calls = 0

    def __getattr__(self, name: str) -> object:
        value = getattr(os, name)
        if name not in (*WRITES, "unlink"):
            return value

        def call(*arguments: object, **more: object) -> object:
            self.calls += 1
            if self.calls == self.at:
                raise OSError(28, "No space left on device")
            return value(*arguments, **more)

        return call


def test_whichever_call_fails_the_old_copy_or_the_new_one_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: set[str] = set()
    for at in range(1, 400):
        workspace = tmp_path / str(at)
        workspace.mkdir()
        Mount(workspace).put("a", files())
        failing = Failing(at)
        with monkeypatch.context() as patched:
            patched.setattr(mount, "os", failing)
            patched.setattr(clamped, "os", failing)
            try:
                Mount(workspace).put("a", files("two"))
                outcome = "two"
            except CopyFailed as failure:
                assert "no space left" in failure.message
                outcome = "failed"
        found = tree(workspace / ".skills" / "a")
        assert found in (expected(), expected("two")), at
        assert outcome == "failed" or found == expected("two"), at
        Mount(workspace).put("a", files("three"))
        assert tree(workspace / ".skills" / "a") == expected("three")
        assert left_over(workspace) == [], at
        seen.add(outcome)
        if failing.calls < at:
            break
    else:
        pytest.fail("a put makes more calls than that")
    assert seen == {"two", "failed"}


_PUTTER = """
import sys
sys.path.insert(0, {root!r})
from skill_registry.agent.mount import Mount
from skill_registry.spec.model import SkillFile
print("ready", flush=True)
count = 0
while True:
    count += 1
    Mount({workspace!r}).put("a", [
        SkillFile(f"{{n:03}}.txt", str(count).encode() * 2000) for n in range(60)
    ])
"""


def test_a_process_that_is_killed_leaves_one_copy_or_none_and_the_next_is_whole(
    tmp_path: Path,
) -> None:
    script = _PUTTER.format(root=str(ROOT), workspace=str(tmp_path))
    for _ in range(5):
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        while not (tmp_path / ".skills" / "a").exists():
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        found = tree(tmp_path / ".skills" / "a")
        assert len(found) in (0, 60)
        assert len(set(found.values())) <= 1
        Mount(tmp_path).put("a", files())
        assert tree(tmp_path / ".skills" / "a") == expected()
        assert left_over(tmp_path) == []
        Mount(tmp_path).remove("a")


_FULL = """
import resource, signal, sys
sys.path.insert(0, {root!r})
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
from skill_registry.agent.mount import CopyFailed, Mount
from skill_registry.spec.model import SkillFile
try:
    Mount({workspace!r}).put("a", [SkillFile("SKILL.md", b"new"), SkillFile("x", b"x" * 9000)])
except CopyFailed as failure:
    print(failure.code)
"""


def test_where_no_more_can_be_written_the_old_copy_stays_whole(tmp_path: Path) -> None:
    assert resource.RLIMIT_FSIZE is not None
    Mount(tmp_path).put("a", files())
    script = _FULL.format(root=str(ROOT), workspace=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "skill_copy_failed\n", done.stderr
    assert tree(tmp_path / ".skills" / "a") == expected()
    assert left_over(tmp_path) == []


def test_threads_and_processes_that_put_one_skill_leave_one_copy_whole(tmp_path: Path) -> None:
    script = _PUTTER.format(root=str(ROOT), workspace=str(tmp_path))
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    failures: list[BaseException] = []

    def put(text: str) -> None:
        try:
            for _ in range(60):
                Mount(tmp_path).put("a", files(text))
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=put, args=(text,)) for text in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()
    assert failures == []
    Mount(tmp_path).put("a", files("three"))
    assert tree(tmp_path / ".skills" / "a") == expected("three")
    assert left_over(tmp_path) == []


def test_a_race_with_links_leads_nowhere_else(tmp_path: Path) -> None:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    workspace.mkdir()
    (outside / "references" / "deep").mkdir(parents=True)
    secret = outside / "references" / "deep" / "er.md"
    secret.write_bytes(b"more of one")
    made = Mount(workspace)
    mounted = made.put("a", [*files()[:1], SkillFile("references/deep/er.md", b"harmless 11")])
    folder = workspace / ".skills" / "a"
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            try:
                (folder / "references").rename(folder / "aside")
                (folder / "references").symlink_to(outside / "references", target_is_directory=True)
                (folder / "references").unlink()
                (folder / "aside").rename(folder / "references")
            except OSError:
                continue

    swapper = threading.Thread(target=swap)
    swapper.start()
    outcomes: set[str] = set()
    try:
        for _ in range(2_000):
            try:
                data = made.read(mounted, "references/deep/er.md")
                assert data == b"harmless 11"
                outcomes.add("read")
            except MountChanged:
                outcomes.add("noticed")
        for _ in range(100):
            made.put("a", files("two"))
    finally:
        stop.set()
        swapper.join()
    assert outcomes == {"read", "noticed"}
    assert tree(outside) == {"references/deep/er.md": b"more of one"}
