"""A mount that is interrupted, killed, out of room, raced and shared."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from mounts import expected, files, left_over, tree

from skill_registry.agent import clamped, mount
from skill_registry.agent.mount import CopyFailed, Mount, MountChanged
from skill_registry.spec.model import SkillFile

ROOT = Path(__file__).resolve().parents[3] / "layers" / "core"

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
