"""What the edge tells of a call: its correlation id, and which writes were refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from api_client import JSON, NAME, SETTINGS, Client
from house import House, http_event

from skill_registry.catalog.facts import SkillRefused
from skill_registry.web.refresh import RefreshFailed, refresh

if TYPE_CHECKING:
    from collections.abc import Callable

    from skill_registry.catalog.facts import Fact

ANN = {"sub": "ann"}


@pytest.fixture
def told() -> list[Fact]:
    """The facts that were told."""
    return []


@pytest.fixture
def house(told: list[Fact]) -> House:
    house = House(settings=SETTINGS)
    house.registry = replace(
        house.registry, runtime=replace(house.registry.runtime, tell=told.append)
    )
    return house


@pytest.fixture
def client(house: House) -> Client:
    return Client(house)


@pytest.mark.parametrize("given", ["a", "Run_7.step-3", "x" * 64])
def test_a_correlation_id_is_taken_over_and_answered(client: Client, given: str) -> None:
    for claims in (None, ANN, {}):
        _, _, headers = client.send(
            "GET /skills", headers={"X-Correlation-ID": given}, claims=claims
        )
        assert headers["x-correlation-id"] == given


@pytest.mark.parametrize("given", ["", "x" * 65, "a b", "a,b", "a\n", "ü", 'a"}'])
def test_what_is_no_correlation_id_is_replaced_by_the_request_s(client: Client, given: str) -> None:
    _, _, headers = client.send("GET /skills", headers={"X-Correlation-Id": given})
    assert headers["x-correlation-id"] == "request-1"


@pytest.mark.parametrize(
    ("route", "claims"), [("$default", None), ("GET /skills", {}), ("GET /skills/{name}", None)]
)
def test_problems_have_the_correlation_id_and_name_the_request(
    client: Client, route: str, claims: dict[str, Any] | None
) -> None:
    status, body, headers = client.send(
        route, path=NAME, claims=claims, headers={"x-correlation-id": "mine"}
    )
    assert status >= 400
    assert headers["x-correlation-id"] == "mine"
    assert body["instance"] == "urn:skill-registry:request:request-1"


def body(**members: object) -> dict[str, Any]:
    return {"headers": JSON, "body": json.dumps(members)}


@pytest.mark.parametrize(
    ("route", "more", "fact"),
    [
        (
            "PUT /skills/{name}",
            {"path": NAME, **body(files={"SKILL.md": "none"})},
            SkillRefused("notes", "skill_invalid", "system"),
        ),
        (
            "PUT /skills/{name}",
            {"path": NAME, "query": "scope=team-red", "claims": ANN, **body(files={})},
            SkillRefused("notes", "forbidden", "team-red"),
        ),
        (
            "PUT /skills/{name}",
            {"path": NAME, "query": "scope=%0A&scope=b", **body(files={})},
            SkillRefused("notes", "query_invalid"),
        ),
        (
            "PUT /skills/{name}",
            {"path": NAME, "claims": {"sub": ""}},
            SkillRefused("notes", "unauthenticated"),
        ),
        (
            "DELETE /skills/{name}",
            {"path": NAME},
            SkillRefused("notes", "skill_not_found", "system"),
        ),
        (
            "PATCH /skills/{name}",
            {"path": NAME, **body(enabled="?")},
            SkillRefused("notes", "body_invalid", "system"),
        ),
        (
            "POST /skills/{name}/rollback",
            {"path": NAME, **body(version=1)},
            SkillRefused("notes", "skill_not_found", "system"),
        ),
        (
            "POST /skills/{name}/purge",
            {"path": NAME, **body(version=1)},
            SkillRefused("notes", "skill_not_found", "system"),
        ),
        (
            "POST /uploads",
            body(name="notes", size=10**9, sha256="0" * 64),
            SkillRefused("notes", "too_large", "system"),
        ),
        (
            "POST /uploads/{id}/complete",
            {"path": {"id": "0" * 32}},
            SkillRefused("0" * 32, "upload_not_found"),
        ),
    ],
)
def test_a_write_that_is_refused_is_told_with_its_code(
    client: Client, told: list[Fact], route: str, more: dict[str, Any], fact: SkillRefused
) -> None:
    status, _, _ = client.send(route, **more)
    assert status < 500
    assert told == [fact]


@pytest.mark.parametrize(
    ("route", "more"),
    [
        ("GET /skills", {"query": "limit=0"}),
        ("GET /uploads/{id}", {"path": {"id": "0" * 32}}),
        ("POST /uploads", {"body": "no json"}),
        ("POST /uploads", body(name=7)),
        ("POST /validate", body(files=7)),
        ("$default", {"path": NAME}),
    ],
)
def test_a_call_that_writes_no_skill_or_names_none_tells_no_refusal(
    client: Client, told: list[Fact], route: str, more: dict[str, Any]
) -> None:
    status, _, _ = client.send(route, **more)
    assert 400 <= status < 500
    assert told == []


def test_a_copy_of_what_is_not_there_is_told_once_with_the_true_reason(
    house: House, client: Client, told: list[Fact]
) -> None:
    house.publish("notes")
    client.send("DELETE /skills/{name}", path=NAME)
    told.clear()
    more = {"path": NAME, "query": "scope=system", **body(to="team-red")}
    status, _, _ = client.send("POST /skills/{name}/copy", **more)
    assert status == 404
    assert [(fact.skill, fact.reason) for fact in told if isinstance(fact, SkillRefused)] == [
        ("notes", "deleted")
    ]


def test_a_copy_to_where_it_may_not_go_is_told_with_its_code(
    house: House, client: Client, told: list[Fact]
) -> None:
    house.publish("notes")
    more = {"path": NAME, "claims": ANN, **body(to="team-red")}
    status, _, _ = client.send("POST /skills/{name}/copy", **more)
    assert status == 403
    assert told[-1] == SkillRefused("notes", "forbidden")


def test_a_write_that_the_store_fails_is_not_told_as_refused(
    house: House, client: Client, told: list[Fact]
) -> None:
    house.faults.before_if = lambda _: True
    status, _, _ = client.send("DELETE /skills/{name}", path=NAME)
    assert status == 503
    assert told == []


def test_an_event_that_crashes_is_delivered_again_without_what_it_held(house: House) -> None:
    records = [{"messageId": "1", "marked": "marked"}]
    with pytest.raises(RefreshFailed, match=r"^refresh_crashed$") as failure:
        refresh(house.registry, {"Records": records}, "invocation-1")
    assert failure.value.__cause__ is None
    assert failure.value.__suppress_context__


def test_a_crash_of_a_call_quotes_nothing_in_its_answer(house: House) -> None:
    def crash(*_: object) -> Any:
        raise ValueError("marked")

    api = house.registry.list_api()
    spoil: Callable[..., Any] = crash
    api._routes = {"GET /skills": spoil}
    result = api.answer(http_event("GET /skills", headers={"X-Correlation-Id": "mine"}))
    assert (result["statusCode"], result["headers"]["x-correlation-id"]) == (500, "mine")
    assert "marked" not in json.dumps(result)
