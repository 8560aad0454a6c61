"""Any sequence of changes of a tree, with faults anywhere: each is done whole or leaves no trace.

The model is what the tree holds. Where a process is killed, the next one puts back first.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
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
from torn_trees import System, change, recover, room, visible

from skill_registry.spec.model import SkillFile
from skill_registry_cli.vendoring.problems import VendoringRefused
from skill_registry_cli.vendoring.tree import Change, unfinished

Model = dict[str, bytes]

SKILLS = ["alpha", "beta", "gamma"]
TEXTS = ["manifest.yaml", "manifest.lock"]
DATA = st.sampled_from([b"", b"1", b"2"])
FILES = st.lists(
    st.builds(
        SkillFile, st.sampled_from(["SKILL.md", "a/b.md", "a/c/d.sh", "z"]), DATA, st.booleans()
    ),
    unique_by=lambda file: file.path,
    min_size=1,
)


@st.composite
def changes(draw: st.DrawFn) -> Change:
    skills = draw(st.dictionaries(st.sampled_from(SKILLS), FILES))
    removed = draw(st.lists(st.sampled_from(SKILLS), unique=True))
    texts = draw(st.dictionaries(st.sampled_from(TEXTS), DATA))
    return Change(skills, tuple(name for name in removed if name not in skills), texts)


class Killed(BaseException):
    """The process is gone."""


def _fault(kind: str, at: int) -> System:
    def around(number: int, _: str, call: object) -> object:
        if number == at or (number > at and kind in {"killed", "read-only"}):
            if kind == "killed":
                raise Killed
            if kind == "Ctrl-C":
                raise KeyboardInterrupt
            raise OSError(30 if kind == "read-only" else 28, os.strerror(28))
        return call()  # type: ignore[operator]

    return System(around)


class TreeMachine(RuleBasedStateMachine):
    """One tree, and what it has to hold; two answers where a change was ended."""

    @initialize()
    def start(self) -> None:
        self.held = ExitStack()
        self.root: Path = self.held.enter_context(room())
        self.model: Model = {"notes.txt": b"mine"}
        (self.root / "notes.txt").write_bytes(b"mine")

    def teardown(self) -> None:
        if hasattr(self, "held"):
            self.held.close()

    def after(self, what: Change) -> Model:
        gone = tuple(f"{name}/" for name in (*what.skills, *what.removed))
        kept = {path: data for path, data in self.model.items() if not path.startswith(gone)}
        new = {f"{n}/{one.path}": one.data for n, files in what.skills.items() for one in files}
        return {**kept, **new, **what.texts}

    @rule(what=changes())
    def change(self, what: Change) -> None:
        change(self.root, what)
        self.model = self.after(what)

    @rule(
        what=changes(),
        kind=st.sampled_from(["killed", "Ctrl-C", "read-only", "full"]),
        at=st.integers(1, 150),
        again=st.integers(0, 40),
    )
    def change_with_a_fault(self, what: Change, kind: str, at: int, again: int) -> None:
        after, outcome = self.after(what), "done"
        with pytest.MonkeyPatch.context() as patch:
            _fault(kind, at).install(patch)
            try:
                change(self.root, what)
            except VendoringRefused as refused:
                outcome = refused.code
            except (KeyboardInterrupt, Killed):
                outcome = "ended"
        found = visible(self.root)
        if outcome == "done":
            assert found == after
        elif outcome == "tree_unwritable":
            assert found == self.model
        elif not unfinished(self.root):
            assert found in (self.model, after)
        self._recover_with_a_fault(again)
        recover(self.root)
        found = tree(self.root)
        assert found in (self.model, after)
        assert outcome != "done" or found == after
        assert outcome not in {"tree_unwritable", "sync_interrupted"} or found == self.model
        self.model = found

    def _recover_with_a_fault(self, at: int) -> None:
        with pytest.MonkeyPatch.context() as patch:
            _fault("killed", at).install(patch)
            try:
                recover(self.root)
            except Killed:
                return

    @rule(name=st.sampled_from(SKILLS), data=DATA)
    def edit_by_hand(self, name: str, data: bytes) -> None:
        (self.root / name).mkdir(exist_ok=True)
        (self.root / name / "by-hand.md").write_bytes(data)
        self.model[f"{name}/by-hand.md"] = data

    @precondition(lambda self: hasattr(self, "model"))
    @invariant()
    def the_tree_is_what_was_done(self) -> None:
        assert tree(self.root) == self.model
        assert unfinished(self.root) == []


def test_no_sequence_of_changes_and_faults_tears_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    assert TreeMachine.TestCase is not None
    run_state_machine_as_test(
        TreeMachine,
        settings=settings(
            max_examples=60,
            stateful_step_count=15,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
