"""Several items at once: their order, their number, and how a run of them ends."""

from __future__ import annotations

import threading

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
