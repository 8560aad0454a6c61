"""Execution environments: one process each, one invocation at a time, with a memory of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
import uuid
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from local_stack.template import ACCOUNT, REGION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from local_stack.files import Lifeline
    from local_stack.template import Function

PAYLOAD_BYTES = 6 * 1024 * 1024
RESTART_SECONDS = (0.0, 0.2, 1.0, 5.0)
STOP_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Invocation:
    """What an environment is asked to do; ``deadline`` is in milliseconds since the epoch."""

    id: str
    payload: bytes
    deadline: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an invocation: ``response``, ``error``, ``timeout`` or ``exit``."""

    kind: str
    body: bytes = b""

    @property
    def succeeded(self) -> bool:
        """Whether the function returned a result."""
        return self.kind == "response"


@dataclass(frozen=True, slots=True)
class Launch:
    """How the processes of one function are started."""

    function: Function
    python: Path
    import_path: Sequence[Path]
    variables: Mapping[str, str]
    log: Path
    temporary: Path


class Environment:
    """One slot of a function: a process, replaced when it ends, and the port it is served on."""

    def __init__(self, launch: Launch, pool: Pool, port: int, lifeline: Lifeline) -> None:
        self.launch = launch
        self.pool = pool
        self.port = port
        self.lifeline = lifeline
        self.process: asyncio.subprocess.Process | None = None
        self._waiting: asyncio.Future[Invocation] | None = None
        self._running: str | None = None
        self._outcome: asyncio.Future[Outcome] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._initialised = False

    def start(self) -> None:
        """Start the process, and keep starting it again until ``stop``."""
        self._keeper = asyncio.create_task(self._keep())

    async def stop(self) -> None:
        """End the process and everything that waits for it."""
        if self._keeper is not None:
            self._keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._keeper
        self._process_is_gone()

    async def next(self) -> Invocation | None:
        """Wait for work, on behalf of the process; None when the process is gone meanwhile."""
        self._initialised = True
        waiting: asyncio.Future[Invocation] = asyncio.get_running_loop().create_future()
        self._waiting = waiting
        self.pool.is_idle(self)
        try:
            return await waiting
        except asyncio.CancelledError:
            if waiting is self._waiting:
                raise
            return None

    def begin(self, payload: bytes, outcome: asyncio.Future[Outcome]) -> None:
        """Hand an event to the idle process; at the function's timeout it is killed."""
        assert self._waiting is not None
        timeout = self.launch.function.timeout
        invocation = Invocation(
            str(uuid.uuid4()), payload, deadline=int((time.time() + timeout) * 1000)
        )
        self._running, self._outcome = invocation.id, outcome
        self._timer = asyncio.get_running_loop().call_later(timeout, self._time_out)
        waiting, self._waiting = self._waiting, None
        waiting.set_result(invocation)

    def finish(self, invocation: str, outcome: Outcome) -> bool:
        """Take an outcome from the process; False when it is not working on that invocation."""
        if self._running is None or self._running != invocation:
            return False
        self._complete(outcome)
        return True

    def kill(self) -> None:
        """End the process at once; it is replaced."""
        if self.process is not None and self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()

    def _complete(self, outcome: Outcome) -> None:
        if self._timer is not None:
            self._timer.cancel()
        # A caller that no longer waits has cancelled its future; the work is done all the same.
        if self._outcome is not None and not self._outcome.done():
            self._outcome.set_result(outcome)
        self._running = self._outcome = self._timer = None

    def _time_out(self) -> None:
        timeout = self.launch.function.timeout
        self._say(f"{self._running} Task timed out after {timeout:.2f} seconds")
        self._complete(Outcome("timeout"))
        self.kill()

    async def _keep(self) -> None:
        failures = 0
        while True:
            await asyncio.sleep(RESTART_SECONDS[min(failures, len(RESTART_SECONDS) - 1)])
            self._initialised = False
            self.process = await self._spawn()
            try:
                status = await self.process.wait()
            finally:
                await self._end()
            self._process_is_gone()
            self._say(f"The process ended with status {status}; another takes its place")
            failures = 0 if self._initialised else failures + 1
            if failures:
                self.pool.failed_to_start()

    async def _spawn(self) -> asyncio.subprocess.Process:
        launch = self.launch
        with launch.log.open("ab") as output:
            return await asyncio.create_subprocess_exec(
                str(launch.python),
                "-P",
                str(Path(__file__).with_name("handler_process.py")),
                str(self.lifeline.read_end),
                launch.function.handler,
                cwd=launch.function.code,
                env=self._variables(),
                pass_fds=(self.lifeline.read_end,),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=asyncio.subprocess.STDOUT,
                # A Ctrl-C in the terminal is for the server, which then ends its children in order.
                start_new_session=True,
            )

    async def _end(self) -> None:
        process = self.process
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            self.kill()
            await process.wait()

    def _process_is_gone(self) -> None:
        self.pool.is_gone(self)
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            waiting.cancel()
        self._complete(Outcome("exit"))

    def _say(self, line: str) -> None:
        with self.launch.log.open("a", encoding="utf-8") as log:
            log.write(line + "\n")

    def _variables(self) -> dict[str, str]:
        function = self.launch.function
        return {
            "PATH": os.defpath,
            "LANG": "en_US.UTF-8",
            "TZ": ":UTC",
            "HOME": str(self.launch.temporary),
            "TMPDIR": str(self.launch.temporary),
            "PYTHONPATH": os.pathsep.join(map(str, (function.code, *self.launch.import_path))),
            "LAMBDA_TASK_ROOT": str(function.code),
            "_HANDLER": function.handler,
            "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self.port}",
            "AWS_LAMBDA_FUNCTION_NAME": function.name,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory),
            "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{function.name}",
            "AWS_LAMBDA_LOG_STREAM_NAME": uuid.uuid4().hex,
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "AWS_EXECUTION_ENV": "AWS_Lambda_python3.13",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            # Nothing of the user's own AWS account may reach a local function.
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            **function.environment,
            **self.launch.variables,
        }


class Pool:
    """The environments of one function. The one that has been idle longest gets the next event.

    So consecutive requests meet different memories, and a cache that is not revalidated shows.
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self._idle: deque[Environment] = deque()
        self._queued: deque[tuple[bytes, asyncio.Future[Outcome]]] = deque()
        self._failures = 0
        self._decided = asyncio.Event()

    @property
    def arn(self) -> str:
        """The function's ARN, as its context shows it."""
        return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{self.function.name}"

    async def wait_until_warm(self) -> bool:
        """Wait until an environment is idle; False when it could not be started twice."""
        await self._decided.wait()
        return self._failures == 0

    async def invoke(self, payload: bytes) -> Outcome:
        """Work on one event, as soon as an environment is idle. Payloads are JSON text.

        A caller that stops waiting does not stop a function that has begun; neither does Lambda's.
        """
        outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        if self._idle:
            self._idle.popleft().begin(payload, outcome)
        else:
            self._queued.append((payload, outcome))
        return await outcome

    def is_idle(self, environment: Environment) -> None:
        """Take an environment that waits for work."""
        self._failures = 0
        self._decided.set()
        while self._queued:
            payload, outcome = self._queued.popleft()
            if not outcome.done():
                environment.begin(payload, outcome)
                return
        self._idle.append(environment)

    def is_gone(self, environment: Environment) -> None:
        """Forget an environment whose process ended."""
        with contextlib.suppress(ValueError):
            self._idle.remove(environment)

    def failed_to_start(self) -> None:
        """Note that a process ended before it waited for work."""
        self._failures += 1
        if self._failures > 1:
            self._decided.set()
