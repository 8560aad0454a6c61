"""diff NAME DIRECTORY: from a version of the registry to what a push would publish."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Capture, Run
from loopback import Loopback


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Loopback]:
    monkeypatch.chdir(tmp_path)
    with Loopback() as running:
        monkeypatch.setenv("SKILL_REGISTRY_URL", running.url)
        running.house.publish("notes", "one\n")
        running.house.publish("notes", "two\n")
        yield running


@pytest.fixture
def copy(capsysbinary: Capture) -> Path:
    assert Run(capsysbinary, "pull", "notes").code == 0
    return Path("notes")


def test_it_is_a_unified_diff_from_the_current_version(capsysbinary: Capture, copy: Path) -> None:
    (copy / "references/notes.md").write_text("mine\n")
    run = Run(capsysbinary, "diff", "notes", copy)
    assert run.code == 0
    assert run.out.splitlines() == [
        "--- v2/references/notes.md",
        "+++ notes/references/notes.md",
        "@@ -1 +1 @@",
        "-two",
        "+mine",
    ]
    assert run.err == "notes v:2 -> notes in system, 1 file changed\n"


def test_it_is_from_the_version_that_is_named(capsysbinary: Capture, copy: Path) -> None:
    run = Run(capsysbinary, "diff", "notes", copy, "--from", "1")
    assert (run.code, run.out[-10:]) == (0, "-one\n+two\n")
    Run(capsysbinary, "label", "notes", "stable", "2")
    same = Run(capsysbinary, "diff", "notes", copy, "--from", "@stable")
    assert (same.out, same.err) == ("", "notes v:2 -> notes in system, 0 files changed\n")


def test_what_it_says_is_what_the_registry_says_after_a_push(
    capsysbinary: Capture, copy: Path
) -> None:
    (copy / "references/notes.md").unlink()
    (copy / "logo.bin").write_bytes(b"\0\xff")
    (copy / "SKILL.md").chmod(0o755)
    (copy / "draft").write_text("ignored")
    (copy / ".ignore").write_text("draft\n")
    (copy / "no newline.md").write_bytes(b"a\r\nb")
    before = Run(capsysbinary, "diff", "notes", copy, "--json").document()
    Run(capsysbinary, "push", copy)
    after = Run(capsysbinary, "diff", "notes", "--json").document()
    assert (before.pop("to"), after.pop("to")) == ("notes", 3)
    before["diff"] = before["diff"].replace("+++ notes/", "+++ v3/")
    assert before == after
    changes = [(each["path"], each["change"]) for each in before["files"]]
    assert ("SKILL.md", "mode") in changes
    assert ("logo.bin", "added") in changes
    assert ("draft", "added") not in changes


def test_it_is_cut_where_the_registrys_is(capsysbinary: Capture, copy: Path) -> None:
    (copy / "references/notes.md").write_text(("x" * 1000 + "\n") * 1200)
    run = Run(capsysbinary, "diff", "notes", copy)
    assert "The text is cut here" in run.err
    assert len(run.data) <= 1024 * 1024


def test_a_directory_and_a_second_version_do_not_go_together(
    registry: Loopback, capsysbinary: Capture, copy: Path
) -> None:
    registry.requests.clear()
    assert Run(capsysbinary, "diff", "notes", copy, "--to", "1").code == 2
    assert Run(capsysbinary, "diff", "notes", "missing").code == 2
    assert registry.requests == []


def test_a_directory_that_is_no_skill_is_refused_before_anything_is_asked(
    registry: Loopback, capsysbinary: Capture
) -> None:
    Path("empty").mkdir()
    run = Run(capsysbinary, "diff", "notes", "empty")
    assert (run.code, run.err.partition(":")[0]) == (1, "skill_invalid")
    assert registry.requests == []


def test_a_skill_that_is_unknown_is_refused(capsysbinary: Capture, copy: Path) -> None:
    run = Run(capsysbinary, "diff", "other", copy, "--json")
    assert (run.code, run.document()["code"]) == (1, "skill_not_found")
