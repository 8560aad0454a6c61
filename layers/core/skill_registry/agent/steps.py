"""Work that waits, written once for sync and async agents.

A flow is a generator: what it yields is a step that waits for a source or for the disk, and what
it returns is its result. ``take`` and ``take_async`` take the steps.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from skill_registry.agent.source import AsyncSkillSource, SkillSource

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ask:
    """A step that asks the source; what the call returns is awaited where the source is async."""

    call: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class OnDisk:
    """A step that reads or writes files; async agents take it in a thread."""

    call: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Tell:
    """A step that calls back; what the callback returns is awaited where it can be."""

    call: Callable[[], object]


Step = Ask | OnDisk | Tell
Flow = Generator[Step, Any, T]


def ask(call: Callable[[SkillSource], T]) -> Flow[T]:
    """Ask the source within a flow: ``listing = yield from ask(...)``."""
    value: T = yield Ask(call)
    return value


def on_disk(call: Callable[[], T]) -> Flow[T]:
    """Touch files within a flow."""
    value: T = yield OnDisk(call)
    return value


def tell(call: Callable[[], object]) -> Flow[None]:
    """Call back within a flow."""
    yield Tell(call)


def take(flow: Flow[T], source: SkillSource) -> T:
    """Take every step of a flow, and return what it returns. Raises what it raises."""
    outcome: Callable[[], Step] = flow.__next__
    while True:
        try:
            step = outcome()
        except StopIteration as done:
            result: T = done.value
            return result
        try:
            value = step.call(source) if isinstance(step, Ask) else step.call()
        except BaseException as error:
            outcome = _raising(flow, error)
        else:
            outcome = _sending(flow, value)


async def take_async(flow: Flow[T], source: AsyncSkillSource) -> T:
    """``take``, awaited."""
    outcome: Callable[[], Step] = flow.__next__
    while True:
        try:
            step = outcome()
        except StopIteration as done:
            result: T = done.value
            return result
        try:
            value = await _taken(step, source)
        except BaseException as error:
            outcome = _raising(flow, error)
        else:
            outcome = _sending(flow, value)


async def _taken(step: Step, source: AsyncSkillSource) -> Any:
    match step:
        case Ask(call):
            return await call(source)
        case OnDisk(call):
            # At import this would cost every sync agent.
            import asyncio

            return await asyncio.to_thread(call)
        case Tell(call):
            told = call()
            return await told if inspect.isawaitable(told) else told


def _sending(flow: Flow[Any], value: object) -> Callable[[], Step]:
    return lambda: flow.send(value)


def _raising(flow: Flow[Any], error: BaseException) -> Callable[[], Step]:
    return lambda: flow.throw(error)
