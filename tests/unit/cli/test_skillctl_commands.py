"""push, list and view against the registry's own code: what is printed, and how a run ends."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from command_line import Capture, Run
from house import skill_zip
from loopback import Fault, Loopback

from skill_registry.catalog.principal import user_scope

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = Path(__file__).resolve().parents[3]
SKILL = "---\nname: notes\ndescription: Does one thing.\n---\nDo it.\n"


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    with Loopback() as running:
        monkeypatch.setenv("SKILL_REGISTRY_URL", running.url)
        yield running


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    root = tmp_path / "folder"
    root.mkdir()
    (root / "SKILL.md").write_text(SKILL)
    return root


def test_a_push_publishes_under_the_name_of_the_frontmatter(
    skill: Path, registry: Loopback, capsysbinary: Capture
) -> None:
    run = Run(capsysbinary, "push", skill, "-m", "First.")
    assert (run.code, run.err) == (0, "")
    assert run.out == "Published notes v:1 in system.\n"
    assert registry.house.listed() == {"notes": 1}
    again = Run(capsysbinary, "push", skill)
    assert again.out == "Published notes v:2 in system (the same files as the version before).\n"


def test_a_push_of_a_zip_file_publishes_it(tmp_path: Path, capsysbinary: Capture) -> None:
    (tmp_path / "any.zip").write_bytes(skill_zip("notes"))
    assert Run(capsysbinary, "push", tmp_path / "any.zip").out == "Published notes v:1 in system.\n"


def test_a_push_in_json_is_the_whole_answer_with_what_was_found_here(
    skill: Path, capsysbinary: Capture
) -> None:
    (skill / "link").symlink_to("SKILL.md")
    run = Run(capsysbinary, "push", skill, "--json")
    document = run.document()
    assert (run.code, run.err) == (0, "")
    assert (document["state"], document["name"], document["version"]) == ("published", "notes", 1)
    assert [found["code"] for found in document["diagnostics"]] == ["link_skipped"]


def test_a_push_over_another_version_than_expected_is_refused(
    skill: Path, registry: Loopback, capsysbinary: Capture
) -> None:
    assert Run(capsysbinary, "push", skill).code == 0
    assert Run(capsysbinary, "push", skill, "--if-version", "1").code == 0
    late = Run(capsysbinary, "push", skill, "--if-version", "1", "--json")
    assert (late.code, late.document()["current"]) == (1, 2)
    assert registry.house.listed() == {"notes": 2}


def test_a_push_goes_to_the_scope_and_under_the_identity_that_are_asked_for(
    skill: Path, capsysbinary: Capture
) -> None:
    assert "in team-blue" in Run(capsysbinary, "push", skill, "--scope", "team-blue").out
    claims = json.dumps({"sub": "alice", "teams": ["red"]})
    alice = Run(capsysbinary, "--claims", claims, "push", skill)
    assert f"in {user_scope('alice')}" in alice.out
    other = Run(capsysbinary, "--claims", claims, "push", skill, "--scope", "team-blue", "--json")
    assert (other.code, other.document()["code"]) == (1, "forbidden")


def test_a_refused_push_prints_each_problem_with_its_place_and_hint(
    skill: Path, registry: Loopback, capsysbinary: Capture
) -> None:
    (skill / "SKILL.md").write_text("---\nname: notes\ndescription: a: b\n---\nx\n")
    (skill / "link").symlink_to("SKILL.md")
    run = Run(capsysbinary, "push", skill)
    assert (run.code, run.out) == (1, "")
    lines = run.err.splitlines()
    assert lines[0].startswith("skill_invalid: ")
    assert f"{skill}/link: warning link_skipped: " in run.err
    index = next(i for i, line in enumerate(lines) if "yaml_colon" in line)
    assert lines[index].startswith(f"{skill}/SKILL.md:3:15: error yaml_colon: ")
    assert lines[index + 1].startswith("    hint: ")
    assert registry.house.listed() == {}


def test_a_refused_push_in_json_is_the_problem_document(skill: Path, capsysbinary: Capture) -> None:
    (skill / "SKILL.md").write_text("no frontmatter")
    (skill / "link").symlink_to("SKILL.md")
    run = Run(capsysbinary, "push", skill, "--json")
    document = run.document()
    assert (run.code, run.err) == (1, "")
    assert (document["status"], document["code"]) == (422, "skill_invalid")
    codes = [found["code"] for found in document["diagnostics"]]
    assert codes[0] == "link_skipped"
    assert "frontmatter_missing" in codes


def test_what_cannot_be_packed_is_refused_before_anything_is_sent(
    skill: Path, registry: Loopback, capsysbinary: Capture
) -> None:
    (skill / ".gitignore").write_text("*\n")
    run = Run(capsysbinary, "push", skill)
    assert run.code == 1
    assert f"{skill}/SKILL.md: error skill_md_ignored: " in run.err
    document = Run(capsysbinary, "push", skill, "--json").document()
    assert document["code"] == "skill_invalid"
    assert document["diagnostics"][0]["code"] == "skill_md_ignored"
    assert registry.requests == []


def test_a_refusal_by_the_store_is_told(
    skill: Path, registry: Loopback, capsysbinary: Capture
) -> None:
    registry.faults.append(Fault("PUT /s3", 403, body=b"<Code>AccessDenied</Code>"))
    run = Run(capsysbinary, "push", skill)
    assert run.code == 1
    assert "transfer_failed: The object store refused the upload with 403 (AccessDenied)" in run.err
    assert registry.house.listed() == {}


def test_a_list_off_a_terminal_is_one_line_a_skill(
    registry: Loopback, capsysbinary: Capture
) -> None:
    registry.house.publish("notes")
    registry.house.publish("other", description="Line one")
    registry.house.put(
        "skills/system/plain/SKILL.md", b"---\nname: plain\ndescription: P\n---\nx\n"
    )
    registry.house.deliver("skills/system/plain/SKILL.md")
    run = Run(capsysbinary, "list")
    assert run.code == 0
    assert run.out.splitlines() == [
        "notes\t1\tsystem\t-\tDoes one thing well.",
        "other\t1\tsystem\t-\tLine one",
        "plain\t-\tsystem\t-\tP",
    ]


def test_an_empty_list_says_so_and_prints_nothing(capsysbinary: Capture) -> None:
    run = Run(capsysbinary, "list", "--scope", "system")
    assert (run.code, run.data) == (0, b"")
    assert "no skill" in run.err
    assert Run(capsysbinary, "list", "--json").document()["skills"] == []


def test_a_list_in_json_joins_the_pages(
    registry: Loopback, capsysbinary: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = [
        {
            "skills": [{"name": name, "scope": "system", "version": 1, "description": ""}],
            "catalog_version": {"system": 4},
            "diagnostics": [{"severity": "warning", "code": "c", "message": "m"}],
            **more,
        }
        for name, more in (("a", {"next": "x"}), ("b", {}))
    ]
    registry.faults += [Fault("GET /skills", 200, body=json.dumps(page).encode()) for page in pages]
    document = Run(capsysbinary, "list", "--json").document()
    assert [skill["name"] for skill in document["skills"]] == ["a", "b"]
    assert document["catalog_version"] == {"system": 4}
    assert len(document["diagnostics"]) == 1
    assert "next" not in document


def test_json_may_be_asked_for_before_the_command(
    registry: Loopback, capsysbinary: Capture
) -> None:
    registry.house.publish("notes")
    before = Run(capsysbinary, "--json", "list")
    assert before.document() == Run(capsysbinary, "list", "--json").document()


def test_a_view_prints_the_bytes_and_nothing_else_to_stdout(
    registry: Loopback, capsysbinary: Capture
) -> None:
    data = bytes(range(256)) + b"\r\n"
    registry.house.put("skills/system/odd/SKILL.md", b"---\nname: odd\ndescription: d\n---\nx")
    registry.house.put("skills/system/odd/a.bin", data)
    body = Run(capsysbinary, "view", "odd")
    assert (body.code, body.data, body.err) == (0, b"x", "odd v:- in system, SKILL.md\n")
    raw = Run(capsysbinary, "view", "odd", "--raw")
    assert raw.data == b"---\nname: odd\ndescription: d\n---\nx"
    assert Run(capsysbinary, "view", "odd", "a.bin").data == data
    assert Run(capsysbinary, "view", "odd", "a.bin", "--raw").data == data


def test_a_view_of_a_version_is_of_that_version(registry: Loopback, capsysbinary: Capture) -> None:
    for text in ("one", "two"):
        registry.house.publish("notes", text)
    run = Run(
        capsysbinary, "view", "notes", "references/notes.md", "--version", "1", "--scope", "system"
    )
    assert (run.data, run.err) == (b"one", "notes v:1 in system, references/notes.md\n")


def test_a_view_in_json_is_the_whole_answer(registry: Loopback, capsysbinary: Capture) -> None:
    registry.house.publish("notes")
    document = Run(capsysbinary, "view", "notes", "--json").document()
    assert document["content"] == "# notes\n\nDo it.\n"
    assert [file["path"] for file in document["files"]] == ["SKILL.md", "references/notes.md"]
    raw = Run(capsysbinary, "view", "notes", "--json", "--raw").document()
    assert raw["content"].startswith("---\n")
    assert (raw["version"], raw["scope"], raw["path"]) == (1, "system", "SKILL.md")


def test_a_view_of_something_unknown_names_what_is_there(
    registry: Loopback, capsysbinary: Capture
) -> None:
    registry.house.publish("notes")
    run = Run(capsysbinary, "view", "note")
    assert (run.code, run.data) == (1, b"")
    assert run.err.splitlines()[0].startswith("skill_not_found: ")
    assert run.err.splitlines()[1] == "    available: notes"
    run = Run(capsysbinary, "view", "note", "--json")
    assert (run.code, run.document()["available"]) == (1, ["notes"])


@pytest.mark.parametrize(
    "arguments",
    [
        ["list", "--bogus"],
        ["bogus"],
        ["push"],
        ["push", "no/such/path"],
        ["view"],
        ["--claims", "[1]", "list"],
        ["--claims", "{", "list"],
        ["--url", "registry", "list"],
        ["view", ""],
    ],
)
def test_wrong_usage_ends_with_2_and_a_sentence(
    arguments: list[str], registry: Loopback, capsysbinary: Capture
) -> None:
    run = Run(capsysbinary, *arguments)
    assert (run.code, run.data) == (2, b"")
    assert run.err
    assert "Traceback" not in run.err
    as_json = Run(capsysbinary, *arguments, "--json")
    assert (as_json.code, as_json.err) == (2, "")
    assert as_json.document()["detail"]
    assert registry.requests == []


def test_no_registry_ends_with_2(capsysbinary: Capture, skill: Path) -> None:
    with Loopback() as gone:
        url = gone.url
    run = Run(capsysbinary, "--url", url, "push", skill)
    assert (run.code, run.data) == (2, b"")
    assert run.err.startswith(f"registry_unreachable: {url} does not answer: ")
    run = Run(capsysbinary, "--url", url, "list", "--json")
    assert (run.code, run.document()["code"]) == (2, "registry_unreachable")


def test_something_else_than_a_registry_ends_with_2(
    registry: Loopback, capsysbinary: Capture
) -> None:
    registry.faults.append(Fault("GET /skills", 200, body=b"<html>"))
    run = Run(capsysbinary, "list")
    assert (run.code, run.err.partition(":")[0]) == (2, "answer_invalid")


def test_a_registry_that_cannot_answer_now_ends_with_2(
    registry: Loopback, capsysbinary: Capture
) -> None:
    registry.faults.append(Fault("GET /skills", 503, {"Retry-After": "3600"}))
    assert Run(capsysbinary, "list").code == 2


def test_a_file_that_cannot_be_read_ends_with_2(tmp_path: Path, capsysbinary: Capture) -> None:
    # A name too long for a file is an error of the system that even an administrator gets.
    name = tmp_path / ("x" * 300)
    run = Run(capsysbinary, "push", name, "--json")
    assert (run.code, run.err) == (2, "")
    assert run.document()["detail"]


def test_without_arguments_the_help_is_shown(capsysbinary: Capture) -> None:
    run = Run(capsysbinary)
    assert run.code == 0
    assert all(
        word in run.out
        for word in ("push", "validate", "list", "view", "--url", "SKILL_REGISTRY_URL")
    )


def test_the_version_is_told(capsysbinary: Capture) -> None:
    assert Run(capsysbinary, "--version").out.startswith("skillctl ")


def _process(*arguments: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    paths = [str(PROJECT / "layers/core"), str(PROJECT / "scripts")]
    return subprocess.run(
        [sys.executable, "-P", "-m", "skill_registry_cli", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def test_it_runs_as_a_module_from_any_folder(skill: Path, registry: Loopback) -> None:
    (skill / "json.py").write_text("raise SystemExit('the wrong module')")
    run = _process("push", ".", folder=skill)
    assert (run.returncode, run.stdout, run.stderr) == (0, "Published notes v:1 in system.\n", "")
    assert _process("view", "nothing", folder=skill).returncode == 1


def test_a_terminal_that_cannot_show_a_letter_shows_its_number(
    skill: Path, registry: Loopback
) -> None:
    registry.house.publish("notes", description="Über alles")
    run = _process("list", folder=skill, PYTHONIOENCODING="ascii")
    assert (run.returncode, run.stdout) == (0, "notes\t1\tsystem\t-\t\\xdcber alles\n")
    as_json = _process("list", "--json", folder=skill, PYTHONIOENCODING="ascii")
    assert json.loads(as_json.stdout)["skills"][0]["description"] == "Über alles"


def test_a_reader_that_goes_away_sees_no_traceback(skill: Path, registry: Loopback) -> None:
    registry.house.publish("notes", description="x" * 1000)
    paths = [str(PROJECT / "layers/core"), str(PROJECT / "scripts")]
    reader, writer = os.pipe()
    os.close(reader)
    try:
        run = subprocess.run(
            [sys.executable, "-P", "-m", "skill_registry_cli", "list"],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            stdout=writer,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    finally:
        os.close(writer)
    assert run.stderr == b""


def test_a_question_that_nobody_answers_ends_with_1_and_says_what_is_done(
    registry: Loopback, capsysbinary: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    run = Run(capsysbinary, "purge", "notes", "1", "--reason", "r")
    assert (run.code, run.out.strip(), registry.requests) == (1, "", [])
    assert run.err.endswith("aborted: Stopped. Nothing is done but what was reported before.\n")
