"""Copy, dry run, quotas and the time limit over HTTP."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from api_client import JSON, NAME, SETTINGS, ZIP, Client
from house import House, skill_md, skill_zip, zipped

from skill_registry.catalog.principal import user_scope
from skill_registry.store import keys
from skill_registry.store.base import UploadTarget
from skill_registry.store.keys import SkillId
from skill_registry.web.wiring import WRITE_SECONDS

if TYPE_CHECKING:
    from skill_registry.store.gate import Request, Result

COPY = "POST /skills/{name}/copy"
PUBLISH = "PUT /skills/{name}"
COMPLETE = "POST /uploads/{id}/complete"
READ = "GET /uploads/{id}"
NOTES = SkillId("system", "notes")
ANN = {"sub": "ann"}


@pytest.fixture
def house() -> House:
    return House(settings=SETTINGS)


@pytest.fixture
def client(house: House) -> Client:
    return Client(house)


def copy(client: Client, body: Any, **more: Any) -> tuple[int, Any, dict[str, str]]:
    headers = {**JSON, **more.pop("headers", {})}
    return client.send(COPY, path=NAME, headers=headers, body=json.dumps(body), **more)


def sent(house: House, client: Client, data: bytes, **more: Any) -> dict[str, str]:
    """Announce and send an upload; return its path parameters."""
    wanted = {"name": "notes", **more}
    status, ticket, _ = client.send("POST /uploads", body=json.dumps(wanted), headers=JSON)
    assert status == 201, ticket
    house.bucket.receive(UploadTarget("POST", ticket["url"], fields=ticket["fields"]), data)
    return {"id": ticket["upload_id"]}


def test_a_copy_answers_as_a_publish_and_names_its_source(house: House, client: Client) -> None:
    house.publish("notes", "one")
    house.publish("notes", "two")
    body = {"to": "team-blue", "version": 1, "message": "Promoted"}
    status, done, headers = copy(client, body, query="scope=system")
    assert (status, headers["etag"]) == (201, '"1"')
    assert {key: done[key] for key in ("state", "scope", "version", "copied_from")} == {
        "state": "published",
        "scope": "team-blue",
        "version": 1,
        "copied_from": {"scope": "system", "version": 1},
    }
    status, done, _ = copy(client, {"to": "team-blue"}, query="scope=system")
    assert (status, done["version"], done["copied_from"]["version"]) == (200, 2, 2)
    page = client.send("GET /skills/{name}/versions", path=NAME, query="scope=team-blue")[1]
    assert [each.get("copied_from") for each in page["versions"]] == [
        {"scope": "system", "version": 2},
        {"scope": "system", "version": 1},
    ]
    own = client.send("GET /skills/{name}/versions", path=NAME, query="scope=system")[1]
    assert not [each for each in own["versions"] if "copied_from" in each]


def test_a_copy_takes_preconditions_about_its_target_and_a_key(
    house: House, client: Client
) -> None:
    house.publish("notes", "one")
    house.publish("notes", "two")
    new = {"if-none-match": "*", "idempotency-key": "once"}
    done = [copy(client, {"to": "team-blue"}, headers=new) for _ in range(2)]
    assert [(each[0], each[1]["version"]) for each in done] == [(201, 1), (201, 1)]
    status, body, _ = copy(client, {"to": "team-blue"}, headers={"if-match": '"2"'})
    assert (status, body["code"], body["current"]) == (412, "version_conflict", 1)


def test_a_copy_is_refused_before_anything_is_read(house: House, client: Client) -> None:
    house.publish("notes")
    house.counter.reset()
    status, body, _ = copy(client, {"to": "system"}, query="scope=system", claims=ANN)
    assert (status, body["code"]) == (403, "forbidden")
    reader = {"sub": "bob", "roles": "reader"}
    assert copy(client, {"to": user_scope("bob")}, claims=reader)[0] == 403
    assert not [r for r in house.counter.requests if r.key != keys.access()]


def test_a_source_that_is_unknown_answers_as_a_view(house: House, client: Client) -> None:
    house.publish("notes", agents="[review]")
    hidden = {"sub": "ann", "agent": "coding"}
    viewed = client.send("GET /skills/{name}", path=NAME, claims=hidden)
    copied = copy(client, {"to": user_scope("ann")}, claims=hidden)
    assert (copied[0], copied[1]) == (viewed[0], viewed[1])
    assert copied[1]["code"] == "skill_not_found"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "body_invalid"),
        ({"to": 3}, 400, "body_invalid"),
        ({"to": "team-blue", "version": 0}, 400, "version_invalid"),
        ({"to": "team-blue", "version": "@"}, 400, "version_invalid"),
        ({"to": "team-blue", "version": "@none"}, 404, "version_not_found"),
        ({"to": "team-blue", "version": 9}, 404, "version_not_found"),
        ({"to": "Team Blue"}, 400, "scope_invalid"),
        ({"to": "system"}, 400, "request_invalid"),
        ({"to": "team-blue", "message": "x" * 301}, 400, "body_invalid"),
        ([], 400, "body_not_json"),
    ],
)
def test_a_copy_that_is_none_is_refused_and_changes_nothing(
    house: House, client: Client, body: Any, status: int, code: str
) -> None:
    house.publish("notes")
    before = house.state()
    answered = copy(client, body)
    assert (answered[0], answered[1]["code"]) == (status, code)
    assert house.state() == before


def test_a_dry_run_by_upload_answers_with_its_verdict(house: House, client: Client) -> None:
    bad = zipped({"SKILL.md": b"---\nname: other\n---\n"})
    for data, valid in ((skill_zip("notes"), True), (bad, False)):
        upload = sent(house, client, data, dry_run=True)
        assert client.send(READ, path=upload)[1]["state"] == "received"
        status, done, _ = client.send(COMPLETE, path=upload)
        assert (status, done["state"], done["valid"]) == (200, "validated", valid)
        assert client.send(READ, path=upload)[1] == done
    assert not [key for key in house.state() if not key.startswith("uploads/")]


def test_a_dry_run_that_is_too_large_to_travel_is_told_the_way(client: Client) -> None:
    body = b"x" * (4 * 1024 * 1024 + 1)
    status, problem, _ = client.send("POST /validate", headers=ZIP, body=body)
    assert (status, problem["code"]) == (413, "use_upload")
    assert "`dry_run`" in problem["detail"]


def test_too_many_uploads_are_429_with_retry_after() -> None:
    house = House(settings=replace(SETTINGS, max_outstanding_uploads=1))
    client = Client(house)
    sent(house, client, skill_zip("notes"))
    status, body, headers = client.send("POST /uploads", body='{"name":"notes"}', headers=JSON)
    assert (status, body["code"], headers["retry-after"]) == (429, "too_many_uploads", "60")


def test_a_full_scope_is_413_on_every_way_in() -> None:
    house = House(settings=replace(SETTINGS, max_scope_skills=1))
    client = Client(house)
    house.publish("notes", scope="team-blue")
    upload = sent(house, client, skill_zip("notes"))
    house.publish("other")
    answers = [
        client.send(PUBLISH, path=NAME, headers=ZIP, body=skill_zip("notes")),
        copy(client, {"to": "system"}, query="scope=team-blue"),
        client.send("POST /uploads", body='{"name":"notes"}', headers=JSON),
        client.send(COMPLETE, path=upload),
    ]
    assert {(status, body["code"]) for status, body, _ in answers} == {(413, "scope_full")}
    assert all("at most 1" in body["detail"] for _, body, _ in answers)
    outcome = client.send(READ, path=upload)[1]
    assert (outcome["state"], outcome["code"]) == ("rejected", "scope_full")


class Slow:
    """Lets time pass at one request, once."""

    def __init__(self, house: House, at: str, op: str = "PUT") -> None:
        self._house, self._at, self._op = house, at, op

    def __call__(self, request: Request, _: Result) -> None:
        if request.op == self._op and self._at in request.key:
            self._house.time += WRITE_SECONDS
            self._at = "nothing more"


def test_a_completion_that_takes_too_long_is_202_and_goes_on_when_it_is_repeated(
    house: House, client: Client
) -> None:
    upload = sent(house, client, skill_zip("notes"))
    house.faults.on_after = Slow(house, "/revisions/")
    status, body, headers = client.send(COMPLETE, path=upload)
    assert (status, body) == (
        202,
        {"state": "received", "upload_id": upload["id"], "name": "notes", "scope": "system"},
    )
    assert (headers["retry-after"], headers["location"]) == ("2", f"/uploads/{upload['id']}")
    assert house.version("notes") is None
    status, done, _ = client.send(COMPLETE, path=upload)
    assert (status, done["state"], done["version"]) == (200, "published", 1)
    assert house.read(keys.revision(NOTES, 2)) is None
    assert house.listed() == {"notes": 1}


def test_what_follows_a_publish_is_cut_short_and_the_publish_counts(
    house: House, client: Client
) -> None:
    house.publish("notes", "one")
    upload = sent(house, client, skill_zip("notes", "two"))
    house.faults.on_after = Slow(house, ".version")
    status, done, _ = client.send(COMPLETE, path=upload)
    assert (status, done["state"], done["version"]) == (200, "published", 2)
    assert house.listed() == {"notes": 1}
    assert house.tree("notes")["references/notes.md"] == b"one"
    assert client.send(COMPLETE, path=upload)[1]["version"] == 2
    assert house.listed() == {"notes": 2}
    assert house.tree("notes")["references/notes.md"] == b"two"


def test_the_event_finishes_what_a_completion_had_no_time_for(house: House, client: Client) -> None:
    upload = sent(house, client, skill_zip("notes"))
    house.faults.on_after = Slow(house, "/revisions/")
    assert client.send(COMPLETE, path=upload)[0] == 202
    (key,) = (key for key in house.state() if key.endswith(f"{upload['id']}.zip"))
    assert house.deliver(key) == set()
    assert client.send(READ, path=upload)[1]["version"] == 1


def test_every_other_write_that_takes_too_long_is_503_and_is_repeated_by_its_key(
    house: House, client: Client
) -> None:
    given = {**ZIP, "idempotency-key": "once"}
    house.faults.on_after = Slow(house, "/revisions/")
    status, body, headers = client.send(PUBLISH, path=NAME, headers=given, body=skill_zip("notes"))
    assert (status, body["code"], headers["retry-after"]) == (503, "time_is_up", "2")
    status, body, _ = client.send(PUBLISH, path=NAME, headers=given, body=skill_zip("notes"))
    assert (status, body["version"]) == (201, 1)
    for route, more in (
        ("DELETE /skills/{name}", {}),
        ("PATCH /skills/{name}", {"body": '{"enabled": false}'}),
        ("POST /skills/{name}/rollback", {"body": '{"version": 1}'}),
        ("POST /uploads", {"body": '{"name": "notes"}'}),
    ):
        house.faults.on_after = Slow(house, "notes", "GET")
        status, body, _ = client.send(route, path=NAME, headers=JSON, **more)
        assert (status, body["code"]) == (503, "time_is_up"), route


def test_the_time_of_one_call_is_not_anothers(house: House, client: Client) -> None:
    house.faults.on_after = Slow(house, "/revisions/")
    assert client.send(PUBLISH, path=NAME, headers=ZIP, body=skill_zip("notes"))[0] == 503
    assert client.send(PUBLISH, path=NAME, headers=ZIP, body=skill_zip("notes"))[0] == 200
    house.time += 100
    assert house.publish("notes") == 3


@pytest.mark.parametrize(
    ("route", "body", "told"),
    [
        ("POST /uploads", {}, ["`name` is missing"]),
        ("POST /uploads", {"name": 1}, ["`name` must be a text"]),
        ("POST /uploads", {"name": "a", "size": 0}, ["`size` is not more than 0"]),
        ("POST /uploads", {"name": "a", "size": 1}, ["give size and sha256 together"]),
        ("POST /uploads", {"name": "a", "size": 1.5}, ["`size` must be a whole number"]),
        ("POST /uploads", {"name": "a", "dry_run": 1}, ["`dry_run` must be true or false"]),
        ("POST /uploads", {"name": "a", "x\ny": 1}, ["`x\\u000ay` is no member of this call"]),
        (COPY, {"to": "system", "version": []}, ["`version` must be a whole number or a text"]),
        (COPY, {"message": "m" * 301}, ["`to` is missing", "more than 300 characters"]),
        ("PATCH /skills/{name}", {"labels": {"a": 0}}, ["`labels.a` is less than 1"]),
        ("PATCH /skills/{name}", {"agents": []}, ["`agents` has less than 1 members"]),
    ],
)
def test_a_wrong_body_is_told_in_words_of_the_contract(
    client: Client, route: str, body: Any, told: list[str]
) -> None:
    status, problem, _ = client.send(route, path=NAME, headers=JSON, body=json.dumps(body))
    assert (status, problem["code"]) == (400, "body_invalid")
    assert not [text for text in told if text not in problem["detail"]], problem["detail"]
    assert not [word for word in ("Input", "valid ", "Value error") if word in problem["detail"]]


def test_a_body_with_many_wrong_members_makes_a_short_answer(client: Client) -> None:
    body = {"name": "a", **{f"{'x' * 500}{number}": 1 for number in range(2000)}}
    problem = client.send("POST /uploads", headers=JSON, body=json.dumps(body))[1]
    assert len(problem["detail"]) < 4000
    assert "and 1980 more" in problem["detail"]


def test_a_ticket_carries_the_correlation_of_its_call(house: House, client: Client) -> None:
    data = skill_zip("notes")
    wanted = {"name": "notes", "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    headers = {**JSON, "x-correlation-id": "story-7"}
    ticket = client.send("POST /uploads", headers=headers, body=json.dumps(wanted))[1]
    house.bucket.receive(UploadTarget("PUT", ticket["url"], ticket["headers"]), data)
    (key,) = (key for key in house.state() if key.endswith(".zip"))
    info = house.bucket.head(key)
    assert info is not None and info.metadata["correlation"] == "story-7"


def test_a_warning_of_a_disabled_skill_is_in_the_answer(house: House, client: Client) -> None:
    house.publish("notes")
    client.send("PATCH /skills/{name}", path=NAME, headers=JSON, body='{"enabled": false}')
    body = json.dumps({"files": {"SKILL.md": skill_md("notes").decode()}})
    done = client.send(PUBLISH, path=NAME, headers=JSON, body=body)[1]
    assert [each["code"] for each in done["diagnostics"]] == ["skill_disabled"]
