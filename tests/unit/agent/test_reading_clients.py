"""The calls that read, sync and async alike: pages, filters, retries, large files."""

from __future__ import annotations

import asyncio
import random
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from loopback import Fault, Loopback
from toolkit import publish

from skill_registry.agent import reading_calls
from skill_registry.agent.async_client import AsyncRegistryClient
from skill_registry.agent.client import RegistryClient
from skill_registry.agent.problems import AnswerInvalid, RegistryProblem, TransferFailed
from skill_registry.agent.source import SkillQuery

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_stack.http_events import Request
    from skill_registry.agent.source import SkillCopy

NAMES = ["ant", "bee", "cow", "dog", "elk"]


@pytest.fixture
def paged(registry: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    """A listing of three pages."""
    monkeypatch.setattr(reading_calls, "LARGEST_PAGE", 2)
    for name in NAMES:
        registry.house.publish(name)


def _with_another_cursor(request: Request) -> Request:
    return replace(request, query=request.query.replace("cursor=", "cursor=x"))


def test_a_whole_listing_is_every_page_and_unchanged_one_304(
    registry: Loopback, reader: RegistryClient, paged: None
) -> None:
    whole = reader.list_all()
    assert [skill.name for skill in whole.skills] == NAMES
    assert len(registry.requests) == 3
    registry.requests.clear()
    assert reader.list_all() is whole
    assert registry.seen() == ["GET /skills"]
    registry.requests.clear()
    registry.house.publish("elk", "two")
    assert [skill.version for skill in reader.list_all().skills] == [1, 1, 1, 1, 2]
    assert len(registry.requests) == 3


def test_a_catalog_that_changes_between_pages_is_read_from_the_start(
    registry: Loopback,
    reader: RegistryClient,
    paged: None,
) -> None:
    def between(request: Request) -> Request:
        if len(registry.requests) == 2:
            registry.house.publish("ant", "two")
        return request

    registry.before = between
    whole = reader.list_all()
    assert {skill.name: skill.version for skill in whole.skills} == {
        **dict.fromkeys(NAMES, 1),
        "ant": 2,
    }


def test_a_cursor_that_is_refused_starts_the_listing_again(
    registry: Loopback,
    reader: RegistryClient,
    paged: None,
) -> None:
    def third(request: Request) -> Request:
        return _with_another_cursor(request) if len(registry.requests) == 3 else request

    registry.before = third
    whole = reader.list_all()
    assert [skill.name for skill in whole.skills] == NAMES
    assert len(registry.requests) == 3 + 3
    assert reader.list_all() is whole
    assert len(registry.requests) == 7


def test_a_change_on_a_later_page_alone_is_seen(
    registry: Loopback, client: RegistryClient, reader: RegistryClient, paged: None
) -> None:
    assert [skill.name for skill in reader.list_all().skills] == NAMES
    client.configure("elk", enabled=False)
    assert [skill.name for skill in reader.list_all().skills] == NAMES[:-1]
    client.configure("elk", enabled=True, agents=["review"])
    assert [skill.name for skill in reader.list_all().skills] == NAMES
    assert len(reader.list_all(SkillQuery(agent="other")).skills) == 4


def test_a_catalog_that_never_stands_still_is_listed_as_it_passes_and_not_remembered(
    registry: Loopback,
    reader: RegistryClient,
    paged: None,
) -> None:
    def move(request: Request) -> Request:
        registry.house.publish("elk", "again")
        return request

    still, registry.before = registry.before, move
    passing = reader.list_all()
    registry.before = still
    assert [skill.name for skill in passing.skills] == NAMES
    assert len(registry.requests) == 2 + 2 + 3
    registry.requests.clear()
    assert [skill.version for skill in reader.list_all().skills] == [1, 1, 1, 1, 8]
    # A part of the registry that lags behind would have answered it with 304.
    assert "if-none-match" not in dict(registry.requests[0].headers)
    assert len(registry.requests) == 3


def test_a_registry_that_refuses_its_own_cursors_ends_as_an_error(
    registry: Loopback,
    reader: RegistryClient,
    paged: None,
) -> None:
    registry.before = _with_another_cursor
    with pytest.raises(AnswerInvalid, match="cursors"):
        reader.list_all()
    assert len(registry.requests) == 6


def test_a_listing_of_more_pages_than_a_registry_has_ends_as_an_error(
    registry: Loopback,
    reader: RegistryClient,
    paged: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reading_calls, "_MOST_PAGES", 1)
    with pytest.raises(AnswerInvalid, match="does not end"):
        reader.list_all()


def test_an_unchanged_listing_is_one_304_however_many_pages_it_has(
    registry: Loopback, reader: RegistryClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_calls, "LARGEST_PAGE", 1)
    for number in range(70):
        registry.house.publish(f"skill-{number}")
    whole = reader.list_all()
    assert (len(whole.skills), len(registry.requests)) == (70, 70)
    assert reader.list_all() is whole
    assert len(registry.requests) == 71


def test_other_questions_are_remembered_apart(registry: Loopback, reader: RegistryClient) -> None:
    publish(registry, "mine", {"SKILL.md": "---\nname: mine\ndescription: M.\nagents: [a]\n---\nB"})
    assert len(reader.list_all().skills) == 1
    assert reader.list_all(SkillQuery(agent="b")).skills == ()
    assert len(reader.list_all(SkillQuery(agent="a")).skills) == 1
    assert reader.list_all(SkillQuery(agent="b")).skills == ()


def test_every_member_of_a_question_is_sent(registry: Loopback, reader: RegistryClient) -> None:
    query = SkillQuery(("system",), "review", "ultra", ("a", "b"), "zh")
    reader.list_skills(query=query, words="do thing", at_least={"system": 0}, limit=5)
    assert registry.targets[-1] == (
        "/skills?scope=system&agent=review&tier=ultra&tools=a&tools=b&lang=zh&q=do%20thing"
        "&min_catalog_version=system%3A0&limit=5"
    )
    reader.list_skills(query=SkillQuery(agent="", tools=()))
    assert registry.targets[-1] == "/skills?agent=&tools="
    reader.check({"none": 1}, query=SkillQuery(("system",), "review"))
    assert registry.targets[-1] == "/check?scope=system&agent=review"


def test_a_search_finds_the_best_first(registry: Loopback, reader: RegistryClient) -> None:
    for name in ("tables", "pictures"):
        registry.house.publish(name, description=f"Tidies {name}.")
    assert [skill.name for skill in reader.list_skills(words="tabl").skills] == ["tables"]


def test_a_busy_registry_is_asked_again_when_it_said(
    registry: Loopback, reader: RegistryClient, naps: list[float]
) -> None:
    registry.house.publish("ant")
    registry.faults.append(Fault("GET /skills/ant", 503, {"retry-after": "7"}))
    assert reader.view_skill("ant").version == 1
    assert naps == [7.0]


def test_a_registry_that_stays_busy_is_a_problem_with_its_code(
    registry: Loopback, reader: RegistryClient
) -> None:
    body = b'{"status": 503, "code": "store_unavailable", "detail": "The store is away."}'
    registry.faults.extend(Fault("GET /skills", 503, {}, body) for _ in range(4))
    with pytest.raises(RegistryProblem) as refused:
        reader.list_all()
    assert refused.value.code == "store_unavailable"


def test_a_file_that_is_too_large_for_an_answer_comes_out_of_the_bundle(
    registry: Loopback, reader: RegistryClient
) -> None:
    large = random.Random(1).randbytes(3 * 1024 * 1024).hex()
    skill_md = "---\nname: ant\ndescription: A.\n---\nB\n"
    publish(registry, "ant", {"SKILL.md": skill_md, "large.txt": large})
    assert reader.view_skill("ant", "large.txt").data == large.encode()
    assert registry.seen() == ["GET /skills/ant", "GET /s3"]
    registry.requests.clear()
    registry.faults.append(Fault("GET /s3/", 403))
    assert reader.view_skill("ant", "large.txt").data == large.encode()
    again = ["GET /s3", "GET /skills/ant/bundle", "GET /s3"]
    assert registry.seen() == ["GET /skills/ant", *again]
    registry.requests.clear()
    registry.faults.append(Fault("GET /s3/", 403))
    assert reader.view_skill("ant", "large.txt", raw=True).data == large.encode()
    assert registry.seen() == ["GET /skills/ant", "GET /skills/ant/bundle", *again]


@pytest.mark.parametrize(
    ("status", "code"), [(403, "AccessDenied"), (400, "ExpiredToken"), (404, "NoSuchKey")]
)
def test_a_url_that_had_its_time_is_replaced_once(
    registry: Loopback, reader: RegistryClient, status: int, code: str
) -> None:
    registry.house.publish("ant")
    body = f"<Error><Code>{code}</Code></Error>".encode()
    registry.faults.append(Fault("GET /s3/", status, {}, body))
    assert reader.load_skill("ant") is not None
    bundle = "GET /skills/ant/bundle"
    assert registry.seen() == [bundle, "GET /s3", bundle, "GET /s3"]


def test_a_store_that_refuses_twice_is_a_failed_transfer(
    registry: Loopback, reader: RegistryClient
) -> None:
    registry.house.publish("ant")
    registry.faults.extend([Fault("GET /s3/", 403), Fault("GET /s3/", 403)])
    with pytest.raises(TransferFailed) as refused:
        reader.load_skill("ant")
    assert refused.value.status == 403
    assert registry.seen().count("GET /skills/ant/bundle") == 2


def test_a_bundle_that_is_no_archive_is_no_answer_of_a_registry(
    registry: Loopback, reader: RegistryClient
) -> None:
    registry.house.publish("ant")
    digest = "3608bca1e44ea6c4d268eb6db02260269892c0b42b86bbf1e77a6fa16c3c9282"
    link = f'"url": "{registry.url}/s3/0", "sha256": "{digest}", "size": 3, "expires": 300'
    bundle = f'{{"name": "ant", "scope": "system", "version": 1, {link}}}'.encode()
    registry.faults.append(Fault("GET /skills/ant/bundle", 200, {}, bundle))
    registry.faults.append(Fault("GET /s3/", 200, {}, b"xyz"))
    with pytest.raises(AnswerInvalid, match="no archive"):
        reader.load_skill("ant")


def test_a_check_that_leaves_a_skill_out_is_no_answer_of_a_registry(
    registry: Loopback, reader: RegistryClient
) -> None:
    known = b'"ant": {"state": "current", "version": 1, "scope": "system"}'
    for skills in (b"", known, known + b', "bee": 3', known + b', "bee": {"version": 1}'):
        registry.faults.append(Fault("POST /check", 200, {}, b'{"skills": {%s}}' % skills))
        with pytest.raises(AnswerInvalid):
            reader.check({"ant": 1, "bee": 1})


def test_an_etag_that_no_header_can_carry_back_is_not_kept(
    registry: Loopback, reader: RegistryClient
) -> None:
    registry.faults.append(Fault("GET /skills", 200, {"ETag": '"\xe9"'}, b'{"skills": []}'))
    assert reader.list_all().skills == ()
    registry.house.publish("ant")
    assert [skill.name for skill in reader.list_all().skills] == ["ant"]


def test_a_proxy_of_the_environment_is_not_asked_for_this_machines_own_registry(
    registry: Loopback,
    connect: Callable[..., RegistryClient],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    registry.house.publish("ant")
    copy = connect().load_skill("ant")
    assert copy is not None
    assert registry.seen() == ["GET /skills/ant/bundle", "GET /s3"]


def test_both_kinds_page_through_a_listing_with_every_filter(
    registry: Loopback, client: RegistryClient
) -> None:
    for name in NAMES:
        registry.house.publish(name)
    query = SkillQuery(tools=("a",), language="zh")

    async def collect() -> list[str]:
        async with AsyncRegistryClient(registry.url) as other:
            pages = other.list_pages(limit=2, query=query, words="does", at_least={"system": 1})
            return [skill.name async for page in pages for skill in page.skills]

    assert asyncio.run(collect()) == NAMES
    asked = registry.targets[:]
    assert asked[0] == "/skills?tools=a&lang=zh&q=does&min_catalog_version=system%3A1&limit=2"
    pages = client.list_pages(limit=2, query=query, words="does", at_least={"system": 1})
    assert [skill.name for page in pages for skill in page.skills] == NAMES
    assert registry.targets == asked * 2
    assert len(asked) == 3


def test_tasks_share_a_client_and_one_that_is_cancelled_leaves_it_to_the_others(
    registry: Loopback,
) -> None:
    for name in NAMES:
        registry.house.publish(name)
    arrived, go_on = threading.Event(), threading.Event()

    def hold(request: Request) -> Request:
        if request.path == "/skills":
            arrived.set()
            assert go_on.wait(30)
        return request

    registry.before = hold

    async def share() -> list[SkillCopy | None]:
        async with AsyncRegistryClient(registry.url) as client:
            waiting = asyncio.create_task(client.list_all())
            assert await asyncio.to_thread(arrived.wait, 30)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            copies = await asyncio.gather(*(client.load_skill(name) for name in NAMES * 4))
            go_on.set()
            assert [skill.name for skill in (await client.list_all()).skills] == NAMES
            return copies

    copies = asyncio.run(share())
    assert [copy.name for copy in copies if copy is not None] == NAMES * 4
