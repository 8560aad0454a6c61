"""skillctl copy: a skill of one scope, published in another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from command_line import Capture, Run
from loopback import Loopback

if TYPE_CHECKING:
    from collections.abc import Iterator

BLUE = "team-blue"


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    with Loopback() as running:
        monkeypatch.setenv("SKILL_REGISTRY_URL", running.url)
        running.house.publish("notes", "one\n")
        running.house.publish("notes", "two\n")
        yield running


def test_a_copy_publishes_the_same_files_in_the_other_scope(
    registry: Loopback, capsysbinary: Capture
) -> None:
    run = Run(capsysbinary, "copy", "notes", BLUE)
    assert (run.code, run.err) == (0, "")
    assert run.out == "Copied notes from system v:2 to team-blue: v:1.\n"
    assert registry.house.tree("notes", BLUE) == registry.house.tree("notes")


@pytest.mark.parametrize("version", ["1", "@stable"])
def test_a_copy_of_a_version_is_of_that_version(
    registry: Loopback, capsysbinary: Capture, version: str
) -> None:
    assert Run(capsysbinary, "label", "notes", "stable", "1").code == 0
    run = Run(capsysbinary, "copy", "notes", BLUE, "--version", version, "-m", "Promoted")
    assert run.out == "Copied notes from system v:1 to team-blue: v:1.\n"
    assert registry.house.tree("notes", BLUE)["references/notes.md"] == b"one\n"
    assert "Promoted" in Run(capsysbinary, "versions", "notes", "--scope", BLUE).out


def test_a_copy_looks_in_the_scopes_that_are_named_in_their_order(
    registry: Loopback, capsysbinary: Capture
) -> None:
    registry.house.publish("notes", "blue\n", scope=BLUE)
    scopes = ("--scope", "team-red", "--scope", BLUE, "--scope", "system")
    document = Run(capsysbinary, "copy", "notes", "team-green", *scopes, "--json").document()
    assert document["copied_from"] == {"scope": BLUE, "version": 1}


def test_if_version_is_about_the_scope_where_it_is_published(
    registry: Loopback, capsysbinary: Capture
) -> None:
    registry.house.publish("notes", "blue\n", scope=BLUE)
    for options in ((), ("--dry-run",)):
        run = Run(
            capsysbinary,
            *("copy", "notes", BLUE, "--scope", "system", "--if-version", "2", "--json"),
            *options,
        )
        assert (run.code, run.document()["code"]) == (1, "version_conflict")
    run = Run(capsysbinary, "copy", "notes", BLUE, "--scope", "system", "--if-version", "1")
    assert run.out == "Copied notes from system v:2 to team-blue: v:2.\n"


@pytest.mark.parametrize("options", [(), ("--dry-run",)])
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("nothing", BLUE), "skill_not_found"),
        (("notes", BLUE, "--version", "9"), "version_not_found"),
        (("notes", "system"), "request_invalid"),
    ],
)
def test_what_cannot_be_copied_is_refused_in_a_dry_run_too(
    capsysbinary: Capture, arguments: tuple[str, ...], code: str, options: tuple[str, ...]
) -> None:
    run = Run(capsysbinary, "copy", *arguments, *options)
    assert (run.code, run.err.partition(":")[0]) == (1, code)


def test_a_version_that_is_none_is_wrong_usage(capsysbinary: Capture) -> None:
    assert Run(capsysbinary, "copy", "notes", BLUE, "--version", "stable").code == 2
