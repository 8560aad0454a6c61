"""The help: complete for every command, plain off a terminal, and in the README."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import Capture, Run

from documents.__main__ import filled
from documents.commands import Command, commands, first_sentence

PROJECT = Path(__file__).resolve().parents[3]
# Whatever else is typed as a command changes something, and so can be tried without.
READ_ONLY = {
    *("validate", "list", "view", "check", "versions", "diff", "access list"),
    *("vendor check", "vendor status", "profile list", "profile show"),
}
COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3\d|4\d|9\d|10\d)(?:;\d+)*m")
COMMANDS = commands()
each_command = pytest.mark.parametrize("command", COMMANDS, ids=lambda each: " ".join(each.path))


def options_of(command: Command) -> set[str]:
    return {option for each in command.command.params for option in each.opts}


def words(text: str) -> str:
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", text).split())


@each_command
def test_every_option_and_argument_says_what_it_is(command: Command) -> None:
    silent = [each.name for each in command.command.params if not (each.help or "").strip()]
    assert silent == []


@each_command
def test_every_command_begins_with_a_sentence(command: Command) -> None:
    assert re.fullmatch(r"[A-Z][^\n]{9,118}\.", command.first), command.first
    assert "|" not in command.usage + command.first


@each_command
def test_every_command_answers_in_json_and_what_changes_something_can_be_tried(
    command: Command,
) -> None:
    options = options_of(command)
    assert "--json" in options
    assert ("--dry-run" in options) is (" ".join(command.path) not in READ_ONLY)


@each_command
def test_every_command_shows_its_help(command: Command, capsysbinary: Capture) -> None:
    run = Run(capsysbinary, *command.path, "--help")
    assert (run.code, run.err) == (0, "")
    assert command.first.replace("`", "") in words(run.out)


def test_what_is_named_as_read_only_is_there() -> None:
    assert {" ".join(each.path) for each in COMMANDS} >= READ_ONLY


def test_every_command_stands_in_a_panel_of_the_help(capsysbinary: Capture) -> None:
    text = Run(capsysbinary).out
    panels = re.findall(r"^╭─ (.+?) ─+╮$", text, re.MULTILINE)
    assert {"Publish", "Read", "History", "Operate", "Set up"} <= set(panels)
    assert "Commands" not in panels
    for command in COMMANDS:
        assert re.search(rf"^│ {command.path[0]} ", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("One. Two.", "One."),
        ("Reads .version files\n    of all. Then more.\n\nB.", "Reads .version files of all."),
        ("No end", "No end"),
    ],
)
def test_the_first_sentence_ends_where_a_blank_follows(text: str, first: str) -> None:
    assert first_sentence(text) == first


def test_the_readme_lists_every_command_as_the_program_has_it() -> None:
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    assert filled(readme) == readme, "run ./scripts/readme"
    for command in COMMANDS:
        assert f"| `{command.usage}` | {command.first} |" in readme


def test_a_table_that_is_not_the_programs_is_noticed() -> None:
    place = "<!-- generated: skillctl -->\nold\n<!-- end -->"
    assert "skillctl push" in filled(place)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("pul",), "Did you mean 'pull'?"),
        (("versoins", "notes"), "Did you mean 'versions'?"),
        (("access", "grnat"), "Did you mean 'grant'?"),
        (("list", "--scpoe", "x"), "--scope"),
    ],
)
def test_what_is_mistyped_is_answered_with_the_nearest(
    capsysbinary: Capture, typed: tuple[str, ...], said: str
) -> None:
    run = Run(capsysbinary, *typed)
    assert (run.code, run.out) == (2, "")
    assert said in run.err


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("view",), "Try `skillctl view --help`."),
        (("access", "grant"), "Try `skillctl access grant --help`."),
        (("nonsense",), "Try `skillctl --help`."),
    ],
)
def test_wrong_usage_leads_to_the_help_of_that_command(
    capsysbinary: Capture, typed: tuple[str, ...], said: str
) -> None:
    run = Run(capsysbinary, *typed)
    assert (run.code, run.err.splitlines()[-1]) == (2, said)


def process(*arguments: str, **environment: str) -> dict[str, Any]:
    """Arguments of a process that runs skillctl with no word about colours but these."""
    odd = ("FORCE_COLOR", "NO_COLOR", "PY_COLORS", "CLICOLOR", "CLICOLOR_FORCE", "GITHUB_ACTIONS")
    base = {name: value for name, value in os.environ.items() if name not in odd}
    paths = os.pathsep.join(str(PROJECT / part) for part in ("scripts", "layers/core"))
    return {
        "args": [sys.executable, "-P", "-m", "skill_registry_cli", *arguments],
        "env": {**base, "PYTHONPATH": paths, "TERM": "xterm-256color", **environment},
    }


@pytest.mark.parametrize("typed", [("--help",), ("push", "--help"), ("pul",)])
@pytest.mark.parametrize("ci", [{}, {"GITHUB_ACTIONS": "true"}, {"FORCE_COLOR": "1"}])
def test_through_a_pipe_there_is_no_escape_sequence(
    typed: tuple[str, ...], ci: dict[str, str]
) -> None:
    done = subprocess.run(**process(*typed, **ci), capture_output=True, check=False, timeout=60)
    assert done.stdout + done.stderr != b""
    assert b"\x1b" not in done.stdout + done.stderr


def on_a_terminal(*arguments: str, **environment: str) -> str:
    main, side = os.openpty()
    run = subprocess.Popen(
        **process(*arguments, **environment), stdin=side, stdout=side, stderr=side
    )
    os.close(side)
    seen = b""
    try:
        while chunk := os.read(main, 65536):
            seen += chunk
    except OSError:
        # How Linux ends the reading when nobody writes any more.
        pass
    finally:
        os.close(main)
        run.wait(timeout=60)
    return seen.decode()


@pytest.mark.parametrize("typed", [("--help",), ("pul",)])
def test_a_terminal_gets_colours_unless_no_color_is_set(typed: tuple[str, ...]) -> None:
    assert COLOUR.search(on_a_terminal(*typed))
    assert not COLOUR.search(on_a_terminal(*typed, NO_COLOR="1"))
