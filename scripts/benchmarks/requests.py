"""``bench requests``: how many store requests each operation makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.report import Report
from benchmarks.samples import ADMIN, skill
from skill_registry.catalog.log import NO_PRECONDITION
from skill_registry.catalog.runtime import Runtime
from skill_registry.spec.archive import write_archive
from skill_registry.store.gate import Counter, GatedStore
from skill_registry.store.keys import SkillId
from skill_registry.store.memory import MemorySkillStore
from skill_registry.web.settings import Settings
from skill_registry.web.wiring import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = "measured-skill"
FILES = 12


class _Bench:
    """A bucket with one skill, and registries over it that share a counter."""

    def __init__(self) -> None:
        self.bucket = MemorySkillStore()
        self.counter = Counter()
        self.warm = self.environment()
        self._publish(self.warm, 0)
        self.warm.listing.page(ADMIN)
        self.warm.viewing.view(ADMIN, NAME)

    def environment(self, max_age: int = 0) -> Registry:
        store = GatedStore(self.bucket, self.counter)
        return Registry(Settings(catalog_max_age=max_age), store, Runtime())

    def _publish(self, registry: Registry, salt: int, key: str | None = None) -> None:
        contents = skill(NAME, files=FILES, salt=salt)
        registry.publisher.publish_inline(
            ADMIN, SkillId("system", NAME), contents, idempotency_key=key
        )

    def inline(self) -> Callable[[], object]:
        registry = self.environment()
        return lambda: self._publish(registry, 1, "key")

    def upload(self) -> Callable[[], object]:
        registry = self.environment()
        data = write_archive(skill(NAME, files=FILES, salt=2).files)
        announced = registry.uploader.announce(
            ADMIN, SkillId("system", NAME), precondition=NO_PRECONDITION
        )
        self.bucket.receive(announced.target, data)
        return lambda: registry.uploader.complete(ADMIN, announced.upload.id)

    def aged(self) -> Callable[[], object]:
        registry = self.environment(max_age=3600)
        registry.listing.page(ADMIN)
        return lambda: registry.listing.page(ADMIN)


def run() -> list[Report]:
    """Count the requests of each operation, once; counts do not vary."""
    bench = _Bench()
    cold = bench.environment()
    measured: list[tuple[str, Callable[[], object]]] = [
        ("list, warm", lambda: bench.warm.listing.page(ADMIN)),
        ("list, within CATALOG_MAX_AGE", bench.aged()),
        ("view, warm", lambda: bench.warm.viewing.view(ADMIN, NAME)),
        ("view, cold", lambda: cold.viewing.view(ADMIN, NAME)),
        ("publish an upload, 1 of 12 files changed", bench.upload()),
        ("publish inline with a key, 1 of 12 changed", bench.inline()),
        ("reconcile, nothing to do", lambda: bench.warm.reconciler.run()),
    ]
    rows = []
    for label, call in measured:
        bench.counter.reset()
        call()
        counter = bench.counter
        tree = sum(
            r.op in ("PUT", "DELETE") and r.key.startswith("skills/") and ".version" not in r.key
            for r in counter.requests
        )
        rows.append((label, counter.gets, counter.bodies, counter.puts - tree, tree, counter.lists))
    return [
        Report(
            "Store requests of one operation",
            "Counted at the gate that every request passes.",
            ("operation", "GET+HEAD", "bodies", "PUT", "tree PUT", "LIST"),
            tuple(rows),
        )
    ]
