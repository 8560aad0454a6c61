"""Requests that nobody sends by accident: never a 5xx, always a problem with the one right code."""

from __future__ import annotations

import base64
import gzip
import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest
from answers import body_of
from authorization.baits import answer, environment, event_of, unclean
from authorization.hostile import (
    BROKEN_BASE64,
    BUNDLE,
    LIST,
    PUT,
    UPLOADS,
    VALIDATE,
    VIEW,
    Case,
    media,
    numbers,
    places,
    preconditions,
    queries,
)
from authorization.hostile_bodies import bombs, members, texts
from house import http_event

from skill_registry.store.keys import SkillId
from skill_registry.web import contract

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from authorization.estate import Environment

FAMILIES = (numbers, queries, places, media, preconditions, texts, members, bombs)
# More than API Gateway lets through (10,240 bytes), and more than it ever might.
LONG = (8 * 1024, 16 * 1024, 64 * 1024)
SNEAKY = (
    "a\r\nx-evil: 1",
    "a\nx-evil: 1",
    "a\rx-evil: 1",
    "a\u2028b",
    "a\0b",
    "é",
    "\ud800",
    "\x7f",
)


def wrong_with(case: Case, home: Environment) -> Iterator[str]:
    before = home.house.state()
    result = home.api(case.route).answer(event_of(case))
    yield from unclean(case.route, result)
    status = result["statusCode"]
    code = json.loads(result["body"])["code"] if status >= 400 else None
    if (status, code) != case.answer:
        yield f"{(status, code)} instead of {case.answer}: {result['body'][:300]}"
    if status >= 400 and home.house.state() != before:
        yield "changes something"


def by_route(family: Callable[[], Iterator[Case]]) -> list[Any]:
    """Group the cases of a family, so that processes can share them."""
    grouped = defaultdict(list)
    for case in family():
        grouped[case.route].append(case)
    return [
        pytest.param(cases, id=f"{family.__name__} {route}") for route, cases in grouped.items()
    ]


@pytest.mark.parametrize("cases", [each for family in FAMILIES for each in by_route(family)])
def test_a_hostile_request_gets_its_one_answer(cases: list[Case]) -> None:
    home = environment()
    wrong = []
    for case in cases:
        if case.answer[0] < 400:
            home = environment()
        wrong += [f"{case}: {fault}" for fault in wrong_with(case, home)]
    assert wrong == []


@pytest.mark.parametrize("value", SNEAKY)
@pytest.mark.parametrize(
    "name",
    [
        *("x-correlation-id", "idempotency-key", "user-agent", "accept", "accept-encoding"),
        *("authorization", "host", "origin", "x-evil\r\nx-evil", "x-local-claims", "cookie"),
    ],
)
def test_no_header_of_a_request_makes_one_of_the_answer(name: str, value: str) -> None:
    for route, status in ((LIST, 200), (VIEW, 200), (PUT, 200), (UPLOADS, 201)):
        case = Case(route, (status, None), headers={name: value})
        result, _ = answer(event_of(case))
        assert result["statusCode"] == status
        assert "x-evil" not in result["headers"]
        assert result["headers"]["x-correlation-id"] == "request-1"


@pytest.mark.parametrize("value", ["a" * 65, "a b", "a/b", "a,b", "", "a\r\nb", "ä", " a"])
def test_a_correlation_id_that_is_none_is_not_echoed(value: str) -> None:
    case = Case(LIST, (200, None), headers={"x-correlation-id": value})
    result, _ = answer(event_of(case))
    assert result["headers"]["x-correlation-id"] == "request-1"


def test_a_link_holds_its_query_and_no_header_of_its_own() -> None:
    query = "limit=1&x=%0d%0aset-cookie:%20a=1&%3e%3b%20rel=%22evil%22&scope=system"
    result, body = answer(event_of(Case(LIST, (200, None), query)))
    link = result["headers"]["link"]
    assert (link.count(">"), link.count(";"), link.count('"')) == (1, 1, 2)
    assert body["next"] in link
    result, _ = answer(event_of(Case(LIST, (200, None), "limit=1&x=" + "a" * 9000)))
    assert "link" not in result["headers"]


@pytest.mark.parametrize("version", ['"1\\r\\nx-evil: 1"', '"\\0"', '"é"', "'\"; filename=x'"])
def test_what_a_directory_says_of_itself_makes_no_header(version: str) -> None:
    home = environment()
    skill = SkillId("system", "directory")
    text = f"---\nname: directory\ndescription: Is there.\nversion: {version}\n---\nHere.\n"
    home.house.put("skills/system/directory/SKILL.md", text.encode())
    home.registry.refresher.refresh(skill.scope, [skill.name])
    for route, query in ((VIEW, "raw=1"), (VIEW, ""), (BUNDLE, ""), (LIST, "")):
        case = Case(
            route, (200, None), query, path={"name": "directory"} if query or route != LIST else {}
        )
        result = home.api(route).answer(event_of(case))
        assert result["statusCode"] == 200
        assert list(unclean(route, result)) == []


@pytest.mark.parametrize("size", LONG)
@pytest.mark.parametrize(
    "name",
    [
        *("x-junk", "accept", "accept-encoding", "if-none-match", "cookie", "authorization"),
        *("x-correlation-id", "content-type", "user-agent", "traceparent"),
    ],
)
def test_a_huge_header_is_no_reason_to_fail(name: str, size: int) -> None:
    for filler in ("a", ",", ";q=1,", '"x",', "W/", "gzip;q=0.1, "):
        value = (filler * (size // len(filler) + 1))[:size]
        result, _ = answer(event_of(Case(LIST, (200, None), headers={name: value})))
        assert result["statusCode"] == 200


CODINGS = (
    *(
        "gzip;q=0",
        "gzip;q=abc",
        "*;q=0",
        "*;q=0.0001",
        "identity;q=0",
        ",,,",
        ";",
        "gzip;q=",
        "q=1",
    ),
    *("GZIP", "x-gzip", "gzip;q=1.0001", "gzip;q=-1", "gzip;q=NaN", "br, *;q=0.1", "gzip\t;\tq=1"),
    *("deflate, gzip;q=1.0, *;q=0.5", "gzip;;;;q=1", "gzip;q=0;q=1", "gzip gzip", "*"),
)


@pytest.mark.parametrize("coding", CODINGS)
def test_an_odd_coding_still_gets_a_body_that_can_be_read(coding: str) -> None:
    home = environment()
    for at in range(20):
        home.house.publish(f"many-{at}")
    result = home.api(LIST).answer(
        event_of(Case(LIST, (200, None), headers={"accept-encoding": coding}))
    )
    assert list(unclean(LIST, result)) == []
    if result["headers"].get("content-encoding"):
        assert result["headers"]["content-encoding"] == "gzip"
        assert gzip.decompress(base64.b64decode(result["body"]))
    assert len(json.loads(body_of(result))["skills"]) == 22


def test_an_etag_is_known_again_in_every_form_that_http_has() -> None:
    for route in (LIST, VIEW, VIEW + "/versions", VIEW + "/diff", "GET /openapi.json"):
        result, _ = answer(event_of(Case(route, (200, None))))
        etag = result["headers"]["etag"]
        known = (
            etag,
            f"W/{etag}",
            "*",
            f'"x", {etag}',
            f'{etag},"y"',
            f" {etag} ",
            f'"a,b",{etag}',
        )
        other = ("", etag[:-1], etag[1:], etag.upper() + "x", '"', "W/", ",", '"' * 65_536)
        for given in (*known, *other):
            case = Case(route, (200, None), headers={"if-none-match": given})
            again, body = answer(event_of(case))
            assert again["statusCode"] == (304 if given in known else 200), given
            assert again["headers"]["etag"] == etag
            assert bool(body) is (given not in known)


METHODS = ("HEAD", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get", "", "GET ", "É", "A" * 5000)


@pytest.mark.parametrize("method", METHODS)
def test_an_unknown_method_is_405_with_those_that_are_known(method: str) -> None:
    paths = {template for _, template in map(str.split, contract.ROUTES)}
    for template in sorted(paths):
        path = template.replace("{name}", "notes").replace("{id}", "0" * 32)
        event = http_event("$default")
        event["rawPath"] = path.replace("{task}", "rebuild")
        event["requestContext"]["http"] = {"method": method, "path": path}
        result, problem = answer(event)
        assert (result["statusCode"], problem["code"]) == (405, "method_not_allowed")
        assert set(result["headers"]["allow"].split(", ")) == {
            known for known, there in map(str.split, contract.ROUTES) if there == template
        }


@pytest.mark.parametrize(
    "path",
    [
        *("", "/", "//skills", "/skills/", "/skills//", "/Skills", "/skills/a/b", "/../skills"),
        *("/skills/notes/bundle/", "/skills\0", "/%73kills", "/\r\nx: y", "/é", "/\ud800"),
        *("/" + "a" * 60_000, "/uploads/x/y", "/maintenance", "/openapi.json/", "/.env"),
    ],
)
def test_an_unknown_path_is_a_404_that_repeats_little(path: str) -> None:
    event = http_event("$default")
    event["rawPath"] = path
    event["requestContext"]["http"] = {"method": "GET", "path": path}
    result, problem = answer(event)
    assert (result["statusCode"], problem["code"]) == (404, "route_not_found")


@pytest.mark.parametrize("route", ["GET /skills", VIEW, BUNDLE, "GET /openapi.json", "GET /access"])
@pytest.mark.parametrize("body", [b"{", b"\xff" * 1000, "{}", BROKEN_BASE64, b"x" * 5_000_000])
def test_a_body_where_none_is_read_changes_nothing(route: str, body: Any) -> None:
    result, _ = answer(event_of(Case(route, (200, None), body=body)))
    assert result["statusCode"] == 200


@pytest.mark.parametrize("body", ["e30", "e30=\n", "{}", "====", "é", "\0", "e3\n0=", " e30="])
@pytest.mark.parametrize("route", [UPLOADS, VALIDATE])
def test_base64_that_is_none_is_a_body_that_cannot_be_decoded(route: str, body: str) -> None:
    event = event_of(Case(route, (400, "body_invalid")))
    event |= {"body": body, "isBase64Encoded": True}
    result, problem = answer(event)
    assert (result["statusCode"], problem["code"]) == (400, "body_invalid")
