"""Several items at once, each in a thread; what was begun is ended, also when somebody stops it."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Generic, TypeVar

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")
R = TypeVar("R")

AT_ONCE = 8

Jobs = Annotated[
    int, typer.Option("--jobs", "-j", metavar="N", min=1, max=64, help="So many at a time.")
]


@dataclass(frozen=True, slots=True)
class Ran(Generic[R]):
    """What came of it.

    Attributes:
        results: In the order of the items; of those that were not begun there is none.
        stopped: Whether Ctrl-C came before the last was begun.
    """

    results: tuple[R, ...]
    stopped: bool = False


def side_by_side(
    work: Callable[[T], R], items: Sequence[T], jobs: int, advance: Callable[[], None]
) -> Ran[R]:
    """Do the same with each item.

    Args:
        work: Called in threads. What it raises ends the run, and is raised here.
        items: What it is called with.
        jobs: How many at a time; a single item is done right here.
        advance: Called in this thread whenever one is done.
    """
    if len(items) < 2:
        return Ran(tuple(_one(work, item, advance) for item in items))
    stopped = False
    futures: list[Future[R]] = []
    with ThreadPoolExecutor(min(jobs, len(items))) as pool:
        try:
            for item in items:
                futures.append(pool.submit(work, item))
            for done in as_completed(futures):
                done.result()
                advance()
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            stopped = True
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return Ran(tuple(each.result() for each in futures if not each.cancelled()), stopped)


def _one(work: Callable[[T], R], item: T, advance: Callable[[], None]) -> R:
    result = work(item)
    advance()
    return result
