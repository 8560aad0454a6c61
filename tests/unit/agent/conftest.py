"""A registry behind a socket, and a client that does not really sleep."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from loopback import QUICK, Loopback
from toolkit import KINDS, Agents

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


@pytest.fixture(params=KINDS)
def agents(registry: Loopback, request: pytest.FixtureRequest) -> Iterator[Agents]:
    """Skillsets over the registry, sync ones and async ones."""
    made = Agents(registry, request.param)
    yield made
    made.close()
