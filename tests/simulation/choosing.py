"""Who goes on, and what befalls the request: by a seed, or by a list of choices."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, TypeVar

from simulation.bucket import is_conditional
from simulation.scheduler import Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from simulation.scheduler import Task

    from skill_registry.store.gate import Request

T = TypeVar("T")

PERSISTENCE = (0.0, 0.0, 0.6, 0.9)

_WRITES_UNDER_A_CONDITION = frozenset({Fault.CONFLICT, Fault.SPURIOUS})
_WRITES = frozenset({Fault.LATE})


def can_meet(request: Request, fault: Fault) -> bool:
    """Tell whether a fault is one that such a request may meet."""
    if fault in _WRITES_UNDER_A_CONDITION:
        return is_conditional(request)
    return fault not in _WRITES or request.op in ("PUT", "DELETE")


class Seeded:
    """Chooses at random, the same for the same seed.

    In some runs anybody may go on at each step; in others most go on until they are done, which
    brings up what takes one actor to sleep through another's whole work.

    Args:
        rng: Of the run.
        persistence: How likely whoever went on does so again, one of which is drawn.

    Attributes:
        injected: How many faults of each kind there were.
    """

    def __init__(self, rng: random.Random, persistence: Sequence[float] = PERSISTENCE) -> None:
        self._rng = rng
        self.injected: Counter[Fault] = Counter()
        self._again = rng.choice(persistence)
        self._last: Task | None = None
        self.weather({})

    def weather(self, rates: Mapping[Fault, float]) -> None:
        """Say how likely each fault is for one request from here on."""
        self._rates = dict(rates)
        self._total = sum(rates.values())

    def choose(self, tasks: Sequence[Task]) -> tuple[Task, Fault]:
        """Take any task, and now and then a fault."""
        last = self._last
        if last is None or last not in tasks or self._rng.random() >= self._again:
            last = tasks[self._rng.randrange(len(tasks))]
        task = self._last = last
        fault = self._fault(task) if self._total else Fault.NONE
        if fault:
            self.injected[fault] += 1
        return task, fault

    def order(self, calls: Sequence[Callable[[], T]]) -> list[int]:
        """Start in any order."""
        return self._rng.sample(range(len(calls)), len(calls))

    def _fault(self, task: Task) -> Fault:
        point = self._rng.random()
        if task.call is None or task.request is None or point >= self._total:
            return Fault.NONE
        for fault, rate in self._rates.items():
            point -= rate
            if point < 0:
                return fault if can_meet(task.request, fault) else Fault.NONE
        return Fault.NONE


class Listed:
    """Follows a list of choices, then goes on with the first option; remembers what it had.

    At each step every waiting task may go on, and while no fault has struck, one of ``kinds`` may
    strike any of them.

    Attributes:
        taken: The choice at each step.
        options: How many there were.
        struck: The fault that struck.
        exploring: While False, the first task goes on, and nothing is remembered.
    """

    def __init__(self, choices: Sequence[int], kinds: Sequence[Fault]) -> None:
        self._choices = choices
        self._kinds = kinds
        self.struck = Fault.NONE
        self.taken: list[int] = []
        self.options: list[int] = []
        self.exploring = True

    def choose(self, tasks: Sequence[Task]) -> tuple[Task, Fault]:
        """Take what the list says."""
        if not self.exploring:
            return tasks[0], Fault.NONE
        options = [(task, Fault.NONE) for task in tasks]
        if not self.struck:
            options += [
                (task, kind)
                for task in tasks
                for kind in self._kinds
                if task.call is not None and task.request and can_meet(task.request, kind)
            ]
        step = len(self.taken)
        index = self._choices[step] if step < len(self._choices) else 0
        self.taken.append(index)
        self.options.append(len(options))
        task, fault = options[index]
        self.struck = self.struck or fault
        return task, fault

    def order(self, calls: Sequence[Callable[[], T]]) -> list[int]:
        """Start in the given order; what runs at once is explored by the choices."""
        return list(range(len(calls)))
