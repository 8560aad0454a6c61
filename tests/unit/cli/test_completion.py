"""Completion: what a shell is told while a line is being typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from command_line import Capture, Run
from loopback import Loopback

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    with Loopback() as running:
        monkeypatch.setenv("SKILL_REGISTRY_URL", running.url)
        for name in ("notes", "notices", "other"):
            running.house.publish(name)
        yield running


class Typed(Run):
    """What bash is offered for the last word of a line."""

    def __init__(self, capture: Capture, patch: pytest.MonkeyPatch, line: str) -> None:
        patch.setenv("_SKILLCTL_COMPLETE", "complete_bash")
        patch.setenv("COMP_WORDS", line)
        patch.setenv("COMP_CWORD", str(line.count(" ")))
        super().__init__(capture)
        self.words = self.out.split()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("skillctl pu", ["push", "pull", "purge"]),
        ("skillctl access gr", ["grant"]),
        ("skillctl list --ti", ["--tier"]),
        ("skillctl list --tier u", ["ultra"]),
        ("skillctl rollback notes 1 --dry", ["--dry-run"]),
    ],
)
def test_commands_options_and_choices_are_completed(
    capsysbinary: Capture, monkeypatch: pytest.MonkeyPatch, line: str, words: list[str]
) -> None:
    typed = Typed(capsysbinary, monkeypatch, line)
    assert (typed.code, sorted(typed.words), typed.err) == (0, sorted(words), "")


@pytest.mark.parametrize("command", ["view", "rollback", "delete", "label", "copy"])
def test_a_name_is_completed_with_those_of_the_registry(
    registry: Loopback, capsysbinary: Capture, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    assert Typed(capsysbinary, monkeypatch, f"skillctl {command} not").words == ["notes", "notices"]
    assert registry.seen() == ["GET /skills"]


def test_the_address_that_is_typed_before_the_command_is_asked(
    registry: Loopback, capsysbinary: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKILL_REGISTRY_URL", "http://127.0.0.1:1")
    line = f"skillctl --url {registry.url} view ot"
    assert Typed(capsysbinary, monkeypatch, line).words == ["other"]


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "no address", "ftp://x"])
def test_without_a_registry_nothing_is_offered_and_nothing_is_said(
    capsysbinary: Capture, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("SKILL_REGISTRY_URL", url)
    typed = Typed(capsysbinary, monkeypatch, "skillctl view not")
    assert (typed.code, typed.out.strip(), typed.err) == (0, "", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_lines_that_a_shell_needs_can_be_shown_and_installed(
    capsysbinary: Capture, shell: str
) -> None:
    run = Run(capsysbinary, "--show-completion", shell)
    assert (run.code, "_SKILLCTL_COMPLETE" in run.out) == (0, True)
    assert "--install-completion" in Run(capsysbinary, "--help").out
