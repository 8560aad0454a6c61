"""Runs targets on generated inputs in small seeded batches, and watches memory and time.

A batch is a run of Hypothesis, which shrinks what it finds. Its examples and its memory are gone
with it, so that a campaign can go on for hours.
"""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, Phase, given, seed, settings

from benchmarks.peak import peak_bytes
from skill_registry.errors import RegistryError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fuzzing.inputs import Source

EXAMPLES = 100
# To make an input takes Hypothesis longer than to check twenty.
VARIANTS = 30
# Of one process, over what it had after the first batch of each target: an archive may unpack to
# 16 MiB, and is held once packed and once unpacked.
MOST_GROWTH = 128 * 1024 * 1024
# What a bomb may cost, in seconds of the processor.
MOST_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Target:
    """What is fed to what."""

    source: Source
    check: Callable[[bytes], None]


@dataclass(frozen=True, slots=True)
class Finding:
    """An input for which something does not hold.

    Attributes:
        seed: Of the batch; with the same versions of the tools it finds the input again.
    """

    target: str
    seed: int
    data: bytes = field(repr=False)
    reason: str


@dataclass(slots=True)
class Watch:
    """Feeds one target and remembers its worst inputs."""

    target: Target
    count: int = 0
    slowest: tuple[float, bytes] = (0.0, b"")
    hungriest: tuple[int, bytes] = (0, b"")
    failing: bytes = b""

    def feed_all(self, data: bytes) -> None:
        """Check an input and its variants."""
        self.feed(data)
        for variant in self.target.source.variants(data, VARIANTS):
            self.feed(variant)

    def feed(self, data: bytes) -> None:
        """Check one input. What it raises is a finding, unless it is one of our errors."""
        self.count += 1
        before, start = _high_water(), time.process_time()
        try:
            self.target.check(data)
        except RegistryError:
            pass
        except BaseException:
            self.failing = data
            raise
        taken, grown = time.process_time() - start, _high_water() - before
        self.slowest = max(self.slowest, (taken, data))
        self.hungriest = max(self.hungriest, (grown, data))


@dataclass(slots=True)
class Campaign:
    """Alternates between targets, batch by batch, until it is told to stop."""

    targets: Mapping[str, Target]
    seed: int
    keep_going: Callable[[], bool]
    watches: dict[str, Watch] = field(default_factory=dict)
    baseline: int = 0

    def run(self) -> Finding | None:
        """Return the first finding, None where there is none."""
        self.watches = {name: Watch(target) for name, target in self.targets.items()}
        number = 0
        while self.keep_going():
            for name, watch in self.watches.items():
                number += 1
                # Seeds of campaigns that were started one after the other do not overlap.
                batch = self.seed * 1_000_000 + number
                if (reason := self._batch(watch, batch)) is not None:
                    return Finding(name, batch, *reason)
            self.baseline = self.baseline or peak_bytes()
        return None

    @property
    def growth(self) -> int:
        """Bytes by which the most memory that the process had grew since the first batches."""
        return peak_bytes() - self.baseline if self.baseline else 0

    def _batch(self, watch: Watch, number: int) -> tuple[bytes, str] | None:
        @seed(number)
        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
            print_blob=False,
        )
        @given(watch.target.source.inputs)
        def feed(data: bytes) -> None:
            if self.keep_going():
                watch.feed_all(data)

        try:
            feed()
        except Exception as broken:
            return watch.failing, f"{type(broken).__name__}: {broken}"
        seconds, slow = watch.slowest
        if seconds > MOST_SECONDS:
            return slow, f"it took {seconds:.2f} s of the processor"
        if self.growth > MOST_GROWTH:
            return watch.hungriest[1], f"memory grew by {self.growth // 2**20} MiB"
        return None


def _high_water() -> int:
    """Return the most memory that there ever was; in another unit on another system."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
