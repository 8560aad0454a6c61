"""Whatever answers, a client's reading calls return or raise an error of ours, with its code."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from house import zipped
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback import Fault, Loopback

from skill_registry.agent import bundles, reading
from skill_registry.agent.answers import Bundle
from skill_registry.agent.client import RegistryClient
from skill_registry.agent.problems import AnswerInvalid, RegistryProblem
from skill_registry.errors import RegistryError, RequestInvalid

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

NO_HOSTS = ["http://a..b/", "http://.../", "http://xn--/", f"http://{'a' * 64}/"]
BUNDLE = {"name": "ant", "scope": "system", "version": 1, "sha256": "0" * 64}
ANSWERS: tuple[dict[str, Any], ...] = (
    {
        "skills": [{"name": "ant", "scope": "system", "version": 1, "description": "A."}],
        "catalog_version": {"system": 1},
        "next": "more",
        "diagnostics": [{"code": "odd", "message": "Odd.", "severity": "error", "line": 1}],
    },
    {
        "name": "ant",
        "scope": "system",
        "version": 1,
        "path": "SKILL.md",
        "content": "eA==",
        "encoding": "base64",
        "files": [{"path": "SKILL.md", "size": 1, "sha256": "0", "mode": "100644"}],
        "metadata": {"name": "ant"},
    },
    {**BUNDLE, "path": "a", "content": None, "bundle": {"url": "http://a/", "sha256": "0"}},
    {**BUNDLE, "url": "http://127.0.0.1/", "size": 1, "expires": 300},
    {"skills": {"ant": {"state": "current", "version": 1, "scope": "system"}}},
    {"status": 404, "code": "skill_not_found", "detail": "None.", "available": ["a"], "current": 3},
)
READERS: tuple[Callable[[httpx.Response], object], ...] = (
    reading.read_listing,
    reading.read_view,
    lambda response: reading.read_raw_view(response, "ant", None),
    reading.read_bundle,
    lambda response: reading.read_checked(response, ["ant"]),
)
# Any character, halves of characters too, as JSON can spell them.
_TEXT = st.text(st.characters(), max_size=8)
_ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_TEXT, inner, max_size=2),
    max_leaves=4,
)
_HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "x-skill-version": st.sampled_from(["1", "v1", "", "9" * 5000, "²"]),
        "etag": st.sampled_from(['"1-a"', 'W/"1-a"', '"', f'"{"9" * 5000}-a"', '"²-']),
        "retry-after": st.sampled_from(["1", "-1", "9" * 400, "Mon, 01 Jan 0001 00:00:00 -2359"]),
        "location": st.sampled_from(["/", "//", "http://[", *NO_HOSTS]),
    },
)


@st.composite
def damaged(draw: st.DrawFn, answer: Any) -> Any:
    """An answer, with any of its members replaced or left out."""
    if draw(st.integers(0, 9)) == 0:
        return draw(_ODD)
    if isinstance(answer, dict):
        kept = [name for name in answer if draw(st.integers(0, 19))]
        return {name: draw(damaged(answer[name])) for name in kept}
    if isinstance(answer, list):
        return [draw(damaged(item)) for item in answer]
    return answer


def bodies() -> SearchStrategy[bytes]:
    answers = st.sampled_from(ANSWERS).flatmap(damaged).map(lambda each: json.dumps(each).encode())
    return answers | st.binary(max_size=20) | st.sampled_from([b"[" * 100_000, b"9" * 5000])


@settings(deadline=None)
@given(st.integers(200, 599), _HEADERS, bodies(), st.sampled_from(READERS))
def test_a_reader_of_answers_raises_errors_of_ours_alone_and_its_text_can_be_written(
    status: int, headers: dict[str, str], body: bytes, read: Callable[[httpx.Response], object]
) -> None:
    sent = [(name.encode(), value.encode()) for name, value in headers.items()]
    request = httpx.Request("GET", "http://127.0.0.1/")
    response = httpx.Response(status, headers=sent, content=body, request=request)
    try:
        shown = repr(read(response))
    except RegistryError as failure:
        shown = str(failure)
        assert failure.code
    assert shown.encode()


@pytest.mark.parametrize("url", [*NO_HOSTS, "http://a/\ud800"])
def test_an_address_that_no_request_can_be_sent_to_is_refused_at_once(url: str) -> None:
    with pytest.raises(RequestInvalid) as refused:
        RegistryClient(url)
    assert refused.value.code == "url_invalid"


@pytest.mark.parametrize("url", [*NO_HOSTS, "http://a/\ud800", "file:///etc/passwd", "", "/a"])
def test_a_bundle_that_lies_nowhere_is_no_answer_of_a_registry(
    registry: Loopback, reader: RegistryClient, url: str
) -> None:
    body = json.dumps({**BUNDLE, "url": url}).encode()
    registry.faults.append(Fault("GET /skills/ant/bundle", 200, {}, body))
    with pytest.raises(AnswerInvalid):
        reader.load_skill("ant")
    assert registry.seen() == ["GET /skills/ant/bundle"]


@settings(deadline=None)
@given(st.data())
def test_a_damaged_archive_is_unpacked_or_no_answer_of_a_registry(data: st.DataObject) -> None:
    damaged = bytearray(zipped({"SKILL.md": b"---\nname: ant\n---\nB\n", "a.py": b"print()\n"}))
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    bundle = Bundle("ant", "system", 1, "http://a/", "0" * 64, None, None)
    try:
        found: object = bundles.copy_of(bundle, bytes(damaged)).name
    except AnswerInvalid as failure:
        found = failure.code
    assert found in {"ant", "answer_invalid"}


def test_an_archive_for_a_newer_unpacker_is_no_answer_of_a_registry() -> None:
    data = bytearray(zipped({"SKILL.md": b"---\nname: ant\n---\nB\n"}))
    # Where its directory names the version of the format that it takes to unpack.
    data[data.index(b"PK\x01\x02") + 6] = 255
    bundle = Bundle("ant", "system", 1, "http://a/", "0" * 64, None, None)
    with pytest.raises(AnswerInvalid, match="no archive"):
        bundles.copy_of(bundle, bytes(data))


@pytest.mark.parametrize("place", NO_HOSTS)
def test_a_redirect_to_no_host_at_all_is_no_answer_of_a_registry(
    registry: Loopback, reader: RegistryClient, place: str
) -> None:
    registry.faults.append(Fault("GET /skills", 302, {"Location": place}))
    with pytest.raises(AnswerInvalid):
        reader.list_all()
    assert len(registry.requests) == 1


def test_half_a_character_is_no_text_of_a_registry(
    registry: Loopback, reader: RegistryClient
) -> None:
    half, whole = rb'{"skills": [], "x": "\ud83d"}', rb'{"skills": [], "x": "\ud83d\ude00"}'
    registry.faults += [Fault("GET /skills", 200, {}, half), Fault("GET /skills", 200, {}, whole)]
    with pytest.raises(AnswerInvalid):
        reader.list_skills()
    assert reader.list_skills().answer["x"] == "\U0001f600"
    told = rb'{"code": "gone", "detail": "half \uD83D"}'
    registry.faults.append(Fault("GET /skills", 410, {}, told))
    with pytest.raises(RegistryProblem) as refused:
        reader.list_skills()
    assert refused.value.code == "refused"
    assert str(refused.value).encode()
