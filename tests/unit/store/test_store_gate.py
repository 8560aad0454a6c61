"""The gate: every request of the port passes it, and it can count, hold back and fail each."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from skill_registry.errors import Unavailable
from skill_registry.store.base import IfAbsent, IfMatch, Lost, NotModified, Written
from skill_registry.store.gate import Counter, GatedStore, IfChanged, Request
from skill_registry.store.memory import MemorySkillStore

if TYPE_CHECKING:
    from skill_registry.store.gate import Result


class Recording:
    """A gate that remembers requests with their results."""

    def __init__(self) -> None:
        self.results: list[tuple[Request, Result]] = []

    def before(self, request: Request) -> None:
        pass

    def after(self, request: Request, result: Result) -> None:
        self.results.append((request, result))


def test_each_operation_passes_with_its_condition_and_result() -> None:
    gate = Recording()
    store = GatedStore(MemorySkillStore(), gate)
    written = store.put("a", b"x", condition=IfAbsent(), metadata={"m": "1"}, content_type="t/p")
    assert isinstance(written, Written)
    etag = written.etag
    assert isinstance(store.put("a", b"y", condition=IfMatch('"z"')), Lost)
    found = store.get("a", if_match=etag)
    assert store.get("a", if_none_match=etag) == NotModified(etag)
    known = store.head("a")
    assert known is not None
    assert (known.metadata, known.content_type) == ({"m": "1"}, "t/p")
    page = store.list_page("", delimiter="/", limit=1)
    assert store.delete("a", if_match='"z"') is False
    assert store.delete("a") is True
    assert gate.results == [
        (Request("PUT", "a", IfAbsent()), written),
        (Request("PUT", "a", IfMatch('"z"')), Lost("PreconditionFailed")),
        (Request("GET", "a", IfMatch(etag)), found),
        (Request("GET", "a", IfChanged(etag)), NotModified(etag)),
        (Request("HEAD", "a"), known),
        (Request("LIST", ""), page),
        (Request("DELETE", "a", IfMatch('"z"')), False),
        (Request("DELETE", "a"), True),
    ]


def test_signing_is_no_request() -> None:
    counter = Counter()
    memory = MemorySkillStore()
    store = GatedStore(memory, counter)
    store.presign_get("a", expires=1)
    digest = hashlib.sha256(b"x").hexdigest()
    target = store.presign_put("b", size=1, sha256=digest, metadata={}, expires=60)
    form = store.presign_post("c", max_size=1, metadata={}, expires=60)
    assert isinstance(memory.receive(target, b"x"), Written)
    assert isinstance(memory.receive(form, b"x"), Written)
    assert counter.requests == ()


def test_a_failure_before_means_that_nothing_was_sent() -> None:
    class Crash(Recording):
        def before(self, request: Request) -> None:
            raise Unavailable("crash")

    memory = MemorySkillStore()
    with pytest.raises(Unavailable):
        GatedStore(memory, Crash()).put("a", b"x")
    assert memory.head("a") is None


def test_a_failure_after_means_that_the_reply_is_lost() -> None:
    class Loss(Recording):
        def after(self, request: Request, result: Result) -> None:
            raise Unavailable("lost")

    memory = MemorySkillStore()
    with pytest.raises(Unavailable):
        GatedStore(memory, Loss()).put("a", b"x")
    assert memory.head("a") is not None


def test_the_counter_counts_by_operation_and_tells_bodies() -> None:
    counter = Counter()
    store = GatedStore(MemorySkillStore(), counter)
    written = store.put("a", b"x")
    assert isinstance(written, Written)
    store.get("a")
    store.get("a", if_none_match=written.etag)
    store.get("absent")
    store.head("a")
    store.list_page("")
    store.delete("a")
    assert (counter.puts, counter.gets, counter.lists, counter.bodies) == (1, 4, 1, 1)
    assert (counter.count(), counter.count("DELETE"), counter.count("GET")) == (7, 1, 3)
    counter.reset()
    assert (counter.count(), counter.bodies) == (0, 0)


def test_a_request_that_fails_is_counted_too() -> None:
    class Crash(Recording):
        def before(self, request: Request) -> None:
            raise Unavailable("crash")

    counter = Counter()
    store = GatedStore(GatedStore(MemorySkillStore(), Crash()), counter)
    with pytest.raises(Unavailable):
        store.get("a")
    assert (counter.gets, counter.bodies) == (1, 0)


def test_the_counter_loses_no_request_between_threads() -> None:
    counter = Counter()
    store = GatedStore(MemorySkillStore(), counter)
    store.put("a", b"x")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: store.get("a"), range(400)))
    assert (counter.gets, counter.bodies) == (400, 400)
