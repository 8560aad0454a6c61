"""Several items at once: their order, their number, and how a run of them ends."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator

import pytest

from skill_registry_cli.parallel import Ran, side_by_side


def _nothing() -> None:
    """Move no bar."""


@pytest.mark.parametrize("items", [[], [1], [1, 2, 3, 4, 5]])
def test_results_come_in_the_order_of_the_items_and_each_is_counted(items: list[int]) -> None:
    counted: list[int] = []
    ran = side_by_side(lambda item: item * item, items, 3, lambda: counted.append(1))
    assert ran == Ran(tuple(item * item for item in items))
    assert len(counted) == len(items)


def test_as_many_as_are_asked_for_run_at_a_time() -> None:
    together = threading.Barrier(3, timeout=30)
    ran = side_by_side(lambda _: together.wait() < 3, range(6), 3, _nothing)
    assert ran.results == (True,) * 6


def test_what_the_work_raises_ends_the_run() -> None:
    begun: list[int] = []
    failed = threading.Event()

    def work(item: int) -> int:
        begun.append(item)
        if item == 0:
            raise ValueError("the first")
        return int(failed.wait(0))

    with pytest.raises(ValueError, match="the first"):
        side_by_side(work, range(3), 1, _nothing)
    assert begun[0] == 0


@pytest.fixture
def noticed() -> Iterator[threading.Event]:
    """Set when Ctrl-C has reached this thread, which it stops as ever."""
    event = threading.Event()

    def notice(number: int, frame: object) -> None:
        event.set()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, notice)
    yield event
    signal.signal(signal.SIGINT, before)


def interrupting(
    begun: threading.Semaphore, noticed: threading.Event, then: Callable[[], object]
) -> threading.Thread:
    """Press Ctrl-C when two items were begun, and do something when that was noticed."""

    def interrupt() -> None:
        for _ in range(2):
            begun.acquire()
        os.kill(os.getpid(), signal.SIGINT)
        assert noticed.wait(60)
        then()

    return threading.Thread(target=interrupt)


def test_what_never_ends_holds_nobody_who_stops_it(noticed: threading.Event) -> None:
    begun, never = threading.Semaphore(0), threading.Event()

    def work(item: int) -> bool:
        begun.release()
        return never.wait(60)

    thread = interrupting(begun, noticed, never.is_set)
    with pytest.raises(KeyboardInterrupt):
        thread.start()
        side_by_side(work, range(4), 2, _nothing, 0.01)
    thread.join()
    assert not begun.acquire(blocking=False), "nothing more was begun"
    never.set()


def test_what_was_begun_before_ctrl_c_is_ended_and_told(noticed: threading.Event) -> None:
    begun, go_on = threading.Semaphore(0), threading.Event()

    def work(item: int) -> int:
        begun.release()
        assert go_on.wait(60)
        return item

    thread = interrupting(begun, noticed, go_on.set)
    thread.start()
    ran = side_by_side(work, range(4), 2, _nothing, 60.0)
    thread.join()
    assert ran.stopped and ran.results[:2] == (0, 1)
