"""One simulated world: a bucket, processes over it, clients, and everything that is checked."""

from __future__ import annotations

import random
import traceback
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from simulation.bucket import Bucket, ProcessStore, is_conditional
from simulation.events import EventQueue
from simulation.facts import (
    Asked,
    RevisionChanged,
    SidecarChanged,
    TreeChanged,
    UploadArrived,
    read_change,
)
from simulation.ledger import Ledger
from simulation.scheduler import Call, Crash, Fault, Scheduler, Task, current

from skill_registry.catalog.adopting import AUTHOR
from skill_registry.catalog.runtime import Runtime
from skill_registry.store.base import Page, Written
from skill_registry.web.settings import Settings
from skill_registry.web.wiring import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from simulation.bucket import Change
    from simulation.facts import Fact, Promise
    from simulation.forks import Fork
    from simulation.scheduler import Chooser

    from skill_registry.store.gate import Request

T = TypeVar("T")

START = 1_800_000_000.0
WARM = 3
MOST_STEPS = 20_000


class NoAnswer(Exception):
    """The process that worked for a client is gone, or was not waited for."""


@dataclass(frozen=True, slots=True)
class Violation:
    """An invariant that does not hold, and what shows it."""

    invariant: str
    message: str
    step: int


@dataclass(frozen=True, slots=True)
class Traced:
    """One request of a run, for whoever reads a failure."""

    step: int
    actor: str
    request: Request
    fault: Fault
    result: object

    def __str__(self) -> str:
        condition = f" {self.request.condition}" if self.request.condition else ""
        fault = f"  << {self.fault.value}" if self.fault else ""
        text = f"{self.request.op} {self.request.key}{condition} -> {_brief(self.result)}{fault}"
        return f"{self.step:5} {self.actor:24} {text}"


def _brief(result: object) -> str:
    text = repr(result)
    return text if len(text) <= 90 else type(result).__name__


@dataclass
class World:
    """Everything of one run. The same chooser, seed and actors make the same run.

    Attributes:
        checks: The invariants, by the kind of fact that they are told of.
        warm: How likely a call meets a process that worked before, where one is idle.
    """

    chooser: Chooser
    rng: random.Random
    checks: Mapping[type, tuple[Callable[[World, Fact], str | None], ...]]
    opaque: bool = False
    versioned: bool = False
    settings: Settings = field(default_factory=Settings)
    warm: float = 0.7

    def __post_init__(self) -> None:
        self.time = START
        self.ids = 0
        self.violations: list[Violation] = []
        self.trace: list[Traced] = []
        self.applied: Counter[str] = Counter()
        self.scheduler = Scheduler(self.chooser)
        self.ledger = Ledger(lambda: self.scheduler.steps)
        self.events = EventQueue()
        self.bucket = Bucket(lambda: self.time, opaque_etags=self.opaque, versioned=self.versioned)
        self.bucket.on_change = self._changed
        self.fork: Fork | None = None
        self.unanswered: list[Callable[[], bool]] = []
        self._idle: list[Registry] = []

    @property
    def step(self) -> int:
        """How many requests were chosen so far."""
        return self.scheduler.steps

    def runtime(self, *, parallel: bool = True) -> Runtime:
        """The machine of one process: simulated time, ids that repeat from run to run."""
        runtime = Runtime(
            clock=lambda: self.time,
            monotonic=lambda: self.time,
            new_id=self.new_id,
            pause=self._pause,
        )
        if parallel:
            runtime = Runtime(
                runtime.clock,
                runtime.monotonic,
                runtime.new_id,
                runtime.pause,
                self.scheduler.parallel,
            )
        return runtime

    def process(self) -> Registry:
        """Start a process with an empty memory."""
        store = ProcessStore(self.bucket, self.scheduler, self._sent)
        return Registry(self.settings, store, self.runtime())

    def call(self, name: str, work: Callable[[Registry], T], promise: Promise | None = None) -> T:
        """Let a process work for the running client, a warm one or a cold one.

        Args:
            name: For the trace.
            work: What the process does.
            promise: What it is to publish.

        Raises:
            NoAnswer: The process died.
            RegistryError: What the work raises.
        """
        task = current()
        assert task is not None and task.call is None, name
        warm = self._idle and self.rng.random() < self.warm
        registry = self._idle.pop(self.rng.randrange(len(self._idle))) if warm else self.process()
        task.call = task.latest = Call(name, self.step)
        task.promise = promise
        try:
            return work(registry)
        except Crash as crash:
            raise NoAnswer(name) from crash
        finally:
            if not task.call.dead and len(self._idle) < WARM:
                self._idle.append(registry)
            task.call = task.promise = None

    def spawn(self, name: str, actor: Callable[[], None], *, outsider: bool = False) -> None:
        """Let somebody act from now on. Nobody expects an error but those that are told of."""

        def act() -> None:
            try:
                actor()
            except Exception as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                at = f"{Path(where.filename).name}:{where.lineno}"
                self.broken("l03_no_error_is_a_surprise", f"{name} met {error!r} at {at}")

        self.scheduler.spawn(name, act).outsider = outsider

    def prepare(self, key: str, body: bytes, metadata: Mapping[str, str] | None = None) -> None:
        """Put an object where it has been since before anything is watched."""

        def note(change: Change) -> None:
            fact = read_change(change)
            if fact is not None and not isinstance(fact, UploadArrived):
                self.ledger.apply(fact)

        self.bucket.on_change = note
        self.bucket.put(key, body, metadata=metadata)
        self.bucket.on_change = self._changed

    def act(self, request: Request, work: Callable[[], T]) -> T:
        """Let a client or an outsider do one thing to the bucket, as one step."""
        task = current()
        assert task is not None and task.call is None
        self.scheduler.ask(request)
        result = work()
        self.trace.append(Traced(self.step, task.name, request, Fault.NONE, result))
        return result

    def new_id(self) -> str:
        """Return 32 hex digits that were not there before."""
        self.ids += 1
        return f"{self.ids:032x}"

    def run(self) -> None:
        """Let everybody act until all are done, or an invariant breaks."""
        if not self.scheduler.run(MOST_STEPS):
            self.broken("l01_everything_ends", f"not done after {MOST_STEPS} steps")

    def tell(self, fact: Fact) -> None:
        """Let the invariants look at a fact."""
        for check in self.checks.get(type(fact), ()):
            message = check(self, fact)
            if message is not None:
                self.broken(check.__name__, message)

    def broken(self, invariant: str, message: str) -> None:
        """Take note of a violation, which ends the run."""
        self.violations.append(Violation(invariant, message, self.step))
        self.scheduler.stopped = True

    def _pause(self, attempt: int) -> None:
        self.time += 0.02 * 2 ** min(attempt, 5)

    def _changed(self, change: Change) -> None:
        self.time += 0.01
        self.events.add(change)
        fact = read_change(change)
        if fact is None:
            return
        task = current()
        if isinstance(fact, RevisionChanged):
            self._remember_promise(fact)
        elif isinstance(fact, TreeChanged):
            fact = replace(fact, call=task.call if task else None)
        self.tell(fact)
        if isinstance(fact, UploadArrived):
            return
        self.ledger.apply(fact)
        if isinstance(fact, SidecarChanged) and change.before is None and task and task.call:
            task.call.made[fact.skill] = self.step

    def _remember_promise(self, fact: RevisionChanged) -> None:
        """Without a key, the client's wish gets its upload id only in the process."""
        task = current()
        if fact.info is None or fact.info.author == AUTHOR:
            return
        if task is not None and task.promise is not None:
            self.ledger.promises.setdefault(fact.info.upload_id, task.promise)

    def _sent(self, task: Task, request: Request, fault: Fault, result: object) -> None:
        self.trace.append(Traced(self.step, task.name, request, fault, result))
        self.time += 0.005
        if task.call is None:
            return
        self.tell(Asked(task.call, request))
        if fault is not Fault.RESENT:
            _note(task.call, request, isinstance(result, Written) or result is True, result)
        if isinstance(result, Page):
            task.call.listed[request.key] = self.step


def _note(call: Call, request: Request, won: bool, result: object) -> None:
    """Remember which conditional writes were lost, until they are read."""
    if is_conditional(request):
        if not won:
            call.unread.add(request.key)
    elif result == "not sent":
        return
    elif request.op == "LIST":
        call.unread = {key for key in call.unread if not key.startswith(request.key)}
    else:
        call.unread.discard(request.key)
