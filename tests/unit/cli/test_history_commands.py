"""versions, diff, rollback and delete against the registry's own code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from command_line import Capture, Run
from house import ADMIN, skill
from loopback import Fault, Loopback

from skill_registry.store.keys import SkillId

if TYPE_CHECKING:
    from collections.abc import Iterator

NOTES = SkillId("system", "notes")


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    with Loopback() as running:
        monkeypatch.setenv("SKILL_REGISTRY_URL", running.url)
        running.house.publish("notes", "one\n")
        running.house.registry.publisher.publish_inline(
            ADMIN, NOTES, skill("notes", "two\n"), message="Say it twice"
        )
        yield running


def test_versions_are_one_line_each_newest_first(registry: Loopback, capsysbinary: Capture) -> None:
    Run(capsysbinary, "label", "notes", "stable", "1")
    Run(capsysbinary, "rollback", "notes", "1", "-m", "Back")
    Run(capsysbinary, "delete", "notes")
    run = Run(capsysbinary, "versions", "notes")
    assert (run.code, run.err) == (0, "")
    rows = [line.split("\t") for line in run.out.splitlines()]
    assert [(row[0], row[1], row[4], row[5]) for row in rows] == [
        ("4", "deleted", "", ""),
        ("3", "content", "", "Back (files of v:1)"),
        ("2", "content", "", "Say it twice"),
        ("1", "content", "stable", ""),
    ]
    assert rows[2][3] == ADMIN.subject
    assert rows[2][2].endswith("Z")


def test_versions_tell_how_to_go_on(capsysbinary: Capture) -> None:
    run = Run(capsysbinary, "versions", "notes", "--limit", "1")
    assert [line.split("\t")[0] for line in run.out.splitlines()] == ["2"]
    assert run.err == "There are older ones: --before 2\n"
    run = Run(capsysbinary, "versions", "notes", "--before", "2")
    assert ([line.split("\t")[0] for line in run.out.splitlines()], run.err) == (["1"], "")
    document = Run(capsysbinary, "versions", "notes", "--json").document()
    assert [each["version"] for each in document["versions"]] == [2, 1]


def test_a_directory_that_was_never_published_has_no_versions(
    registry: Loopback, capsysbinary: Capture
) -> None:
    registry.house.put("skills/system/odd/SKILL.md", b"---\nname: odd\ndescription: d\n---\nx")
    run = Run(capsysbinary, "versions", "odd")
    assert (run.code, run.out) == (0, "")
    assert "never published" in run.err


def test_a_diff_prints_the_text_and_nothing_else_to_stdout(capsysbinary: Capture) -> None:
    run = Run(capsysbinary, "diff", "notes")
    assert run.code == 0
    assert run.out.splitlines() == [
        "--- v1/references/notes.md",
        "+++ v2/references/notes.md",
        "@@ -1 +1 @@",
        "-one",
        "+two",
    ]
    assert run.err == "notes v:1 -> v:2 in system, 1 file changed\n"


def test_a_diff_is_of_the_versions_that_are_named(capsysbinary: Capture) -> None:
    Run(capsysbinary, "label", "notes", "stable", "1")
    run = Run(capsysbinary, "diff", "notes", "--from", "2", "--to", "@stable")
    assert run.out.endswith("-two\n+one\n")
    document = Run(capsysbinary, "diff", "notes", "--from", "@stable", "--json").document()
    assert (document["from"], document["to"], document["truncated"]) == (1, 2, False)
    same = Run(capsysbinary, "diff", "notes", "--from", "2", "--to", "2")
    assert (same.out, same.err) == ("", "notes v:2 -> v:2 in system, 0 files changed\n")


def test_a_diff_that_is_cut_says_so(registry: Loopback, capsysbinary: Capture) -> None:
    registry.house.publish("notes", ("x" * 1000 + "\n") * 1200)
    run = Run(capsysbinary, "diff", "notes")
    assert "The text is cut here" in run.err


def test_a_rollback_publishes_old_files_as_the_next_version(
    registry: Loopback, capsysbinary: Capture
) -> None:
    run = Run(capsysbinary, "rollback", "notes", "1")
    assert run.out == "Published notes v:3 in system with the files of v:1.\n"
    assert registry.house.tree("notes")["references/notes.md"] == b"one\n"
    document = Run(capsysbinary, "rollback", "notes", "2", "--json").document()
    assert (document["version"], document["restores"], document["state"]) == (4, 2, "published")


def test_a_rollback_of_another_version_than_expected_is_refused(
    registry: Loopback, capsysbinary: Capture
) -> None:
    run = Run(capsysbinary, "rollback", "notes", "1", "--if-version", "1")
    assert (run.code, run.err.partition(":")[0]) == (1, "version_conflict")
    assert Run(capsysbinary, "rollback", "notes", "1", "--if-version", "2").code == 0


def test_a_rollback_whose_reply_is_lost_makes_one_version(
    registry: Loopback, capsysbinary: Capture
) -> None:
    registry.faults.append(Fault("POST /skills/notes/rollback", 502, applied=True))
    assert "v:3" in Run(capsysbinary, "rollback", "notes", "1").out
    assert registry.house.listed() == {"notes": 3}


def test_a_deleted_skill_comes_back_by_a_rollback(
    registry: Loopback, capsysbinary: Capture
) -> None:
    run = Run(capsysbinary, "delete", "notes")
    assert run.out == "Deleted notes in system; that is v:3.\n"
    assert registry.house.listed() == {}
    again = Run(capsysbinary, "delete", "notes", "--json")
    assert (again.code, again.document()["code"]) == (1, "skill_not_found")
    assert "v:4" in Run(capsysbinary, "rollback", "notes", "2").out
    assert registry.house.listed() == {"notes": 4}
    assert Run(capsysbinary, "delete", "notes", "--if-version", "3").code == 1
    document = Run(capsysbinary, "delete", "notes", "--if-version", "4", "--json").document()
    assert (document["version"], document["state"]) == (5, "deleted")


def test_a_delete_whose_reply_is_lost_is_one_deletion(
    registry: Loopback, capsysbinary: Capture
) -> None:
    registry.faults.append(Fault("DELETE /skills/notes", 502, applied=True))
    assert Run(capsysbinary, "delete", "notes").out == "Deleted notes in system; that is v:3.\n"


def test_a_view_of_a_label_is_of_its_version(capsysbinary: Capture) -> None:
    Run(capsysbinary, "label", "notes", "stable", "1")
    run = Run(capsysbinary, "view", "notes", "references/notes.md", "--version", "@stable")
    assert (run.data, run.err) == (b"one\n", "notes v:1 in system, references/notes.md\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["versions"],
        ["versions", "notes", "--limit", "51"],
        ["versions", "notes", "--before", "x"],
        ["diff", "notes", "--from", "x"],
        ["diff", "notes", "--to", "@"],
        ["rollback", "notes"],
        ["rollback", "notes", "0"],
        ["rollback", "notes", "1", "--if-version", "x"],
        ["delete"],
        ["label", "notes", "stable"],
        ["label", "notes", "stable", "1", "--remove"],
        ["label", "notes", "stable", "@next"],
        ["purge", "notes", "1"],
        ["purge", "notes", "@stable", "--reason", "r"],
        ["disable"],
        ["catalog"],
        ["catalog", "rebuild"],
        ["reconcile", "notes"],
        ["doctor", "notes"],
    ],
)
def test_wrong_usage_of_what_changes_things_sends_nothing(
    arguments: list[str], registry: Loopback, capsysbinary: Capture
) -> None:
    run = Run(capsysbinary, *arguments)
    assert (run.code, run.data) == (2, b"")
    assert run.err
    as_json = Run(capsysbinary, *arguments, "--json")
    assert (as_json.code, as_json.err) == (2, "")
    assert as_json.document()["detail"]
    assert registry.requests == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["versions", "nota"],
        ["diff", "nota"],
        ["rollback", "nota", "1"],
        ["delete", "nota"],
        ["label", "nota", "stable", "1"],
        ["disable", "nota"],
        ["purge", "nota", "1", "--reason", "r", "--yes"],
    ],
)
def test_an_unknown_skill_ends_with_1(arguments: list[str], capsysbinary: Capture) -> None:
    run = Run(capsysbinary, *arguments)
    assert (run.code, run.out, run.err.partition(":")[0]) == (1, "", "skill_not_found")
    assert Run(capsysbinary, *arguments, "--json").document()["code"] == "skill_not_found"
