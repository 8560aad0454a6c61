"""A sync that a signal ends, wherever it is: the tree is as before, or the change is done."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from command_line import Capture, Run
from git_repositories import Repository
from mounts import tree
from torn_trees import AFTER, BEFORE, System, change, plant, recover, room
from torn_trees import visible as seen

from skill_registry_cli.vendoring import plan as planning
from skill_registry_cli.vendoring import syncing
from skill_registry_cli.vendoring import tree as changing
from skill_registry_cli.vendoring.checking import check
from skill_registry_cli.vendoring.hosts import LocalRepositories
from skill_registry_cli.vendoring.manifest import Source
from skill_registry_cli.vendoring.problems import VendoringRefused
from skill_registry_cli.vendoring.repositories import AllowedHosts
from skill_registry_cli.vendoring.syncing import Synced, SyncOptions, sync
from skill_registry_cli.vendoring.tree import Change, locked, unfinished

PATHS = [str(Path(__file__).resolve().parents[3] / each) for each in ("layers/core", "scripts")]
TESTS = str(Path(__file__).resolve().parents[2])
HOSTS = AllowedHosts(files=True)
MOST_LINES = 2_000
SIGINT = signal.Signals.SIGINT


@pytest.fixture(autouse=True)
def nothing_to_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """No machine stops here, so that hundreds of changes need not wait for a disk."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def folder() -> Iterator[Path]:
    with room() as made:
        yield made


def _skill(name: str, text: str) -> dict[str, str]:
    head = f"---\nname: {name}\ndescription: Does {name}. Use when asked.\n---\n{text}\n"
    return {f"{name}/SKILL.md": head, f"{name}/references/more.md": text}


@pytest.fixture
def root(folder: Path) -> Path:
    """A tree that was synced, whose upstream has a new commit and whose manifest a new skill."""
    upstream = Repository(folder / "upstream")
    upstream.commit({"LICENSE": "MIT\n", **_skill("alpha", "one"), **_skill("beta", "one")})
    made = folder / "skills"
    made.mkdir()
    text = (
        f"# ours\nsources:\n  kit:\n    repo: {upstream.url}\n    ref: main\nskills:\n"
        "  - {name: alpha, source: kit, path: alpha, agents: [review]}\n"
    )
    (made / "manifest.yaml").write_text(text)
    assert _sync(made).problems == ()
    upstream.commit({**_skill("alpha", "two"), **_skill("beta", "two")})
    with (made / "manifest.yaml").open("a") as file:
        file.write("  - {name: beta, source: kit, path: beta, agents: [review]}\n")
    return made


def _sync(root: Path, host: LocalRepositories | None = None) -> Synced:
    repositories = host or LocalRepositories()

    def host_of(_: Source) -> LocalRepositories:
        return repositories

    return sync(root, HOSTS, host_of, SyncOptions(), lambda *_: None)


def _at_line(at: int, files: frozenset[str], action: Callable[[], object]) -> tuple[int, bool]:
    """Send SIGINT when a line of these files is about to run; count them; tell if it ended so."""
    lines, ended = 0, False

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if frame.f_code.co_filename not in files:
            return None
        if event == "line":
            lines += 1
            if lines == at:
                signal.raise_signal(SIGINT)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    except KeyboardInterrupt:
        ended = True
    finally:
        sys.settrace(before)
    return lines, ended


def test_ctrl_c_at_any_line_of_a_change_leaves_nothing_half(folder: Path) -> None:
    files = frozenset({changing.__file__, planning.__file__})
    outcomes: list[str] = []
    for at in range(1, MOST_LINES):
        root = plant(folder / str(at))
        lines, ended = _at_line(at, files, lambda root=root: change(root))  # type: ignore[misc]
        found = tree(root)
        assert found in (BEFORE, AFTER)
        assert unfinished(root) == []
        assert signal.getsignal(SIGINT) is signal.default_int_handler
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        outcomes.append("before" if found == BEFORE else "after")
        if lines < at:
            assert not ended and found == AFTER
            break
        assert ended
        shutil.rmtree(root)
    assert outcomes == sorted(outcomes, reverse=True)
    assert {"before", "after"} == set(outcomes)


# A folder for an archive may be made and not be entered any more; then it goes with a warning.
@pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning")
def test_ctrl_c_anywhere_in_a_whole_sync_leaves_the_tree_or_the_next_one(root: Path) -> None:
    files = frozenset({changing.__file__, planning.__file__, syncing.__file__})
    start = root.parent / "start"
    shutil.copytree(root, start)
    total, _ = _at_line(0, files, lambda: _sync(root))
    before, after = tree(start), tree(root)
    assert before != after
    for at in range(1, total, max(1, total // 20)):
        shutil.rmtree(root)
        shutil.copytree(start, root)
        _, ended = _at_line(at, files, lambda: _sync(root))
        assert ended
        assert tree(root) in (before, after)
        assert unfinished(root) == []


# Counts what moves something, and ends itself there; forks, as a start of Python takes long.
_ENDING = """
import os, shutil, signal, sys
from pathlib import Path
sys.path[:0] = {paths!r}
import pytest
from skill_registry_cli.vendoring.hosts import LocalRepositories
from skill_registry_cli.vendoring.repositories import AllowedHosts
from skill_registry_cli.vendoring.syncing import SyncOptions, sync
from torn_trees import System

os.fsync = lambda _: None
for at in range(1, 200):
    root = Path({root!r}).parent / f"at-{{at}}"
    shutil.copytree({root!r}, root)
    child = os.fork()
    if not child:
        moves = 0
        def around(_, name, call):
            global moves
            moves += name in ("rename", "unlink")
            if moves == at:
                os.kill(os.getpid(), {number})
            return call()
        with pytest.MonkeyPatch.context() as patch:
            System(around).install(patch)
            host = LocalRepositories()
            sync(root, AllowedHosts(files=True), lambda _: host, SyncOptions(), lambda *_: None)
        os._exit(0 if moves < at else 3)
    _, status = os.waitpid(child, 0)
    print(at, -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))
    if status == 0:
        break
"""


def _ended(root: Path, number: int) -> list[tuple[Path, int]]:
    """Sync copies of a tree in processes that end at each move; return them and how they ended."""
    script = _ENDING.format(paths=[*PATHS, TESTS], root=str(root), number=number)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    return [(root.parent / f"at-{at}", int(code)) for at, code in lines]


def test_after_a_kill_the_check_tells_and_the_next_sync_puts_back_first(root: Path) -> None:
    before, left, between = tree(root), 0, 0
    runs = _ended(root, signal.SIGKILL)
    _sync(root)
    after = tree(root)
    for each, code in runs:
        found = seen(each)
        assert code == -signal.SIGKILL or (code == 0 and found == after)
        if unfinished(each):
            assert "sync_interrupted" in {problem.code for problem in check(each, HOSTS)}
            left += 1
        else:
            assert found in (before, after)
        between += found not in (before, after)
        shutil.copytree(each, again := each.with_name(f"{each.name}-again"))
        recover(again)
        assert tree(again) in (before, after)
        assert _sync(each).problems == ()
        assert tree(each) == after
    assert left > between > 3


def test_a_sync_that_is_told_to_end_does_so_with_the_tree_as_before(root: Path) -> None:
    before = tree(root)
    runs = _ended(root, signal.SIGTERM)
    _sync(root)
    after = tree(root)
    done = [tree(each) == after for each, _ in runs]
    for (each, code), is_done in zip(runs, done, strict=True):
        assert code == -signal.SIGTERM or (code == 0 and is_done)
        assert is_done or tree(each) == before
        assert unfinished(each) == []
    assert done == sorted(done) and not done[0]


def test_an_ignored_signal_stays_ignored(folder: Path) -> None:
    root = plant(folder / "skills")

    def around(_: int, name: str, call: Callable[[], object]) -> object:
        if name == "rename":
            signal.raise_signal(SIGINT)
        return call()

    handler = signal.signal(SIGINT, signal.SIG_IGN)
    try:
        with pytest.MonkeyPatch.context() as patch:
            System(around).install(patch)
            change(root)
        assert signal.getsignal(SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(SIGINT, handler)
    assert tree(root) == AFTER


def test_a_second_sync_is_told_that_one_is_at_work(root: Path, capsysbinary: Capture) -> None:
    before = tree(root)
    with locked(root):
        run = Run(capsysbinary, "vendor", "sync", "--dir", root, "--allow", "file", "--json")
    assert (run.code, run.document()["code"]) == (1, "sync_running")
    assert tree(root) == before


class _Editing(LocalRepositories):
    """Somebody saves the manifest while an archive comes."""

    def __init__(self, manifest: Path) -> None:
        self._manifest = manifest

    def archive(self, *arguments: Any) -> None:
        super().archive(*arguments)
        with self._manifest.open("a") as file:
            file.write("# edited\n")


def test_an_edit_of_the_manifest_during_a_sync_is_kept(root: Path) -> None:
    before = tree(root)
    with pytest.raises(VendoringRefused, match="was edited while the sync was at work") as refused:
        _sync(root, _Editing(root / "manifest.yaml"))
    assert refused.value.code == "edited_meanwhile"
    assert tree(root) == {**before, "manifest.yaml": before["manifest.yaml"] + b"# edited\n"}
    assert _sync(root).problems == ()


def test_a_sync_refuses_a_manifest_that_is_a_link_and_keeps_both(root: Path) -> None:
    real = root.parent / "real.yaml"
    (root / "manifest.yaml").rename(real)
    (root / "manifest.yaml").symlink_to(real)
    before, text = tree(root), real.read_bytes()
    with pytest.raises(VendoringRefused, match=r"manifest\.yaml is a link") as refused:
        _sync(root)
    assert refused.value.code == "tree_unwritable"
    assert (tree(root), real.read_bytes()) == (before, text)


@pytest.mark.parametrize("kind", ["file", "link", "dangling"])
def test_what_stands_in_the_place_of_a_new_skill_is_not_replaced(root: Path, kind: str) -> None:
    place, outside = root / "beta", root.parent / "outside"
    outside.mkdir()
    if kind == "file":
        place.write_bytes(b"mine")
    else:
        place.symlink_to(outside if kind == "link" else "nowhere")
    before = tree(root)
    with pytest.raises(VendoringRefused, match="beta is there and was not made by a sync"):
        _sync(root)
    assert tree(root) == before
    assert not list(outside.iterdir())


def test_a_thread_can_sync_although_it_can_hold_no_signals(folder: Path) -> None:
    script = (
        f"import sys; sys.path[:0] = {[*PATHS, TESTS]!r}\n"
        "import threading; from pathlib import Path; from torn_trees import change\n"
        f"one = threading.Thread(target=change, args=(Path({str(plant(folder / 'skills'))!r}),))\n"
        "one.start(); one.join()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert tree(folder / "skills") == AFTER
    assert not Change()
