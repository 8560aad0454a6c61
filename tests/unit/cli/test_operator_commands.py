"""label, enable, disable, purge, reconcile, catalog rebuild and doctor: what operators type."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from command_line import Capture, Run
from house import skill_md
from loopback import Fault, Loopback

from skill_registry.catalog.principal import user_scope
from skill_registry.store import keys
from skill_registry.store.keys import SkillId

if TYPE_CHECKING:
    from collections.abc import Iterator

NOTES = SkillId("system", "notes")
BOB = json.dumps({"sub": "bob"})


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    with Loopback() as running:
        monkeypatch.setenv("SKILL_REGISTRY_URL", running.url)
        running.house.publish("notes", "one\n")
        running.house.publish("notes", "two\n")
        yield running


def test_a_label_is_given_moved_and_taken_away(capsysbinary: Capture) -> None:
    run = Run(capsysbinary, "label", "notes", "stable", "1", "--reason", "Reviewed")
    assert (run.code, run.out, run.err) == (0, "stable names v:1 of notes in system.\n", "")
    document = Run(capsysbinary, "label", "notes", "stable", "2", "--json").document()
    assert (document["labels"], document["changes"][0]["why"]) == ({"stable": 2}, "Reviewed")
    run = Run(capsysbinary, "label", "notes", "stable", "--remove")
    assert run.out == "stable is no label of notes in system.\n"
    run = Run(capsysbinary, "label", "notes", "stable", "9")
    assert (run.code, run.err.partition(":")[0]) == (1, "version_not_found")


def test_a_skill_is_disabled_and_enabled_again(registry: Loopback, capsysbinary: Capture) -> None:
    run = Run(capsysbinary, "disable", "notes", "--reason", "Names a host")
    assert (run.code, run.out) == (0, "notes in system is disabled.\n")
    assert Run(capsysbinary, "view", "notes").code == 1
    document = Run(capsysbinary, "enable", "notes", "--json").document()
    assert [change.get("why") for change in document["changes"]] == ["Names a host", None]
    assert registry.house.listed() == {"notes": 2}


def test_a_reader_hides_a_skill_from_itself(registry: Loopback, capsysbinary: Capture) -> None:
    reader = ("--claims", json.dumps({"sub": "rea", "roles": ["reader"]}))
    run = Run(capsysbinary, *reader, "hide", "notes")
    assert (run.code, run.out) == (0, "notes is hidden from you.\n")
    assert Run(capsysbinary, *reader, "view", "notes").code == 1
    assert registry.house.listed() == {"notes": 2}
    assert Run(capsysbinary, *reader, "hide", "notes", "--undo").out == "notes is shown to you.\n"
    assert Run(capsysbinary, *reader, "view", "notes").code == 0


def test_who_has_no_scope_of_its_own_hides_nothing(capsysbinary: Capture) -> None:
    run = Run(capsysbinary, "hide", "notes")
    assert (run.code, run.err.partition(":")[0]) == (1, "change_invalid")


def test_an_administrator_seals_a_name(registry: Loopback, capsysbinary: Capture) -> None:
    registry.house.publish("notes", "mine", scope=user_scope("bob"))
    run = Run(capsysbinary, "seal", "notes", "--reason", "The one way")
    assert (run.code, run.out) == (0, "notes is sealed in system.\n")
    seen = Run(capsysbinary, "--claims", BOB, "view", "notes", "--json").document()
    assert seen["scope"] == "system"
    run = Run(capsysbinary, "--claims", BOB, "seal", "notes")
    assert (run.code, run.err.partition(":")[0]) == (1, "forbidden")
    assert Run(capsysbinary, "seal", "notes", "--undo").out == "notes is not sealed in system.\n"
    seen = Run(capsysbinary, "--claims", BOB, "view", "notes", "--json").document()
    assert seen["scope"] == user_scope("bob")


def test_a_change_in_a_scope_that_one_may_not_write_is_refused(capsysbinary: Capture) -> None:
    run = Run(capsysbinary, "--claims", BOB, "disable", "notes", "--scope", "system")
    assert (run.code, run.err.partition(":")[0]) == (1, "forbidden")


def test_a_purge_says_what_is_gone_and_where_it_still_is(
    registry: Loopback, capsysbinary: Capture
) -> None:
    registry.house.publish("notes", "one\n")
    registry.house.publish("notes", "four\n")
    run = Run(capsysbinary, "purge", "notes", "1", "--reason", "A key", "--yes")
    assert run.code == 0
    assert run.out.startswith("Purged notes v:1 in system; removed ")
    assert run.err == "v:3 still has references/notes.md\n"
    run = Run(capsysbinary, "view", "notes", "--version", "1")
    assert (run.code, run.err.partition(":")[0]) == (1, "version_pruned")
    document = Run(
        capsysbinary, "purge", "notes", "3", "--reason", "A key", "--yes", "--json"
    ).document()
    assert (document["state"], document["also_in"]) == ("purged", {})


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 1), ("", 1)])
def test_a_purge_without_yes_asks_first(
    registry: Loopback,
    capsysbinary: Capture,
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    code: int,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    run = Run(capsysbinary, "purge", "notes", "1", "--reason", "A key")
    assert run.code == code
    assert "Remove the bytes of notes v:1 for good?" in run.err
    assert (len(registry.requests) == 1) is (code == 0)


def test_a_purge_of_the_current_version_is_refused(capsysbinary: Capture) -> None:
    run = Run(capsysbinary, "purge", "notes", "2", "--reason", "A key", "--yes")
    assert (run.code, run.err.partition(":")[0]) == (1, "version_in_use")


def test_a_reconcile_tells_what_it_repaired(registry: Loopback, capsysbinary: Capture) -> None:
    house = registry.house
    house.put("skills/system/plain/SKILL.md", skill_md("plain"))
    run = Run(capsysbinary, "reconcile")
    assert (run.code, run.out, run.err) == (0, "repaired: system/plain\n", "")
    assert Run(capsysbinary, "reconcile").out == "Everything was in step.\n"
    house.bucket.delete(keys.sidecar(NOTES))
    document = Run(capsysbinary, "reconcile", "--json").document()
    assert document == {
        "uploads": [],
        "repaired": ["system/notes"],
        "failed": [],
        "drift": [],
        "pruned": {},
    }


def _answers(registry: Loopback, task: str, *answers: dict[str, Any]) -> None:
    registry.faults += [
        Fault(f"POST /maintenance/{task}", 200, body=json.dumps(each).encode()) for each in answers
    ]


def test_a_reconcile_of_several_runs_is_told_as_one(
    registry: Loopback, capsysbinary: Capture
) -> None:
    one = {"repaired": ["system/a"], "pruned": {"system/a": [1, 2]}, "next": "system/a"}
    two = {"repaired": ["system/b"], "failed": ["system/c"], "uploads": ["u"], "drift": ["x/y"]}
    _answers(registry, "reconcile", one, two)
    run = Run(capsysbinary, "reconcile")
    assert run.code == 1
    assert run.out.splitlines() == [
        "published: u",
        "repaired: system/a",
        "repaired: system/b",
        "edited by hand: x/y",
        "pruned: system/a v:1",
        "pruned: system/a v:2",
    ]
    assert run.err == "repair_failed: system/c\n"
    assert json.loads(registry.requests[-1].body) == {"cursor": "system/a"}
    _answers(registry, "reconcile", one, two)
    document = Run(capsysbinary, "reconcile", "--json").document()
    assert (document["repaired"], document["failed"]) == (["system/a", "system/b"], ["system/c"])


def test_a_rebuild_tells_what_the_catalog_is_now(registry: Loopback, capsysbinary: Capture) -> None:
    registry.house.put(keys.catalog("system"), b"nonsense")
    run = Run(capsysbinary, "catalog", "rebuild", "system")
    assert run.code == 0
    assert run.out.startswith("The catalog of system lists 1 skill; its version is ")
    document = Run(capsysbinary, "catalog", "rebuild", "system", "--json").document()
    assert (document["scope"], document["skills"]) == ("system", 1)
    run = Run(capsysbinary, "catalog", "rebuild", "nowhere")
    assert (run.code, run.err.partition(":")[0]) == (1, "scope_invalid")


def test_the_doctor_prints_a_line_for_every_disagreement_until_it_is_mended(
    registry: Loopback, capsysbinary: Capture
) -> None:
    assert Run(capsysbinary, "doctor").code == 0
    registry.house.put(keys.sidecar(NOTES), b"9\n")
    run = Run(capsysbinary, "doctor")
    assert run.code == 1
    assert run.out.splitlines() == [
        "sidecar_past_log\tsystem/notes\tskills/system/notes/.version\t"
        "It states 9, should be 2: the log ends there. A version may have been removed; the next"
        " publish takes its number again."
    ]
    assert run.err == "Examined 1 skill: 1 to mend, 0 repaired.\n"
    fixed = Run(capsysbinary, "doctor", "--fix")
    assert (fixed.code, fixed.out) == (0, "")
    assert fixed.err.splitlines()[0].startswith("repaired sidecar_past_log system/notes ")
    assert Run(capsysbinary, "doctor").err == "Examined 1 skill: 0 to mend, 0 repaired.\n"


def test_the_doctor_leaves_to_people_what_it_cannot_mend(
    registry: Loopback, capsysbinary: Capture
) -> None:
    registry.house.put("skills/system/stray.txt", b"x")
    run = Run(capsysbinary, "doctor", "--fix")
    assert (run.code, run.out.split("\t")[:3]) == (
        1,
        ["stray_object", "-", "skills/system/stray.txt"],
    )
    assert "may stay or be deleted" in run.err
    document = Run(capsysbinary, "doctor", "--json").document()
    assert (document["examined"], document["repaired"]) == (1, [])
    assert document["findings"][0]["code"] == "stray_object"


def test_the_doctor_looks_where_it_is_told_to(registry: Loopback, capsysbinary: Capture) -> None:
    registry.house.put(keys.sidecar(NOTES), b"9\n")
    registry.house.publish("other")
    assert Run(capsysbinary, "doctor", "--name", "other").code == 0
    assert Run(capsysbinary, "doctor", "--scope", "team-blue").code == 0
    assert Run(capsysbinary, "doctor", "--scope", "system", "--name", "notes").code == 1


def test_the_doctor_goes_on_until_the_end(registry: Loopback, capsysbinary: Capture) -> None:
    finding = {"code": "c", "skill": None, "key": "k", "detail": "d", "fixable": True}
    one = {"examined": 3, "findings": [finding], "repaired": [], "next": "system/a"}
    two = {"examined": 2, "findings": [{**finding, "key": "l"}]}
    _answers(registry, "doctor", one, two)
    run = Run(capsysbinary, "doctor", "--scope", "system")
    assert (run.code, run.out) == (1, "c\t-\tk\td\nc\t-\tl\td\n")
    assert run.err == "Examined 5 skills: 2 to mend, 0 repaired.\n"
    assert [json.loads(each.body) for each in registry.requests] == [
        {"scope": "system", "fix": False},
        {"scope": "system", "fix": False, "cursor": "system/a"},
    ]


def test_maintenance_that_does_not_end_is_no_answer(
    registry: Loopback, capsysbinary: Capture
) -> None:
    again = {"examined": 1, "findings": [], "next": "system/a"}
    _answers(registry, "doctor", again, again)
    run = Run(capsysbinary, "doctor", "--json")
    assert (run.code, run.document()["code"]) == (2, "answer_invalid")


@pytest.mark.parametrize("command", [["reconcile"], ["catalog", "rebuild", "system"], ["doctor"]])
def test_maintenance_by_others_than_administrators_is_refused(
    command: list[str], capsysbinary: Capture
) -> None:
    run = Run(capsysbinary, "--claims", BOB, *command)
    assert (run.code, run.out, run.err.partition(":")[0]) == (1, "", "forbidden")
