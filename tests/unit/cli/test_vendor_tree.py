"""A change of a tree whose calls to the system fail, are interrupted, or are the last of all."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from errno import EACCES, EIO, ENOSPC
from pathlib import Path

import pytest
from mounts import tree
from torn_trees import AFTER, BEFORE, CHANGE, System, change, leave_unfinished, plant, recover, room
from torn_trees import visible as seen
from unprivileged import directory_of_nobody

from skill_registry.spec.model import SkillFile
from skill_registry_cli.vendoring.problems import VendoringRefused
from skill_registry_cli.vendoring.tree import Change, locked, unfinished

MOST_CALLS = 600
# Imported when it is needed, which nobody may not be allowed to.
assert fcntl.LOCK_EX

Call = Callable[[], object]
Fault = Callable[[int], System]


@pytest.fixture(autouse=True)
def nothing_to_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """No machine stops here, so that hundreds of changes need not wait for a disk."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def folder() -> Iterator[Path]:
    with room() as made:
        yield made


class Killed(BaseException):
    """The process is gone: from here on, no call reaches the system."""


def _once(at: int) -> System:
    def around(number: int, _: str, call: Call) -> object:
        if number == at:
            code = (ENOSPC, EACCES, EIO)[at % 3]
            raise OSError(code, os.strerror(code))
        return call()

    return System(around)


def _reply_lost(at: int) -> System:
    def around(number: int, name: str, call: Call) -> object:
        done = call()
        if number != at:
            return done
        if name == "open":
            assert isinstance(done, int)
            os.close(done)
        elif name in {"fdopen", "scandir"}:
            done.close()  # type: ignore[attr-defined]
        raise OSError(5, "Input/output error")

    return System(around)


def _interrupted(at: int) -> System:
    def around(number: int, _: str, call: Call) -> object:
        if number == at:
            raise KeyboardInterrupt
        return call()

    return System(around)


def _interrupted_after(at: int) -> System:
    def around(number: int, name: str, call: Call) -> object:
        done = call()
        if number == at and name not in {"open", "fdopen", "scandir"}:
            raise KeyboardInterrupt
        return done

    return System(around)


def _from_there_on(at: int) -> System:
    def around(number: int, _: str, call: Call) -> object:
        if number >= at:
            raise OSError(30, "Read-only file system")
        return call()

    return System(around)


def _killed(at: int) -> System:
    def around(number: int, _: str, call: Call) -> object:
        if number >= at:
            raise Killed
        return call()

    return System(around)


PASSING = [_once, _reply_lost, _interrupted, _interrupted_after]
FINAL = [_from_there_on, _killed]


def _outcomes(
    folder: Path, fault: Fault, prepare: Callable[[Path], object], action: Callable[[Path], None]
) -> Iterator[tuple[Path, str]]:
    """Do it once for each call that it makes, and let that one fail; the last time, none does."""
    for at in range(1, MOST_CALLS):
        root = plant(folder / str(at))
        prepare(root)
        system, outcome = fault(at), "done"
        with pytest.MonkeyPatch.context() as patch:
            system.install(patch)
            try:
                action(root)
            except VendoringRefused as refused:
                outcome = refused.code
            except (KeyboardInterrupt, Killed):
                outcome = "ended"
        yield root, outcome
        shutil.rmtree(root)
        if system.calls < at:
            assert outcome == "done"
            return
    pytest.fail("it makes more calls than that")


def _nothing(_: Path) -> None:
    """A tree as it was planted."""


@pytest.mark.parametrize("fault", PASSING)
def test_whichever_call_fails_the_change_is_whole_or_every_byte_is_as_before(
    folder: Path, fault: Fault
) -> None:
    told: set[str] = set()
    for root, outcome in _outcomes(folder, fault, _nothing, change):
        found = seen(root)
        if outcome == "sync_interrupted":
            recover(root)
            assert tree(root) == BEFORE
        elif outcome == "ended":
            assert found in (BEFORE, AFTER)
        else:
            assert found == (AFTER if outcome == "done" else BEFORE), outcome
            assert (root / "manifest.yaml").stat().st_mode & 0o777 == 0o640
        recover(root)
        assert unfinished(root) == []
        assert tree(root) in (BEFORE, AFTER)
        told.add(outcome)
    assert "done" in told and len(told) > 1


@pytest.mark.parametrize("fault", FINAL)
def test_a_change_that_ends_anywhere_is_put_back_by_the_next_sync(
    folder: Path, fault: Fault
) -> None:
    between, again = 0, replace(CHANGE, read={})
    for root, outcome in _outcomes(folder, fault, _nothing, change):
        found = seen(root)
        if outcome == "tree_unwritable":
            assert found == BEFORE
        elif found not in (BEFORE, AFTER):
            assert unfinished(root) != []
            between += 1
        recover(root)
        assert tree(root) == BEFORE or (found == AFTER and outcome in {"done", "ended"})
        change(root, again)
        assert tree(root) == AFTER
        assert (root / "manifest.yaml").stat().st_mode & 0o777 == 0o640
    assert between > 3


@pytest.mark.parametrize(
    ("fault", "renames"),
    [(_killed, 2), (_killed, 7), (_from_there_on, 7), (_once, 7)],
)
def test_a_recovery_that_ends_anywhere_is_done_again(
    folder: Path, fault: Fault, renames: int
) -> None:
    def prepare(root: Path) -> None:
        leave_unfinished(root, renames=renames)
        assert tree(root) != BEFORE

    ended = 0
    for root, outcome in _outcomes(folder, fault, prepare, recover):
        ended += outcome != "done"
        if outcome == "done":
            assert seen(root) == BEFORE
        recover(root)
        assert tree(root) == BEFORE
        assert unfinished(root) == []
    assert ended > 10


def test_the_modes_of_files_and_directories_are_those_of_the_upstream(tmp_path: Path) -> None:
    root = plant(tmp_path / "skills")
    before = os.umask(0o077)
    try:
        change(root)
    finally:
        os.umask(before)
    modes = {path: (root / path).stat().st_mode & 0o777 for path in ("changed", "changed/deep/er")}
    assert set(modes.values()) == {0o755}
    assert (root / "changed/deep/er/new.md").stat().st_mode & 0o777 == 0o755
    assert (root / "changed/SKILL.md").stat().st_mode & 0o777 == 0o644
    assert (root / "manifest.yaml").stat().st_mode & 0o777 == 0o640


def test_a_second_sync_does_not_wait_for_the_first(tmp_path: Path) -> None:
    root = plant(tmp_path / "skills")
    with locked(root):
        with pytest.raises(VendoringRefused, match="Another sync is at work") as refused:
            change(root)
        assert tree(root) == BEFORE
    assert refused.value.code == "sync_running"
    change(root)
    assert tree(root) == AFTER


@pytest.mark.parametrize("name", ["manifest.yaml", "manifest.lock"])
def test_a_manifest_that_is_a_link_stays_one_and_so_does_what_it_leads_to(
    tmp_path: Path, name: str
) -> None:
    root, real = plant(tmp_path / "skills"), tmp_path / "real"
    real.write_bytes(BEFORE["manifest.yaml"])
    (root / name).unlink(missing_ok=True)
    (root / name).symlink_to("../real")
    before = tree(root)
    with pytest.raises(VendoringRefused, match="is a link, which a sync does not replace"):
        change(root)
    assert (root / name).readlink() == Path("../real")
    assert real.read_bytes() == BEFORE["manifest.yaml"]
    assert tree(root) == before


def test_a_manifest_that_was_edited_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    root = plant(tmp_path / "skills")
    with pytest.raises(VendoringRefused, match="was edited while the sync was at work"):
        change(root, Change(texts={"manifest.yaml": b"new"}, read={"manifest.yaml": b"older"}))
    assert tree(root) == BEFORE


@pytest.mark.parametrize("renames", [4, 7])
def test_a_manifest_that_was_edited_after_a_kill_is_not_overwritten(
    tmp_path: Path, renames: int
) -> None:
    root = plant(tmp_path / "skills")
    leave_unfinished(root, renames=renames)
    (root / "manifest.yaml").write_bytes(b"edited since")
    recover(root)
    assert tree(root) == {**BEFORE, "manifest.yaml": b"edited since"}


def test_a_skill_that_somebody_put_in_the_way_of_a_recovery_is_not_lost(tmp_path: Path) -> None:
    root = plant(tmp_path / "skills")
    name = leave_unfinished(root, renames=2)
    assert not (root / "changed").exists()
    (root / "changed").mkdir()
    (root / "changed/SKILL.md").write_bytes(b"by hand")
    with pytest.raises(VendoringRefused, match=r"cannot be put back yet \(changed\)") as refused:
        recover(root)
    assert refused.value.code == "sync_interrupted"
    assert (root / "changed/SKILL.md").read_bytes() == b"by hand"
    assert (root / name / "old/changed/SKILL.md").read_bytes() == b"old"
    shutil.rmtree(root / "changed")
    recover(root)
    assert tree(root) == BEFORE


@pytest.mark.parametrize(
    "plan",
    [
        '{"skills": ["../../outside"], "removed": [], "texts": {}}',
        '{"skills": [], "removed": ["../outside"], "texts": {}}',
        '{"skills": [], "removed": [], "texts": {"../x": {"replaces": false, "sha256": ""}}}',
        '{"skills": [".git"], "removed": [], "texts": {}}',
        '{"skills": [1], "removed": [], "texts": {}}',
        "[]",
        "{",
        "",
    ],
)
def test_a_plan_that_no_sync_wrote_moves_nothing(tmp_path: Path, plan: str) -> None:
    root = plant(tmp_path / "skills")
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / ".git").mkdir()
    work = root / ".vendor-0123456789abcdef"
    for inner in ("new", "old"):
        (work / inner).mkdir(parents=True)
    (work / "plan.json").write_text(plan)
    before = tree(tmp_path)
    with pytest.raises(VendoringRefused, match=r"plan\.json is none that a sync has written"):
        change(root)
    assert tree(tmp_path) == before
    assert outside.is_dir() and (root / ".git").is_dir()


def test_directories_of_others_that_begin_alike_are_left_alone(tmp_path: Path) -> None:
    root = plant(tmp_path / "skills", {**BEFORE, ".vendor-notes/a.md": b"mine"})
    (root / ".vendor-00").symlink_to(tmp_path)
    (root / ".vendor-11").write_bytes(b"a file")
    change(root)
    assert (root / ".vendor-notes/a.md").read_bytes() == b"mine"
    assert (root / ".vendor-00").is_symlink() and (root / ".vendor-11").is_file()
    assert unfinished(root) == []


def test_a_tree_that_is_not_there_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(VendoringRefused, match="There is no folder") as refused:
        recover(tmp_path / "skills")
    assert refused.value.code == "manifest_missing"


@pytest.fixture
def theirs() -> Iterator[Path]:
    with directory_of_nobody() as directory:
        yield plant(directory / "skills")


@pytest.mark.parametrize("place", [".", "changed", "removed"])
def test_what_is_read_only_is_refused_and_nothing_changes(theirs: Path, place: str) -> None:
    (theirs / place).chmod(0o555)
    with pytest.raises(VendoringRefused, match=r"cannot be written.*Permission denied") as refused:
        change(theirs)
    assert refused.value.code == "tree_unwritable"
    assert tree(theirs) == BEFORE
    assert unfinished(theirs) == []


def test_a_read_only_directory_inside_a_skill_is_no_obstacle(theirs: Path) -> None:
    (theirs / "changed/deep/er/old.md").chmod(0o400)
    for place in ("changed/deep/er", "changed/deep"):
        (theirs / place).chmod(0o500)
    change(theirs)
    assert tree(theirs) == AFTER
    assert unfinished(theirs) == []


@pytest.mark.parametrize("kind", ["link", "dangling", "file"])
def test_what_takes_the_place_of_a_skill_is_moved_and_never_followed(
    tmp_path: Path, kind: str
) -> None:
    root, outside = plant(tmp_path / "skills"), plant(tmp_path / "outside")
    shutil.rmtree(root / "changed")
    if kind == "file":
        (root / "changed").write_bytes(b"a file")
    else:
        (root / "changed").symlink_to(outside if kind == "link" else "nowhere")
    before = tree(root)
    leave_unfinished(root, renames=4)
    recover(root)
    assert tree(root) == before
    change(root)
    assert tree(root) == AFTER
    assert tree(outside) == BEFORE


def test_no_change_of_a_tree_leaves_an_open_file(tmp_path: Path) -> None:
    root = plant(tmp_path / "skills")
    before = len(list(Path("/dev/fd").iterdir()))
    change(root)
    for texts in ({"kept": b""}, {"a/b": b""}):
        with pytest.raises(VendoringRefused):
            change(root, Change({"more": [SkillFile("SKILL.md", b"")]}, (), texts))
    assert len(list(Path("/dev/fd").iterdir())) == before
    assert tree(root) == AFTER
    assert bool(CHANGE) and not Change()


def test_what_must_not_be_touched_is_not_put_back_either(tmp_path: Path) -> None:
    root = plant(tmp_path / "skills")
    leave_unfinished(root, renames=4)
    before = tree(root)
    with pytest.raises(VendoringRefused) as refused, locked(root, untouched=True):
        pass
    assert refused.value.code == "sync_interrupted"
    assert tree(root) == before
    recover(root)
    assert tree(root) == BEFORE
