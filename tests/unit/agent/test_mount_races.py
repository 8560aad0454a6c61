"""Links that come up while a mount works: nothing outside the workspace is opened or changed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from mounts import Watched, tree

from skill_registry.agent.mount import CopyFailed, Mount, MountChanged
from skill_registry.spec.model import SkillFile

MOST_CALLS = 400
FILES = [SkillFile("SKILL.md", b"body"), SkillFile("references/deep/er.md", b"more")]
# What a link takes the place of, and where in the directory outside it leads.
VICTIMS = {
    ".skills": ".",
    ".skills/a": "a",
    ".skills/a/references": "a/references",
    ".skills/a/references/deep": "a/references/deep",
    ".skills/a/SKILL.md": "a/SKILL.md",
    ".skills/.staged-*": "a",
    ".skills/.staged-*/references": "a/references",
    ".skills/.staged-*/references/deep": "a/references/deep",
    ".skills/.aside-*": "a",
    ".skills/.aside-*/references": "a/references",
}


def _outside(directory: Path) -> None:
    """Make what the links lead to: the same files, so that a digest would not tell."""
    for file in FILES:
        path = directory / "a" / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.data)
        path.chmod(0o600)


def _state(directory: Path) -> dict[str, tuple[int, ...]]:
    paths = (directory, *directory.rglob("*"))
    found = {str(path): path.lstat() for path in paths}
    return {path: (s.st_ino, s.st_mode, s.st_size, s.st_mtime_ns) for path, s in found.items()}


def _swap(workspace: Path, pattern: str, target: Path) -> None:
    for victim in list(workspace.glob(pattern)):
        if not victim.is_symlink():
            victim.rename(workspace / "away")
            victim.symlink_to(target)


def _linking(at: int, workspace: Path, pattern: str, outside: Path) -> Watched:
    """Put the link there before a certain call, and hold what is opened against what is outside."""
    inodes = {state[0] for state in _state(outside).values()}

    def around(number: int, name: str, call: Callable[[], object]) -> object:
        if number == at:
            _swap(workspace, pattern, outside / VICTIMS[pattern])
        done = call()
        if name == "open":
            assert isinstance(done, int)
            assert os.fstat(done).st_ino not in inodes
        return done

    return Watched(around)


def _put(made: Mount) -> None:
    made.put("a", [SkillFile(file.path, file.data * 2) for file in FILES])


def _remove(made: Mount) -> None:
    made.remove("a")


@pytest.mark.parametrize("action", [_put, _remove])
@pytest.mark.parametrize("victim", VICTIMS)
def test_a_link_that_comes_before_any_call_leads_nowhere(
    tmp_path: Path, victim: str, action: Callable[[Mount], None]
) -> None:
    outside = tmp_path / "outside"
    _outside(outside)
    before = _state(outside)
    for at in range(1, MOST_CALLS):
        workspace = tmp_path / str(at)
        workspace.mkdir()
        Mount(workspace).put("a", FILES)
        watched = _linking(at, workspace, victim, outside)
        with pytest.MonkeyPatch.context() as patch:
            watched.install(patch)
            try:
                action(Mount(workspace))
            except CopyFailed as failure:
                assert str(tmp_path) not in failure.message
        assert _state(outside) == before
        if watched.calls < at:
            return
    pytest.fail("it makes more calls than that")


@pytest.mark.parametrize("victim", [victim for victim in VICTIMS if "*" not in victim])
def test_a_link_that_comes_before_any_call_of_a_read_is_not_read_through(
    tmp_path: Path, victim: str
) -> None:
    outside = tmp_path / "outside"
    _outside(outside)
    outcomes: list[str] = []
    for at in range(1, MOST_CALLS):
        workspace = tmp_path / str(at)
        workspace.mkdir()
        mounted = Mount(workspace).put("a", FILES)
        watched = _linking(at, workspace, victim, outside)
        path = "SKILL.md" if victim.endswith("SKILL.md") else "references/deep/er.md"
        with pytest.MonkeyPatch.context() as patch:
            watched.install(patch)
            try:
                assert Mount(workspace).read(mounted, path) in (b"body", b"more")
                outcomes.append("read")
            except MountChanged:
                outcomes.append("noticed")
        if watched.calls < at:
            break
    assert outcomes[0] == "noticed"
    assert outcomes[-1] == "read"


def test_a_thread_that_swaps_a_directory_for_a_link_gets_nothing_read_or_written_outside(
    tmp_path: Path,
) -> None:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    workspace.mkdir()
    _outside(outside)
    (outside / "a/references/deep/er.md").write_bytes(b"evil")
    made = Mount(workspace)
    mounted = made.put("a", FILES)
    before = _state(outside)
    folder = workspace / ".skills" / "a"
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for victim in (folder / "references", folder):
                try:
                    victim.rename(workspace / "away")
                    victim.symlink_to(outside / victim.relative_to(workspace / ".skills"))
                    victim.unlink()
                    (workspace / "away").rename(victim)
                except OSError:
                    continue

    swapper = threading.Thread(target=swap)
    swapper.start()
    outcomes: set[str] = set()
    try:
        for _ in range(20_000):
            try:
                assert made.read(mounted, "references/deep/er.md") == b"more"
                outcomes.add("read")
            except MountChanged:
                outcomes.add("noticed")
            if len(outcomes) == 2:
                break
        for _ in range(200):
            made.put("a", FILES)
    finally:
        stop.set()
        swapper.join()
    assert outcomes == {"read", "noticed"}
    assert _state(outside) == before
    assert tree(outside)["a/references/deep/er.md"] == b"evil"
