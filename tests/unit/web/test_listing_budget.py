"""``max_tokens``: a page that fits into a prompt, and says what that cost."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest
from api_client import SETTINGS, Client
from house import House

from skill_registry.spec.budget import estimated_tokens
from skill_registry.spec.rendering import ListedSkill, render_markdown

MARKDOWN = {"accept": "text/markdown"}
XML = {"accept": "application/xml"}
NAMES = [f"skill-{number:02d}" for number in range(30)]


@pytest.fixture(scope="module")
def client() -> Client:
    house = House(settings=SETTINGS)
    for name in NAMES:
        house.publish(name, description="Reads tables and <b>writes</b> reports. " * 6)
    return Client(house)


def listed(client: Client, query: str, headers: dict[str, str] | None = None) -> Any:
    status, body, sent = client.send("GET /skills", query=query, headers=headers)
    assert status == 200
    return body, sent


def lines(body: dict[str, Any]) -> str:
    return render_markdown(
        ListedSkill(skill["name"], skill["version"], skill["description"])
        for skill in body["skills"]
    )


def test_markdown_keeps_every_name_within_the_budget(client: Client) -> None:
    body, headers = listed(client, "max_tokens=600", MARKDOWN)
    assert estimated_tokens(body) <= 600
    assert [line[4:12] for line in body.splitlines()] == NAMES
    assert headers["x-skills-shortened"] == "30"
    assert "x-skills-omitted" not in headers


def test_xml_within_the_budget_is_one_well_formed_element(client: Client) -> None:
    body, headers = listed(client, "max_tokens=1500", XML)
    assert estimated_tokens(body) <= 1_500
    assert [skill.findtext("name") for skill in ElementTree.fromstring(body)] == NAMES
    assert headers["x-skills-shortened"] == "30"


def test_json_is_fitted_by_the_lines_that_it_makes(client: Client) -> None:
    body, headers = listed(client, "max_tokens=600")
    assert estimated_tokens(lines(body)) <= 600
    assert lines(body) == listed(client, "max_tokens=600", MARKDOWN)[0]
    assert (body["shortened"], body.get("omitted")) == (30, None)
    assert "x-skills-shortened" not in headers


def test_names_beyond_the_budget_are_counted_and_come_with_the_cursor(client: Client) -> None:
    seen: list[str] = []
    query = "max_tokens=70"
    for _ in range(len(NAMES)):
        body, _ = listed(client, query)
        seen += [skill["name"] for skill in body["skills"]]
        assert body.get("omitted", 0) == len(NAMES) - len(seen)
        if "next" not in body:
            break
        query = f"max_tokens=70&cursor={body['next']}"
    assert seen == NAMES


def test_the_budget_is_of_one_page(client: Client) -> None:
    body, _ = listed(client, "max_tokens=200&limit=5")
    assert [skill["name"] for skill in body["skills"]] == NAMES[:5]
    assert body["shortened"] == 5
    assert "omitted" not in body
    following, _ = listed(client, f"max_tokens=200&limit=5&cursor={body['next']}")
    assert [skill["name"] for skill in following["skills"]] == NAMES[5:10]


def test_a_budget_for_not_even_one_name_comes_to_an_end(client: Client) -> None:
    body, _ = listed(client, "max_tokens=1&limit=20")
    assert (body["skills"], body["omitted"]) == ([], 20)
    last, _ = listed(client, f"max_tokens=1&limit=20&cursor={body['next']}")
    assert (last["skills"], last["omitted"], "next" in last) == ([], 10, False)
    text, headers = listed(client, "max_tokens=1", MARKDOWN)
    assert (text, headers["x-skills-omitted"]) == ("", "30")


def test_without_a_budget_nothing_is_cut(client: Client) -> None:
    body, _ = listed(client, "")
    assert all("…" not in skill["description"] for skill in body["skills"])
    assert not {"shortened", "omitted"} & body.keys()
    roomy, _ = listed(client, "max_tokens=999999999")
    assert roomy == body


def test_listings_of_other_budgets_have_other_etags(client: Client) -> None:
    tags = {listed(client, query)[1]["etag"] for query in ("", "max_tokens=600", "max_tokens=900")}
    assert len(tags) == 3
    _, headers = listed(client, "max_tokens=600")
    again = client.send(
        "GET /skills", query="max_tokens=600", headers={"if-none-match": headers["etag"]}
    )
    assert again[0] == 304


@pytest.mark.parametrize("text", ["0", "-1", "many", "1.5", "", "1e3", "9999999999", "²", "٣"])
def test_what_is_no_budget_is_refused(client: Client, text: str) -> None:
    status, problem, _ = client.send("GET /skills", query=f"max_tokens={text}")
    assert (status, problem["code"]) == (400, "max_tokens_invalid")
