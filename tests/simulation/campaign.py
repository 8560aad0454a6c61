"""Seeded runs: a seed draws a world from a mix, its weather and its actors, and all that follows.

    python -m simulation.campaign house 4711

replays one run and prints its trace; a failure prints the whole command.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulation import authors, operators
from simulation.choosing import Seeded
from simulation.content import samples
from simulation.facts import Quiet
from simulation.forks import Fork
from simulation.invariants import checks
from simulation.mixes import MAKERS, MIXES, OUTSIDERS, WEATHER
from simulation.world import World

from skill_registry.store import keys
from skill_registry.store.keys import SkillId
from skill_registry.web.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from simulation.invariants import Checks
    from simulation.mixes import Mix
    from simulation.scheduler import Fault
    from simulation.world import Traced, Violation

SCOPE = "system"
NAMES = ("alpha", "beta")
ROUNDS = 40
LATE_TRIES = 3


@dataclass(slots=True)
class Run:
    """What one seed came to."""

    seed: int
    mix: str
    steps: int
    violations: list[Violation]
    injected: Counter[Fault]
    trace: list[Traced]

    def report(self) -> str:
        """Say what is wrong, what led to it, and how to see it again."""
        told = "\n".join(f"{v.invariant} at step {v.step}: {v.message}" for v in self.violations)
        trace = "\n".join(map(str, self.trace))
        return f"{told}\n\n{trace}\n\n{told}\nreplay: {replay_command(self.mix, self.seed)}"


@dataclass(slots=True)
class Tally:
    """What many seeds came to."""

    runs: int = 0
    steps: int = 0
    injected: Counter[Fault] = field(default_factory=Counter)
    violations: Counter[str] = field(default_factory=Counter)
    failures: list[Run] = field(default_factory=list)

    def add(self, run: Run) -> None:
        """Count a run; keep it whole if it failed."""
        self.runs += 1
        self.steps += run.steps
        self.injected.update(run.injected)
        if run.violations:
            self.violations[run.violations[0].invariant] += 1
            self.failures.append(run)


def replay_command(mix: str, seed: int) -> str:
    """Return the command that runs one seed again."""
    path = "layers/core:scripts:tests"
    return f"PYTHONPATH={path} .venvs/dev/bin/python -m simulation.campaign {mix} {seed}"


def run_many(mix: str, seeds: Iterable[int], *, steps: int | None = None) -> Tally:
    """Run seeds until there are none, or until ``steps`` requests were made."""
    tally = Tally()
    all_checks = checks()
    for seed in seeds:
        tally.add(run(mix, seed, all_checks))
        if steps is not None and tally.steps >= steps:
            break
    return tally


def run(name: str, seed: int, told: Checks, mix: Mix | None = None) -> Run:
    """Run one seed of a mix, by its name or as it is given."""
    mix = mix or MIXES[name]
    rng = random.Random(seed)
    chooser = Seeded(rng, mix.persistence)
    world = World(
        chooser,
        rng,
        told,
        opaque=rng.random() < mix.opaque,
        versioned="purge" in mix.kinds and rng.random() < 0.3,
        settings=Settings(keep_versions=rng.choice(mix.keep), keep_days=0),
        warm=mix.warm,
    )
    try:
        _live(world, chooser, mix)
    finally:
        world.scheduler.close()
    return Run(seed, name, world.step, world.violations, chooser.injected, world.trace)


def _live(world: World, chooser: Seeded, mix: Mix) -> None:
    rng = world.rng
    skills = [SkillId(SCOPE, name) for name in NAMES[: rng.randint(*mix.skills)]]
    for skill in skills:
        _found(world, skill, mix)
    events = rng.choice(mix.events)
    world.events.lost = events == "all lost"
    for number in range(rng.randint(*mix.actors)):
        (kind,) = rng.choices(list(mix.kinds), list(mix.kinds.values()))
        actor = MAKERS[kind](world, rng.choice(skills))
        world.spawn(f"{kind}-{number}", actor, outsider=kind in OUTSIDERS)
    chooser.weather(WEATHER[rng.choice(mix.weather)])
    world.run()
    chooser.weather({})
    _answer_all(world)
    if rng.random() < mix.forked:
        world.fork = Fork(world.bucket.copy(), tuple(world.events.seen))
    _end(world, events)
    if not world.violations:
        world.tell(Quiet())


def _found(world: World, skill: SkillId, mix: Mix) -> None:
    """Let a skill have a past: a directory, or some revisions."""
    rng = world.rng
    if rng.random() < mix.vendored:
        for path, body in rng.choice(samples(skill.name)).files.items():
            world.bucket.put(keys.tree_file(skill, path), body)
        if rng.random() < 0.5:
            world.bucket.put(keys.sidecar(skill), b"%d\n" % rng.randint(1, 9))
        return
    for _ in range(rng.randint(*mix.history)):
        world.spawn("past", authors.publish(world, skill, rng.choice(samples(skill.name))))
        world.run()


def _answer_all(world: World) -> None:
    """Let those who never got an answer ask again, most of them, with nothing in the way."""

    def again() -> None:
        for attempt in world.unanswered:
            if world.rng.random() < 0.7 and not any(attempt() for _ in range(LATE_TRIES)):
                world.broken("l02_who_retries_is_answered", "a client asked again in vain")

    if world.unanswered and not world.violations:
        world.spawn("late-retry", again)
        world.run()


def _end(world: World, events: str) -> None:
    """Drain the events, or let them be lost and reconcile."""
    if events == "some lost":
        kept = [message for message in world.events.messages if world.rng.random() < 0.5]
        world.events.messages[:] = kept
    for _ in range(ROUNDS):
        if world.violations or not len(world.events):
            break
        for number in range(2):
            world.spawn(f"event-{number}", operators.deliver(world, times=3))
        world.run()
    else:
        world.broken("l01_everything_ends", "events make events")
    if events != "delivered" and not world.violations:
        world.spawn("reconcile", operators.reconcile(world, surely=True))
        world.run()


def main(arguments: list[str]) -> int:
    """Replay one run."""
    name, seed = arguments
    done = run(name, int(seed), checks())
    print(done.report())
    return 1 if done.violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
