"""A registry behind a socket, and a client that does not really sleep."""

from __future__ import annotations

import asyncio
import logging
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, cast

import pytest
from loopback import QUICK, Loopback
from toolkit import KINDS, Agents, Awaited

from skill_registry.agent.async_client import AsyncRegistryClient
from skill_registry.agent.client import RegistryClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


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
def connect(
    registry: Loopback, naps: list[float], request: pytest.FixtureRequest
) -> Iterator[Callable[..., RegistryClient]]:
    """What makes clients of the registry, sync ones or async ones; none really sleeps."""

    async def nap(seconds: float) -> None:
        naps.append(seconds)

    with ExitStack() as stack:
        runner = stack.enter_context(asyncio.Runner())

        def make(**options: Any) -> RegistryClient:
            if request.param == "sync":
                client = RegistryClient(registry.url, retry=QUICK, sleep=naps.append, **options)
                return stack.enter_context(client)
            made = AsyncRegistryClient(registry.url, retry=QUICK, sleep=nap, **options)
            stack.callback(lambda: runner.run(made.aclose()))
            return cast(RegistryClient, Awaited(made, runner))

        yield make


@pytest.fixture
def reader(connect: Callable[..., RegistryClient]) -> RegistryClient:
    """A client that only reads, sync or async."""
    return connect()


@pytest.fixture(params=KINDS)
def agents(registry: Loopback, request: pytest.FixtureRequest) -> Iterator[Agents]:
    """Skillsets over the registry, sync ones and async ones."""
    made = Agents(registry, request.param)
    yield made
    made.close()


@pytest.fixture
def agent_log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What the toolkit logs, also where a handler of the service's took its logger over."""
    logger = logging.getLogger("skill_registry.agent")
    logger.addHandler(caplog.handler)
    yield caplog
    logger.removeHandler(caplog.handler)
