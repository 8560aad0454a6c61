"""A crowd at a store that loses replies, from an empty bucket to the last check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lossy_proxy import Fate, LossyProxy, seeded
from real_store.clients import opened, registry_clients
from real_store.crowd import Crowd, found_scope, rounds_of
from real_store.evidence import derived_violations, log_violations

from skill_registry.catalog.runtime import Runtime
from skill_registry.web.settings import Settings
from skill_registry.web.wiring import Registry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from real_store.crowd import Ledger

    from local_stack.emulator import Endpoint
    from skill_registry.store.keys import SkillId

# Environments share them; more take longer to make than they save.
CLIENTS = 12


@dataclass(frozen=True, slots=True)
class Weathered:
    """What a crowd went through.

    Attributes:
        requests: To the store, resent ones included.
        lost: Replies of applied requests that nobody saw.
        resent_commits: Those among them that were of conditional writes, which cannot be applied
            twice: the resend is answered 412 against the writer's own object.
        refused: Requests that were answered 503 instead.
        violations: What nobody should have seen, or what the bucket should not hold.
    """

    ledger: Ledger
    requests: int
    lost: int
    resent_commits: int
    refused: int
    violations: list[str]


def weather(
    endpoint: Endpoint, skills: Sequence[SkillId], publishers: int, rounds: int, readers: int
) -> Weathered:
    """Publish and read through the proxy, reconcile without it, and look at everything."""
    bucket = endpoint.make_bucket()
    with opened(endpoint, bucket) as store:
        # A scope that has a catalog; without one, each of the crowd would first make it anew.
        found_scope(store, skills[0].scope)
    with (
        LossyProxy(endpoint.url, seeded(publishers)) as proxy,
        registry_clients(endpoint, CLIENTS, url=proxy.url) as clients,
    ):
        crowd = Crowd(clients, bucket)
        ledger = crowd.run(rounds_of(skills, publishers, rounds), readers, seed=publishers)
    violations = list(ledger.violations)
    with opened(endpoint, bucket) as store:
        for skill in skills:
            violations += log_violations(store, skill, ledger.of(skill), ledger.seen)
        Registry(Settings(), store, Runtime()).reconciler.run()
        violations += derived_violations(store, skills[0].scope, [skill.name for skill in skills])
    return Weathered(
        ledger,
        requests=proxy.count(),
        lost=proxy.count(Fate.LOSE),
        resent_commits=proxy.lost["conditional PUT"],
        refused=proxy.count(Fate.REFUSE),
        violations=violations,
    )
