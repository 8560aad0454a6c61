"""check: how directories of this machine stand to the registry, in two requests a skill at most."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Capture, Run
from house import skill_md
from loopback import Loopback

STATES = ["current", "edited", "stale", "stale and edited", "differs", "unknown", "invalid"]


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Loopback]:
    monkeypatch.chdir(tmp_path)
    with Loopback() as running:
        monkeypatch.setenv("SKILL_REGISTRY_URL", running.url)
        running.house.publish("notes", "one\n")
        yield running


@pytest.fixture
def copy(capsysbinary: Capture) -> Path:
    assert Run(capsysbinary, "pull", "notes").code == 0
    return Path("notes")


def _edit(copy: Path) -> None:
    (copy / "references/notes.md").write_text("mine\n")


def test_what_was_pulled_is_current(registry: Loopback, capsysbinary: Capture, copy: Path) -> None:
    registry.requests.clear()
    run = Run(capsysbinary, "check", copy)
    assert (run.code, run.out, run.err) == (0, "notes\t1\t1\tcurrent\n", "")
    assert registry.seen() == ["GET /skills/notes"]


def test_the_registrys_files_are_current_whatever_their_version_says(
    registry: Loopback, capsysbinary: Capture, copy: Path
) -> None:
    registry.house.publish("notes", "one\n")
    registry.requests.clear()
    assert Run(capsysbinary, "check", copy).out == "notes\t1\t2\tcurrent\n"
    (copy / ".version").unlink()
    assert Run(capsysbinary, "check", copy).out == "notes\t-\t2\tcurrent\n"
    assert registry.seen() == ["GET /skills/notes"] * 2


def test_an_edited_copy_names_its_paths_on_stderr(
    registry: Loopback, capsysbinary: Capture, copy: Path
) -> None:
    _edit(copy)
    (copy / "new").touch()
    (copy / "SKILL.md").chmod(0o755)
    registry.requests.clear()
    run = Run(capsysbinary, "check")
    assert (run.code, run.out) == (1, "notes\t1\t1\tedited\n")
    assert run.err.splitlines() == [
        "notes/SKILL.md: mode",
        "notes/new: added",
        "notes/references/notes.md: changed",
    ]
    assert registry.seen() == ["GET /skills/notes"]


def test_of_many_edits_ten_are_named(capsysbinary: Capture, copy: Path) -> None:
    for number in range(13):
        (copy / f"new-{number:02}").touch()
    lines = Run(capsysbinary, "check").err.splitlines()
    assert (len(lines), lines[-1]) == (11, "notes: and 3 more")


def test_a_copy_of_an_older_version_is_stale_and_perhaps_edited(
    registry: Loopback, capsysbinary: Capture, copy: Path
) -> None:
    registry.house.publish("notes", "two\n")
    registry.requests.clear()
    run = Run(capsysbinary, "check", copy)
    assert (run.code, run.out, run.err) == (1, "notes\t1\t2\tstale\n", "")
    assert registry.seen() == ["GET /skills/notes"] * 2
    (copy / "new").touch()
    run = Run(capsysbinary, "check", copy)
    assert (run.code, run.out) == (1, "notes\t1\t2\tstale and edited\n")
    assert run.err == "notes/new: added\n"


@pytest.mark.parametrize("stated", [None, "7", "garbage"])
def test_other_files_without_a_version_that_explains_them_differ(
    capsysbinary: Capture, copy: Path, stated: str | None
) -> None:
    _edit(copy)
    (copy / ".version").unlink()
    if stated is not None:
        (copy / ".version").write_text(stated)
    run = Run(capsysbinary, "check", copy)
    here = "7" if stated == "7" else "-"
    assert (run.code, run.out) == (1, f"notes\t{here}\t1\tdiffers\n")
    assert run.err == "notes/references/notes.md: changed\n"


def test_a_skill_that_the_registry_does_not_have_is_unknown(
    capsysbinary: Capture, copy: Path
) -> None:
    Run(capsysbinary, "delete", "notes")
    run = Run(capsysbinary, "check", copy)
    assert (run.code, run.out, run.err) == (1, "notes\t1\t-\tunknown\n", "")


def test_a_directory_that_a_push_would_not_pack_is_invalid(
    registry: Loopback, capsysbinary: Capture, copy: Path
) -> None:
    (copy / "SKILL.md").rename("elsewhere.md")
    (copy / "SKILL.md").symlink_to("../elsewhere.md")
    registry.requests.clear()
    run = Run(capsysbinary, "check", copy)
    assert (run.code, run.out) == (1, "notes\t1\t-\tinvalid\n")
    assert run.err.startswith("notes/SKILL.md: error skill_md_missing: ")
    assert registry.requests == []


def test_files_count_as_for_a_push(capsysbinary: Capture, copy: Path) -> None:
    (copy / ".git").mkdir()
    (copy / ".git/HEAD").touch()
    (copy / "link").symlink_to("SKILL.md")
    (copy / ".DS_Store").touch()
    assert Run(capsysbinary, "check", copy).out == "notes\t1\t1\tcurrent\n"
    (copy / ".gitignore").write_text("draft\n")
    (copy / "draft").touch()
    assert Run(capsysbinary, "check", copy).err == "notes/.gitignore: added\n"


def test_a_folder_of_skills_is_compared_whole_and_each_skill_once(
    registry: Loopback, capsysbinary: Capture
) -> None:
    for number in range(5):
        registry.house.publish(f"skill-{number}")
    Run(capsysbinary, "pull", "--all", "--to", "skills/deep")
    Path("skills/README.md").write_text("no skill\n")
    registry.requests.clear()
    run = Run(capsysbinary, "check", "skills", "skills/deep/skill-0", "skills")
    assert (run.code, run.err) == (0, "")
    names = [line.split("\t")[0] for line in run.out.splitlines()]
    assert names == ["notes", *(f"skill-{number}" for number in range(5))]
    assert len(registry.requests) == 6


def test_in_json_it_is_one_document(capsysbinary: Capture, copy: Path) -> None:
    _edit(copy)
    run = Run(capsysbinary, "check", "--json")
    assert (run.code, run.err) == (1, "")
    assert run.document() == {
        "skills": [
            {
                "name": "notes",
                "path": "notes",
                "state": "edited",
                "here": 1,
                "registry": 1,
                "scope": "system",
                "files": [{"path": "references/notes.md", "change": "changed"}],
            }
        ]
    }


def test_a_scope_is_compared_with_when_it_is_named(capsysbinary: Capture, copy: Path) -> None:
    _edit(copy)
    claims = json.dumps({"sub": "alice"})
    assert Run(capsysbinary, "--claims", claims, "push", copy).code == 0
    own = Run(capsysbinary, "--claims", claims, "check", copy)
    assert own.out == "notes\t1\t1\tcurrent\n"
    named = Run(capsysbinary, "--claims", claims, "check", copy, "--scope", "system")
    assert (named.code, named.out) == (1, "notes\t1\t1\tedited\n")


def test_a_folder_without_skills_is_no_success(registry: Loopback, capsysbinary: Capture) -> None:
    Path("empty").mkdir()
    assert Run(capsysbinary, "check", "empty").code == 2
    assert Run(capsysbinary, "check", "missing").code == 2
    assert registry.requests == []


def test_what_the_search_noticed_is_told(capsysbinary: Capture, copy: Path) -> None:
    Path("broken").mkdir()
    Path("broken/SKILL.md").symlink_to("nowhere")
    run = Run(capsysbinary, "check")
    assert run.out == "notes\t1\t1\tcurrent\n"
    assert (run.code, run.err.startswith("broken/SKILL.md: warning link_broken: ")) == (0, True)
    found = Run(capsysbinary, "check", "--json").document()["diagnostics"]
    assert [each["file"] for each in found] == ["broken/SKILL.md"]


def test_no_registry_ends_with_2(capsysbinary: Capture, copy: Path) -> None:
    run = Run(capsysbinary, "--url", "http://127.0.0.1:9", "check", copy)
    assert (run.code, run.err.partition(":")[0]) == (2, "registry_unreachable")


def test_the_help_explains_every_state(capsysbinary: Capture) -> None:
    text = Run(capsysbinary, "check", "--help").out
    assert [state for state in STATES if f"{state}:" not in text] == []


def test_nothing_here_is_written(capsysbinary: Capture, copy: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in Path().rglob("*")}
    (copy / "SKILL.md").write_bytes(skill_md("notes"))
    Run(capsysbinary, "check")
    after = {path: path.stat().st_mtime_ns for path in Path().rglob("*")}
    assert {path for path in after if after[path] != before.get(path)} == {copy / "SKILL.md"}
