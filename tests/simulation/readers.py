"""Readers of a simulated world: they view and list, through any process, and remember the last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from house import ADMIN
from simulation.facts import Listed, Viewed
from simulation.scheduler import current
from simulation.world import NoAnswer

from skill_registry.errors import RegistryError, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from simulation.world import World

    from skill_registry.catalog.listing import Listing
    from skill_registry.catalog.loading import Loaded
    from skill_registry.catalog.resolving import Pin
    from skill_registry.store.keys import SkillId
    from skill_registry.web.wiring import Registry

    Actor = Callable[[], None]


def view(world: World, skill: SkillId, *, times: int = 3, pins: bool = False) -> Actor:
    """Make a reader that views a skill some times, also pinned by number or label."""

    def act() -> None:
        last = 0
        for _ in range(times):
            pin = _pin(world, skill) if pins and world.rng.random() < 0.6 else None
            since = world.step
            shown = _view(world, skill, pin, last)
            known = world.ledger.of(skill)
            # What was shown while somebody's hand was in it binds nobody.
            by_the_rules = pin is None and known.trusted(since)
            if by_the_rules and shown is not None and shown.revision is not None:
                last = max(last, shown.revision.number)

    return act


def _pin(world: World, skill: SkillId) -> Pin:
    if world.rng.random() < 0.3:
        return "@stable"
    return world.rng.randint(1, max(1, world.ledger.of(skill).top + 1))


def _view(world: World, skill: SkillId, pin: Pin, last: int) -> Loaded | None:
    since, floor = world.step, world.ledger.of(skill).floor
    loaded, error = None, None
    try:
        loaded = world.call(
            "view",
            lambda registry: (
                registry.viewing.view(ADMIN, skill.name, scopes=(skill.scope,), pin=pin).loaded
            ),
        )
    except (NoAnswer, Unavailable):
        return None
    except RegistryError as refusal:
        error = refusal
    world.tell(Viewed(skill, pin, since, floor, last, loaded, error))
    return loaded


def list_scope(world: World, scope: str, *, times: int = 2) -> Actor:
    """Make a reader that asks for the listing of a scope some times."""

    def work(registry: Registry) -> tuple[Listing, int]:
        listing = registry.listing.page(ADMIN, scopes=(scope,), limit=None)
        task = current()
        assert task is not None and task.call is not None
        return listing, task.call.requests

    def act() -> None:
        for _ in range(times):
            catalog = world.ledger.catalogs.get(scope)
            entries = catalog.entries.values() if catalog else ()
            floor = {entry.name: entry.revision for entry in entries if entry.revision}
            try:
                listing, requests = world.call("list", work)
            except (NoAnswer, Unavailable):
                continue
            shown = {each.entry.name: each.entry.revision for each in listing.skills}
            known = catalog is not None and world.ledger.catalogs.get(scope) is not None
            stale = listing.stale is not None
            world.tell(Listed(scope, shown, floor, requests, known, stale))

    return act
