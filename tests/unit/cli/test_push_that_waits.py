"""A push whose publish takes longer than one call of the registry."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from command_line import Capture, Run
from loopback import Fault, Loopback

if TYPE_CHECKING:
    from collections.abc import Iterator

SKILL = "---\nname: notes\ndescription: Does one thing.\n---\nDo it.\n"
COMPLETE = "POST /uploads/"


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    with Loopback() as running:
        monkeypatch.setenv("SKILL_REGISTRY_URL", running.url)
        yield running


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    (tmp_path / "SKILL.md").write_text(SKILL)
    return tmp_path


def test_a_push_asks_again_until_it_is_published(
    skill: Path, registry: Loopback, capsysbinary: Capture
) -> None:
    registry.faults += [Fault(COMPLETE, 202, {"Retry-After": "0"})] * 2
    run = Run(capsysbinary, "push", skill)
    assert (run.code, run.out) == (0, "Published notes v:1 in system.\n")
    asked = [request for request in registry.requests if request.path.endswith("/complete")]
    assert len(asked) == 3


def test_a_push_that_is_never_answered_says_that_it_goes_on(
    skill: Path, registry: Loopback, capsysbinary: Capture
) -> None:
    registry.faults += [Fault(COMPLETE, 202, {"Retry-After": "0"})] * 20
    run = Run(capsysbinary, "push", skill)
    assert (run.code, run.out) == (1, "")
    assert run.err.startswith("time_is_up: ")
