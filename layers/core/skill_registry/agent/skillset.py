"""``Skillset``: the skills of one agent in one task, for a loop that is sync or async."""

from __future__ import annotations

import inspect
import json
import logging
import threading
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from skill_registry.agent.options import read_options
from skill_registry.agent.session import Session, read_word
from skill_registry.agent.steps import take, take_async
from skill_registry.agent.tools import LIST_SKILLS, USE_SKILL, VIEW_SKILL
from skill_registry.errors import RequestInvalid

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Collection, Iterator

    from skill_registry.agent.answers import ListedSkill
    from skill_registry.agent.lockfile import Lock
    from skill_registry.agent.options import SkillsetOptions
    from skill_registry.agent.session import Stale
    from skill_registry.agent.source import AsyncSkillSource, SkillSource
    from skill_registry.agent.steps import Flow, Tell
    from skill_registry.agent.tool_answers import SkillAnswer
    from skill_registry.agent.tools import ToolDefinition
    from skill_registry.errors import RegistryError

T = TypeVar("T")
# The lock of what is no single skill's. No skill has an empty name.
_WHOLE = ""
# Skills that share one wait for each other, and that is all.
_LOCKS = 32
_LOG = logging.getLogger("skill_registry.agent")


class _Offered:
    """What a skillset tells without waiting."""

    def __init__(self, available: bool, options: SkillsetOptions) -> None:
        self._session = Session(read_options(options), available=available)

    @property
    def skills(self) -> tuple[ListedSkill, ...]:
        """What is listed in this turn."""
        return self._session.skills

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools, also of those that a turn without skills does not offer."""
        return self._session.tools

    @property
    def problem(self) -> RegistryError | None:
        """Why this turn has no listing of its own; None where it has."""
        return self._session.problem

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """Return the tools to offer, with the names of this turn; none where no skill is listed.

        Before the first listing, names are not limited.
        """
        return self._session.definitions()


class Skillset(_Offered):
    """An agent's skills through a task. A turn begins with each ``instructions`` or ``refresh``.

    May be shared by the threads of one agent. What answers a model never raises; what answers a
    program (``refresh``, ``stale``, ``pin``, ``lock``) raises ``RegistryError``.

    Args:
        source: A registry or directories; None is an agent without skills, whose tools say so.
        options: As ``SkillsetOptions`` has them.

    Raises:
        RequestInvalid: An option means nothing.
    """

    def __init__(self, source: SkillSource | None, **options: Unpack[SkillsetOptions]) -> None:
        super().__init__(source is not None, options)
        if inspect.iscoroutinefunction(options.get("publish")):
            raise RequestInvalid(
                "A sync skillset cannot await what it publishes to.", code="option_invalid"
            )
        self._source: Any = source
        self._locks = [threading.Lock() for _ in range(_LOCKS)]

    def instructions(self, tool_keys: Collection[str] | None = None) -> str:
        """Begin a turn; return what to append to the prompt.

        An unchanged listing costs a 304. Where there is none to be had, the last one is shown, and
        ``problem`` tells; where there never was one, the block says so.

        Args:
            tool_keys: The agent's tools; without the one that loads a skill there is no block.

        Returns:
            "" where there is nothing to show, so that the prompt stays as it is; else a text that
            begins with a blank line.
        """
        return self._take(self._session.instructions(tool_keys), _WHOLE)

    def refresh(self) -> None:
        """Begin a turn. Raises RegistryError where the skills cannot be listed."""
        self._take(self._session.refresh(), _WHOLE)

    def view_skill(self, name: str, path: str | None = None) -> SkillAnswer:
        """Return a skill's body, or the file at ``path``."""
        return self._asked(VIEW_SKILL, name, path)

    def use_skill(self, name: str) -> SkillAnswer:
        """Return a skill's body (seed 2)."""
        return self._asked(USE_SKILL, name)

    def list_skills(self) -> SkillAnswer:
        """Return what is listed in this turn."""
        return self._take(self._session.answer(LIST_SKILLS), _WHOLE)

    def call(self, tool: str, arguments: object = None) -> SkillAnswer:
        """Answer the call of a tool by a model.

        Args:
            tool: Its name.
            arguments: Its arguments, as an object or as JSON text; anything else is answered too.
        """
        return self._asked(tool, *read_arguments(arguments))

    def expand(self, text: str) -> str:
        """Return a user's text with the skill that ``/skill:name arguments`` asks for.

        Also one that no listing shows. Any other text, and one whose skill cannot be loaded, comes
        back as it is.
        """
        return self._take(self._session.expand(text), _WHOLE)

    def stale(self) -> dict[str, Stale]:
        """Return what is listed otherwise than it was loaded, by name; gone skills too."""
        return self._take(self._session.stale(), _WHOLE)

    def pin(self, pins: Mapping[str, int | str]) -> None:
        """List and load these skills at these versions from now on.

        Args:
            pins: By name, numbers or labels (``@stable``). A label is what it means now.

        Raises:
            RegistryError: One cannot be loaded; then nothing is pinned.
        """
        self._take(self._session.pin(pins), _WHOLE)

    def lock(self) -> Lock:
        """Return what is listed in this turn, for a run that is to be repeated."""
        return self._take(self._session.lock(), _WHOLE)

    def _asked(self, tool: str, name: object, path: object = None) -> SkillAnswer:
        asked, file = read_word(name), None if path is None else read_word(path)
        return self._take(self._session.answer(tool, asked, file), asked)

    def _take(self, flow: Flow[T], key: str) -> T:
        told: list[Tell] = []
        with self._locks[hash(key) % _LOCKS]:
            result = take(flow, self._source, told)
        for event in told:
            with _unharmed():
                event.call()
        return result


class AsyncSkillset(_Offered):
    """``Skillset``, awaited; for the tasks of one event loop. ``publish`` may be async."""

    def __init__(self, source: AsyncSkillSource | None, **options: Unpack[SkillsetOptions]) -> None:
        super().__init__(source is not None, options)
        self._source: Any = source
        self._locks: list[asyncio.Lock] = []

    async def instructions(self, tool_keys: Collection[str] | None = None) -> str:
        """As ``Skillset.instructions``."""
        return await self._take(self._session.instructions(tool_keys), _WHOLE)

    async def refresh(self) -> None:
        """As ``Skillset.refresh``."""
        await self._take(self._session.refresh(), _WHOLE)

    async def view_skill(self, name: str, path: str | None = None) -> SkillAnswer:
        """As ``Skillset.view_skill``."""
        return await self._asked(VIEW_SKILL, name, path)

    async def use_skill(self, name: str) -> SkillAnswer:
        """As ``Skillset.use_skill``."""
        return await self._asked(USE_SKILL, name)

    async def list_skills(self) -> SkillAnswer:
        """As ``Skillset.list_skills``."""
        return await self._take(self._session.answer(LIST_SKILLS), _WHOLE)

    async def call(self, tool: str, arguments: object = None) -> SkillAnswer:
        """As ``Skillset.call``."""
        return await self._asked(tool, *read_arguments(arguments))

    async def expand(self, text: str) -> str:
        """As ``Skillset.expand``."""
        return await self._take(self._session.expand(text), _WHOLE)

    async def stale(self) -> dict[str, Stale]:
        """As ``Skillset.stale``."""
        return await self._take(self._session.stale(), _WHOLE)

    async def pin(self, pins: Mapping[str, int | str]) -> None:
        """As ``Skillset.pin``."""
        await self._take(self._session.pin(pins), _WHOLE)

    async def lock(self) -> Lock:
        """As ``Skillset.lock``."""
        return await self._take(self._session.lock(), _WHOLE)

    async def _asked(self, tool: str, name: object, path: object = None) -> SkillAnswer:
        asked, file = read_word(name), None if path is None else read_word(path)
        return await self._take(self._session.answer(tool, asked, file), asked)

    async def _take(self, flow: Flow[T], key: str) -> T:
        # At import this would cost every sync agent.
        import asyncio

        told: list[Tell] = []
        if not self._locks:
            self._locks = [asyncio.Lock() for _ in range(_LOCKS)]
        async with self._locks[hash(key) % _LOCKS]:
            result = await take_async(flow, self._source, told)
        for event in told:
            with _unharmed():
                done = event.call()
                if inspect.isawaitable(done):
                    await done
        return result


@contextmanager
def _unharmed() -> Iterator[None]:
    """A callback that fails costs the model nothing."""
    try:
        yield
    except Exception as error:
        _LOG.exception("The callback of an event failed.", exc_info=error)


def read_arguments(arguments: object) -> tuple[object, object]:
    """Return name and path of a model's call: an object or its JSON text, or whatever was sent."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            arguments = None
    if not isinstance(arguments, Mapping):
        return None, None
    return arguments.get("name"), arguments.get("path")
