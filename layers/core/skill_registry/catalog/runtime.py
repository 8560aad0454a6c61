"""What the use cases take from the machine, in one value, so that tests can decide it.

Time, fresh ids, waiting and doing several requests at once. Nothing else in the ring reads a clock
or starts a thread.
"""

from __future__ import annotations

import random
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol, TypeVar

from skill_registry.catalog.facts import untold

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from skill_registry.catalog.facts import Fact

T = TypeVar("T")

_BASE_PAUSE = 0.02
_LONGEST_PAUSE = 1.0


class Parallel(Protocol):
    """Run independent calls, possibly at once; answer in order when all of them are done."""

    def __call__(self, calls: Sequence[Callable[[], T]]) -> list[T]:
        """Run every call. The first error in order is raised after all have ended."""
        ...


def sequential(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Run the calls one after the other: the deterministic form of ``Parallel``."""
    return [call() for call in calls]


class Threads:
    """``Parallel`` over a pool of threads that is started at the first use.

    No call is left running when it returns: a frozen Lambda environment would resume it inside a
    later request (AWS Lambda, execution environment lifecycle). A call that itself asks for
    parallel calls gets them in sequence, since waiting for its own pool could wait for ever. Each
    runs in the caller's context, so that a time limit of the caller's is its own.
    """

    def __init__(self, workers: int = 16) -> None:
        self._workers = workers
        self._pool: ThreadPoolExecutor | None = None
        self._inside = threading.local()

    def __call__(self, calls: Sequence[Callable[[], T]]) -> list[T]:
        """Run every call. A single one runs in the caller's thread."""
        if len(calls) < 2 or getattr(self._inside, "pool", False):
            return sequential(calls)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(
                self._workers, thread_name_prefix="store", initializer=self._enter
            )
        futures = [self._pool.submit(copy_context().run, call) for call in calls]
        errors = [error for future in futures if (error := future.exception()) is not None]
        if errors:
            raise errors[0]
        return [future.result() for future in futures]

    def _enter(self) -> None:
        self._inside.pool = True


def jittered_pause(attempt: int) -> None:
    """Wait before attempt ``attempt`` + 1: exponential with full jitter, one second at most."""
    time.sleep(random.uniform(0, min(_LONGEST_PAUSE, _BASE_PAUSE * 2**attempt)))


@dataclass(frozen=True, slots=True)
class Runtime:
    """The machine as the use cases see it.

    Attributes:
        clock: POSIX seconds.
        monotonic: Seconds that never go back.
        new_id: A fresh id of 32 hex digits.
        pause: Waits before another attempt, given how many failed.
        parallel: Runs independent store requests.
        tell: Takes the facts of use.
    """

    clock: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    new_id: Callable[[], str] = field(default=lambda: uuid.uuid4().hex)
    pause: Callable[[int], None] = jittered_pause
    parallel: Parallel = sequential
    tell: Callable[[Fact], None] = untold

    def now(self) -> str:
        """The time as RFC 3339 in UTC, to the second."""
        return datetime.fromtimestamp(self.clock(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
