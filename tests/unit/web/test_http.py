"""Requests and responses: what API Gateway sends and takes."""

from __future__ import annotations

import base64
import gzip
import hashlib

import pytest
from house import http_event

from skill_registry.errors import RequestInvalid
from skill_registry.web.http import Request, Response, revalidated
from skill_registry.web.writes import precondition

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


LONG = "A line of text that is said again.\n" * 100


def coded(given: str | None, body: str | bytes = LONG, **more: str) -> Response:
    headers = {**more} if given is None else {"Accept-Encoding": given, **more}
    return revalidated(request(headers=headers), Response(body=body), 6)


@pytest.mark.parametrize(
    ("given", "gzipped"),
    [
        (None, False),
        ("", False),
        ("identity", False),
        ("br, deflate", False),
        ("gzip", True),
        ("GZIP", True),
        ("x-gzip", True),
        ("deflate, gzip;q=0.5", True),
        ("gzip;q=0", False),
        ("gzip;q=0.000", False),
        ("gzip; q=1.000", True),
        ("*", True),
        ("*;q=0", False),
        ("gzip;q=0, *", False),
        ("*;q=0, gzip", True),
        ("gzip;q=nan", False),
        ("gzip;q=inf", False),
        ("gzip;q=2", False),
        ("gzip;q=-1", False),
        ("gzip;q=1_0", False),
        ("gzip" + "," * 10_000, True),
    ],
)
def test_a_body_is_gzipped_for_a_client_that_asks_for_it(given: str | None, gzipped: bool) -> None:
    response = coded(given)
    assert response.headers.get("content-encoding") == ("gzip" if gzipped else None)
    body = response.body
    assert (gzip.decompress(body).decode() if isinstance(body, bytes) else body) == LONG
    assert response.headers["vary"] == "accept, accept-encoding, authorization"


def test_a_gzipped_body_travels_in_base64_and_has_no_time_in_it() -> None:
    result = coded("gzip").to_result()
    assert result["isBase64Encoded"] is True
    packed = base64.b64decode(result["body"])
    assert packed[4:8] == b"\0\0\0\0"
    assert gzip.decompress(packed).decode() == LONG
    assert coded("gzip").body == coded("gzip").body


def test_a_body_below_1_kib_or_that_does_not_shrink_stays_as_it_is() -> None:
    assert "content-encoding" not in coded("gzip", "x" * 1023).headers
    assert "content-encoding" in coded("gzip", "x" * 1024).headers
    noise = hashlib.shake_256(b"noise").digest(5000)
    assert coded("gzip", noise).body == noise
    assert "content-encoding" in coded("gzip", "é" * 512).headers


def test_each_coding_has_an_etag_of_its_own_that_starts_with_the_version() -> None:
    plain, packed = coded(None).headers["etag"], coded("gzip").headers["etag"]
    assert plain.startswith('"6-')
    assert packed == plain[:-1] + '-gzip"'


@pytest.mark.parametrize("asks", [None, "gzip"])
@pytest.mark.parametrize("has", [None, "gzip"])
def test_who_has_the_content_in_either_coding_gets_304_for_the_one_it_has(
    asks: str | None, has: str | None
) -> None:
    etag = coded(has).headers["etag"]
    again = coded(asks, **{"If-None-Match": f'"old", {etag}'})
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", etag)
    assert "content-encoding" not in again.headers
    assert coded(asks, LONG + "more", **{"If-None-Match": etag}).status == 200


@pytest.mark.parametrize("suffix", ["", "-gzip"])
def test_a_write_takes_the_etag_of_a_view_in_either_coding(suffix: str) -> None:
    etag = coded("gzip" if suffix else None).headers["etag"]
    assert precondition(request(headers={"If-Match": etag})).version == 6


@pytest.mark.parametrize("given", ['"6-abc-br"', '"6-gzip"', '"-gzip"', '"٦"', '"6-abc-gzip-gzip"'])
def test_what_no_answer_had_as_its_etag_is_no_precondition(given: str) -> None:
    with pytest.raises(RequestInvalid) as caught:
        precondition(request(headers={"If-Match": given}))
    assert caught.value.code == "precondition_invalid"


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("plain", "plain"),
        ("a\r\nset-cookie: b=c", "a%0D%0Aset-cookie: b=c"),
        ("1.0\n", "1.0%0A"),
        ("tab\there\x00\x7f", "tab%09here%00%7F"),
        ("größe", "gr%C3%B6%C3%9Fe"),
        ("50 % é", "50 % %C3%A9"),
        ("half \ud800", "half ?"),
    ],
)
def test_no_text_makes_a_header_of_its_own(value: str, sent: str) -> None:
    result = Response(headers={"x-skill-version": value}).to_result()
    assert result["headers"]["x-skill-version"] == sent


def test_halves_of_characters_are_replaced_where_they_come_in() -> None:
    event = http_event("GET /skills/{name}", path={"name": "a\ud800"}, headers={"X-A": "b\udfff"})
    asked = Request(event)
    assert (asked.path_parameter("name"), asked.headers["x-a"]) == ("a?", "b?")


def test_halves_of_characters_in_a_query_or_a_body_are_refused() -> None:
    with pytest.raises(RequestInvalid) as caught:
        request(query="q=\ud800").value("q")
    assert caught.value.code == "query_invalid"
    with pytest.raises(RequestInvalid) as caught:
        request(body="\ud800").json()
    assert caught.value.code in ("body_invalid", "body_not_json")


def test_a_path_is_not_decoded_a_second_time() -> None:
    event = http_event("GET /skills/{name}", path={"name": "%2e%2e%2f"})
    assert Request(event).path_parameter("name") == "%2e%2e%2f"


def test_a_query_of_more_than_100_fields_is_refused() -> None:
    assert len(request(query="&".join(["scope=system"] * 100)).values("scope")) == 100
    with pytest.raises(RequestInvalid) as caught:
        request(query="&".join(["scope=system"] * 101)).values("scope")
    assert caught.value.code == "query_invalid"


@pytest.mark.parametrize(
    "body",
    [
        '{"a": ' * 100_000 + "1" + "}" * 100_000,
        '{"a": ' + "9" * 10_000 + "}",
        '{"a": 1e999}',
        '{"a": -Infinity}',
        '{"a": NaN}',
        '{"a": "\\udc00"}',
        '{"a": 1, "a": 2}',
        '{"a": {"b": 1, "b": 1}}',
    ],
)
def test_json_that_is_a_bomb_or_no_json_is_refused(body: str) -> None:
    with pytest.raises(RequestInvalid) as caught:
        request(body=body).json()
    assert caught.value.code == "body_not_json"


@pytest.mark.parametrize(
    "accept",
    ["text/markdown;q=nan", "text/markdown;q=inf", "text/markdown;q=9", ";;;,,,;q=", "\xff"],
)
def test_an_odd_accept_gets_what_is_offered_first(accept: str) -> None:
    assert request(headers={"Accept": accept}).accepts(OFFERED) == "application/json"
