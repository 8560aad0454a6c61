"""Memory: a count like requests, and as little a matter of the machine."""

from __future__ import annotations

from benchmarks.memory import LARGEST, peak_of_a_publish
from local_stack.emulator import Endpoint


def test_publishing_a_skill_of_16_mib_stays_under_256_mib(
    emulator: Endpoint, stack_environments: None
) -> None:
    assert peak_of_a_publish(emulator, LARGEST) < 256
