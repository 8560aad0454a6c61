"""A time limit for everything that one call asks of the store."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from skill_registry.errors import TimeIsUp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from skill_registry.store.gate import Request, Result

RETRY_AFTER = 2


class Deadline:
    """A gate that lets no request pass once the time of its call is up.

    Each call has a time of its own, however many share the store. A call that runs work in other
    threads hands over its context (``contextvars``), and the limit with it.

    Args:
        monotonic: Seconds that never go back.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._ends: ContextVar[float | None] = ContextVar("ends", default=None)

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Limit what runs inside to so many seconds. A request that began is not cut off."""
        token = self._ends.set(self._monotonic() + seconds)
        try:
            yield
        finally:
            self._ends.reset(token)

    def before(self, request: Request) -> None:
        """Let a request pass in time.

        Raises:
            TimeIsUp: It is too late for another one; this one was not sent.
        """
        ends = self._ends.get()
        if ends is not None and self._monotonic() >= ends:
            raise TimeIsUp(
                "The call used the time that it has, and goes on when it is repeated.",
                retry_after=RETRY_AFTER,
            )

    def after(self, request: Request, result: Result) -> None:
        """Take every answer, however late."""
