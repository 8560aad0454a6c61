"""What operators and authors do to a skill that is there: configure, go back, purge."""

from __future__ import annotations

import json
from typing import Any

import pytest
from api_client import ADMIN_ROLE, JSON, NAME, SETTINGS, Client
from house import ADMIN, House, skill_md

from skill_registry.store import keys
from skill_registry.store.keys import SkillId

ROLLBACK = "POST /skills/{name}/rollback"
CONFIGURE = "PATCH /skills/{name}"
PURGE = "POST /skills/{name}/purge"
VIEW = "GET /skills/{name}"
NOTES = SkillId("system", "notes")
READER = {"sub": "bob", "roles": "reader"}
AUTHOR = {"sub": "bob"}


@pytest.fixture
def house() -> House:
    made = House(settings=SETTINGS)
    made.publish("notes", "one")
    made.publish("notes", "two")
    return made


@pytest.fixture
def client(house: House) -> Client:
    return Client(house)


def send(client: Client, route: str, body: Any, **more: Any) -> tuple[int, Any, dict[str, str]]:
    headers = {**JSON, **more.pop("headers", {})}
    return client.send(route, path=NAME, headers=headers, body=json.dumps(body), **more)


def test_a_rollback_is_the_next_version_with_the_old_files(house: House, client: Client) -> None:
    status, body, headers = send(client, ROLLBACK, {"version": 1, "message": "Two was wrong"})
    assert (status, body["state"], body["version"], body["restores"]) == (200, "published", 3, 1)
    assert (headers["etag"], body["unchanged"]) == ('"3"', False)
    assert house.tree("notes")["references/notes.md"] == b"one"
    again = send(client, ROLLBACK, {"version": 3})[1]
    assert (again["version"], again["restores"], again["unchanged"]) == (4, 3, True)


def test_a_publish_that_restores_nothing_does_not_say_so(client: Client) -> None:
    files = {"files": {"SKILL.md": skill_md("notes").decode()}}
    assert "restores" not in send(client, "PUT /skills/{name}", files)[1]


def test_a_rollback_by_label_goes_to_what_the_label_names_now(client: Client) -> None:
    send(client, CONFIGURE, {"labels": {"stable": 1}})
    assert send(client, ROLLBACK, {"version": "@stable"})[1]["restores"] == 1
    status, body, _ = send(client, ROLLBACK, {"version": "@other"})
    assert (status, body["code"]) == (404, "version_not_found")


def test_a_rollback_takes_a_precondition_and_a_key(house: House, client: Client) -> None:
    late = send(client, ROLLBACK, {"version": 1}, headers={"if-match": '"1"'})
    assert (late[0], late[1]["code"], late[1]["current"]) == (412, "version_conflict", 2)
    given = {"if-match": '"2"', "idempotency-key": "once"}
    done = [send(client, ROLLBACK, {"version": 1}, headers=given) for _ in range(2)]
    assert [(each[0], each[1]["version"]) for each in done] == [(200, 3), (200, 3)]
    assert house.listed() == {"notes": 3}


def test_a_rollback_brings_a_deleted_skill_back_with_a_larger_number(
    house: House, client: Client
) -> None:
    house.registry.publisher.delete(ADMIN, NOTES)
    assert send(client, ROLLBACK, {"version": 3})[1]["code"] == "version_not_found"
    assert send(client, ROLLBACK, {"version": 2})[1]["version"] == 4
    assert client.send(VIEW, path=NAME)[1]["version"] == 4


def test_a_rollback_to_purged_bytes_is_gone(client: Client) -> None:
    send(client, PURGE, {"version": 1})
    status, body, _ = send(client, ROLLBACK, {"version": 1})
    assert (status, body["code"]) == (410, "version_pruned")


def test_a_disabled_skill_answers_as_an_unknown_one_until_it_is_enabled(
    house: House, client: Client
) -> None:
    unknown = client.send(VIEW, path=NAME, claims=AUTHOR | {"sub": "x"}, query="scope=team-a")
    status, body, _ = send(client, CONFIGURE, {"enabled": False, "reason": "Leaks a host name"})
    assert (status, body["enabled"]) == (200, False)
    (change,) = body["changes"]
    assert change == {
        "who": ADMIN_ROLE,
        "when": change["when"],
        "what": {"enabled": False},
        "why": "Leaks a host name",
    }
    hidden = client.send(VIEW, path=NAME)
    assert (hidden[0], hidden[1]) == (404, unknown[1] | {"instance": hidden[1]["instance"]})
    assert house.listed() == {}
    assert send(client, CONFIGURE, {"enabled": True})[1]["enabled"] is True
    assert house.listed() == {"notes": 2}


def test_who_may_see_a_skill_is_overridden_and_given_back(house: House, client: Client) -> None:
    review, coding = {"sub": "r", "agent": "review"}, {"sub": "c", "agent": "coding"}
    assert send(client, CONFIGURE, {"agents": ["review"]})[1]["agents"] == ["review"]
    assert client.send(VIEW, path=NAME, claims=review)[0] == 200
    assert client.send(VIEW, path=NAME, claims=coding)[0] == 404
    assert send(client, CONFIGURE, {"labels": {"a": 1}})[1]["agents"] == ["review"]
    assert send(client, CONFIGURE, {"agents": None})[1]["agents"] is None
    assert client.send(VIEW, path=NAME, claims=coding)[0] == 200


def test_labels_are_set_moved_and_removed(client: Client) -> None:
    assert send(client, CONFIGURE, {"labels": {"stable": 1, "next": 2}})[1]["labels"] == {
        "next": 2,
        "stable": 1,
    }
    body = send(client, CONFIGURE, {"labels": {"stable": 2, "next": None}})[1]
    assert (body["labels"], body["enabled"], body["prune_below"]) == ({"stable": 2}, True, 0)
    assert len(body["changes"]) == 2


@pytest.mark.parametrize(
    ("labels", "status", "code"),
    [
        ({"stable": 7}, 404, "version_not_found"),
        ({"Not A Label": 1}, 400, "label_invalid"),
        ({"": 1}, 400, "label_invalid"),
        ({"stable": 0}, 400, "body_invalid"),
        ({"stable": "1"}, 400, "body_invalid"),
        ({"stable": True}, 400, "body_invalid"),
    ],
)
def test_a_label_names_a_version_that_has_files(
    client: Client, labels: dict[str, Any], status: int, code: str
) -> None:
    sent = send(client, CONFIGURE, {"labels": labels})
    assert (sent[0], sent[1]["code"]) == (status, code)


def test_a_label_of_a_purged_version_is_gone(client: Client) -> None:
    send(client, PURGE, {"version": 1})
    status, body, _ = send(client, CONFIGURE, {"labels": {"stable": 1}})
    assert (status, body["code"]) == (410, "version_pruned")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "change_invalid"),
        ({"reason": "Just so"}, "change_invalid"),
        ({"enabled": "no"}, "body_invalid"),
        ({"agents": []}, "body_invalid"),
        ({"agents": [""]}, "body_invalid"),
        ({"enabled": False, "reason": "x" * 301}, "body_invalid"),
        ({"state": "off"}, "body_invalid"),
        ([], "body_not_json"),
    ],
)
def test_a_change_that_is_none_is_refused_and_changes_nothing(
    house: House, client: Client, body: Any, code: str
) -> None:
    before = house.state()
    status, problem, _ = send(client, CONFIGURE, body)
    assert (status, problem["code"]) == (400, code)
    assert house.state() == before


def test_a_vendored_directory_of_any_name_can_be_disabled(house: House, client: Client) -> None:
    house.put("skills/system/My_Notes/SKILL.md", b"---\nname: x\ndescription: d\n---\nx\n")
    path = {"name": "My_Notes"}
    body = json.dumps({"enabled": False})
    assert client.send(VIEW, path=path)[0] == 200
    assert client.send(CONFIGURE, path=path, headers=JSON, body=body)[0] == 200
    assert client.send(VIEW, path=path)[0] == 404


def test_settings_that_cannot_be_read_are_not_replaced(house: House, client: Client) -> None:
    house.put(keys.settings(NOTES), b"{")
    status, body, _ = send(client, CONFIGURE, {"enabled": True})
    assert (status, body["code"]) == (409, "settings_unreadable")
    assert house.read(keys.settings(NOTES)) == b"{"


def test_a_purge_takes_the_bytes_and_keeps_the_number(house: House, client: Client) -> None:
    house.publish("notes", "one")
    house.publish("notes", "four")
    status, body, _ = send(client, PURGE, {"version": 1, "reason": "A key in it"})
    assert status == 200
    assert body == {
        "name": "notes",
        "scope": "system",
        "version": 1,
        "state": "purged",
        "removed": body["removed"],
        "also_in": {"3": ["references/notes.md"]},
    }
    assert client.send(VIEW, path=NAME, query="version=1")[0] == 410
    assert house.publish("notes", "five") == 5
    changes = send(client, CONFIGURE, {"enabled": False})[1]
    assert (changes["purged"], changes["changes"][0]["why"]) == ([1], "A key in it")


@pytest.mark.parametrize(
    ("version", "status", "code"),
    [
        (2, 409, "version_in_use"),
        (7, 404, "version_not_found"),
        ("@stable", 400, "body_invalid"),
        (0, 400, "body_invalid"),
    ],
)
def test_a_purge_of_what_is_used_or_unknown_changes_nothing(
    house: House, client: Client, version: Any, status: int, code: str
) -> None:
    before = house.state()
    sent = send(client, PURGE, {"version": version})
    assert (sent[0], sent[1]["code"]) == (status, code)
    assert house.state() == before


def test_a_purge_of_a_labelled_version_is_refused(client: Client) -> None:
    send(client, CONFIGURE, {"labels": {"stable": 1}})
    status, body, _ = send(client, PURGE, {"version": 1})
    assert (status, body["code"]) == (409, "version_in_use")


@pytest.mark.parametrize("route", [CONFIGURE, PURGE])
def test_a_call_that_makes_no_version_takes_no_precondition(client: Client, route: str) -> None:
    body = {"version": 1} if route == PURGE else {"enabled": True}
    status, problem, _ = send(client, route, body, headers={"if-match": '"1"'})
    assert (status, problem["code"]) == (400, "precondition_invalid")


BODIES = {ROLLBACK: {"version": 1}, CONFIGURE: {"enabled": False}, PURGE: {"version": 1}}


@pytest.mark.parametrize("route", BODIES)
@pytest.mark.parametrize("claims", [READER, AUTHOR])
def test_writing_takes_the_right_to_write_to_the_scope(
    house: House, client: Client, route: str, claims: dict[str, str]
) -> None:
    before = house.state()
    status, body, _ = send(client, route, BODIES[route], query="scope=system", claims=claims)
    assert (status, body["code"]) == (403, "forbidden")
    assert house.state() == before


@pytest.mark.parametrize("route", BODIES)
@pytest.mark.parametrize("name", ["other", "no/name", "x" * 200])
def test_a_skill_that_is_not_there_is_not_found(client: Client, route: str, name: str) -> None:
    body = json.dumps(BODIES[route])
    status, problem, _ = client.send(route, path={"name": name}, headers=JSON, body=body)
    assert (status, problem["code"]) == (404, "skill_not_found")


@pytest.mark.parametrize("version", ["1", "x", "@", -1, 0, 1.5, None, True])
def test_a_version_that_is_none_is_refused(client: Client, version: Any) -> None:
    status, body, _ = send(client, ROLLBACK, {"version": version})
    if version == "1":
        assert (status, body["version"]) == (200, 3)
    else:
        assert status == 400
        assert body["code"] in {"version_invalid", "body_invalid"}
