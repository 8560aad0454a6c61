"""pull where downloads fail, the disk refuses, somebody edits, and Ctrl-C comes anywhere."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command_line import Capture, Run
from house import skill_md
from loopback import Fault, Loopback
from mounts import Watched, tree

from local_stack.http_events import Request

NUMBER = ".version"


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Loopback]:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with Loopback() as running:
        monkeypatch.setenv("SKILL_REGISTRY_URL", running.url)
        running.house.publish("notes", "one\n")
        yield running


def _names(directory: Path = Path()) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def _pulled(text: str, number: int) -> dict[str, bytes]:
    return {
        "SKILL.md": skill_md("notes"),
        "references/notes.md": text.encode(),
        NUMBER: b"%d\n" % number,
    }


@pytest.mark.parametrize(
    "fault",
    [
        Fault("GET /s3", 403, body=b"<Code>AccessDenied</Code>"),
        Fault("GET /s3", 200, body=b"other bytes"),
        Fault("GET /skills/notes/bundle", 403, body=b"{}"),
        Fault("GET /skills/notes", 404, body=b'{"code": "skill_not_found"}'),
    ],
)
def test_a_download_that_fails_leaves_the_old_copy(
    registry: Loopback, capsysbinary: Capture, fault: Fault
) -> None:
    Run(capsysbinary, "pull", "notes")
    registry.house.publish("notes", "two\n")
    # An address that has had its time is asked for once more.
    registry.faults.extend([fault, fault])
    run = Run(capsysbinary, "pull", "notes")
    assert (run.code, run.out) == (1, "")
    assert tree(Path("notes")) == _pulled("one\n", 1)
    assert _names() == ["notes"]


def test_a_directory_that_cannot_be_written_is_told_and_nothing_is_touched(
    capsysbinary: Capture,
) -> None:
    Path("file").touch()
    run = Run(capsysbinary, "pull", "notes", "--to", "file/below")
    assert (run.code, run.err.partition(":")[0]) == (1, "skill_copy_failed")
    assert run.err.endswith(": not a directory.\n")

    def around(_: int, name: str, call: Callable[[], object]) -> object:
        if name == "mkdir":
            raise PermissionError(13, "Permission denied")
        return call()

    with pytest.MonkeyPatch.context() as patch:
        Watched(around).install(patch)
        run = Run(capsysbinary, "pull", "notes", "--to", "there")
    assert (run.code, run.out) == (1, "")
    assert run.err == "skill_copy_failed: `notes` was not copied to there: permission denied.\n"
    assert tree(Path()) == {"file": b""}


def test_an_edit_made_during_the_download_is_not_lost(
    registry: Loopback, capsysbinary: Capture
) -> None:
    Run(capsysbinary, "pull", "notes")
    registry.house.publish("notes", "two\n")

    def edit(request: Request) -> Request:
        if request.path.startswith("/s3/"):
            Path("notes/references/notes.md").write_text("mine\n")
        return request

    registry.before = edit
    run = Run(capsysbinary, "pull", "notes")
    assert (run.code, "changed meanwhile" in run.err) == (1, True)
    assert tree(Path("notes"))["references/notes.md"] == b"mine\n"


def test_a_registry_that_does_not_answer_ends_with_2(
    registry: Loopback, capsysbinary: Capture
) -> None:
    run = Run(capsysbinary, "--url", "http://127.0.0.1:9", "pull", "notes")
    assert (run.code, run.err.partition(":")[0]) == (2, "registry_unreachable")
    assert _names() == []


def test_wherever_ctrl_c_comes_the_old_copy_or_the_new_one_is_whole(
    registry: Loopback, capsysbinary: Capture
) -> None:
    old, new = _pulled("one\n", 1), _pulled("two\n", 2)
    Run(capsysbinary, "pull", "notes")
    registry.house.publish("notes", "two\n")
    for at in range(1, 200):
        if tree(Path("notes")) != old:
            Run(capsysbinary, "pull", "notes", "--version", "1")

        def around(number: int, _: str, call: Callable[[], object], at: int = at) -> object:
            if number == at:
                raise KeyboardInterrupt
            return call()

        watched = Watched(around)
        with pytest.MonkeyPatch.context() as patch:
            watched.install(patch)
            run = Run(capsysbinary, "pull", "notes")
        assert tree(Path("notes")) in (old, new), at
        if watched.calls < at:
            assert run.code == 0
            break
        assert run.code == 130
    else:
        pytest.fail("it makes more calls than that")
    assert _names() == ["notes"]


def test_ctrl_c_among_many_leaves_each_whole_or_away(
    registry: Loopback, capsysbinary: Capture
) -> None:
    names = [f"skill-{number}" for number in range(6)]
    for name in names:
        registry.house.publish(name)
    main = threading.main_thread().ident
    assert main is not None
    signals = [signal.SIGINT]

    def interrupt(request: Request) -> Request:
        if request.path.startswith("/s3/") and signals:
            signal.pthread_kill(main, signals.pop())
        return request

    registry.before = interrupt
    run = Run(capsysbinary, "pull", "--jobs", "2", *names)
    assert run.code == 130
    whole = {"SKILL.md", "references/notes.md", NUMBER}
    assert [set(tree(Path(name))) for name in _names()] == [whole] * len(_names())
    assert len(run.out.splitlines()) == len(_names())


def test_what_a_killed_pull_left_is_cleared_away_and_nothing_else(capsysbinary: Capture) -> None:
    for name in (".staged-0123456789abcdef", ".staged-mine", ".aside-mine-0"):
        Path(name).mkdir()
    Run(capsysbinary, "pull", "notes")
    assert _names() == [".aside-mine-0", ".staged-mine", "notes"]
    assert Path("notes/SKILL.md").read_bytes() == skill_md("notes")


def test_a_hostile_answer_does_not_lead_elsewhere(
    registry: Loopback, capsysbinary: Capture, tmp_path: Path
) -> None:
    Path("other").mkdir()
    Path("other/dear").write_text("mine")
    body = b'{"name": "other", "scope": "system", "version": 1, "url": "x", "sha256": "y"}'
    registry.faults.append(
        Fault("GET /skills/notes/bundle", 200, {"content-type": "application/json"}, body)
    )
    run = Run(capsysbinary, "pull", "notes")
    assert run.code != 0
    assert tree(tmp_path / "here") == {"other/dear": b"mine"}
