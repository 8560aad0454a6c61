"""A call's time limit: no request begins after it, in whatever thread."""

from __future__ import annotations

from functools import partial

import pytest

from skill_registry.catalog.runtime import Threads
from skill_registry.errors import TimeIsUp
from skill_registry.store.deadline import Deadline
from skill_registry.store.gate import GatedStore
from skill_registry.store.memory import MemorySkillStore


class Clock:
    """Seconds that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_request_passes_until_the_time_is_up_and_none_after_it() -> None:
    clock = Clock()
    deadline = Deadline(clock)
    store = GatedStore(MemorySkillStore(), deadline)
    with deadline.within(20):
        clock.now += 19.9
        store.put("a", b"1")
        clock.now += 0.1
        with pytest.raises(TimeIsUp) as caught:
            store.put("a", b"2")
    assert (caught.value.code, caught.value.retry_after) == ("time_is_up", 2)
    found = store.get("a")
    assert getattr(found, "body", None) == b"1"


def test_without_a_limit_every_request_passes() -> None:
    clock = Clock()
    deadline = Deadline(clock)
    store = GatedStore(MemorySkillStore(), deadline)
    with deadline.within(20):
        pass
    clock.now += 1000
    assert store.get("a") is None


def test_a_limit_holds_in_the_threads_of_its_call_and_in_no_other() -> None:
    clock = Clock()
    deadline = Deadline(clock)
    store = GatedStore(MemorySkillStore(), deadline)
    threads = Threads(2)
    reads = [partial(store.get, "a"), partial(store.get, "b")]
    with deadline.within(5):
        assert threads(reads) == [None, None]
        clock.now += 5
        with pytest.raises(TimeIsUp):
            threads(reads)
    assert threads(reads) == [None, None]
