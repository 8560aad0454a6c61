"""GET and PATCH /access: who may call, said by administrators; and what a grant opens."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from api_client import JSON, NAME, SETTINGS, Client
from house import House, skill_md, skill_zip

from skill_registry.catalog.access import Access, make_grant, write_access
from skill_registry.catalog.principal import user_scope
from skill_registry.store import keys
from skill_registry.store.base import UploadTarget

BOT = "arn:aws:iam::000000000000:role/bot"
SESSION = "arn:aws:sts::000000000000:assumed-role/bot/i-1"
LIST, VIEW = "GET /skills", "GET /skills/{name}"
READ, CHANGE = "GET /access", "PATCH /access"
READER: dict[str, Any] = {"roles": ["reader"], "scopes": ["team-a"]}
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    (LIST, {}),
    (VIEW, {"path": NAME}),
    ("POST /uploads", {"headers": JSON, "body": '{"name": "notes"}'}),
    ("PUT /skills/{name}", {"path": NAME, "headers": JSON, "body": "{}"}),
    ("POST /maintenance/{task}", {"path": {"task": "reconcile"}}),
    (READ, {}),
    (CHANGE, {"headers": JSON, "body": "{}"}),
    ("$default", {}),
)


@pytest.fixture
def house() -> House:
    made = House(settings=SETTINGS)
    made.publish("notes", scope="team-a")
    return made


@pytest.fixture
def client(house: House) -> Client:
    return Client(house)


def send(client: Client, body: Any, **more: Any) -> tuple[int, Any, dict[str, str]]:
    return client.send(CHANGE, headers=JSON, body=json.dumps(body), **more)


def grant(client: Client, *roles: str, **more: Any) -> Any:
    status, body, _ = send(client, {"role": BOT, "grant": {**READER, "roles": roles, **more}})
    assert status == 200
    return body


def store(house: House, body: bytes) -> None:
    """Change what is stored as another environment would, whatever this one remembers."""
    house.put(keys.access(), body)
    house.time += SETTINGS.access_max_age


def publish(client: Client, scope: str, caller: str = SESSION) -> int:
    body = json.dumps({"files": {"SKILL.md": skill_md("notes").decode()}})
    route = "PUT /skills/{name}"
    query = f"scope={scope}"
    return client.send(route, path=NAME, query=query, headers=JSON, body=body, caller=caller)[0]


def test_a_grant_is_answered_and_read_again(client: Client) -> None:
    asked = {"role": BOT, "grant": {**READER, "agent": "review", "tier": "ultra"}, "reason": "New"}
    status, body, headers = send(client, asked)
    assert (status, headers["cache-control"]) == (200, "no-store")
    assert body["grants"] == [{"role": BOT, **READER, "agent": "review", "tier": "ultra"}]
    (change,) = body["changes"]
    assert (change["who"], change["why"]) == ("arn:aws:iam::000000000000:role/admin", "New")
    status, again, headers = client.send(READ)
    assert (status, again) == (200, body)
    etag = headers["etag"]
    assert client.send(READ, headers={"if-none-match": etag})[0] == 304
    assert send(client, {"role": BOT, "grant": None})[1]["grants"] == []
    assert client.send(READ, headers={"if-none-match": etag})[0] == 200


def test_before_anything_was_granted_there_is_nothing(client: Client) -> None:
    assert client.send(READ)[1] == {"grants": [], "changes": []}


def test_a_grant_opens_the_scopes_that_it_names_and_a_revocation_closes_them(
    house: House, client: Client
) -> None:
    assert client.send(LIST, caller=SESSION)[0] == 401
    grant(client, "reader")
    house.time += SETTINGS.access_max_age
    status, body, _ = client.send(LIST, caller=SESSION)
    assert (status, [each["name"] for each in body["skills"]]) == (200, ["notes"])
    assert set(body["catalog_version"]) == {user_scope(BOT), "team-a", "system"}
    assert client.send(VIEW, path=NAME, caller=SESSION)[0] == 200
    assert [publish(client, scope) for scope in ("team-a", user_scope(BOT))] == [403, 403]
    grant(client, "author")
    assert [publish(client, scope) for scope in ("team-a", user_scope(BOT))] == [403, 201]
    grant(client, "maintainer")
    assert [publish(client, scope) for scope in ("team-a", "team-b", "system")] == [200, 403, 403]
    grant(client, "admin")
    assert [publish(client, scope) for scope in ("team-b", "system")] == [201, 201]
    send(client, {"role": BOT, "grant": None})
    assert client.send(LIST, caller=SESSION)[0] == 401


def test_a_grant_names_the_verified_agent_of_its_role(house: House, client: Client) -> None:
    house.publish("for-review", scope="team-a", agents="[review]")
    house.publish("for-coding", scope="team-a", agents="[coding]")
    grant(client, "reader", agent="review")
    names = {each["name"] for each in client.send(LIST, caller=SESSION)[1]["skills"]}
    assert names == {"notes", "for-review"}


def test_whoever_is_admin_by_a_grant_grants_further(client: Client) -> None:
    grant(client, "admin")
    other = f"{BOT}-2"
    body = send(client, {"role": other, "grant": READER}, caller=SESSION)[1]
    assert body["changes"][-1]["who"] == BOT
    assert [each["role"] for each in body["grants"]] == [BOT, other]


@pytest.mark.parametrize("roles", ["reader", "author", "maintainer"])
def test_others_than_administrators_neither_read_nor_change_who_may_call(
    house: House, client: Client, roles: str
) -> None:
    grant(client, roles)
    before = house.state()
    for caller in ({"caller": SESSION}, {"claims": {"sub": "ann", "roles": roles}}):
        assert client.send(READ, **caller)[0] == 403
        bodies: tuple[Any, ...] = ({"role": BOT, "grant": {"roles": ["admin"]}}, {"role": 1}, [])
        for body in bodies:
            status, problem, _ = send(client, body, **caller)
            assert (status, problem["code"]) == (403, "forbidden")
    assert house.state() == before


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "body_invalid"),
        ({"role": BOT}, "body_invalid"),
        ({"grant": None}, "body_invalid"),
        ({"role": BOT, "grant": {}}, "body_invalid"),
        ({"role": BOT, "grant": {**READER, "expires": 1}}, "body_invalid"),
        ({"role": BOT, "grant": {**READER, "roles": "reader"}}, "body_invalid"),
        ({"role": BOT, "grant": READER, "reason": "x" * 301}, "body_invalid"),
        ({"role": BOT, "grant": READER, "reason": "a\x00b"}, "message_invalid"),
        ({"role": BOT, "grant": {"roles": []}}, "access_invalid"),
        ({"role": BOT, "grant": {"roles": ["root"]}}, "access_invalid"),
        ({"role": BOT, "grant": {**READER, "scopes": ["everything"]}}, "access_invalid"),
        ({"role": BOT, "grant": {**READER, "agent": ""}}, "access_invalid"),
        ({"role": BOT, "grant": {**READER, "agent": "a" * 65}}, "access_invalid"),
        ({"role": BOT, "grant": {**READER, "tier": "best"}}, "access_invalid"),
        ({"role": SESSION, "grant": READER}, "access_invalid"),
        ({"role": SESSION, "grant": None}, "access_invalid"),
        ({"role": "arn:aws:iam::000000000000:user/bot", "grant": READER}, "access_invalid"),
        ({"role": "", "grant": READER}, "access_invalid"),
    ],
)
def test_what_cannot_be_granted_is_refused_and_changes_nothing(
    house: House, client: Client, body: Any, code: str
) -> None:
    before = house.state()
    status, problem, _ = send(client, body)
    assert (status, problem["code"]) == (400, code)
    assert house.state() == before


def test_a_change_of_access_takes_no_precondition(client: Client) -> None:
    body = json.dumps({"role": BOT, "grant": None})
    status, problem, _ = client.send(CHANGE, headers={**JSON, "if-match": '"1"'}, body=body)
    assert (status, problem["code"]) == (400, "precondition_invalid")


@pytest.mark.parametrize("body", [b"", b"{", b'{"schema": 2, "grants": [], "changes": []}'])
def test_while_grants_cannot_be_read_only_the_deployments_administrators_are_let_in(
    house: House, client: Client, body: bytes
) -> None:
    grant(client, "admin")
    store(house, body)
    for route, more in CALLS:
        status, problem, headers = client.send(route, **more, caller=SESSION)
        assert (status, problem["code"]) == (503, "access_unreadable"), route
        assert headers["retry-after"] == "60"
    assert client.send(LIST)[0] == 200
    assert client.send(LIST, claims={"sub": "ann"})[0] == 200
    for answer in (client.send(READ), send(client, {"role": BOT, "grant": None})):
        assert (answer[0], answer[1]["code"]) == (503, "access_unreadable")
    assert house.read(keys.access()) == body


@pytest.mark.parametrize(("route", "more"), CALLS)
def test_whom_nobody_knows_gets_nowhere(client: Client, route: str, more: dict[str, Any]) -> None:
    for caller in (SESSION, "arn:aws:iam::000000000000:user/admin", ""):
        status, problem, _ = client.send(route, **more, caller=caller)
        assert (status, problem["code"]) == (401, "unauthenticated")
        assert set(problem) == {"type", "title", "status", "code", "detail", "instance"}


def test_a_role_that_was_stored_with_an_unknown_word_alone_may_do_nothing(
    house: House, client: Client
) -> None:
    stored = Access({BOT: replace(make_grant(BOT, ("reader",)), roles=("auditor",))})
    store(house, write_access(stored))
    assert client.send(LIST, caller=SESSION)[1]["code"] == "forbidden"


def test_who_the_deployment_names_and_who_has_a_token_cost_no_request_of_identity(
    house: House, client: Client
) -> None:
    store(house, write_access(Access()))
    for caller in ({}, {"claims": {"sub": "ann"}}):
        house.counter.reset()
        client.send(LIST, **caller)
        assert keys.access() not in [request.key for request in house.counter.requests]


def test_a_listing_costs_one_request_a_scope_while_access_is_remembered(
    house: House, client: Client
) -> None:
    store(house, write_access(Access({BOT: make_grant(BOT, ("reader",), ("team-a", "team-b"))})))
    for expected in (1, 0):
        house.counter.reset()
        assert client.send(LIST, caller=SESSION)[0] == 200
        asked = [request.key for request in house.counter.requests]
        assert asked.count(keys.access()) == expected
    house.counter.reset()
    client.send(LIST, caller=SESSION)
    client.send(VIEW, path=NAME, caller="arn:aws:iam::000000000000:role/nobody")
    catalogs = [user_scope(BOT), "team-a", "team-b", "system"]
    assert sorted(request.key for request in house.counter.requests) == sorted(
        map(keys.catalog, catalogs)
    )


def test_uploads_of_a_granted_role_belong_to_the_role(house: House, client: Client) -> None:
    grant(client, "author")
    body = json.dumps({"name": "notes"})
    opened = client.send("POST /uploads", headers=JSON, body=body, caller=SESSION)[1]
    target = UploadTarget(opened["method"], opened["url"], fields=opened["fields"])
    house.bucket.receive(target, skill_zip("notes"))
    path = {"id": opened["upload_id"]}
    other = "arn:aws:sts::000000000000:assumed-role/bot/another-session"
    assert client.send("GET /uploads/{id}", path=path)[0] == 404
    assert client.send("GET /uploads/{id}", path=path, caller=other)[0] == 200
