"""Any sequence of copies, removals and a model's own hand in the workspace.

After each step every file of every copy reads as it was put, or is noticed as changed, exactly
where it was; and nothing outside the workspace is other than it was.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from mounts import tree

from skill_registry.agent.mount import Mount, MountChanged, MountedSkill
from skill_registry.spec.model import SkillFile

NAMES = st.sampled_from(["alpha", "beta"])
PATHS = ["SKILL.md", "references/a.md", "references/deep/ü.md", "scripts/run.py"]
CANARY = b"outside"
FILES = st.lists(
    st.builds(
        SkillFile, st.sampled_from(PATHS), st.sampled_from([b"", b"1", b"2", CANARY]), st.booleans()
    ),
    unique_by=lambda file: file.path,
    max_size=len(PATHS),
)
KINDS = st.sampled_from(["edit", "delete", "link", "fifo", "directory", "hard link", "mode"])


class MountMachine(RuleBasedStateMachine):
    """One workspace, the copies that were put there, and the paths that no longer are as put."""

    @initialize()
    def start(self) -> None:
        self.root = Path(tempfile.mkdtemp())
        self.workspace = self.root / "workspace"
        self.workspace.mkdir()
        self.outside = self.root / "outside"
        for path in PATHS:
            (self.outside / path).parent.mkdir(parents=True, exist_ok=True)
            (self.outside / path).write_bytes(CANARY)
        self.copies: dict[str, tuple[MountedSkill, dict[str, SkillFile]]] = {}
        self.disturbed: dict[str, set[str]] = {}

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    def place(self, name: str) -> Path:
        return self.workspace / ".skills" / name

    def leads_outside(self, directory: Path) -> bool:
        return directory.resolve().is_relative_to(self.outside.resolve())

    @rule(name=NAMES, files=FILES)
    def put(self, name: str, files: list[SkillFile]) -> None:
        mounted = Mount(self.workspace).put(name, files)
        self.copies[name] = mounted, {file.path: file for file in files}
        self.disturbed[name] = set()
        assert tree(self.place(name)) == {file.path: file.data for file in files}

    @rule(name=NAMES)
    def remove(self, name: str) -> None:
        Mount(self.workspace).remove(name)
        assert not os.path.lexists(self.place(name))
        if name in self.copies:
            self.disturbed[name] = set(self.copies[name][1])

    @rule(name=NAMES, path=st.sampled_from(PATHS), kind=KINDS)
    def change_a_file(self, name: str, path: str, kind: str) -> None:
        victim = self.place(name) / path
        if not victim.parent.is_dir() or self.leads_outside(victim.parent):
            return
        put = self.copies[name][1].get(path)
        if kind == "mode":
            if put is not None and victim.is_file() and path not in self.disturbed[name]:
                victim.chmod(0o644)
                self.disturbed[name] |= {path} if put.executable else set()
            return
        if victim.is_dir():
            return
        victim.unlink(missing_ok=True)
        self._make(victim, path, kind)
        # Another file with the same bytes is as good, where it need not be runnable.
        same = kind == "hard link" and put is not None and put.data == CANARY and not put.executable
        self.disturbed[name] = (
            self.disturbed[name] - {path} if same else self.disturbed[name] | {path}
        )

    def _make(self, victim: Path, path: str, kind: str) -> None:
        if kind == "edit":
            victim.write_bytes(b"a longer text")
        elif kind == "link":
            victim.symlink_to(self.outside / path)
        elif kind == "fifo":
            os.mkfifo(victim)
        elif kind == "directory":
            victim.mkdir()
        elif kind == "hard link":
            os.link(self.outside / path, victim)

    @rule(name=NAMES, inner=st.sampled_from(["", "references", "references/deep", "scripts"]))
    def change_a_directory_for_a_link(self, name: str, inner: str) -> None:
        victim = self.place(name) / inner
        if not victim.is_dir() or self.leads_outside(victim):
            return
        shutil.rmtree(victim)
        victim.symlink_to(self.outside / inner, target_is_directory=True)
        self.disturbed[name] |= {path for path in PATHS if path.startswith(inner)}

    @rule(name=NAMES)
    def leave_something(self, name: str) -> None:
        if self.place(name).is_dir() and not self.leads_outside(self.place(name)):
            (self.place(name) / "output.txt").write_bytes(b"of a script")

    @precondition(lambda self: hasattr(self, "copies"))
    @invariant()
    def each_file_is_as_put_or_noticed(self) -> None:
        made = Mount(self.workspace)
        for name, (mounted, files) in self.copies.items():
            changed = self.disturbed[name] & set(files)
            assert set(made.changed(mounted)) == changed
            for path, file in files.items():
                if path in changed:
                    with pytest.raises(MountChanged):
                        made.read(mounted, path)
                else:
                    assert made.read(mounted, path) == file.data

    @precondition(lambda self: hasattr(self, "copies"))
    @invariant()
    def nothing_else_is_touched(self) -> None:
        assert tree(self.outside) == dict.fromkeys(PATHS, CANARY)
        assert {path.name for path in self.workspace.iterdir()} <= {".skills"}
        assert list(self.workspace.glob(".skills/.*")) == []


def test_no_sequence_of_copies_and_changes_reads_what_was_not_put() -> None:
    assert MountMachine.TestCase is not None
    run_state_machine_as_test(
        MountMachine,
        settings=settings(
            max_examples=80,
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
