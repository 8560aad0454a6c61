"""A mount whose calls fail, that is interrupted, killed, out of room, and shared."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import pytest
from mounts import Watched, expected, files, left_over, tree

from skill_registry.agent.mount import CopyFailed, Mount, MountChanged, MountedSkill

ROOT = Path(__file__).resolve().parents[3] / "layers" / "core"
MOST_CALLS = 400


class Killed(BaseException):
    """The process is gone: from here on, no call reaches the system."""


def _once(at: int) -> Watched:
    def around(number: int, _: str, call: Callable[[], object]) -> object:
        if number == at:
            raise OSError(28, "No space left on device")
        return call()

    return Watched(around)


def _vanished(at: int) -> Watched:
    def around(number: int, _: str, call: Callable[[], object]) -> object:
        if number == at:
            raise FileNotFoundError(2, "No such file or directory")
        return call()

    return Watched(around)


def _reply_lost(at: int) -> Watched:
    def around(number: int, name: str, call: Callable[[], object]) -> object:
        done = call()
        if number != at:
            return done
        if name == "open":
            assert isinstance(done, int)
            os.close(done)
        raise OSError(5, "Input/output error")

    return Watched(around)


def _from_there_on(at: int) -> Watched:
    def around(number: int, _: str, call: Callable[[], object]) -> object:
        if number >= at:
            raise OSError(30, "Read-only file system")
        return call()

    return Watched(around)


def _interrupted(at: int) -> Watched:
    def around(number: int, _: str, call: Callable[[], object]) -> object:
        if number == at:
            raise KeyboardInterrupt
        return call()

    return Watched(around)


def _killed(at: int) -> Watched:
    def around(number: int, _: str, call: Callable[[], object]) -> object:
        if number >= at:
            raise Killed
        return call()

    return Watched(around)


# After these nothing can be put back any more: then there may be no copy, and never half of one.
FINAL = (_from_there_on, _killed)
FAULTS = [_once, _reply_lost, _interrupted, *FINAL]


def _outcomes(
    tmp_path: Path, fault: Callable[[int], Watched], action: Callable[[Mount], object]
) -> Iterator[tuple[Path, str]]:
    """Do it once for each call that it makes, and let that one fail; the last time, none does."""
    for at in range(1, MOST_CALLS):
        workspace = tmp_path / str(at)
        workspace.mkdir()
        Mount(workspace).put("a", files())
        watched = fault(at)
        outcome = "done"
        with pytest.MonkeyPatch.context() as patch:
            watched.install(patch)
            try:
                action(Mount(workspace))
            except CopyFailed as failure:
                assert isinstance(failure.__cause__, OSError)
                outcome = "failed"
            except (KeyboardInterrupt, Killed):
                outcome = "ended"
        yield workspace, outcome
        if watched.calls < at:
            assert outcome == "done"
            return
    pytest.fail("it makes more calls than that")


@pytest.mark.parametrize("fault", [*FAULTS, _vanished])
def test_whichever_call_of_a_put_fails_the_old_copy_or_the_new_one_is_whole(
    tmp_path: Path, fault: Callable[[int], Watched]
) -> None:
    seen: set[str] = set()
    for workspace, outcome in _outcomes(tmp_path, fault, lambda m: m.put("a", files("two"))):
        found = tree(workspace / ".skills" / "a")
        assert found in (expected(), expected("two")) or (found == {} and fault in FINAL)
        assert outcome != "done" or found == expected("two")
        mounted = Mount(workspace).put("a", files("three"))
        assert tree(workspace / ".skills" / "a") == expected("three")
        assert Mount(workspace).changed(mounted) == ()
        assert left_over(workspace) == []
        seen.add(outcome)
    assert len(seen) == 2


@pytest.mark.parametrize("fault", FAULTS)
def test_whichever_call_of_a_removal_fails_the_copy_is_whole_or_gone(
    tmp_path: Path, fault: Callable[[int], Watched]
) -> None:
    seen: set[str] = set()
    for workspace, outcome in _outcomes(tmp_path, fault, lambda m: m.remove("a")):
        found = tree(workspace / ".skills" / "a")
        assert found in (expected(), {})
        assert outcome != "done" or (found == {} and left_over(workspace) == [])
        Mount(workspace).remove("a")
        assert tree(workspace / ".skills") == {}
        assert left_over(workspace) == []
        seen.add(outcome)
    assert len(seen) == 2


_PUTTER = """
import sys
sys.path.insert(0, {root!r})
from skill_registry.agent.mount import Mount
from skill_registry.spec.model import SkillFile
count = 0
while True:
    count += 1
    Mount({workspace!r}).put("a", [
        SkillFile(f"{{n:03}}.txt", str(count).encode() * 2000) for n in range(60)
    ])
    print(count, flush=True)
"""


@contextmanager
def _putter(workspace: Path) -> Iterator[IO[bytes]]:
    """Run a process that puts copy after copy, counts them, and is killed whatever it does."""
    script = _PUTTER.format(root=str(ROOT), workspace=str(workspace))
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield process.stdout
        finally:
            process.kill()


@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_a_process_that_is_killed_leaves_one_copy_or_none_and_the_next_is_whole(
    tmp_path: Path, rounds: int
) -> None:
    with _putter(tmp_path) as counted:
        for count in range(1, rounds + 1):
            assert counted.readline() == b"%d\n" % count
    found = tree(tmp_path / ".skills" / "a")
    assert len(found) in (0, 60)
    assert len(set(found.values())) <= 1
    mounted = Mount(tmp_path).put("a", files())
    assert tree(tmp_path / ".skills" / "a") == expected()
    assert Mount(tmp_path).read(mounted, "SKILL.md") == expected()["SKILL.md"]
    assert left_over(tmp_path) == []


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
    print(failure.code, failure.message)
"""


def test_where_no_more_can_be_written_the_old_copy_stays_whole(tmp_path: Path) -> None:
    Mount(tmp_path).put("a", files())
    script = _FULL.format(root=str(ROOT), workspace=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.startswith(
        "skill_copy_failed `a` was not copied to .skills/ in the workspace: file too large"
    ), done.stdout + done.stderr
    assert str(tmp_path) not in done.stdout
    assert tree(tmp_path / ".skills" / "a") == expected()
    assert left_over(tmp_path) == []


def _read_all(workspace: Path, text: str, mounted: MountedSkill) -> None:
    for path, data in expected(text).items():
        with suppress(MountChanged):
            assert Mount(workspace).read(mounted, path) == data


def test_threads_and_processes_that_put_one_skill_leave_one_copy_whole(tmp_path: Path) -> None:
    copies: dict[str, MountedSkill] = {}

    def put(text: str) -> None:
        for _ in range(60):
            copies[text] = Mount(tmp_path).put("a", files(text))

    with _putter(tmp_path) as counted, ThreadPoolExecutor(2) as threads:
        assert counted.readline() == b"1\n"
        putting = [threads.submit(put, text) for text in ("one", "two")]
        while not all(each.done() for each in putting):
            for text, mounted in list(copies.items()):
                _read_all(tmp_path, text, mounted)
        assert [each.result() for each in putting] == [None, None]
    found = tree(tmp_path / ".skills" / "a")
    assert found in (expected("one"), expected("two")) or len(set(found.values())) <= 1
    Mount(tmp_path).put("a", files("three"))
    assert tree(tmp_path / ".skills" / "a") == expected("three")
    assert left_over(tmp_path) == []


def test_what_a_living_process_fills_is_left_alone(tmp_path: Path) -> None:
    put_meanwhile: list[str] = []

    def around(_: int, name: str, call: Callable[[], object]) -> object:
        if name == "write" and not put_meanwhile:
            put_meanwhile.append("b")
            subprocess.run([sys.executable, "-c", other], check=True)
        return call()

    other = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from skill_registry.agent.mount import Mount
from skill_registry.spec.model import SkillFile
Mount({str(tmp_path)!r}).put("b", [SkillFile("SKILL.md", b"b")])
"""
    with pytest.MonkeyPatch.context() as patch:
        Watched(around).install(patch)
        Mount(tmp_path).put("a", files())
    assert put_meanwhile == ["b"]
    assert tree(tmp_path / ".skills" / "a") == expected()
    assert tree(tmp_path / ".skills" / "b") == {"SKILL.md": b"b"}
    assert left_over(tmp_path) == []


def test_an_old_copy_that_may_be_needed_again_is_not_cleared_away(tmp_path: Path) -> None:
    Mount(tmp_path).put("a", files())
    renames = 0

    def around(_: int, name: str, call: Callable[[], object]) -> object:
        nonlocal renames
        renames += name == "rename"
        if name == "rename" and renames == 2:
            Mount(tmp_path).put("b", files())
            raise OSError(5, "Input/output error")
        return call()

    with pytest.MonkeyPatch.context() as patch, pytest.raises(CopyFailed):
        Watched(around).install(patch)
        Mount(tmp_path).put("a", files("two"))
    assert tree(tmp_path / ".skills" / "a") == expected()
    assert tree(tmp_path / ".skills" / "b") == expected()
    assert left_over(tmp_path) == []


@pytest.mark.parametrize(("holds", "outcome"), [(1, "copied"), (MOST_CALLS, "refused")])
def test_a_directory_that_somebody_else_holds_makes_no_put_wait(
    tmp_path: Path, holds: int, outcome: str
) -> None:
    Mount(tmp_path).put("a", files())
    held: list[int] = []
    lock = fcntl.flock

    def around(_: int, name: str, call: Callable[[], object]) -> object:
        before = set((tmp_path / ".skills").iterdir())
        done = call()
        if name == "mkdir" and len(held) < holds:
            for staged in set((tmp_path / ".skills").iterdir()) - before:
                held.append(os.open(staged, os.O_RDONLY))
                lock(held[-1], fcntl.LOCK_EX)
        return done

    def lock_at_once(descriptor: int, operation: int) -> None:
        assert operation & fcntl.LOCK_NB, "it would wait"
        lock(descriptor, operation)

    found = "copied"
    with pytest.MonkeyPatch.context() as patch:
        Watched(around).install(patch)
        patch.setattr(fcntl, "flock", lock_at_once)
        try:
            Mount(tmp_path).put("a", files("two"))
        except CopyFailed as failure:
            assert "somebody else keeps taking it away" in failure.message
            found = "refused"
    assert found == outcome
    assert tree(tmp_path / ".skills" / "a") == expected("two" if found == "copied" else "one")
    assert len(left_over(tmp_path)) == len(held)
    for descriptor in held:
        os.close(descriptor)
    Mount(tmp_path).put("a", files("three"))
    assert tree(tmp_path / ".skills" / "a") == expected("three")
    assert left_over(tmp_path) == []


def test_who_is_slower_than_others_each_time_leaves_what_they_put(tmp_path: Path) -> None:
    Mount(tmp_path).put("a", files())

    def around(_: int, name: str, call: Callable[[], object]) -> object:
        if name == "rename" and not (tmp_path / ".skills" / "a").exists():
            (tmp_path / ".skills" / "a").mkdir()
            (tmp_path / ".skills" / "a" / "SKILL.md").write_bytes(b"faster")
        return call()

    with pytest.MonkeyPatch.context() as patch:
        Watched(around).install(patch)
        with pytest.raises(CopyFailed, match="somebody else keeps writing it"):
            Mount(tmp_path).put("a", files("two"))
    assert tree(tmp_path / ".skills" / "a") == {"SKILL.md": b"faster"}
    assert left_over(tmp_path) == []
