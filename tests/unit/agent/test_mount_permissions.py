"""A mount of somebody whom the system refuses things, unlike root."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from pathlib import Path

import pytest
from mounts import expected, files, left_over, tree
from unprivileged import directory_of_nobody

from skill_registry.agent.mount import CopyFailed, Mount, MountChanged

# The mount imports it when it needs it, which nobody may not be allowed to.
assert fcntl.LOCK_EX


@pytest.fixture
def workspace() -> Iterator[Path]:
    with directory_of_nobody() as directory:
        yield directory


def test_a_read_only_workspace_is_told_as_such(workspace: Path) -> None:
    workspace.chmod(0o555)
    with pytest.raises(CopyFailed, match=r"`a` was not copied to .*: permission denied") as refused:
        Mount(workspace).put("a", files())
    assert str(workspace) not in refused.value.message
    assert list(workspace.iterdir()) == []


def test_a_read_only_folder_keeps_what_it_has(workspace: Path) -> None:
    made = Mount(workspace)
    mounted = made.put("a", files())
    (workspace / ".skills").chmod(0o555)
    with pytest.raises(CopyFailed, match=r"`a` was not copied to .*: permission denied"):
        made.put("a", files("two"))
    with pytest.raises(CopyFailed, match=r"`a` was not removed from .*: permission denied"):
        made.remove("a")
    assert made.changed(mounted) == ()
    assert tree(workspace / ".skills" / "a") == expected()


@pytest.mark.parametrize("mode", [0o555, 0o311, 0o000])
def test_directories_that_the_model_closed_are_replaced_and_removed(
    workspace: Path, mode: int
) -> None:
    made = Mount(workspace)
    for text in ("one", "two"):
        mounted = made.put("a", files(text))
        assert made.changed(mounted) == ()
        for directory in ("references/deep", "references", "."):
            (workspace / ".skills/a" / directory).chmod(mode)
    made.remove("a")
    assert list((workspace / ".skills").iterdir()) == []


def test_a_file_that_the_model_closed_is_changed(workspace: Path) -> None:
    made = Mount(workspace)
    mounted = made.put("a", files())
    (workspace / ".skills/a/SKILL.md").chmod(0o000)
    assert made.changed(mounted) == ("SKILL.md",)
    with pytest.raises(MountChanged):
        made.read(mounted, "SKILL.md")
    made.put("a", files())
    assert made.read(mounted, "SKILL.md") == expected()["SKILL.md"]
    assert left_over(workspace) == []
