"""The query of ``GET /skills`` over HTTP, and what this environment remembers of its answers."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

import pytest
from api_client import SETTINGS, CheckedApi, Client
from house import House

from skill_registry.catalog.facts import Fact, SkillListed
from skill_registry.catalog.snapshot import Entry
from skill_registry.web.list_routes import list_routes
from skill_registry.web.rendered import RenderedAnswers
from skill_registry.web.wiring import Registry

ROUTE = "GET /skills"
MARKDOWN = {"accept": "text/markdown"}
GZIP = {"accept-encoding": "gzip"}


def skill(name: str, **more: Any) -> Entry:
    entry = Entry(name, revision=1, version=1, description=f"About {name}.", tags=("all",))
    return replace(entry, **more)


ENTRIES = (
    skill("alpha", descriptions={"zh": "关于。"}),
    skill("beta", agents=("review",)),
    skill("gamma", agents=("coding",), allowed_tools=("Bash",)),
    skill("large", min_tier="ultra"),
)


@pytest.fixture
def house() -> House:
    house = House(settings=SETTINGS)
    house.put_catalog("system", *ENTRIES)
    return house


@pytest.fixture
def client(house: House) -> Client:
    return Client(house)


def names(client: Client, query: str, **more: Any) -> list[str]:
    status, body, _ = client.send(ROUTE, query=query, **more)
    assert status == 200, body
    return [each["name"] for each in body["skills"]]


CLAIMS = {"sub": "bot", "agent": "review", "tier": "ultra"}


@pytest.mark.parametrize(
    ("query", "claims", "listed"),
    [
        ("", None, ["alpha", "beta", "gamma"]),
        ("tier=ultra", {"sub": "bot"}, ["alpha", "beta", "gamma", "large"]),
        ("", CLAIMS, ["alpha", "beta", "large"]),
        ("tier=lite", CLAIMS, ["alpha", "beta"]),
        ("agent=coding", CLAIMS, ["alpha", "large"]),
        ("agent=coding", {"sub": "bot"}, ["alpha", "gamma"]),
        ("tools=Read", {"sub": "bot"}, ["alpha", "beta"]),
        ("tools=Read,Bash&tools=Write", {"sub": "bot"}, ["alpha", "beta", "gamma"]),
        ("q=gam", {"sub": "bot"}, ["gamma"]),
        ("q=%E5%85%B3", {"sub": "bot"}, ["alpha"]),
        ("q=about&agent=review&limit=1", {"sub": "bot"}, ["alpha"]),
    ],
)
def test_the_query_narrows_the_listing(
    client: Client, query: str, claims: dict[str, str] | None, listed: list[str]
) -> None:
    if claims is None:
        claims = {"sub": "bot"}
    assert names(client, query, claims=claims) == listed


def test_the_answer_says_whether_the_named_agent_was_verified(client: Client) -> None:
    for asked, verified in (("review", True), ("coding", False)):
        query = f"agent={asked}"
        _, body, headers = client.send(ROUTE, query=query, claims=CLAIMS)
        assert body["agent"] == {"name": asked, "verified": verified}
        assert "x-agent-verified" not in headers
        _, _, headers = client.send(ROUTE, query=query, claims=CLAIMS, headers=MARKDOWN)
        assert headers["x-agent-verified"] == str(verified).lower()
    _, body, headers = client.send(ROUTE, claims=CLAIMS)
    assert "agent" not in body
    _, _, headers = client.send(ROUTE, claims=CLAIMS, headers=MARKDOWN)
    assert "x-agent-verified" not in headers


@pytest.mark.parametrize("kind", ["application/json", "text/markdown", "application/xml"])
def test_the_language_counts_in_every_form(client: Client, kind: str) -> None:
    headers = {"accept": kind}
    for query, there in (("lang=zh-CN", True), ("lang=de", False), ("", False)):
        _, body, _ = client.send(ROUTE, query=query, headers=headers)
        assert ("关于。" in json.dumps(body, ensure_ascii=False)) is there


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("tier=huge", "filter_invalid"),
        ("tier=", "filter_invalid"),
        ("agent=" + "a" * 65, "filter_invalid"),
        ("agent=a%0d%0ab", "filter_invalid"),
        ("q=" + "q" * 201, "filter_invalid"),
        ("q=" + "+".join("abcdefghijklmnopq"), "filter_invalid"),
        ("lang=zh_CN", "filter_invalid"),
        ("lang=", "filter_invalid"),
        ("tools=" + "+".join(f"t{n}" for n in range(201)), "filter_invalid"),
        ("min_catalog_version=system", "filter_invalid"),
        ("min_catalog_version=system:x", "filter_invalid"),
        ("q=a&q=b", "query_invalid"),
        ("lang=a&lang=b", "query_invalid"),
        ("agent=a&agent=b", "query_invalid"),
        ("tier=lite&tier=lite", "query_invalid"),
        ("cursor=a&cursor=b", "query_invalid"),
        ("limit=1&limit=1", "query_invalid"),
        ("q=%ff", "query_invalid"),
        ("limit=0", "limit_invalid"),
        ("limit=-1", "limit_invalid"),
        ("limit=501", "limit_invalid"),
        ("limit=99999999999999999999", "limit_invalid"),
        ("limit=1e2", "limit_invalid"),
        ("cursor=", "cursor_invalid"),
        ("cursor=" + "A" * 10_000, "cursor_invalid"),
        ("cursor=%2e%2e", "cursor_invalid"),
        ("cursor=%ED%95%9C", "cursor_invalid"),
        ("scope=%2e%2e", "scope_invalid"),
        ("scope=%2573ystem", "scope_invalid"),
        ("scope=system%0a", "scope_invalid"),
    ],
)
def test_a_query_that_is_none_is_refused_with_its_code(
    client: Client, query: str, code: str
) -> None:
    status, problem, _ = client.send(ROUTE, query=query)
    assert (status, problem["code"]) == (400, code)


def test_the_link_and_the_cursor_lead_through_a_search_alike(client: Client) -> None:
    query = "q=about+all&tools=Bash&limit=1&min_catalog_version=system%3A1"
    seen = []
    for _ in range(len(ENTRIES)):
        _, body, headers = client.send(ROUTE, query=query)
        seen += [each["name"] for each in body["skills"]]
        if "next" not in body:
            break
        link, _, relation = headers["link"].partition(">; ")
        assert relation == 'rel="next"'
        query = link.removeprefix("<?")
        assert dict(parse_qsl(query))["cursor"] == body["next"]
    assert seen == ["alpha", "beta", "gamma"]


def test_a_link_that_no_header_could_hold_is_left_out(client: Client) -> None:
    query = "limit=1&tools=Bash&tools=" + "%C3%A9" * 1000
    _, body, headers = client.send(ROUTE, query=query)
    assert ("next" in body, "link" in headers) == (True, False)


def test_what_diagnostics_are_left_out_is_counted(house: House, client: Client) -> None:
    said = tuple({"code": "body_empty", "message": "Empty."} for _ in range(60))
    house.put_catalog("system", Entry("vendored", description="x", diagnostics=said), version=2)
    _, body, _ = client.send(ROUTE)
    assert (len(body["diagnostics"]), body["diagnostics_omitted"]) == (50, 10)


def test_a_listing_is_gzipped_and_revalidated_in_its_coding(house: House, client: Client) -> None:
    house.put_catalog("system", *(skill(f"skill-{n}") for n in range(50)), version=2)
    _, plain, _ = client.send(ROUTE)
    status, packed, headers = client.send(ROUTE, headers=GZIP)
    assert (status, headers["content-encoding"]) == (200, "gzip")
    assert json.loads(gzip.decompress(packed)) == plain
    given = {**GZIP, "if-none-match": headers["etag"]}
    status, body, again = client.send(ROUTE, headers=given)
    assert (status, body, again["etag"]) == (304, "", headers["etag"])


def test_a_listing_too_large_to_travel_is_refused_and_its_pages_are_not(
    house: House, client: Client
) -> None:
    noise = [base64.b85encode(n.to_bytes(2, "big") * 400).decode() for n in range(6000)]
    entries = (skill(f"s-{n:04d}", description=text) for n, text in enumerate(noise))
    house.put_catalog("system", *entries, version=2)
    status, problem, _ = client.send(ROUTE, headers=MARKDOWN)
    assert (status, problem["code"]) == (413, "too_large")
    assert client.send(ROUTE, headers=MARKDOWN, query="limit=500")[0] == 200
    assert client.send(ROUTE, headers=MARKDOWN, query="max_tokens=100000")[0] == 200
    assert client.send(ROUTE, headers={**MARKDOWN, **GZIP})[0] == 200


class Watched(RenderedAnswers):
    """Counts what was rendered."""

    def __init__(self, max_bytes: int = 1024 * 1024) -> None:
        super().__init__(max_bytes)
        self.made = 0

    def put(self, *arguments: Any) -> None:
        self.made += 1
        super().put(*arguments)


def watched(house: House, memory: Watched) -> tuple[Client, list[Fact]]:
    told: list[Fact] = []
    runtime = replace(house.registry.runtime, tell=told.append)
    registry = Registry(house.settings, house.registry.store, runtime)
    registry.__dict__["rendered"] = memory
    client = Client(house)
    client.apis[ROUTE] = CheckedApi(registry.list_api())
    return client, told


def test_an_answer_that_was_given_before_is_not_rendered_again(house: House) -> None:
    memory = Watched()
    client, told = watched(house, memory)
    answers = [client.send(ROUTE, query="q=about", claims={"sub": "bot"}) for _ in range(3)]
    assert (memory.made, answers[0]) == (1, answers[1])
    assert answers[1] == answers[2]
    assert len(told) == 3
    assert set(told) == {SkillListed(told[0].scopes, 3, None, True)}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "change",
    [
        {"query": "q=about&limit=9"},
        {"query": "q=abou"},
        {"query": "q=about&lang=zh"},
        {"query": "q=about&tools=Read"},
        {"query": "q=about&max_tokens=20"},
        {"query": "q=about&agent=review"},
        {"query": "q=about&agent=other"},
        {"query": "q=about&tier=ultra"},
        {"query": "q=about&scope=system"},
        {"headers": MARKDOWN},
        {"headers": GZIP},
        {"claims": {"sub": "other"}},
        {"claims": {"sub": "bot", "agent": "review"}},
        {"claims": {"sub": "bot", "tier": "ultra"}},
    ],
    ids=str,
)
def test_another_question_gets_its_own_answer(house: House, change: dict[str, Any]) -> None:
    memory = Watched()
    client, _ = watched(house, memory)
    asked: dict[str, Any] = {"query": "q=about", "claims": {"sub": "bot"}}
    client.send(ROUTE, **asked)
    given = client.send(ROUTE, **asked | change)
    assert memory.made == 2
    alone, _ = watched(house, Watched())
    assert alone.send(ROUTE, **asked | change) == given


def test_a_changed_catalog_is_rendered_anew(house: House) -> None:
    memory = Watched()
    client, _ = watched(house, memory)
    assert names(client, "") == ["alpha", "beta", "gamma"]
    house.put_catalog("system", skill("alpha"), version=2)
    assert names(client, "") == ["alpha"]
    assert memory.made == 2


def test_callers_who_ask_the_same_scopes_share_an_answer_without_a_cursor(house: House) -> None:
    memory = Watched()
    client, _ = watched(house, memory)
    asked = "scope=system"
    first = client.send(ROUTE, query=asked, claims={"sub": "ann"})
    assert client.send(ROUTE, query=asked, claims={"sub": "bob"}) == first
    assert memory.made == 1


def test_a_cursor_is_never_given_to_another_caller(house: House) -> None:
    memory = Watched()
    client, _ = watched(house, memory)
    asked = "scope=system&limit=1"
    for subject in ("ann", "bob", "ann"):
        _, body, _ = client.send(ROUTE, query=asked, claims={"sub": subject})
        cursor = f"{asked}&cursor={body['next']}"
        assert names(client, cursor, claims={"sub": subject}) == ["beta"]
        other = "bob" if subject == "ann" else "ann"
        assert client.send(ROUTE, query=cursor, claims={"sub": other})[0] == 400
    assert memory.made == 4


def test_a_link_repeats_the_query_of_its_own_request(house: House) -> None:
    client, _ = watched(house, Watched())
    for query in ("limit=1&x=1", "limit=1&x=2", "x=1&limit=1"):
        _, _, headers = client.send(ROUTE, query=query)
        assert headers["link"].startswith(f"<?{query}&cursor=")


def test_a_remembered_answer_says_its_age_while_the_store_does_not_answer(house: House) -> None:
    memory = Watched()
    client, _ = watched(house, memory)
    client.send(ROUTE)
    house.faults.before_if = lambda _: True
    for age in (5, 9):
        house.time = 1_800_000_000.0 + age
        assert client.send(ROUTE)[2]["x-catalog-stale"] == str(age)
    house.faults.clear()
    assert "x-catalog-stale" not in client.send(ROUTE)[2]
    assert memory.made == 1


def test_what_does_not_fit_the_memory_is_rendered_each_time(house: House) -> None:
    memory = Watched(max_bytes=100)
    client, _ = watched(house, memory)
    assert names(client, "") == names(client, "")
    assert memory.made == 2


def test_the_routes_of_the_function_take_their_memory_from_the_registry(house: House) -> None:
    registry = house.registry
    assert registry.rendered is registry.rendered
    routes = list_routes(registry.listing, registry.checks, registry.rendered)
    assert set(routes) == {"GET /skills", "POST /check"}
