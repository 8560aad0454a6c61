"""Operators of a simulated world and what runs by itself: labels, pruning, events, the schedule."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from house import ADMIN
from simulation.world import NoAnswer

from skill_registry.catalog.configuring import Change
from skill_registry.errors import RegistryError, SettingsUnreadable, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from simulation.world import World

    from skill_registry.store.keys import SkillId
    from skill_registry.web.wiring import Registry

    Actor = Callable[[], None]

TRIES = 3
BATCH = 5


def label(world: World, skill: SkillId, *, name: str = "stable") -> Actor:
    """Make an operator that labels some version."""

    def act() -> None:
        number = world.rng.randint(1, max(1, world.ledger.of(skill).top))
        change = Change(labels={name: number})
        _until_answered(world, "label", lambda r: r.configurer.change(ADMIN, skill, change))

    return act


def unlabel(world: World, skill: SkillId, *, name: str = "stable") -> Actor:
    """Make an operator that takes a label away."""
    change = Change(labels={name: None})
    return lambda: _until_answered(
        world, "unlabel", lambda r: r.configurer.change(ADMIN, skill, change)
    )


def switch(world: World, skill: SkillId) -> Actor:
    """Make an operator that disables a skill, and enables it again."""

    def act() -> None:
        for change in (Change(enabled=False), Change(enabled=True)):
            _until_answered(world, "switch", partial(_configure, skill, change))

    return act


def _configure(skill: SkillId, change: Change, registry: Registry) -> object:
    return registry.configurer.change(ADMIN, skill, change)


def prune(world: World, skill: SkillId) -> Actor:
    """Make a run of the garbage collection of one skill, which has no settings to complain of."""

    def act() -> None:
        since = world.step
        try:
            _until_answered(world, "prune", lambda r: r.pruner.prune(skill), but=SettingsUnreadable)
        except SettingsUnreadable:
            if world.ledger.of(skill).trusted(since):
                raise

    return act


def purge(world: World, skill: SkillId) -> Actor:
    """Make an operator that purges some version."""

    def act() -> None:
        number = world.rng.randint(1, max(1, world.ledger.of(skill).top))
        _until_answered(world, "purge", lambda r: r.purger.purge(ADMIN, skill, number))

    return act


def _until_answered(
    world: World,
    name: str,
    work: Callable[[Registry], object],
    *,
    but: type[RegistryError] | None = None,
) -> None:
    """Try some times; a refusal is an answer, ``but`` one that the caller wants to hear of."""
    for _ in range(TRIES):
        try:
            world.call(name, work)
        except (NoAnswer, Unavailable):
            continue
        except RegistryError as error:
            if but is not None and isinstance(error, but):
                raise
        return


def heal(world: World, skill: SkillId) -> Actor:
    """Make a run of what an event does for one skill."""

    def work(registry: Registry) -> None:
        registry.refresher.settle(skill)
        registry.refresher.refresh(skill.scope, [skill.name])

    return lambda: _until_answered(world, "heal", work)


def project(world: World, skill: SkillId) -> Actor:
    """Make a run of the projection alone."""
    return lambda: _until_answered(world, "project", lambda r: r.refresher.settle(skill))


def refresh(world: World, skill: SkillId) -> Actor:
    """Make a run of the refresh alone."""
    return lambda: _until_answered(
        world, "refresh", lambda r: r.refresher.refresh(skill.scope, [skill.name])
    )


def deliver(world: World, *, times: int = 1) -> Actor:
    """Make the queue deliver some of what it holds, now and then something twice."""

    def act() -> None:
        for _ in range(times):
            batch = world.events.take(world.rng, BATCH)
            if not batch:
                return
            if world.rng.random() < 0.3:
                world.events.give_back(list(batch.values())[:1])
            world.events.give_back(_failed(world, batch))

    return act


def _failed(world: World, batch: dict[str, str]) -> list[str]:
    """Hand a batch to the event function; return what is to be delivered again."""
    try:
        failed = world.call("events", lambda registry: registry.events.handle(batch))
    except NoAnswer:
        failed = set(batch)
    return [batch[number] for number in sorted(failed)]


def reconcile(world: World, *, surely: bool = False) -> Actor:
    """Make a run of the schedule; ``surely`` repeats one that died."""

    def act() -> None:
        while True:
            try:
                world.call("reconcile", lambda registry: registry.reconciler.run())
            except (NoAnswer, Unavailable):
                if surely:
                    continue
            return

    return act
