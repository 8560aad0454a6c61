"""Starts the processes of every function, and the Runtime API that serves them."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from local_stack.emulator import bound_socket
from local_stack.environments import Environment, Launch, Pool
from local_stack.errors import StackError
from local_stack.runtime_api import runtime_api, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from local_stack.files import Lifeline

WARM_SECONDS = 60.0


@contextlib.asynccontextmanager
async def running_functions(
    launches: Sequence[Launch], environments: int, lifeline: Lifeline
) -> AsyncIterator[Mapping[str, Pool]]:
    """Run ``environments`` processes of each function while the context lasts.

    Yields the pools by the functions' names, once each has a process that waits for work; the
    others get ready meanwhile.

    Raises:
        StackError: A function cannot be started.
    """
    pools: dict[str, Pool] = {}
    by_port: dict[int, Environment] = {}
    sockets = []
    for launch in launches:
        pool = pools[launch.function.name] = Pool(launch.function)
        for _ in range(environments):
            listener = bound_socket(0)
            sockets.append(listener)
            port = listener.getsockname()[1]
            by_port[port] = Environment(launch, pool, port, lifeline)
    async with serving(runtime_api(by_port), sockets):
        try:
            for environment in by_port.values():
                environment.start()
            await asyncio.gather(
                *(_warm(pools[launch.function.name], launch) for launch in launches)
            )
            yield pools
        finally:
            await asyncio.gather(*(environment.stop() for environment in by_port.values()))


async def _warm(pool: Pool, launch: Launch) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(WARM_SECONDS):
            if await pool.wait_until_warm():
                return
    raise StackError(f"The function {launch.function.name} does not start; see {launch.log}.")
