"""Actors that take turns at every request: greenlets, resumed one at a time by somebody's choice.

An actor is ordinary synchronous code. It runs until it is about to send a request, and goes on when
it is chosen; the choice also says which fault befalls the request. So one request is one atomic
step, and a run is nothing but its sequence of choices.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeVar

from greenlet import getcurrent, greenlet

from skill_registry.catalog.runtime import sequential

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from simulation.facts import Promise

    from skill_registry.store.gate import Request
    from skill_registry.store.keys import SkillId

T = TypeVar("T")


class Fault(StrEnum):
    """What befalls one request.

    The process ends before or after it; its reply is lost and the SDK sends it again; the store
    answers 409 or 412 without having applied it, or 503; it is not answered in time, and was
    applied, or will be later.
    """

    NONE = ""
    CRASH_BEFORE = "crash before"
    CRASH_AFTER = "crash after"
    RESENT = "reply lost, sent again"
    CONFLICT = "409"
    SPURIOUS = "412 for nothing"
    UNAVAILABLE = "503"
    TIMEOUT = "timeout, applied"
    LATE = "timeout, applied later"


class Crash(BaseException):
    """The process is gone. No code of the registry can catch this."""


class Call:
    """One invocation of a function.

    Attributes:
        since: The step at which it began.
        unread: Keys of conditional writes that were lost and that it has not read since.
        made: The steps at which it wrote a ``.version`` where there was none, by skill.
        listed: The steps at which it last listed a prefix.
    """

    def __init__(self, name: str, since: int) -> None:
        self.name = name
        self.since = since
        self.dead = False
        self.requests = 0
        self.unread: set[str] = set()
        self.made: dict[SkillId, int] = {}
        self.listed: dict[str, int] = {}

    def crash(self) -> Crash:
        """Let the process die; everything else that it was doing dies with it."""
        self.dead = True
        return Crash(self.name)


class Task(greenlet):
    """Code that waits for its turn.

    Attributes:
        call: The invocation that it works for; None while it is a client or an outsider.
        outsider: Whether its writes come from somebody who does not follow the protocol.
        owner: The task that waits for this one; None for one that runs by itself.
        promise: What its client asked the invocation to publish.
        latest: The last invocation that worked for it.
    """

    def __init__(self, name: str, hub: greenlet, run: Callable[[], None]) -> None:
        super().__init__(run, parent=hub)
        self.name = name
        self.call: Call | None = None
        self.outsider = False
        self.owner: Task | None = None
        self.promise: Promise | None = None
        self.latest: Call | None = None
        self.children = 0
        self.fault = Fault.NONE
        self.request: Request | None = None


class Chooser(Protocol):
    """Decides who goes on, and what befalls the request."""

    def choose(self, tasks: Sequence[Task]) -> tuple[Task, Fault]:
        """Return one of the tasks, which all wait with a request."""
        ...

    def order(self, calls: Sequence[Callable[[], T]]) -> list[int]:
        """Return an order in which to start calls that may run at once."""
        ...


def current() -> Task | None:
    """Return the task that runs now, None outside of all."""
    running = getcurrent()
    return running if isinstance(running, Task) else None


class Scheduler:
    """Holds the tasks. ``steps`` counts the requests that were chosen."""

    def __init__(self, chooser: Chooser) -> None:
        self.chooser = chooser
        self.steps = 0
        self.stopped = False
        self._hub = getcurrent()
        self._ready: list[Task] = []
        self._waiting: list[Task] = []

    def spawn(self, name: str, run: Callable[[], None]) -> Task:
        """Add an actor. It runs up to its first request when the scheduler goes on."""
        task = Task(name, self._hub, run)
        self._ready.append(task)
        return task

    def run(self, most: int) -> bool:
        """Let the tasks take turns until all are done; False after ``most`` further steps."""
        last = self.steps + most
        while not self.stopped:
            self._settle()
            if not self._waiting:
                return True
            if self.steps >= last:
                return False
            self.steps += 1
            task, fault = self.chooser.choose(self._waiting)
            task.fault = fault
            self._waiting.remove(task)
            self._resume(task)
        return True

    def close(self) -> None:
        """End every task that is not done."""
        for task in (*self._waiting, *self._ready):
            task.throw()
        self._waiting.clear()
        self._ready.clear()

    def ask(self, request: Request) -> Fault:
        """Wait for the turn of the running task; return what befalls its request."""
        task = current()
        assert task is not None, "a request outside of every actor"
        self._end_if_dead(task)
        task.request = request
        self._waiting.append(task)
        self._hub.switch()
        self._end_if_dead(task)
        return task.fault

    def parallel(self, calls: Sequence[Callable[[], T]]) -> list[T]:
        """Run the calls as tasks of their own, as the threads of a process would be."""
        task = current()
        if task is None or len(calls) < 2 or task.owner is not None:
            return sequential(calls)
        results: dict[int, T] = {}
        errors: dict[int, BaseException] = {}

        def runner(number: int) -> Callable[[], None]:
            def run() -> None:
                try:
                    results[number] = calls[number]()
                except BaseException as error:
                    errors[number] = error

            return run

        for number in self.chooser.order(calls):
            child = Task(f"{task.name}/{number}", self._hub, runner(number))
            child.call, child.promise, child.owner = task.call, task.promise, task
            task.children += 1
            self._ready.append(child)
        while task.children:
            self._hub.switch()
        for error in (*_crashes(errors), *(errors[number] for number in sorted(errors))):
            raise error
        return [results[number] for number in range(len(calls))]

    def _settle(self) -> None:
        """Let everything run that needs no choice: starts, ends, and the threads of the dead."""
        while True:
            dead = [task for task in self._waiting if task.call is not None and task.call.dead]
            for task in dead:
                self._waiting.remove(task)
                self._resume(task)
            if self._ready:
                self._resume(self._ready.pop(0))
            elif not dead:
                return

    def _resume(self, task: Task) -> None:
        task.switch()
        if task.dead and task.owner is not None:
            task.owner.children -= 1
            if not task.owner.children:
                self._ready.append(task.owner)

    def _end_if_dead(self, task: Task) -> None:
        if task.call is not None and task.call.dead:
            raise Crash(task.call.name)


def _crashes(errors: dict[int, BaseException]) -> list[BaseException]:
    return [error for _, error in sorted(errors.items()) if isinstance(error, Crash)]
