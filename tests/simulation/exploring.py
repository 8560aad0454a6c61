"""Every interleaving of a few actors, with one fault anywhere, by replayed prefixes of choices.

A run follows a list of choices and then goes on with the first option at each step; every option
that it passed by is a list of its own, one choice longer than what led there. So each complete run
is made exactly once. After it, whoever got no answer asks again, the event function comes by, and
everything is checked.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulation import operators
from simulation.choosing import Listed
from simulation.facts import Quiet
from simulation.scheduler import Fault
from simulation.world import World

from skill_registry.store.base import list_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from simulation.invariants import Checks

    from skill_registry.store.keys import SkillId

# Choices by which runs are dealt to several processes.
SHARED_STEPS = 4
CRASHES = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER)
CRASHES_AND_LOST = (*CRASHES, Fault.RESENT)


@dataclass(frozen=True, slots=True)
class Setting:
    """What is explored.

    Attributes:
        build: Fills a new world: objects at the start, and the actors.
        kinds: The faults, one of which may strike once.
    """

    name: str
    skill: SkillId
    build: Callable[[World], None]
    kinds: tuple[Fault, ...] = CRASHES


@dataclass(slots=True)
class Explored:
    """What an exploration came to.

    Attributes:
        complete: Whether nothing is left.
        struck: Runs in which a fault struck, by its kind.
        ends: Different buckets that runs ended with.
    """

    name: str
    runs: int = 0
    steps: int = 0
    complete: bool = False
    struck: Counter[Fault] = field(default_factory=Counter)
    ends: int = 0
    violations: list[tuple[str, list[int], str]] = field(default_factory=list)

    def report(self) -> str:
        """Say what is wrong, and which choices led to it."""
        return "\n".join(
            f"{invariant}: {message}\n  choices: {choices}"
            for invariant, choices, message in self.violations
        )


def explore(
    setting: Setting, told: Checks, *, most: int | None = None, part: tuple[int, int] = (0, 1)
) -> Explored:
    """Make every run, or ``most`` of them.

    Args:
        part: Which share of the runs, and of how many: (0, 2) and (1, 2) make all of them together.
    """
    explored = Explored(setting.name)
    ends: set[frozenset[tuple[str, str]]] = set()
    stack: list[list[int]] = [[]]
    while stack and (most is None or explored.runs < most):
        choices = stack.pop()
        chooser = Listed(choices, setting.kinds)
        world = _run(setting, chooser, told, ends)
        ours = sum(chooser.taken[:SHARED_STEPS]) % part[1] == part[0]
        for step in range(len(choices), len(chooser.options)):
            if ours or step < SHARED_STEPS:
                before = chooser.taken[:step]
                stack += [[*before, other] for other in range(1, chooser.options[step])]
        if ours:
            _count(explored, chooser, world)
    explored.complete = not stack
    explored.ends = len(ends)
    return explored


def _count(explored: Explored, chooser: Listed, world: World) -> None:
    explored.runs += 1
    explored.steps += world.step
    if chooser.struck:
        explored.struck[chooser.struck] += 1
    explored.violations += [
        (each.invariant, chooser.taken, each.message) for each in world.violations
    ]


def _run(
    setting: Setting, chooser: Listed, told: Checks, ends: set[frozenset[tuple[str, str]]]
) -> World:
    """Make one run to its end. What the healed bucket has to be is checked once for each bucket."""
    world = World(chooser, random.Random(0), told, warm=0.0)
    try:
        setting.build(world)
        world.run()
        chooser.exploring = False
        for attempt in world.unanswered:
            world.spawn("again", _answered(world, attempt))
        world.run()
        if not world.violations and (end := _state(world)) not in ends:
            ends.add(end)
            world.spawn("heal", operators.heal(world, setting.skill))
            world.run()
            world.tell(Quiet())
    finally:
        world.scheduler.close()
    return world


def _answered(world: World, attempt: Callable[[], bool]) -> Callable[[], None]:
    def act() -> None:
        if not attempt():
            world.broken("l02_who_retries_is_answered", "a client asked again in vain")

    return act


def _state(world: World) -> frozenset[tuple[str, str]]:
    """Return what the bucket holds: a healing and what follows it depend on nothing else."""
    found = []
    for listed in list_all(world.bucket, ""):
        info = world.bucket.head(listed.key)
        known = info.metadata if info is not None else {}
        found.append((listed.key, f"{listed.etag} {known.get('upload-id')} {known.get('kind')}"))
    return frozenset(found)
