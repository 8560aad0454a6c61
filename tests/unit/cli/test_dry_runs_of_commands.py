"""--dry-run: the sentence is true, a refusal is told, and nothing is changed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from command_line import Capture, Run
from loopback import Loopback

from skill_registry.catalog.principal import user_scope
from skill_registry.store import keys
from skill_registry.store.keys import SkillId

if TYPE_CHECKING:
    from collections.abc import Iterator

NOTES = SkillId("system", "notes")
ROLE = "arn:aws:iam::123456789012:role/review-bot"
BOB = ("--claims", json.dumps({"sub": "bob", "teams": ["blue"]}))
DOCTOR = "POST /maintenance/doctor"


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    with Loopback() as running:
        monkeypatch.setenv("SKILL_REGISTRY_URL", running.url)
        for text in ("one\n", "two\n", "three\n"):
            running.house.publish("notes", text)
        yield running


class DryRun(Run):
    """A run that has to leave the store as it is and to change nothing by its requests."""

    def __init__(self, capture: Capture, registry: Loopback, *arguments: str) -> None:
        before, asked = registry.house.state(), len(registry.requests)
        super().__init__(capture, *arguments, "--dry-run")
        assert registry.house.state() == before
        sent = registry.seen()[asked:]
        assert [each for each in sent if not each.startswith("GET ") and each != DOCTOR] == []


CHANGES: dict[tuple[str, ...], tuple[str, dict[str, Any]]] = {
    ("rollback", "notes", "1"): (
        "Would publish notes v:4 in system with the files of v:1.",
        {"name": "notes", "scope": "system", "version": 4, "restores": 1},
    ),
    ("rollback", "notes", "@stable", "--if-version", "3"): (
        "Would publish notes v:4 in system with the files of v:2.",
        {"name": "notes", "scope": "system", "version": 4, "restores": 2},
    ),
    ("delete", "notes", "--scope", "system"): (
        "Would delete notes in system; that would be v:4.",
        {"name": "notes", "scope": "system", "version": 4},
    ),
    ("label", "notes", "stable", "3"): (
        "Would give stable to v:3 of notes in system; now v:2 has it.",
        {"name": "notes", "scope": "system", "labels": {"stable": 3}, "before": {"stable": 2}},
    ),
    ("label", "notes", "good", "1"): (
        "Would give good to v:1 of notes in system; now none has it.",
        {"name": "notes", "scope": "system", "labels": {"good": 1}, "before": {"good": None}},
    ),
    ("label", "notes", "stable", "--remove"): (
        "Would take stable away of notes in system; now v:2 has it.",
        {"name": "notes", "scope": "system", "labels": {"stable": None}, "before": {"stable": 2}},
    ),
    ("disable", "notes"): (
        "Would disable notes in system.",
        {"name": "notes", "scope": "system", "enabled": False},
    ),
    ("enable", "notes"): (
        "Would enable notes in system.",
        {"name": "notes", "scope": "system", "enabled": True},
    ),
    ("seal", "notes"): (
        "Would seal notes in system.",
        {"name": "notes", "scope": "system", "sealed": True},
    ),
    ("seal", "notes", "--undo"): (
        "Would let other scopes shadow notes again.",
        {"name": "notes", "scope": "system", "sealed": False},
    ),
    ("purge", "notes", "1", "--reason", "A key"): (
        "Would purge notes v:1 in system.",
        {"name": "notes", "scope": "system", "version": 1},
    ),
    ("copy", "notes", "team-blue"): (
        "Would copy notes v:3 from system to team-blue; that would be v:1.",
        {
            "name": "notes",
            "scope": "team-blue",
            "version": 1,
            "copied_from": {"scope": "system", "version": 3},
        },
    ),
    ("access", "grant", ROLE, "--role", "maintainer", "--scope", "team-blue"): (
        f"Would change {ROLE}: reader; agent review -> maintainer; scopes team-blue.",
        {
            "role": ROLE,
            "before": {"roles": ["reader"], "scopes": [], "agent": "review"},
            "after": {"roles": ["maintainer"], "scopes": ["team-blue"]},
        },
    ),
    ("access", "revoke", ROLE): (
        f"Would change {ROLE}: reader; agent review -> no grant.",
        {
            "role": ROLE,
            "before": {"roles": ["reader"], "scopes": [], "agent": "review"},
            "after": None,
        },
    ),
    ("catalog", "rebuild", "system"): (
        "Would make the catalog of system anew, from 1 skill.",
        {"scope": "system", "examined": 1},
    ),
}


@pytest.mark.parametrize("arguments", CHANGES, ids=" ".join)
def test_a_dry_run_says_what_would_be_done_and_changes_nothing(
    registry: Loopback, capsysbinary: Capture, arguments: tuple[str, ...]
) -> None:
    assert Run(capsysbinary, "label", "notes", "stable", "2").code == 0
    granted = Run(capsysbinary, "access", "grant", ROLE, "--role", "reader", "--agent", "review")
    assert granted.code == 0
    sentence, document = CHANGES[arguments]
    run = DryRun(capsysbinary, registry, *arguments)
    assert (run.code, run.out, run.err) == (0, sentence + "\n", "")
    in_json = DryRun(capsysbinary, registry, *arguments, "--json")
    assert (in_json.code, in_json.document()) == (0, {"dry_run": True, **document})


REFUSALS: dict[tuple[str, ...], str] = {
    ("rollback", "notes", "9"): "version_not_found",
    ("rollback", "notes", "@stable"): "version_not_found",
    ("rollback", "nothing", "1"): "skill_not_found",
    ("rollback", "notes", "1", "--if-version", "2"): "version_conflict",
    ("rollback", "notes", "2"): "version_pruned",
    ("delete", "nothing"): "skill_not_found",
    ("delete", "notes", "--if-version", "2"): "version_conflict",
    ("label", "notes", "stable", "9"): "version_not_found",
    ("label", "notes", "stable", "2"): "version_pruned",
    ("label", "nothing", "stable", "1"): "skill_not_found",
    ("enable", "nothing"): "skill_not_found",
    ("disable", "nothing"): "skill_not_found",
    ("hide", "notes"): "change_invalid",
    ("purge", "notes", "3", "--reason", "A key"): "version_in_use",
    ("purge", "notes", "9", "--reason", "A key"): "version_not_found",
    ("access", "grant", ROLE, "--role", "king"): "access_invalid",
    ("access", "grant", ROLE, "--role", "reader", "--tier", "huge"): "access_invalid",
}


@pytest.mark.parametrize("arguments", REFUSALS, ids=" ".join)
def test_a_dry_run_refuses_what_the_change_would(
    registry: Loopback, capsysbinary: Capture, arguments: tuple[str, ...]
) -> None:
    assert Run(capsysbinary, "purge", "notes", "2", "--reason", "A key", "--yes").code == 0
    dry = DryRun(capsysbinary, registry, *arguments)
    assert (dry.code, dry.err.partition(":")[0]) == (1, REFUSALS[arguments])
    real = Run(capsysbinary, *arguments, *(("--yes",) if arguments[0] == "purge" else ()))
    assert (real.code, real.err.partition(":")[0]) == (1, REFUSALS[arguments])


def test_a_purge_of_a_labelled_version_is_refused_in_a_dry_run(
    registry: Loopback, capsysbinary: Capture
) -> None:
    assert Run(capsysbinary, "label", "notes", "stable", "1").code == 0
    run = DryRun(capsysbinary, registry, "purge", "notes", "1", "--reason", "A key")
    assert (run.code, run.err.partition(":")[0]) == (1, "version_in_use")


def test_a_skill_that_is_deleted_can_be_rolled_back_and_not_deleted(
    registry: Loopback, capsysbinary: Capture
) -> None:
    assert Run(capsysbinary, "delete", "notes").code == 0
    run = DryRun(capsysbinary, registry, "delete", "notes")
    assert (run.code, run.err.partition(":")[0]) == (1, "skill_not_found")
    run = DryRun(capsysbinary, registry, "rollback", "notes", "4")
    assert (run.code, run.err.partition(":")[0]) == (1, "version_not_found")
    run = DryRun(capsysbinary, registry, "rollback", "notes", "3")
    assert run.out == "Would publish notes v:5 in system with the files of v:3.\n"


def test_a_deletion_of_what_was_never_published_names_no_number(
    registry: Loopback, capsysbinary: Capture
) -> None:
    registry.house.put(
        "skills/system/plain/SKILL.md", b"---\nname: plain\ndescription: P\n---\nx\n"
    )
    registry.house.deliver("skills/system/plain/SKILL.md")
    run = DryRun(capsysbinary, registry, "delete", "plain")
    assert (run.code, run.out) == (0, "Would delete plain in system.\n")


def test_a_skill_of_another_scope_than_ones_own_is_pointed_out(
    registry: Loopback, capsysbinary: Capture
) -> None:
    run = DryRun(capsysbinary, registry, *BOB, "disable", "notes")
    assert "--scope system" in run.err
    registry.house.publish("notes", "mine\n", scope=user_scope("bob"))
    run = DryRun(capsysbinary, registry, *BOB, "disable", "notes")
    assert (run.out, run.err) == (f"Would disable notes in {user_scope('bob')}.\n", "")


def test_a_dry_run_of_hide_says_whether_there_is_such_a_skill(
    registry: Loopback, capsysbinary: Capture
) -> None:
    run = DryRun(capsysbinary, registry, *BOB, "hide", "notes")
    assert (run.code, run.out, run.err) == (0, "Would hide notes from you.\n", "")
    run = DryRun(capsysbinary, registry, *BOB, "hide", "nothing")
    assert (run.code, "no skill nothing" in run.err) == (0, True)
    run = DryRun(capsysbinary, registry, *BOB, "hide", "notes", "--undo", "--json")
    assert run.document() == {"dry_run": True, "name": "notes", "hidden": False}


def test_a_dry_run_of_seal_says_whether_there_is_such_a_skill(
    registry: Loopback, capsysbinary: Capture
) -> None:
    run = DryRun(capsysbinary, registry, "seal", "nothing")
    assert (run.code, "no skill nothing in system" in run.err) == (0, True)


@pytest.mark.parametrize("command", [("reconcile",), ("doctor", "--fix")], ids=" ".join)
def test_a_dry_run_of_a_repair_finds_and_repairs_nothing(
    registry: Loopback, capsysbinary: Capture, command: tuple[str, ...]
) -> None:
    registry.house.put(keys.sidecar(NOTES), b"1")
    run = DryRun(capsysbinary, registry, *command)
    assert (run.code, run.out.startswith("sidecar_")) == (0, True)
    assert "0 to mend, 1 would be repaired." in run.err
    document = DryRun(capsysbinary, registry, *command, "--json").document()
    assert (document["dry_run"], len(document["findings"])) == (True, 1)
    assert Run(capsysbinary, *command).code == 0
    run = DryRun(capsysbinary, registry, *command)
    assert (run.code, run.out) == (0, "")


@pytest.mark.parametrize("command", [("reconcile",), ("doctor", "--fix")], ids=" ".join)
def test_a_dry_run_of_a_repair_ends_with_1_where_something_would_be_left(
    registry: Loopback, capsysbinary: Capture, command: tuple[str, ...]
) -> None:
    registry.house.put("skills/system/stray.txt", b"x")
    run = DryRun(capsysbinary, registry, *command)
    assert (run.code, "1 to mend, 0 would be repaired." in run.err) == (1, True)


def test_a_dry_run_of_a_rebuild_is_for_those_who_may(
    registry: Loopback, capsysbinary: Capture
) -> None:
    run = DryRun(capsysbinary, registry, *BOB, "catalog", "rebuild", "system")
    assert (run.code, run.err.partition(":")[0]) == (1, "forbidden")


def test_a_label_of_a_version_beyond_the_first_page_is_found(
    registry: Loopback, capsysbinary: Capture
) -> None:
    for number in range(4, 56):
        registry.house.publish("notes", f"{number}\n")
    assert Run(capsysbinary, "label", "notes", "old", "2").code == 0
    run = DryRun(capsysbinary, registry, "rollback", "notes", "@old")
    assert run.out == "Would publish notes v:56 in system with the files of v:2.\n"


def test_an_arn_with_a_path_is_the_role_that_the_registry_keeps(
    registry: Loopback, capsysbinary: Capture
) -> None:
    assert Run(capsysbinary, "access", "grant", ROLE, "--role", "reader").code == 0
    arn = ROLE.replace("role/", "role/team/")
    run = DryRun(capsysbinary, registry, "access", "revoke", arn)
    assert run.out == f"Would change {arn}: reader -> no grant.\n"
