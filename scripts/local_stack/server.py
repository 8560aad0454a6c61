"""Puts the stack together, in order, and takes it down in the opposite one."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx

from local_stack import resources
from local_stack.bundled import publish_folder, skill_folders
from local_stack.emulator import HOST, ROOT, Credentials, Emulator, Endpoint, bound_socket
from local_stack.environments import Launch
from local_stack.errors import StackError
from local_stack.events import QueueFeed, schedule_event
from local_stack.files import FileLock, Lifeline, make_folder
from local_stack.functions import running_functions
from local_stack.gateway import Gateway
from local_stack.http_events import LOCAL_ADMINISTRATOR
from local_stack.routing import RouteTable
from local_stack.runtime_api import serving
from local_stack.template import Template, read_template
from local_stack.virtualenvs import interpreter

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from local_stack.environments import Pool
    from local_stack.template import Function

LOG = logging.getLogger("local_stack")
RECONCILE_EVERY = 900.0
RECONCILE_EVERY_WITHOUT_EVENTS = 60.0
FIRST_RECONCILE_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says.

    Attributes:
        layers: Import path of the handlers, besides their own folder.
        port: 0 takes any free one.
        store: Address of an S3 endpoint that already runs; None starts the embedded one.
        credentials: Keys for ``store``.
        skills: Folder of the skills to publish at the start; None publishes none.
        environments: Processes for each function.
        reconcile_every: Seconds; None decides by whether there are events.
    """

    template: Path
    parameters: Mapping[str, str]
    layers: Sequence[Path]
    data: Path
    port: int = 0
    store: str | None = None
    credentials: Credentials = ROOT
    bucket: str = "skill-registry"
    skills: Path | None = None
    environments: int = 2
    reconcile_every: float | None = None


class Stack:
    """The whole stack. ``say`` prints one line of progress."""

    def __init__(self, options: Options, say: Callable[[str], None]) -> None:
        self.options = options
        self._say = say
        self._emulator: Emulator | None = None
        self._pools: Mapping[str, Pool] = {}
        self._parts = contextlib.AsyncExitStack()

    async def run(self) -> None:
        """Start everything, say ``ready: URL``, and go on until SIGINT, SIGTERM or SIGHUP.

        Raises:
            StackError: Something cannot be started, or the embedded S3 ends by itself.
        """
        _cancel_on_signals()
        with contextlib.suppress(asyncio.CancelledError):
            async with self._parts:
                self._say(f"ready: {await self._start()}")
                while self._emulator is None or self._emulator.poll() is None:
                    await asyncio.sleep(0.5)
                log = self.options.data / "logs" / "emulator.log"
                raise StackError(f"The embedded S3 ended by itself; see {log}.")

    async def _start(self) -> str:
        options = self.options
        template = read_template(options.template, options.bucket, options.parameters)
        self._own_data()
        listener = self._listen()
        endpoint = self._open_store()
        resources.make_bucket(endpoint, options.bucket)
        queue = self._open_queue(template, endpoint)
        lifeline = Lifeline()
        self._parts.callback(lifeline.close)
        launches = [self._launch(function, endpoint) for function in template.functions]
        self._pools = await self._parts.enter_async_context(
            running_functions(launches, options.environments, lifeline)
        )
        port = listener.getsockname()[1]
        gateway = Gateway(RouteTable(template.routes), self._pools, port)
        await self._parts.enter_async_context(serving(gateway, [listener]))
        await self._begin_events(template, endpoint, queue)
        address = f"http://{HOST}:{port}"
        if options.skills is not None:
            await self._publish(address, options.skills)
        self._note(address, endpoint, queue)
        return address

    def _own_data(self) -> None:
        data = self.options.data
        make_folder(data / "logs")
        lock = FileLock(data / "server.lock")
        self._parts.callback(lock.close)
        if not lock.acquire():
            raise StackError(
                f"{data} is in use by another server (process {lock.owner()}); "
                "end that one, or choose another folder with --data."
            )
        lock.name_owner(os.getpid())
        # That of the last run would name a port that is no longer ours.
        (data / "server.json").unlink(missing_ok=True)

    def _listen(self) -> socket.socket:
        port = self.options.port
        try:
            listener = bound_socket(port)
            self._parts.callback(listener.close)
            # Only a listening socket keeps others off the port.
            listener.listen(100)
        except OSError as error:
            raise StackError(
                f"Port {port} cannot be opened ({error.strerror}); "
                "choose another with --port, 0 takes any free one."
            ) from error
        return listener

    def _open_store(self) -> Endpoint:
        if self.options.store is not None:
            return Endpoint(self.options.store.rstrip("/"), self.options.credentials)
        self._emulator = Emulator(self.options.data)
        self._parts.callback(self._emulator.stop)
        self._emulator.start()
        endpoint = self._emulator.endpoint
        self._say(f"store: {endpoint.url} bucket {self.options.bucket}")
        return endpoint

    def _open_queue(self, template: Template, endpoint: Endpoint) -> str | None:
        if template.queue is None:
            return None
        queue = resources.make_queue(endpoint, self.options.bucket, template.queue, template.rules)
        if queue is None:
            self._say("The store has no queue: changes made in it directly wait for a reconcile.")
        return queue

    def _launch(self, function: Function, endpoint: Endpoint) -> Launch:
        options = self.options
        if self._emulator is not None:
            keys = resources.make_keys(endpoint, options.bucket, function)
            endpoint = Endpoint(endpoint.url, keys)
        return Launch(
            function=function,
            python=interpreter("runtime"),
            import_path=options.layers,
            variables={
                **endpoint.environment(),
                "REGISTRY_BUCKET": options.bucket,
                "REGISTRY_ADMINISTRATORS": LOCAL_ADMINISTRATOR,
            },
            log=(options.data / "logs" / f"{function.name}.log").resolve(),
            temporary=make_folder(options.data / "tmp").resolve(),
        )

    async def _begin_events(
        self, template: Template, endpoint: Endpoint, queue: str | None
    ) -> None:
        with contextlib.suppress(TimeoutError):
            # What events were lost with the last run is repaired before anyone reads.
            async with asyncio.timeout(FIRST_RECONCILE_SECONDS):
                await self._reconcile(template)
        if template.queue is not None and queue is not None:
            pool = self._pools[template.queue.function]
            feed = QueueFeed(endpoint, queue, template.queue.batch_size, pool.invoke)
            self._parts.callback(feed.stop)
            feed.start()
        default = RECONCILE_EVERY if queue is not None else RECONCILE_EVERY_WITHOUT_EVENTS
        every = self.options.reconcile_every or default
        task = asyncio.create_task(self._reconcile_every(template, every))
        self._parts.callback(task.cancel)

    async def _reconcile_every(self, template: Template, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            await self._reconcile(template)

    async def _reconcile(self, template: Template) -> None:
        for schedule in template.schedules:
            outcome = await self._pools[schedule.function].invoke(schedule_event(schedule))
            if not outcome.succeeded:
                log = self.options.data / "logs" / f"{schedule.function}.log"
                self._say(f"warning: the reconcile did not succeed; see {log}")

    async def _publish(self, address: str, skills: Path) -> None:
        folders = skill_folders(skills)
        # The user's proxy settings are not for the loopback address.
        async with httpx.AsyncClient(base_url=address, timeout=60, trust_env=False) as client:
            for folder in folders:
                reason = await publish_folder(client, folder)
                if reason is not None:
                    self._say(f"warning: not published: {reason}")
        self._say(f"skills: {len(folders)} from {skills}")

    def _note(self, address: str, endpoint: Endpoint, queue: str | None) -> None:
        note = {
            "process": os.getpid(),
            "url": address,
            "store": endpoint.url,
            "bucket": self.options.bucket,
            "queue": queue,
        }
        (self.options.data / "server.json").write_text(json.dumps(note, indent=2) + "\n")


def _cancel_on_signals() -> None:
    """Cancel the current task at the first signal; more of them change nothing."""
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    asked: list[int] = []

    def stop(number: int) -> None:
        if not asked:
            task.cancel()
        asked.append(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop, number)
