"""``POST /check`` over HTTP: its shape, and bodies that are none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from api_client import JSON, SETTINGS, Client
from house import House

ROUTE = "POST /check"


@pytest.fixture
def house() -> House:
    house = House(settings=SETTINGS)
    house.publish("notes")
    house.publish("plans", "one", agents="[coding]")
    return house


@pytest.fixture
def client(house: House) -> Client:
    return Client(house)


def ask(client: Client, document: Any, **more: Any) -> tuple[int, Any, dict[str, str]]:
    return client.send(ROUTE, body=json.dumps(document), headers=JSON, **more)


def test_each_name_is_answered_with_its_state(house: House, client: Client) -> None:
    house.publish("notes", "two")
    status, body, headers = ask(client, {"skills": {"notes": 1, "plans": 1, "nothing": None}})
    assert (status, headers["cache-control"]) == (200, "no-store")
    assert body["skills"] == {
        "notes": {"state": "stale", "version": 2, "scope": "system"},
        "plans": {"state": "current", "version": 1, "scope": "system"},
        "nothing": {"state": "removed"},
    }
    assert set(body["catalog_version"]) == {"system"}


def test_agent_tier_and_scope_narrow_a_check_as_they_narrow_a_listing(client: Client) -> None:
    for query in ("agent=review", "scope=team-blue"):
        _, body, _ = ask(client, {"skills": {"plans": 1}}, query=query)
        assert body["skills"] == {"plans": {"state": "removed"}}
    status, problem, _ = ask(client, {"skills": {}}, query="tier=huge")
    assert (status, problem["code"]) == (400, "filter_invalid")
    status, problem, _ = ask(client, {"skills": {}}, query="scope=nope")
    assert (status, problem["code"]) == (400, "scope_invalid")


def test_an_empty_check_answers_the_catalog_versions(client: Client) -> None:
    status, body, _ = ask(client, {"skills": {}})
    assert (status, body["skills"], set(body["catalog_version"])) == (200, {}, {"system"})


def test_a_check_says_the_age_of_what_was_looked_at_without_the_store(
    house: House, client: Client
) -> None:
    ask(client, {"skills": {}})
    house.faults.before_if = lambda _: True
    house.time += 9
    status, _, headers = ask(client, {"skills": {"notes": 1}})
    assert (status, headers["x-catalog-stale"]) == (200, "9")


MANY = {f"skill-{n}": 1 for n in range(1001)}


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ({}, "body_invalid"),
        ({"skills": []}, "body_invalid"),
        ({"skills": None}, "body_invalid"),
        ({"skills": {"a": True}}, "body_invalid"),
        ({"skills": {"a": 1.5}}, "body_invalid"),
        ({"skills": {"a": [1]}}, "body_invalid"),
        ({"skills": {"a": {"version": 1}}}, "body_invalid"),
        ({"skills": {}, "more": 1}, "body_invalid"),
        ({"skills": MANY}, "body_invalid"),
        ([], "body_not_json"),
        ("text", "body_not_json"),
    ],
)
def test_a_body_that_is_no_check_is_refused(client: Client, document: Any, code: str) -> None:
    status, problem, _ = ask(client, document)
    assert (status, problem["code"]) == (400, code)


def test_a_thousand_names_are_answered(client: Client) -> None:
    names = list(MANY)[:1000]
    status, body, _ = ask(client, {"skills": dict.fromkeys(names, 1)})
    assert (status, list(body["skills"])) == (200, names)


BOMBS = {
    "a nested list": '{"skills": {"a": ' + "[" * 200_000 + "]" * 200_000 + "}}",
    "a nested object": '{"skills": ' * 50_000 + "1" + "}" * 50_000,
    "a number of too many digits": '{"skills": {"a": ' + "9" * 100_000 + "}}",
    "a float past all floats": '{"skills": {"a": 1e999}}',
    "not a number": '{"skills": {"a": NaN}}',
    "half a character": '{"skills": {"\\ud800": 1}}',
    "a name twice": '{"skills": {"a": 1, "a": 2}}',
    "more than is looked at": '{"skills": {"a": "' + "x" * 1_048_576 + '"}}',
    "nothing": "",
    "a number that is a hundred digits": '{"skills": {"a": ' + "9" * 100 + "}}",
    "many wrong members": json.dumps({"skills": dict.fromkeys((f"n{i}" for i in range(900)), 0.5)}),
    "a long wrong member": json.dumps({"skills": {"n" * 100_000: 0.5}}),
}


@pytest.mark.parametrize("case", BOMBS)
def test_a_body_made_to_break_the_reader_is_answered_in_short(client: Client, case: str) -> None:
    status, body, _ = client.send(ROUTE, body=BOMBS[case], headers=JSON)
    if case == "a number that is a hundred digits":
        assert (status, body["skills"]) == (200, {"a": {"state": "removed"}})
        return
    assert (status, body["code"] in ("body_invalid", "body_not_json")) == (400, True)
    assert len(body["detail"]) < 10_000


def test_the_list_function_starts_without_the_models_of_bodies() -> None:
    script = (
        "import sys\n"
        "from skill_registry.web.wiring import Registry\n"
        "from skill_registry.web.settings import Settings\n"
        "from skill_registry.store.memory import MemorySkillStore\n"
        "from skill_registry.catalog.runtime import Runtime\n"
        "Registry(Settings(), MemorySkillStore(), Runtime()).list_api()\n"
        "heavy = {'pydantic', 'yaml', 'frontmatter', 'zipfile', 'boto3'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
