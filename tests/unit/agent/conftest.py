"""A registry behind a socket, and a client that does not really sleep."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from loopback import QUICK, Loopback

from skill_registry.agent.client import RegistryClient

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def registry() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


@pytest.fixture
def naps() -> list[float]:
    """Seconds that the client slept, had it slept."""
    return []


@pytest.fixture
def client(registry: Loopback, naps: list[float]) -> Iterator[RegistryClient]:
    with RegistryClient(registry.url, retry=QUICK, sleep=naps.append) as made:
        yield made
