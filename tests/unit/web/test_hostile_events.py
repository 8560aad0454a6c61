"""Events with members missing or of other types, and cursors of somebody or something else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from authorization.baits import answer, event_of
from authorization.hostile import LIST, NAMED, UPLOADS, VIEW, Case

ODD: tuple[Any, ...] = (None, "text", 17, [], ["a"], {"a": {}}, {}, True)


@pytest.mark.parametrize("member", ["requestContext", "headers", "pathParameters", "http", "both"])
def test_an_event_that_lacks_a_member_is_answered(member: str) -> None:
    for route in (LIST, *NAMED, UPLOADS, "POST /maintenance/{task}", "GET /uploads/{id}"):
        for value in ODD:
            event = event_of(Case(route, (0, None)))
            if member == "http":
                event["requestContext"]["http"] = value
            else:
                names = ("requestContext", "headers") if member == "both" else (member,)
                event |= dict.fromkeys(names, value)
            result, body = answer(event)
            if member in ("requestContext", "both"):
                assert (result["statusCode"], body["code"]) == (401, "unauthenticated")


@pytest.mark.parametrize(
    "missing", ["version", "headers", "pathParameters", "rawQueryString", "rawPath"]
)
def test_an_event_without_a_member_is_answered(missing: str) -> None:
    for route in (LIST, *NAMED, UPLOADS, "$default"):
        event = event_of(Case(route, (0, None)))
        del event[missing]
        result, _ = answer(event)
        assert result["statusCode"] < 500


def test_an_event_of_nothing_is_nobody() -> None:
    for event in ({}, {"routeKey": LIST}, {"routeKey": VIEW, "requestContext": None}):
        result, body = answer(dict(event))
        assert (result["statusCode"], body["code"]) == (401, "unauthenticated")


def cursor_of(query: str = "limit=1", **claims: Any) -> str:
    event = event_of(Case(LIST, (200, None), query))
    if claims:
        event["requestContext"]["authorizer"] = {"jwt": {"claims": claims}}
    _, body = answer(event)
    return str(body["next"])


def test_a_cursor_is_good_for_its_query_and_its_caller_alone() -> None:
    cursor = cursor_of()
    result, body = answer(event_of(Case(LIST, (200, None), f"limit=1&cursor={cursor}")))
    assert [skill["name"] for skill in body["skills"]] == ["other"]
    foreign = {
        "another caller": cursor_of(sub="ann"),
        "another query": cursor_of("limit=1&q=does"),
        "another scope": cursor_of("limit=1&scope=system&scope=team-azure"),
        "another tier": cursor_of("limit=1&tier=ultra"),
        "another agent": cursor_of("limit=1&agent=review"),
        "other tools": cursor_of("limit=1&tools=Read"),
        "another language": cursor_of("limit=1&lang=de"),
        "another route": "system/notes",
        "cut": cursor[:-1],
        "longer": cursor + "A",
        "padded": cursor + "%3D",
        "doubled": cursor + cursor,
        "changed": cursor[:-6] + ("A" if cursor[-6] != "A" else "B") + cursor[-5:],
        "huge": "A" * 100_000,
        "nothing": "",
        "no base64": "%00%ff".replace("%ff", "%C3%BF"),
        "a bomb": "W1tb" * 1000,
        "null": "bnVsbA",
        "a number": "MQ",
        "forged": "WyIwMDAwMDAwMDAwMDAwMDAwIiwwLCJub3RlcyJd",
        "blanks": "%20" + cursor,
    }
    for what, given in foreign.items():
        case = Case(LIST, (400, "cursor_invalid"), f"limit=1&cursor={given}")
        result, problem = answer(event_of(case))
        assert (result["statusCode"], problem["code"]) == case.answer, what


@pytest.mark.parametrize("task", ["reconcile", "doctor"])
def test_a_cursor_of_maintenance_is_its_own(task: str) -> None:
    listing = cursor_of()
    wrong = (listing, "/", "..", "system", "../system/notes", "System/notes", "\0/x", "é/x", "a/b")
    for given, code in (
        *((each, "cursor_invalid") for each in wrong),
        *((each, "body_invalid") for each in ("", "a" * 1025, "x" * 1_000_000)),
    ):
        route = "POST /maintenance/{task}"
        case = Case(route, (400, code), body=json.dumps({"cursor": given}), path={"task": task})
        result, problem = answer(event_of(case))
        assert (result["statusCode"], problem["code"]) == case.answer, given
