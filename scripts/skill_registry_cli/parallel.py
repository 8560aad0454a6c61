"""Several items at once, each in a thread; what was begun is ended, also when somebody stops it."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Annotated, Generic, TypeVar, cast

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")
R = TypeVar("R")

AT_ONCE = 8
# Seconds that a registry has to answer what was begun before Ctrl-C.
PATIENCE = 5.0

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
    work: Callable[[T], R],
    items: Sequence[T],
    jobs: int,
    advance: Callable[[], None],
    patience: float = PATIENCE,
) -> Ran[R]:
    """Do the same with each item.

    Args:
        work: Called in threads. What it raises ends the run, and is raised here.
        items: What it is called with.
        jobs: How many at a time; a single item is done right here.
        advance: Called in this thread whenever one is done.
        patience: How long what was begun may go on after Ctrl-C or a failure, in seconds.

    Raises:
        KeyboardInterrupt: A second Ctrl-C came, or patience ended; nobody waits for what was begun.
    """
    if len(items) < 2:
        return Ran(tuple(_one(work, item, advance) for item in items))
    run = _Run(work, items)
    try:
        run.begin(min(jobs, len(items)))
        for _ in items:
            run.wait()
            advance()
    except KeyboardInterrupt:
        run.stop(patience)
        return Ran(run.results(), stopped=True)
    except BaseException:
        with suppress(KeyboardInterrupt):
            run.stop(patience)
        raise
    return Ran(run.results())


class _Run(Generic[T, R]):
    """Items on their way. Its threads are no reason for a process to go on."""

    def __init__(self, work: Callable[[T], R], items: Sequence[T]) -> None:
        self._work = work
        self._items = items
        self._lock = threading.Lock()
        self._begun = 0
        self._stopped = False
        self._ended: SimpleQueue[tuple[int, R | None, BaseException | None]] = SimpleQueue()
        self._done: dict[int, R] = {}
        self._failed = 0

    def begin(self, jobs: int) -> None:
        for _ in range(jobs):
            threading.Thread(target=self._go, daemon=True).start()

    def wait(self, timeout: float | None = None) -> None:
        """Take the next result, whichever item it is of.

        Raises:
            Empty: None came within ``timeout`` seconds.
            BaseException: What the work raised.
        """
        number, result, error = self._ended.get(timeout=timeout)
        if error is not None:
            self._failed += 1
            raise error
        self._done[number] = cast("R", result)

    def stop(self, patience: float) -> None:
        """Begin nothing more, and wait for what was begun.

        Raises:
            KeyboardInterrupt: It takes longer than ``patience``.
        """
        with self._lock:
            self._stopped = True
        until = time.monotonic() + patience
        while len(self._done) + self._failed < self._begun:
            try:
                self.wait(max(0.0, until - time.monotonic()))
            except Empty:
                raise KeyboardInterrupt from None
            except Exception:  # The first failure is told, this is another.
                continue

    def results(self) -> tuple[R, ...]:
        """Return what there is, in the order of the items."""
        return tuple(self._done[number] for number in sorted(self._done))

    def _take(self) -> int | None:
        with self._lock:
            if self._stopped or self._begun == len(self._items):
                return None
            self._begun += 1
            return self._begun - 1

    def _go(self) -> None:
        while (number := self._take()) is not None:
            try:
                self._ended.put((number, self._work(self._items[number]), None))
            except BaseException as failure:  # Raised where somebody waits.
                self._ended.put((number, None, failure))


def _one(work: Callable[[T], R], item: T, advance: Callable[[], None]) -> R:
    result = work(item)
    advance()
    return result
