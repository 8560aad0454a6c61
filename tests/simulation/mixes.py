"""What kinds of actors and what weather a seeded run may have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulation import authors, operators, outsiders, readers
from simulation.choosing import PERSISTENCE
from simulation.content import refused, samples
from simulation.scheduler import Fault

from skill_registry.catalog.log import Precondition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from simulation.content import Sample
    from simulation.world import World

    from skill_registry.store.keys import SkillId

    Actor = Callable[[], None]
    Maker = Callable[[World, SkillId], Actor]

WEATHER: Mapping[str, Mapping[Fault, float]] = {
    "calm": {},
    "crashes": {Fault.CRASH_BEFORE: 0.02, Fault.CRASH_AFTER: 0.02},
    "many crashes": {Fault.CRASH_BEFORE: 0.05, Fault.CRASH_AFTER: 0.1},
    "lost replies": {Fault.RESENT: 0.12},
    "conflicts": {Fault.CONFLICT: 0.1, Fault.SPURIOUS: 0.06},
    "outages": {Fault.UNAVAILABLE: 0.04, Fault.TIMEOUT: 0.05, Fault.LATE: 0.06},
    "everything": {
        Fault.CRASH_BEFORE: 0.01,
        Fault.CRASH_AFTER: 0.02,
        Fault.RESENT: 0.05,
        Fault.CONFLICT: 0.03,
        Fault.SPURIOUS: 0.02,
        Fault.UNAVAILABLE: 0.02,
        Fault.TIMEOUT: 0.02,
        Fault.LATE: 0.03,
    },
}

OUTSIDERS = frozenset({"sidecar", "remove sidecar", "tree", "catalog", "sync"})


@dataclass(frozen=True, slots=True)
class Mix:
    """The frame of a run, within which its seed draws.

    Attributes:
        kinds: How likely each kind of actor is, beside the others.
        actors: How many of them there are, at least and at most.
        skills: How many skills they share.
        weather: The names of ``WEATHER`` that one is drawn from.
        events: How events may go, one of which is drawn: delivered, some lost, all lost.
        vendored: How likely a skill starts as a directory.
        history: How many revisions a managed skill starts with, at least and at most.
        warm: How likely a call meets a process that worked before.
        opaque: How likely ETags are not made of the bytes.
        keep: Revisions that the retention keeps, one of which is drawn.
        forked: How likely the events are tried in another order at the end.
        persistence: How likely whoever went on does so again, one of which is drawn.
    """

    kinds: Mapping[str, float]
    actors: tuple[int, int] = (3, 8)
    skills: tuple[int, int] = (1, 2)
    weather: tuple[str, ...] = tuple(WEATHER)
    events: tuple[str, ...] = ("delivered", "delivered", "some lost", "all lost")
    vendored: float = 0.15
    history: tuple[int, int] = (0, 3)
    warm: float = 0.7
    opaque: float = 0.5
    keep: tuple[int, ...] = (1, 2)
    forked: float = 0.3
    persistence: tuple[float, ...] = PERSISTENCE


def _sample(world: World, skill: SkillId) -> Sample:
    return world.rng.choice(samples(skill.name))


def _key(world: World) -> str | None:
    return world.new_id() if world.rng.random() < 0.7 else None


def _publish(world: World, skill: SkillId) -> Actor:
    return authors.publish(world, skill, _sample(world, skill), key=_key(world))


def _twice(world: World, skill: SkillId) -> Actor:
    """Two clients send the same call with the same key at once."""
    actor = authors.publish(world, skill, _sample(world, skill), key=world.new_id())

    def act() -> None:
        world.spawn("publish-again", actor)
        actor()

    return act


def _create(world: World, skill: SkillId) -> Actor:
    wanted = Precondition(create_only=True)
    sample = _sample(world, skill)
    return authors.publish(world, skill, sample, key=_key(world), precondition=wanted)


def _edit(world: World, skill: SkillId) -> Actor:
    return authors.edit(world, skill, _sample(world, skill), key=_key(world))


def _race(world: World, skill: SkillId) -> Actor:
    """Two editors start from one base."""
    first, second = _edit(world, skill), _edit(world, skill)

    def act() -> None:
        world.spawn("edit-too", second)
        first()

    return act


def _anew(world: World, skill: SkillId) -> Actor:
    """Somebody deletes the skill and, once that is done, publishes it anew."""
    delete = authors.delete(world, skill, key=world.new_id())

    def act() -> None:
        delete()
        _publish(world, skill)()

    return act


def _upload(world: World, skill: SkillId) -> Actor:
    return authors.upload(
        world,
        skill,
        _sample(world, skill),
        edits=world.rng.random() < 0.3,
        calls=world.rng.choice((0, 1, 1, 2)),
    )


def _replaced(world: World, skill: SkillId) -> Actor:
    """An upload whose object is replaced, perhaps by what would never be accepted."""
    instead = world.rng.choice((refused(skill.name), _sample(world, skill)))
    return authors.upload(world, skill, _sample(world, skill), calls=1, instead=instead)


def _sync(world: World, skill: SkillId) -> Actor:
    """A directory is copied over the tree twice, in two states."""
    first, second = (_sample(world, skill).files for _ in range(2))
    return outsiders.sync(world, skill, first, second)


MAKERS: Mapping[str, Maker] = {
    "publish": _publish,
    "twice": _twice,
    "create": _create,
    "edit": _edit,
    "race": _race,
    "upload": _upload,
    "replaced": _replaced,
    "delete": lambda world, skill: authors.delete(world, skill, key=_key(world)),
    "anew": _anew,
    "roll back": lambda world, skill: authors.roll_back(world, skill, key=_key(world)),
    "view": readers.view,
    "view pins": lambda world, skill: readers.view(world, skill, pins=True),
    "list": lambda world, skill: readers.list_scope(world, skill.scope),
    "label": operators.label,
    "unlabel": operators.unlabel,
    "switch": operators.switch,
    "prune": operators.prune,
    "purge": operators.purge,
    "heal": operators.heal,
    "project": operators.project,
    "refresh": operators.refresh,
    "deliver": lambda world, skill: operators.deliver(world, times=2),
    "reconcile": lambda world, skill: operators.reconcile(world),
    "sidecar": outsiders.sidecar,
    "remove sidecar": outsiders.remove_sidecar,
    "tree": outsiders.tree,
    "catalog": lambda world, skill: outsiders.catalog(world, skill.scope),
    "sync": _sync,
}

_BY_THE_RULES: Mapping[str, float] = {
    "publish": 4,
    "twice": 1,
    "create": 1,
    "edit": 1,
    "race": 1,
    "upload": 2,
    "replaced": 1,
    "delete": 1.2,
    "anew": 0.5,
    "roll back": 1,
    "view": 3,
    "view pins": 2,
    "list": 2,
    "label": 1.5,
    "unlabel": 0.5,
    "switch": 0.5,
    "prune": 2,
    "purge": 0.5,
    "heal": 1,
    "project": 0.5,
    "refresh": 1,
    "deliver": 3,
    "reconcile": 0.7,
}

HOUSE = Mix(_BY_THE_RULES)
TAMPERED = Mix({**_BY_THE_RULES, "sidecar": 3, "tree": 2, "catalog": 1})
VENDORED = Mix(
    {"sync": 3, "view": 3, "publish": 2, "upload": 1, "edit": 1, "delete": 1, "deliver": 1},
    vendored=1.0,
    history=(0, 0),
)

MIXES: Mapping[str, Mix] = {"house": HOUSE, "tampered": TAMPERED, "vendored": VENDORED}
