"""Authors of a simulated world: who publishes, deletes, rolls back, and uploads.

Each function makes an actor. Authors do as they are told: what got no answer is sent again under
the same upload id or idempotency key, and what has neither is given up.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from house import ADMIN, as_published
from simulation.content import EMPTY
from simulation.facts import Acknowledged, Promise, Refused
from simulation.scheduler import current
from simulation.world import NoAnswer

from skill_registry.catalog.log import NO_PRECONDITION, Precondition
from skill_registry.catalog.revision import Kind
from skill_registry.errors import Conflict, Gone, NotFound, RegistryError, SkillInvalid, Unavailable
from skill_registry.store import keys
from skill_registry.store.gate import Request
from skill_registry.store.keys import UploadId

if TYPE_CHECKING:
    from collections.abc import Callable

    from simulation.content import Sample
    from simulation.world import World

    from skill_registry.catalog.publishing import Published
    from skill_registry.catalog.uploading import Announced
    from skill_registry.store.keys import SkillId
    from skill_registry.web.wiring import Registry

    Actor = Callable[[], None]
    Send = Callable[[Registry, str | None], Published]

TRIES = 5


def publish(
    world: World,
    skill: SkillId,
    sample: Sample,
    *,
    key: str | None = None,
    precondition: Precondition = NO_PRECONDITION,
) -> Actor:
    """Make an author that publishes inline."""

    def send(registry: Registry, key: str | None) -> Published:
        return registry.publisher.publish_inline(
            ADMIN, skill, sample.contents, precondition=precondition, idempotency_key=key
        )

    def act() -> None:
        promise = Promise(skill, Kind.CONTENT, world.step, precondition, _digests(sample))
        _inline(world, promise, key, send)

    return act


def edit(world: World, skill: SkillId, sample: Sample, *, key: str | None = None) -> Actor:
    """Make an author that reads the head, and publishes over exactly that version."""

    def act() -> None:
        try:
            head = world.call("read", lambda registry: registry.log.head(skill))
        except (NoAnswer, Unavailable):
            return
        wanted = (
            Precondition(version=head.number) if head.number else Precondition(create_only=True)
        )
        publish(world, skill, sample, key=key, precondition=wanted)()

    return act


def delete(world: World, skill: SkillId, *, key: str | None = None) -> Actor:
    """Make an author that deletes the skill, if there is one."""

    def act() -> None:
        wanted = Precondition(must_exist=True)
        promise = Promise(skill, Kind.TOMBSTONE, world.step, wanted, {EMPTY})
        _inline(
            world,
            promise,
            key,
            lambda registry, key: registry.publisher.delete(ADMIN, skill, idempotency_key=key),
        )

    return act


def roll_back(world: World, skill: SkillId, *, key: str | None = None) -> Actor:
    """Make an author that publishes an earlier version again."""

    def act() -> None:
        log = world.ledger.of(skill).log
        content = [n for n, revision in log.items() if revision.info.kind is Kind.CONTENT]
        if not content:
            return
        number = world.rng.choice(content)
        promise = Promise(skill, Kind.CONTENT, world.step, digests={log[number].info.digest})
        _inline(
            world,
            promise,
            key,
            lambda registry, key: registry.publisher.rollback(
                ADMIN, skill, number, idempotency_key=key
            ),
        )

    return act


def _digests(sample: Sample) -> set[str]:
    return {sample.digest} if sample.digest else set()


def _inline(world: World, promise: Promise, key: str | None, send: Send) -> None:
    if key is None:
        attempt_once(world, promise, None, lambda registry: send(registry, None))
        return
    upload = f"{ADMIN.hash}/{hashlib.sha256(key.encode()).hexdigest()[:32]}"
    world.ledger.promises.setdefault(upload, promise)

    def attempt() -> bool:
        return attempt_once(world, promise, upload, lambda registry: send(registry, key))

    _until_answered(world, attempt)


def _until_answered(world: World, attempt: Callable[[], bool]) -> None:
    """Try some times; what is left without an answer may be tried again much later."""
    if not any(attempt() for _ in range(TRIES)):
        world.unanswered.append(attempt)


def attempt_once(
    world: World, promise: Promise, upload: str | None, work: Callable[[Registry], Published]
) -> bool:
    """Send a call; tell what came of it, and whether that is an answer to go by."""
    since = world.step
    try:
        done = world.call("publish", work, promise)
    except (NoAnswer, Unavailable):
        return False
    except (Conflict, Gone, NotFound, SkillInvalid) as error:
        if upload is not None:
            world.tell(Refused(promise, upload, since, error))
        return True
    acknowledge(world, promise, done)
    return True


def acknowledge(world: World, promise: Promise, done: Published) -> None:
    """Tell that a client was answered with a version."""
    task, upload = current(), str(done.upload)
    world.ledger.promises.setdefault(upload, promise)
    fact = Acknowledged(promise.skill, upload, done.info, task.latest if task else None)
    world.tell(fact)
    world.ledger.acknowledge(fact)


def upload(
    world: World,
    skill: SkillId,
    sample: Sample,
    *,
    edits: bool = False,
    calls: int = 1,
    instead: Sample | None = None,
) -> Actor:
    """Make an author that uploads by a presigned target.

    Args:
        edits: Only over the version that is current when the upload is announced.
        calls: Clients that complete it, at once; with 0 it is left to the event.
        instead: What a second delivery to the same target brings, some time later.
    """

    def act() -> None:
        promise = Promise(skill, Kind.CONTENT, world.step, digests=_digests(sample))
        announced, wanted = _announce(world, skill, edits=edits)
        if announced is None:
            return
        promise = replace(promise, precondition=wanted, replaced=instead is not None)
        world.ledger.promises[str(announced.upload)] = promise
        _deliver(world, announced, sample)
        if instead is not None:
            promise.digests.update(_digests(instead))
            world.spawn("replace", lambda: _deliver(world, announced, instead))
        for number in range(calls):
            world.spawn(f"complete-{number}", complete(world, announced.upload, promise))

    return act


def _announce(
    world: World, skill: SkillId, *, edits: bool
) -> tuple[Announced | None, Precondition]:
    def work(registry: Registry) -> tuple[Announced, Precondition]:
        wanted = NO_PRECONDITION
        if edits and (head := registry.log.head(skill).number):
            wanted = Precondition(version=head)
        return registry.uploader.announce(ADMIN, skill, precondition=wanted), wanted

    for _ in range(TRIES):
        try:
            return world.call("announce", work)
        except (NoAnswer, Unavailable, Conflict):
            continue
    return None, NO_PRECONDITION


def _deliver(world: World, announced: Announced, sample: Sample) -> None:
    world.act(
        Request("PUT", keys.upload(announced.upload)),
        lambda: world.bucket.receive(announced.target, sample.archive),
    )


def complete(world: World, upload: UploadId, promise: Promise) -> Actor:
    """Make a client that completes an upload until it is answered, then asks what became of it."""

    def attempt() -> bool:
        return attempt_once(
            world,
            promise,
            str(upload),
            lambda r: as_published(r.uploader.complete(ADMIN, upload.id)),
        )

    def act() -> None:
        _until_answered(world, attempt)
        _ask(world, upload, promise)

    return act


def _ask(world: World, upload: UploadId, promise: Promise) -> None:
    try:
        record = world.call("outcome", lambda registry: registry.uploader.outcome(ADMIN, upload.id))
    except (NoAnswer, RegistryError):
        return
    if record["state"] != "published":
        return
    revision = world.ledger.of(promise.skill).log.get(record["version"])
    if revision is None:
        world.broken("i04_an_acknowledged_publish_is_there", f"the outcome says {record}")
        return
    fact = Acknowledged(promise.skill, str(upload), revision.info)
    world.tell(fact)
    world.ledger.acknowledge(fact)
