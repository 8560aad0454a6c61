"""Requests and responses: what API Gateway sends and takes."""

from __future__ import annotations

import pytest
from house import http_event

from skill_registry.errors import RequestInvalid
from skill_registry.web.http import Request, Response, revalidated

OFFERED = ("application/json", "text/markdown", "application/xml")


def request(**more: object) -> Request:
    return Request(http_event("GET /skills", **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        (None, "application/json"),
        ("*/*", "application/json"),
        ("text/markdown", "text/markdown"),
        ("text/*", "text/markdown"),
        ("application/xml;q=0.9, text/markdown;q=0.5", "application/xml"),
        ("application/json;q=0, */*;q=0.1", "text/markdown"),
        ("image/png", "application/json"),
        ("text/markdown;q=nonsense, application/xml", "application/xml"),
        ("TEXT/MARKDOWN", "text/markdown"),
    ],
)
def test_the_client_gets_the_media_type_that_it_prefers(accept: str | None, chosen: str) -> None:
    headers = {"Accept": accept} if accept else {}
    assert request(headers=headers).accepts(OFFERED) == chosen


def test_query_values_are_decoded_once_and_repeat_in_order() -> None:
    asked = request(query="scope=a&scope=b%2Bc&path=a+b%2520c")
    assert asked.values("scope") == ("a", "b+c")
    assert asked.value("path") == "a b%20c"


@pytest.mark.parametrize("query", ["limit=1&limit=2", "limit=%ff"])
def test_a_query_that_is_ambiguous_or_no_text_is_refused(query: str) -> None:
    with pytest.raises(RequestInvalid) as caught:
        request(query=query).value("limit")
    assert caught.value.code == "query_invalid"


@pytest.mark.parametrize("body", ["", "nonsense", "[]", "1", '"x"', "[" * 100_000])
def test_a_body_that_is_no_json_object_is_refused(body: str) -> None:
    with pytest.raises(RequestInvalid) as caught:
        request(body=body).json()
    assert caught.value.code == "body_not_json"


def test_a_body_that_is_no_base64_is_refused() -> None:
    event = http_event("PUT /skills/{name}", body="%%%")
    event["isBase64Encoded"] = True
    with pytest.raises(RequestInvalid):
        _ = Request(event).body


def test_bytes_that_are_no_text_travel_in_base64() -> None:
    result = Response(body=b"\xff\x00").to_result()
    assert (result["isBase64Encoded"], result["body"]) == (True, "/wA=")
    assert Response(body=b"text").to_result()["isBase64Encoded"] is False


def test_a_client_that_has_the_representation_gets_304_without_a_body() -> None:
    first = revalidated(request(), Response(body="hello"), 6)
    etag = first.headers["etag"]
    assert etag.startswith('"6-')
    for given in (etag, f'"x", W/{etag}', "*"):
        again = revalidated(request(headers={"If-None-Match": given}), Response(body="hello"), 6)
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", etag)
    other = revalidated(request(headers={"If-None-Match": etag}), Response(body="other"), 7)
    assert other.status == 200
