"""What is explored exhaustively: two or three actors on one skill, their steps in every order."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

from house import ADMIN
from simulation import authors, readers
from simulation.content import samples
from simulation.exploring import CRASHES, CRASHES_AND_LOST, Setting
from simulation.facts import Promise
from simulation.world import NoAnswer

from skill_registry.catalog.configuring import Change
from skill_registry.catalog.log import NO_PRECONDITION, Precondition
from skill_registry.catalog.publishing import Published
from skill_registry.catalog.revision import Draft, Kind, draft
from skill_registry.catalog.uploads import Ticket
from skill_registry.errors import RegistryError, Unavailable
from skill_registry.store import keys
from skill_registry.store.keys import SkillId, UploadId

if TYPE_CHECKING:
    from collections.abc import Callable

    from simulation.scheduler import Fault
    from simulation.world import World

    from skill_registry.web.wiring import Registry

SKILL = SkillId("system", "alpha")
AUTHOR = "author"


@cache
def _draft(number: int) -> Draft:
    """Return something to publish, different for each number."""
    files = samples(SKILL.name)[number].contents.files
    return draft(files, upload_id=f"{AUTHOR}/{number}", author=AUTHOR)


def _past(world: World, count: int) -> None:
    """Let the skill have revisions, all of them visible."""
    before = None
    for number in range(1, count + 1):
        made = _draft(number)
        before = made.info(number, world.runtime().now(), before)
        key = keys.revision(SKILL, number)
        world.prepare(key, made.archive, before.to_metadata())
    if count:
        world.prepare(keys.sidecar(SKILL), b"%d\n" % count)


def _commit(
    world: World, number: int, base: int, precondition: Precondition = NO_PRECONDITION
) -> Callable[[], None]:
    """Make a process that commits one upload: steps 2 to 6 of the protocol, and nothing else."""
    made = _draft(number)
    upload = UploadId(AUTHOR, str(number))
    promise = Promise(SKILL, Kind.CONTENT, world.step, precondition, {made.digest})
    world.ledger.promises[str(upload)] = promise
    ticket = Ticket(SKILL, base, AUTHOR, precondition)

    def work(registry: Registry) -> Published:
        info = registry.publisher.commit(ticket, made, base=base)
        return Published(upload, SKILL, info)

    def act() -> None:
        attempt = partial(authors.attempt_once, world, promise, str(upload), work)
        if not attempt():
            world.unanswered.append(attempt)

    return act


def publishers(kinds: tuple[Fault, ...] = CRASHES) -> Setting:
    """Two publishers on a skill with one revision."""

    def build(world: World) -> None:
        _past(world, 1)
        world.spawn("first", _commit(world, 2, 1))
        world.spawn("second", _commit(world, 3, 1))

    name = "two publishers, " + ("one crash" if kinds == CRASHES else "one crash or lost reply")
    return Setting(name, SKILL, build, kinds)


def first_publishers() -> Setting:
    """Two publishers on a skill that never was."""

    def build(world: World) -> None:
        world.spawn("first", _commit(world, 2, 0))
        world.spawn("second", _commit(world, 3, 0))

    return Setting("two first publishers, one crash", SKILL, build)


def editors() -> Setting:
    """Two publishers that start from one version, and want no other in between."""

    def build(world: World) -> None:
        _past(world, 1)
        for number in (2, 3):
            world.spawn(f"editor-{number}", _commit(world, number, 1, Precondition(version=1)))

    return Setting(
        "two editors of one version, one crash or lost reply", SKILL, build, CRASHES_AND_LOST
    )


def retried() -> Setting:
    """One upload that is completed by two processes at once, beside another publisher's crash."""

    def build(world: World) -> None:
        _past(world, 1)
        world.spawn("call", _commit(world, 2, 1))
        world.spawn("event", _commit(world, 2, 1))

    return Setting(
        "one upload by call and event, one crash or lost reply", SKILL, build, CRASHES_AND_LOST
    )


def watched() -> Setting:
    """A publisher, and somebody who views the skill twice meanwhile."""

    def build(world: World) -> None:
        _past(world, 1)
        world.spawn("publisher", _commit(world, 2, 1))
        world.spawn("reader", readers.view(world, SKILL, times=2))

    return Setting("a publisher and a reader, one crash", SKILL, build)


def healed() -> Setting:
    """A publisher and the event function, which heals the same skill."""

    def build(world: World) -> None:
        _past(world, 1)
        world.spawn("publisher", _commit(world, 2, 1))
        world.spawn("event", _once(world, "heal", lambda registry: registry.log.heal(SKILL)))

    return Setting(
        "a publisher and a healing, one crash or lost reply", SKILL, build, CRASHES_AND_LOST
    )


def labelled() -> Setting:
    """A label on the very revision that is being pruned."""

    def build(world: World) -> None:
        _past(world, 3)
        change = Change(labels={"stable": 2})
        world.spawn("prune", _once(world, "prune", lambda registry: registry.pruner.prune(SKILL)))
        world.spawn(
            "label",
            _once(
                world,
                "label",
                lambda registry: registry.configurer.change(ADMIN, SKILL, change),
            ),
        )

    return Setting("a label and a pruning, one crash", SKILL, build)


def _once(world: World, name: str, work: Callable[[Registry], object]) -> Callable[[], None]:
    def act() -> None:
        try:
            world.call(name, work)
        except (NoAnswer, Unavailable):
            return
        except RegistryError:
            return

    return act


def all_settings() -> tuple[Setting, ...]:
    """Return everything that is explored."""
    return (
        publishers(),
        publishers(CRASHES_AND_LOST),
        first_publishers(),
        editors(),
        retried(),
        healed(),
        watched(),
        labelled(),
    )
