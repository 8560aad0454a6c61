"""skillctl new: what is begun validates, and nothing that is there is touched."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
import yaml
from command_line import Capture, Run

if TYPE_CHECKING:
    from pathlib import Path


def frontmatter(skill: Path) -> dict[str, object]:
    text = (skill / "SKILL.md").read_text(encoding="utf-8")
    read: dict[str, object] = yaml.safe_load(text.split("---\n")[1])
    return read


@pytest.fixture(autouse=True)
def no_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKILL_REGISTRY_URL", "http://127.0.0.1:1")


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--reference",),
        ("--script",),
        ("--reference", "--script", "--agent", "review", "--agent", "coding"),
        ("--description", "Writes notes. Use when a version is cut."),
    ],
)
def test_a_new_skill_validates_without_any_diagnostic(
    tmp_path: Path, capsysbinary: Capture, options: tuple[str, ...]
) -> None:
    run = Run(capsysbinary, "new", "release-notes", "--in", tmp_path, *options)
    assert run.code == 0, run.err
    checked = Run(capsysbinary, "validate", tmp_path / "release-notes", "--json")
    assert (checked.code, checked.document()["diagnostics"]) == (0, [])
    assert checked.document()["name"] == "release-notes"


@pytest.mark.parametrize(
    "text",
    [
        'Does this: and that. Use when it\'s "quoted".',
        "Use when a # is there",
        "- a list? Use when: [x] {y}",
        "Zeilen\nund Ümläute 🎈. Use when needed.",
        "yes",
        "1.0",
        "*anchor & more %",
        "trailing colon:",
    ],
)
def test_any_description_comes_out_of_the_yaml_as_it_was_typed(
    tmp_path: Path, capsysbinary: Capture, text: str
) -> None:
    assert Run(capsysbinary, "new", "notes", "--in", tmp_path, "--description", text).code == 0
    assert frontmatter(tmp_path / "notes")["description"] == text
    checked = Run(capsysbinary, "validate", tmp_path / "notes", "--json").document()
    assert checked["diagnostics"] == []


def test_agents_are_texts_whatever_they_look_like(tmp_path: Path, capsysbinary: Capture) -> None:
    agents = ("--agent", "review", "--agent", "no", "--agent", "12")
    assert Run(capsysbinary, "new", "notes", "--in", tmp_path, *agents).code == 0
    assert frontmatter(tmp_path / "notes")["agents"] == ["review", "no", "12"]


def test_the_first_description_asks_to_be_replaced_and_shows_the_form(
    tmp_path: Path, capsysbinary: Capture
) -> None:
    run = Run(capsysbinary, "new", "release-notes", "--in", tmp_path)
    description = str(frontmatter(tmp_path / "release-notes")["description"])
    assert description.startswith("Replace this sentence ")
    assert ". Use when " in description
    assert "skillctl validate" in run.err
    assert run.out == f"Made {tmp_path}/release-notes with SKILL.md.\n"


def test_a_script_may_be_run_and_the_text_leads_to_every_file(
    tmp_path: Path, capsysbinary: Capture
) -> None:
    run = Run(capsysbinary, "new", "notes", "--in", tmp_path, "--script", "--reference", "--json")
    files = run.document()["files"]
    text = (tmp_path / "notes" / "SKILL.md").read_text()
    assert files == ["SKILL.md", "references/details.md", "scripts/run.sh"]
    assert all(f"`{path}`" in text for path in files[1:])
    assert os.access(tmp_path / "notes" / "scripts" / "run.sh", os.X_OK)
    assert not os.access(tmp_path / "notes" / "SKILL.md", os.X_OK)
    assert [each.name for each in tmp_path.iterdir()] == ["notes"]


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("Release Notes", ["name_characters"]),
        ("-notes", ["name_hyphens"]),
        ("no--tes", ["name_hyphens"]),
        ("../notes", ["name_characters"]),
        ("/tmp/notes", ["name_characters"]),
        ("", ["name_missing"]),
        ("n" * 65, ["name_too_long"]),
    ],
)
def test_a_bad_name_is_refused_with_its_diagnostics_and_nothing_is_written(
    tmp_path: Path, capsysbinary: Capture, name: str, codes: list[str]
) -> None:
    run = Run(capsysbinary, "new", "--in", tmp_path / "in", "--json", "--", name)
    assert (run.code, run.document()["code"]) == (1, "skill_invalid")
    assert [each["code"] for each in run.document()["diagnostics"]] == codes
    assert list(tmp_path.iterdir()) == []


def test_a_path_for_a_name_is_told_where_a_path_goes(tmp_path: Path, capsysbinary: Capture) -> None:
    run = Run(capsysbinary, "new", "skills/notes", "--in", tmp_path)
    assert "Say where it is to lie with --in." in run.err
    assert "--in" not in Run(capsysbinary, "new", "No Tes", "--in", tmp_path).err


def test_a_bad_name_comes_with_a_better_one(tmp_path: Path, capsysbinary: Capture) -> None:
    run = Run(capsysbinary, "new", "Release Notes", "--in", tmp_path)
    assert "hint: Use release-notes." in run.err


def test_a_description_that_a_publish_would_refuse_is_refused(
    tmp_path: Path, capsysbinary: Capture
) -> None:
    run = Run(capsysbinary, "new", "notes", "--in", tmp_path, "--description", "x" * 5000)
    assert (run.code, "description_too_long" in run.err) == (1, True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["directory", "file", "link"])
def test_what_is_there_is_not_overwritten(tmp_path: Path, capsysbinary: Capture, kind: str) -> None:
    there = tmp_path / "notes"
    if kind == "directory":
        there.mkdir()
    elif kind == "file":
        there.write_text("mine")
    else:
        there.symlink_to("nowhere")
    run = Run(capsysbinary, "new", "notes", "--in", tmp_path)
    assert (run.code, run.err.partition(":")[0]) == (1, "path_exists")
    assert [each.name for each in tmp_path.iterdir()] == ["notes"]
    assert not (there / "SKILL.md").exists()


def test_a_dry_run_writes_nothing_and_refuses_the_same(
    tmp_path: Path, capsysbinary: Capture
) -> None:
    run = Run(capsysbinary, "new", "notes", "--in", tmp_path / "in", "--dry-run")
    assert (run.code, run.out.partition(" ")[0]) == (0, "Would")
    document = Run(capsysbinary, "new", "n", "--in", tmp_path, "--dry-run", "--json").document()
    assert (document["dry_run"], document["files"]) == (True, ["SKILL.md"])
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "notes").mkdir()
    assert Run(capsysbinary, "new", "notes", "--in", tmp_path, "--dry-run").code == 1


def test_a_reserved_word_in_the_name_is_a_warning(tmp_path: Path, capsysbinary: Capture) -> None:
    run = Run(capsysbinary, "new", "claude-notes", "--in", tmp_path)
    assert (run.code, "warning name_reserved" in run.err) == (0, True)
