"""``skillctl vendor`` as a command: its options, where it says that things are, and its ends."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from command_line import Capture, Run
from git_repositories import Repository
from mounts import tree as snapshot
from synced_trees import Place, skill_md
from unprivileged import directory_of_nobody

from skill_registry_cli.vendoring import syncing

COMMANDS = ["sync", "check", "status"]


@pytest.fixture
def place(tmp_path: Path, capsysbinary: Capture) -> Place:
    """A tree after its first sync."""
    upstream = Repository(tmp_path / "upstream")
    upstream.commit(
        {"LICENSE": "MIT\n", **{f"skills/{n}/SKILL.md": skill_md(n) for n in ("alpha", "beta")}}
    )
    place = Place(tmp_path / "skills", upstream.url, "file", None)
    assert place.sync(capsysbinary).code == 0
    return place


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_that_is_none_is_wrong_usage(
    tmp_path: Path, capsysbinary: Capture, command: str
) -> None:
    (tmp_path / "file").write_text("x")
    for name in ("nowhere", "file"):
        run = Run(capsysbinary, "vendor", command, "--dir", tmp_path / name, "--json")
        assert (run.code, run.document()["code"]) == (2, "usage")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_manifest_that_is_not_there_or_is_none_is_told_in_true_words(
    tmp_path: Path, capsysbinary: Capture, command: str
) -> None:
    def told() -> tuple[int, str, str]:
        run = Run(capsysbinary, "vendor", command, "--dir", tmp_path)
        return run.code, run.err.split(":")[0], run.err

    manifest = tmp_path / "manifest.yaml"
    code, kind, text = told()
    assert (code, kind, "There is no manifest" in text) == (1, "manifest_missing", True)
    manifest.mkdir()
    code, kind, text = told()
    assert (code, kind, "Is a directory" in text) == (1, "manifest_missing", True)
    manifest.rmdir()
    manifest.write_bytes(b"sources: {}\n# \xe9\n")
    code, kind, text = told()
    assert (code, kind) == (1, "manifest_syntax")
    assert f"{manifest}:2:1: error manifest_syntax: The manifest is not UTF-8" in text


def test_a_manifest_that_may_not_be_read_is_told_as_such(capsysbinary: Capture) -> None:
    with directory_of_nobody() as directory:
        (directory / "manifest.yaml").touch(mode=0)
        run = Run(capsysbinary, "vendor", "check", "--dir", directory)
    assert (run.code, "cannot be read: Permission denied" in run.err) == (1, True)


@pytest.mark.parametrize("words", ["git.example.com,file", "git.example.com, file", "file git.x"])
def test_hosts_are_separated_by_commas_or_blanks(
    place: Place, capsysbinary: Capture, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.setenv("SKILL_REGISTRY_VENDOR_HOSTS", words)
    assert Run(capsysbinary, "vendor", "check", "--dir", place.root).code == 0
    monkeypatch.delenv("SKILL_REGISTRY_VENDOR_HOSTS")
    assert Run(capsysbinary, "vendor", "check", "--dir", place.root).code == 1
    if " " not in words:
        run = Run(capsysbinary, "vendor", "check", "--dir", place.root, "--allow", words)
        assert run.code == 0


def test_places_are_told_from_where_the_user_stands(
    place: Place, capsysbinary: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place.root.parent)
    (place.root / "stray").mkdir()
    seen = [
        Run(capsysbinary, "vendor", command, "--allow", "file", "--json").document()["problems"]
        for command in ("check", "sync")
    ]
    assert [[each["file"] for each in one] for one in seen] == [["skills/stray"]] * 2
    (place.root / "beta/.git").mkdir()
    (place.root / "beta/more").write_text("x")
    assert "skills/beta: error not_vendored" in place_told(capsysbinary)
    (place.root / "manifest.yaml").write_text("sources: {}\nskills: []\nmore: 1\n")
    for command in COMMANDS:
        run = Run(capsysbinary, "vendor", command)
        assert "\nskills/manifest.yaml:3:1: error manifest_invalid: " in run.err


def place_told(capture: Capture) -> str:
    return Run(capture, "vendor", "sync", "--allow", "file").err


@pytest.mark.parametrize(
    ("moment", "told"),
    [("load", "Nothing was written"), ("check_tree", "after everything was written")],
)
def test_an_interrupted_sync_says_what_became_of_it(
    place: Place, capsysbinary: Capture, monkeypatch: pytest.MonkeyPatch, moment: str, told: str
) -> None:
    (place.root / "alpha/SKILL.md").write_text("edited")
    before = snapshot(place.root)
    real = getattr(syncing, moment)

    def interrupted(*arguments: object) -> object:
        os.kill(os.getpid(), signal.SIGINT)
        return real(*arguments)

    monkeypatch.setattr(syncing, moment, interrupted)
    run = place.sync(capsysbinary)
    assert (run.code, run.out, told in run.err) == (130, "", True)
    assert (snapshot(place.root) == before) is (moment == "load")
    run = place.sync(capsysbinary, "--json")
    assert (run.code, run.document()["code"]) == (130, "aborted")


@pytest.mark.parametrize("word", ["https://somebody:secret@git.example.com", "secret@host/x"])
def test_a_password_in_an_allowed_host_is_not_repeated(
    place: Place, capsysbinary: Capture, word: str
) -> None:
    run = Run(capsysbinary, "vendor", "check", "--dir", place.root, "--allow", word)
    assert (run.code, run.err.split(":")[0]) == (2, "usage")
    assert "has an @" in run.err and "secret" not in run.out + run.err
