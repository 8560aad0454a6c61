"""A push that somebody stops with Ctrl-C, and what a terminal shows of one."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from loopback import Loopback
from trees import grow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local_stack.http_events import Request

PROJECT = Path(__file__).resolve().parents[3]
COUNT = 60


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    with Loopback() as running:
        monkeypatch.setenv("SKILL_REGISTRY_URL", running.url)
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    text = "---\nname: skill-{0}\ndescription: Does one thing.\n---\nDo it.\n"
    return grow(
        tmp_path, {f"skill-{number}/SKILL.md": text.format(number) for number in range(COUNT)}
    )


def start(*arguments: str | Path, stdout: int, stderr: int) -> subprocess.Popen[str]:
    paths = [str(PROJECT / "layers/core"), str(PROJECT / "scripts")]
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "skill_registry_cli", "push", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdout=stdout,
        stderr=stderr,
        encoding="utf-8",
    )


def stopped(registry: Loopback, *arguments: str | Path) -> tuple[int, str, str]:
    """Run a push that gets Ctrl-C while its first skill is being published."""
    signals = [signal.SIGINT]

    def interrupt(request: Request) -> Request:
        if request.path.endswith("/complete") and signals:
            run.send_signal(signals.pop())
        return request

    registry.before = interrupt
    run = start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, err = run.communicate(timeout=60)
    finally:
        run.kill()
    return run.returncode, out, err


def test_what_was_published_until_then_is_told(folder: Path, registry: Loopback) -> None:
    code, out, err = stopped(registry, folder, "--jobs", "2")
    told = re.findall(r"Published (\S+) v:1", out)
    assert code == 130
    assert set(told) == registry.house.listed().keys()
    assert 0 < len(told) < COUNT
    last = err.splitlines()[-1]
    assert last == f"Stopped: {len(told)} published, 0 refused, {COUNT - len(told)} not tried."
    assert "Traceback" not in err and "Nothing was done" not in err


def test_the_document_says_so_too(folder: Path, registry: Loopback) -> None:
    code, out, err = stopped(registry, folder, "--jobs", "2", "--json")
    document = json.loads(out)
    states = [each["state"] for each in document["results"]]
    assert (code, err, document["stopped"]) == (130, "", True)
    assert states.count("published") == document["published"] == len(registry.house.listed())
    assert states.count("not_tried") == document["not_tried"] == COUNT - document["published"]


def test_of_one_skill_it_is_not_certain(folder: Path, registry: Loopback) -> None:
    code, out, err = stopped(registry, folder / "skill-1")
    assert (code, out) == (130, "")
    assert err.startswith("interrupted: ") and "skillctl versions" in err
    assert "Traceback" not in err


def test_a_bar_on_a_terminal_leaves_every_result_on_a_line_of_its_own(
    folder: Path, registry: Loopback
) -> None:
    ours, theirs = pty.openpty()
    run = start(folder, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while chunk := _read(ours):
            shown += chunk
        assert run.wait(timeout=60) == 0
    finally:
        run.kill()
        os.close(ours)
    text = shown.decode()
    assert "Pushing" in text and f"/{COUNT}" in text
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\n", text)
    lines = {line.strip() for line in re.split(r"[\r\n]+", plain)}
    assert {f"Published skill-{n} v:1 in system." for n in range(COUNT)} <= lines
    assert f"{COUNT} published, 0 refused." in lines


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:
        # What Linux says when the other end is closed.
        return b""
