"""Copies of a world's bucket that go another way, without a scheduler and without faults."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from skill_registry.catalog.snapshot import decode
from skill_registry.catalog.uploads import Ticket
from skill_registry.store import keys
from skill_registry.store.base import list_all
from skill_registry.store.gate import Counter as RequestCounter
from skill_registry.store.gate import GatedStore
from skill_registry.web.wiring import Registry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simulation.bucket import Bucket
    from simulation.world import World

    from skill_registry.store.base import StoredObject
    from skill_registry.store.keys import SkillId


@dataclass(frozen=True, slots=True)
class Fork:
    """A bucket as it lay before the events were worked off, and the events."""

    bucket: Bucket
    messages: tuple[str, ...]

    def batches(self, rng: random.Random) -> Iterator[dict[str, str]]:
        """Deliver any of the events, in any order, some of them twice."""
        chosen = [m for m in self.messages for _ in range(rng.choice((0, 1, 1, 2)))]
        rng.shuffle(chosen)
        while chosen:
            batch, chosen = chosen[:4], chosen[4:]
            yield {str(number): message for number, message in enumerate(batch)}


def fork_of(world: World) -> Fork | None:
    """Return the fork that the world keeps, with a bucket of its own."""
    fork = world.fork
    return Fork(fork.bucket.copy(), fork.messages) if fork else None


def registry_over(world: World, bucket: Bucket, counter: RequestCounter | None = None) -> Registry:
    """Return a process with an empty memory that meets no fault and waits for nobody."""
    store = GatedStore(bucket, counter or RequestCounter())
    return Registry(world.settings, store, world.runtime(parallel=False))


def pending(bucket: Bucket) -> Counter[SkillId]:
    """Count the uploads by skill that arrived and are in no log."""
    committed = {
        stored.info.metadata.get("upload-id")
        for info in list_all(bucket, keys.REGISTRY)
        if keys.revision_number(info.key) is not None and (stored := bucket.stored(info.key))
    }
    found: Counter[SkillId] = Counter()
    for info in list_all(bucket, keys.UPLOADS):
        upload = keys.parse_upload(info.key)
        stored = bucket.stored(info.key)
        ticket = Ticket.from_metadata(stored.info.metadata) if stored else None
        if ticket is not None and str(upload) not in committed:
            found[ticket.skill] += 1
    return found


def canonical(world: World, bucket: Bucket) -> dict[str, object]:
    """Return the bucket without what may depend on when and in which order things were done."""
    return {
        info.key: _meaning(stored)
        for info in list_all(bucket, "")
        if (stored := bucket.stored(info.key)) and not _aside(world, info.key)
    }


def _aside(world: World, key: str) -> bool:
    skill = keys.parse_skill(key)
    foreign = skill is not None and (
        key.removeprefix(keys.tree(skill)) in world.ledger.of(skill).ever_foreign
    )
    return foreign or key.startswith(keys.UPLOADS)


def _meaning(stored: StoredObject) -> object:
    key, metadata = stored.info.key, stored.info.metadata
    scope = keys.parse_catalog(key)
    if scope is not None:
        catalog = decode(scope, stored.body)
        # ETags may be the bucket's own invention.
        return catalog and {
            name: replace(entry, settings=None, tree=None)
            for name, entry in catalog.entries.items()
        }
    if keys.revision_number(key) is not None:
        return metadata.get("upload-id"), metadata.get("kind"), stored.body
    return stored.body
