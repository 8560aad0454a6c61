"""Sends hostile requests to a small registry, and says what no answer may be."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from answers import body_of, check_answer
from api_client import SETTINGS
from authorization.estate import Bucket, Environment
from authorization.hostile import BROKEN_BASE64, Case
from house import House, http_event

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skill_registry.web.http import Result

LONGEST_PROBLEM = 16 * 1024


@lru_cache(maxsize=1)
def _bucket() -> Bucket:
    bucket = Bucket()
    house = House(bucket=bucket, settings=SETTINGS)
    house.publish("notes")
    house.publish("notes", "two")
    house.publish("other")
    house.publish("shared", scope="team-azure")
    return bucket


def environment() -> Environment:
    """Start an environment over a bucket of its own, with two versions of ``notes`` in it."""
    house = House(bucket=_bucket().copy(), settings=SETTINGS)
    return Environment(house, house.registry)


def event_of(case: Case) -> dict[str, Any]:
    """Return the event that a case arrives as."""
    sent = case.sent_body
    event = http_event(
        case.route,
        path=case.sent_path,
        query=case.query,
        headers=case.sent_headers,
        body=sent,
    )
    if sent == BROKEN_BASE64:
        event |= {"body": "e30", "isBase64Encoded": True}
    return event


def unclean(route: str, result: Result) -> Iterator[str]:
    """Say what no answer may be, whatever was asked."""
    try:
        check_answer(route, result)
    except AssertionError as error:
        yield f"breaks the contract: {error}"
    if result["statusCode"] >= 500:
        yield f"is a {result['statusCode']}"
    for name, value in result["headers"].items():
        if not (str(value).isascii() and str(value).isprintable()):
            yield f"has the header {name}: {value!r}"
    if result["statusCode"] >= 400:
        if result["headers"]["content-type"] != "application/problem+json":
            yield "is no problem+json"
        if len(result["body"]) > LONGEST_PROBLEM:
            yield f"repeats {len(result['body'])} characters"


def answer(event: dict[str, Any]) -> tuple[Result, Any]:
    """Answer an event by itself; nothing about the answer is unclean."""
    home = environment()
    result = home.api(event.get("routeKey", "$default")).answer(event)
    assert list(unclean(event.get("routeKey", "$default"), result)) == []
    body = body_of(result)
    kind = result["headers"]["content-type"]
    return result, json.loads(body) if body and "json" in kind else body
