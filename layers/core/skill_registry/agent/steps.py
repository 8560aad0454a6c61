"""Work that waits, written once for sync and async agents.

A flow is a generator: what it yields is a step that waits for a source or for the disk, and what
it returns is its result. ``take`` and ``take_async`` take the steps.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from skill_registry.agent.problems import SourceFailed
from skill_registry.errors import RegistryError

if TYPE_CHECKING:
    from skill_registry.agent.source import AsyncSkillSource, SkillSource

T = TypeVar("T")
_LOG = logging.getLogger("skill_registry.agent")


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
    """A callback. It is made once the flow has ended, before its result is returned."""

    call: Callable[[], object]


Step = Ask | OnDisk | Tell
Flow = Generator[Step, Any, T]


def ask(call: Callable[[SkillSource], T]) -> Flow[T]:
    """Ask the source within a flow: ``listing = yield from ask(...)``.

    Raises:
        RegistryError: What the source raises, or ``source_failed`` for what it should not.
    """
    try:
        value: T = yield Ask(call)
    except RegistryError:
        raise
    except Exception as error:
        _LOG.exception("A source of skills failed.", exc_info=error)
        raise SourceFailed(f"The source of skills failed: {type(error).__name__}.") from error
    return value


def on_disk(call: Callable[[], T]) -> Flow[T]:
    """Touch files within a flow."""
    value: T = yield OnDisk(call)
    return value


def tell(call: Callable[[], object]) -> Flow[None]:
    """Call back within a flow."""
    yield Tell(call)


def take(flow: Flow[T], source: SkillSource, told: list[Tell]) -> T:
    """Take every step of a flow, and return what it returns. Raises what it raises.

    What it wants to be told is put into ``told``: a callback may ask for skills itself.
    """
    outcome: Callable[[], Step] = flow.__next__
    while True:
        try:
            step = outcome()
        except StopIteration as done:
            result: T = done.value
            return result
        try:
            value = _taken_at_once(step, source, told)
        except BaseException as error:
            outcome = partial(flow.throw, error)
        else:
            outcome = partial(flow.send, value)


async def take_async(flow: Flow[T], source: AsyncSkillSource, told: list[Tell]) -> T:
    """``take``, awaited."""
    outcome: Callable[[], Step] = flow.__next__
    while True:
        try:
            step = outcome()
        except StopIteration as done:
            result: T = done.value
            return result
        try:
            value = await _taken(step, source, told)
        except BaseException as error:
            outcome = partial(flow.throw, error)
        else:
            outcome = partial(flow.send, value)


def _taken_at_once(step: Step, source: SkillSource, told: list[Tell]) -> Any:
    match step:
        case Ask(call):
            return call(source)
        case OnDisk(call):
            return call()
        case Tell():
            told.append(step)


async def _taken(step: Step, source: AsyncSkillSource, told: list[Tell]) -> Any:
    match step:
        case Ask(call):
            return await call(source)
        case OnDisk(call):
            # At import this would cost every sync agent.
            import asyncio

            return await asyncio.to_thread(call)
        case Tell():
            told.append(step)
