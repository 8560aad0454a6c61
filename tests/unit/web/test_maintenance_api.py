"""Maintenance over HTTP: what administrators start by hand, bounded and continued."""

from __future__ import annotations

import json
from typing import Any

import pytest
from api_client import JSON, SETTINGS, Client
from house import ADMIN, House, event_body, http_event, skill_md, skill_zip

from skill_registry.catalog.examining import BUDGET
from skill_registry.catalog.principal import user_scope
from skill_registry.store import keys
from skill_registry.store.keys import SkillId
from skill_registry.web.refresh import refresh

MAINTAIN = "POST /maintenance/{task}"
NOTES = SkillId("system", "notes")
TASKS = {"reconcile": {}, "rebuild": {"scope": "system"}, "doctor": {}}


@pytest.fixture
def house() -> House:
    return House(settings=SETTINGS)


@pytest.fixture
def client(house: House) -> Client:
    return Client(house)


def run(client: Client, task: str, body: Any = None, **more: Any) -> tuple[int, Any]:
    text = None if body is None else json.dumps(body)
    status, answer, _ = client.send(MAINTAIN, path={"task": task}, headers=JSON, body=text, **more)
    return status, answer


def slow(house: House) -> None:
    """Let every request take so long that a run ends after the first thing that it does."""

    def later(*_: object) -> None:
        house.time += BUDGET

    house.faults.on_after = later


def test_a_reconcile_repairs_what_differs_and_a_second_one_nothing(
    house: House, client: Client
) -> None:
    house.publish("notes")
    house.bucket.delete(keys.sidecar(NOTES))
    house.put("skills/system/plain/SKILL.md", skill_md("plain"))
    status, body = run(client, "reconcile")
    assert (status, body["repaired"]) == (200, ["system/notes", "system/plain"])
    assert house.listed() == {"notes": 1, "plain": None}
    again = run(client, "reconcile", {})[1]
    assert again == {"uploads": [], "repaired": [], "failed": [], "drift": [], "pruned": {}}


def test_a_reconcile_publishes_uploads_whose_event_was_lost(house: House, client: Client) -> None:
    upload = house.upload("notes", skill_zip("notes"))
    assert run(client, "reconcile")[1]["uploads"] == [upload]
    assert house.listed() == {"notes": 1}


def test_a_run_that_takes_too_long_goes_on_where_it_ended(house: House, client: Client) -> None:
    house.publish("first")
    names = [f"skill-{letter}" for letter in "abc"]
    for name in names:
        house.put(f"skills/system/{name}/SKILL.md", skill_md(name))
    slow(house)
    body: dict[str, Any] = {}
    runs: list[dict[str, Any]] = []
    while not runs or "next" in runs[-1]:
        runs.append(run(client, "reconcile", body)[1])
        body = {"cursor": runs[-1].get("next")}
    assert [name for each in runs for name in each["repaired"]] == [f"system/{n}" for n in names]
    assert len(runs) > 1


def test_a_rebuild_reads_every_entry_anew_and_counts_up_only_for_a_difference(
    house: House, client: Client
) -> None:
    house.publish("notes")
    house.put(keys.catalog("system"), b"nonsense")
    status, first = run(client, "rebuild", {"scope": "system"})
    assert (status, first["scope"], first["skills"]) == (200, "system", 1)
    assert run(client, "rebuild", {"scope": "system"}) == (200, first)
    assert house.listed() == {"notes": 1}


def test_a_rebuild_and_the_doctor_agree_though_one_remembers_the_right_bytes(
    house: House, client: Client
) -> None:
    house.publish("notes")
    house.put(keys.revision(NOTES, 1), skill_zip("notes", "forged"))
    run(client, "doctor", {"fix": True})
    first = run(client, "rebuild", {"scope": "system"})[1]
    assert run(client, "reconcile")[1]["repaired"] == []
    assert run(client, "doctor", {"fix": True})[1]["repaired"] == []
    assert run(client, "rebuild", {"scope": "system"})[1] == first


def test_unreadable_settings_are_replaced_under_the_name_of_who_asked(
    house: House, client: Client
) -> None:
    house.publish("notes")
    house.put(keys.settings(NOTES), b"on!")
    assert [f["code"] for f in run(client, "doctor", {"fix": True})[1]["repaired"]] == [
        "settings_broken",
        "catalog_entry_stale",
    ]
    house.put(keys.settings(NOTES), b"[]")
    assert run(client, "doctor", {"name": "notes", "fix": True})[1]["findings"] == []
    stored = json.loads(house.read(keys.settings(NOTES)) or b"")
    assert stored["enabled"] is False
    assert stored["changes"][0]["who"].endswith("role/admin")


def test_a_skill_of_which_there_is_nothing_is_not_found(house: House, client: Client) -> None:
    house.publish("notes")
    for body in ({"name": "nope"}, {"name": "nope", "fix": True}):
        status, answer = run(client, "doctor", body)
        assert (status, answer["code"]) == (404, "skill_not_found")
    for key in ("skills/system/nope/ref.md", "registry/system/nope/settings.json"):
        house.put(key, b"x")
        assert run(client, "doctor", {"name": "nope"})[0] == 200
        house.bucket.delete(key)


def test_the_doctor_names_every_disagreement_and_mends_only_when_asked(
    house: House, client: Client
) -> None:
    house.publish("notes")
    house.put(keys.sidecar(NOTES), b"9\n")
    house.put(keys.tree_file(NOTES, "references/notes.md"), b"edited by hand")
    house.put("skills/system/stray.txt", b"x")
    before = house.state()
    status, body = run(client, "doctor")
    assert (status, body["examined"]) == (200, 1)
    found = {(each["code"], each["skill"], each["key"]) for each in body["findings"]}
    assert found >= {
        ("sidecar_past_log", "system/notes", keys.sidecar(NOTES)),
        ("tree_foreign_file", "system/notes", keys.tree_file(NOTES, "references/notes.md")),
        ("stray_object", None, "skills/system/stray.txt"),
    }
    assert all(each["detail"] for each in body["findings"])
    assert (body["repaired"], house.state()) == ([], before)
    fixed = run(client, "doctor", {"fix": True})[1]
    assert [each["code"] for each in fixed["findings"]] == ["stray_object"]
    assert {each["code"] for each in fixed["repaired"]} >= {"sidecar_past_log", "tree_foreign_file"}
    assert house.tree("notes")["references/notes.md"] == b"one"


def test_the_doctor_looks_at_one_scope_or_one_skill_alone(house: House, client: Client) -> None:
    for scope in ("system", "team-blue"):
        for name in ("notes", "other"):
            house.publish(name, scope=scope)
            house.put(keys.sidecar(SkillId(scope, name)), b"x")

    def skills(body: dict[str, Any]) -> set[str]:
        return {each["skill"] for each in run(client, "doctor", body)[1]["findings"]}

    assert skills({"scope": "team-blue"}) == {"team-blue/notes", "team-blue/other"}
    assert skills({"scope": "team-blue", "name": "notes"}) == {"team-blue/notes"}
    assert skills({"name": "notes"}) == {"system/notes"}
    mended = run(client, "doctor", {"name": "notes", "fix": True})[1]
    assert (mended["findings"], mended["examined"]) == ([], 1)
    assert [each["code"] for each in mended["repaired"]] == ["sidecar_garbage"]
    assert skills({}) == {"system/other", "team-blue/notes", "team-blue/other"}


def test_the_doctor_goes_on_where_it_ended(house: House, client: Client) -> None:
    for name in ("notes", "other"):
        house.publish(name)
        house.put(keys.sidecar(SkillId("system", name)), b"x")
    slow(house)
    body: dict[str, Any] = {"scope": "system"}
    codes: list[str] = []
    runs = 0
    while True:
        answer = run(client, "doctor", body)[1]
        runs += 1
        codes += [each["skill"] for each in answer["findings"]]
        if "next" not in answer:
            break
        body["cursor"] = answer["next"]
    assert (codes, runs) == (["system/notes", "system/other"], 3)


@pytest.mark.parametrize("task", [*TASKS, "other"])
@pytest.mark.parametrize("roles", ["author", "maintainer", "reader"])
def test_maintenance_is_for_administrators(
    house: House, client: Client, task: str, roles: str
) -> None:
    before = house.state()
    claims = {"sub": "bob", "roles": roles}
    status, body = run(client, task, TASKS.get(task, {}), claims=claims)
    assert (status, body["code"]) == (403, "forbidden")
    assert house.state() == before


def test_an_administrator_by_claim_may_too(house: House, client: Client) -> None:
    claims = {"sub": "ann", "roles": "admin"}
    house.publish("notes", scope=user_scope("ann"))
    for task, body in TASKS.items():
        assert run(client, task, body, claims=claims)[0] == 200
    # Without a scope a name is one of the caller's own.
    found = run(client, "doctor", {"name": "notes"}, claims=claims)[1]
    assert (found["findings"], found["examined"]) == ([], 1)


@pytest.mark.parametrize(
    ("task", "body", "status", "code"),
    [
        ("other", {}, 404, "route_not_found"),
        ("rebuild", {}, 400, "body_invalid"),
        ("rebuild", None, 400, "body_invalid"),
        ("rebuild", {"scope": "nowhere"}, 400, "scope_invalid"),
        ("reconcile", {"scope": "system"}, 400, "body_invalid"),
        ("reconcile", {"cursor": 3}, 400, "body_invalid"),
        ("reconcile", [], 400, "body_not_json"),
        ("doctor", {"scope": "nowhere"}, 400, "scope_invalid"),
        ("doctor", {"fix": "yes"}, 400, "body_invalid"),
        ("doctor", {"name": "notes", "cursor": "system/a"}, 400, "body_invalid"),
        ("doctor", {"name": "a/b"}, 404, "skill_not_found"),
        ("doctor", {"name": "nope"}, 404, "skill_not_found"),
        ("doctor", {"cursor": "garbage"}, 400, "cursor_invalid"),
        ("doctor", {"cursor": "nowhere/a"}, 400, "cursor_invalid"),
        ("doctor", {"cursor": "system/a", "scope": "team-blue"}, 400, "cursor_invalid"),
        ("doctor", {"cursor": "uploads/a/b.zip"}, 400, "cursor_invalid"),
        ("reconcile", {"cursor": "garbage"}, 400, "cursor_invalid"),
        ("reconcile", {"cursor": "nowhere/a"}, 400, "cursor_invalid"),
        ("reconcile", {"cursor": "uploads/garbage"}, 400, "cursor_invalid"),
    ],
)
def test_what_cannot_be_done_is_named(
    client: Client, task: str, body: Any, status: int, code: str
) -> None:
    done = run(client, task, body)
    assert (done[0], done[1]["code"]) == (status, code)


def test_a_store_that_does_not_answer_is_told(house: House, client: Client) -> None:
    house.faults.before_if = lambda _: True
    assert run(client, "rebuild", {"scope": "system"})[0] == 503
    assert run(client, "doctor", {})[0] == 503


def test_the_refresh_function_tells_its_three_kinds_of_event_apart(house: House) -> None:
    house.publish("notes")
    call = http_event(MAINTAIN, path={"task": "doctor"})
    assert json.loads(refresh(house.registry, call)["body"])["findings"] == []
    records = [{"messageId": "1", "body": event_body(keys.sidecar(NOTES))}]
    assert refresh(house.registry, {"Records": records}) == {"batchItemFailures": []}
    assert refresh(house.registry, {"detail-type": "Scheduled Event"})["failed"] == ()


def test_the_schedule_prunes(house: House) -> None:
    for count in range(22):
        house.publish("notes", str(count))
    # Beyond any retention by age.
    house.time += 10 * 365 * 24 * 60 * 60
    assert refresh(house.registry, {"action": "reconcile"})["pruned"] == {"system/notes": (1, 2)}
    assert house.registry.history.versions(ADMIN, "notes").head == 22
