"""One agent's skills through one task: what it is shown, what it loaded, what it is told.

Flows only: ``skillset.py`` takes their steps, for sync and for async agents.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skill_registry.agent import prompt
from skill_registry.agent.answers import ListedSkill
from skill_registry.agent.events import SkillRefused, SkillUse, upstream_of
from skill_registry.agent.loading import (
    SourceReader,
    Turn,
    Wanted,
    WorkspaceReader,
    view_of,
)
from skill_registry.agent.lockfile import Lock, LockedSkill, read_pins
from skill_registry.agent.mount import Mount
from skill_registry.agent.source import SkillList
from skill_registry.agent.steps import ask, tell
from skill_registry.agent.tool_answers import MOST_NAMED, NO_SKILLS, SkillAnswer
from skill_registry.agent.tools import LIST_SKILLS, TOOL_NAMES, VIEW_SKILL, define
from skill_registry.errors import RegistryError, RequestInvalid, SkillNotFound
from skill_registry.spec.archive import digest_of
from skill_registry.spec.model import SKILL_MD
from skill_registry.spec.names import clean_path, is_directory_name
from skill_registry.spec.rendering import in_language, render_markdown

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from skill_registry.agent.answers import Version
    from skill_registry.agent.events import SkillEvent
    from skill_registry.agent.loading import Loaded, Reader
    from skill_registry.agent.options import Options
    from skill_registry.agent.steps import Flow
    from skill_registry.agent.tools import ToolDefinition

_LOG = logging.getLogger("skill_registry.agent")
# No name and no path of a skill is longer.
_LONGEST_WORD = 500
UNAVAILABLE = "Skills are not available in this context."
_FAULT = "The skill could not be loaded: the toolkit failed, and its log says how."


@dataclass(frozen=True, slots=True)
class Stale:
    """A skill that changed since the model loaded it. ``listed`` is None where it is gone."""

    loaded: Version
    listed: Version
    state: str = "stale"


class Session:
    """The state of a ``Skillset``. ``available`` is whether there is a source at all."""

    def __init__(self, options: Options, *, available: bool = True) -> None:
        self._options = options
        self._available = available
        where = options.workspace
        self._reader: Reader
        self._reader = SourceReader() if where is None else WorkspaceReader(Mount(where))
        self._turn = Turn()
        self._pins: dict[str, ListedSkill] = {}
        self._loaded: dict[str, Version] = {}
        self._listing: SkillList | None = _listing_of(options.lock)
        self.problem: RegistryError | None = None

    @property
    def skills(self) -> tuple[ListedSkill, ...]:
        """What is listed, pinned skills as they were pinned; empty where that is not known."""
        listed = () if self._listing is None else self._listing.skills
        return tuple(self._pins.get(skill.name, skill) for skill in listed)

    @property
    def tools(self) -> tuple[str, ...]:
        """Which tools are offered."""
        return self._options.tools

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """Return the tools, for what is listed now."""
        known = self._listing is not None or not self._available
        names = [skill.name for skill in self.skills]
        return define(self._options.tools, names if known else None)

    def refresh(self) -> Flow[None]:
        """Begin a turn. Raises RegistryError where there is no new listing; the last one stays."""
        self._turn = Turn()
        if not self._available or self._options.lock is not None:
            return
        query = self._options.query
        try:
            self._listing = yield from ask(lambda source: source.list_all(query))
        except RegistryError as error:
            self.problem = error
            raise
        self.problem = None

    def instructions(self, tool_keys: Collection[str] | None = None) -> Flow[str]:
        """Begin a turn and return the block."""
        options = self._options
        view_tool = options.view_tool
        if view_tool is None or (tool_keys is not None and view_tool not in tool_keys):
            return ""
        try:
            yield from self.refresh()
        except RegistryError as error:
            _LOG.warning("The skills cannot be listed (%s): %s", error.code, error.message)
            if self._listing is None:
                again = LIST_SKILLS if LIST_SKILLS in options.tools else None
                return prompt.outage_block(error, list_tool=again)
        return prompt.listing_block(
            self.skills,
            form=options.form,
            view_tool=view_tool,
            max_tokens=options.max_tokens,
        )

    def answer(self, tool: str, asked: str = "", path: str | None = None) -> Flow[SkillAnswer]:
        """Answer a call of a tool. Raises nothing.

        Args:
            tool: Its name.
            asked: The skill's name, as ``read_word`` gives it.
            path: A file of it, for ``view_skill`` alone.
        """
        if tool == LIST_SKILLS:
            return (yield from self._list())
        file = path if tool == VIEW_SKILL else None
        try:
            if tool not in TOOL_NAMES:
                raise RequestInvalid("There is no such tool here.", code="tool_unknown")
            answer = yield from self._load(tool, asked, file)
        except RegistryError as error:
            answer = self._refusal(tool, asked, file, error)
        except Exception as error:
            _LOG.exception("A skill could not be loaded.", exc_info=error)
            answer = SkillAnswer(tool, asked, file, content=_FAULT, code=RegistryError.code)
        if answer.code is not None:
            refused = SkillRefused(asked, self._options.agent, answer.code, file)
            yield from self._publish(refused)
        return answer

    def expand(self, text: str) -> Flow[str]:
        """Put the skill that a user's ``/skill:name arguments`` names in its place."""
        command = prompt.read_command(text)
        if command is None:
            return text
        self._turn.forget(command.name)
        answer = yield from self.answer(self._options.view_tool or VIEW_SKILL, command.name)
        if answer.is_error:
            return text
        body = "\n\n".join(filter(None, (answer.content.strip(), answer.rules)))
        return prompt.expanded(command, body, answer.directory)

    def stale(self) -> Flow[dict[str, Stale]]:
        """Return what changed since it was loaded. Raises RegistryError."""
        listed = {skill.name: skill.version for skill in self.skills}
        loaded = dict(self._loaded)
        found = {
            name: Stale(version, listed[name])
            for name, version in loaded.items()
            if name in listed and listed[name] != version
        }
        unlisted = {name: version for name, version in loaded.items() if name not in listed}
        if unlisted and self._options.lock is None:
            query = self._options.query
            checked = yield from ask(lambda source: source.check(unlisted, query=query))
            for name, now in checked.items():
                kept = now.state == "current" or (now.state == "stale" and name in self._pins)
                if name in unlisted and not kept:
                    found[name] = Stale(unlisted[name], now.version, now.state)
        return found

    def pin(self, pins: Mapping[str, int | str]) -> Flow[None]:
        """Give these skills at these versions from now on. Raises RegistryError."""
        query = self._options.query
        if self._options.lock is not None:
            raise RequestInvalid("A run under a lock file has its versions.", code="pin_invalid")
        pinned: dict[str, ListedSkill] = {}
        for name, version in read_pins(pins).items():
            view = yield from view_of(Wanted(name, version, query))
            if not isinstance(view.version, int):
                raise RequestInvalid(
                    f"`{name}` has no version number to be pinned to.", code="pin_invalid"
                )
            description = in_language(
                str(view.metadata.get("description", "")),
                view.metadata.get("descriptions") or {},
                query.language,
            )
            pinned[name] = ListedSkill(name, view.scope, view.version, description, {})
        self._pins |= pinned
        for name in pinned:
            self._turn.forget(name)

    def lock(self) -> Flow[Lock]:
        """Return what is listed now, with the digest of every skill. Raises RegistryError."""
        if self._options.lock is not None:
            return self._options.lock
        if self._listing is None:
            yield from self.refresh()
        locked: list[LockedSkill] = []
        for skill in self.skills:
            exact = self._wanted(skill.name).at(skill.version, skill.scope)
            view = yield from view_of(exact)
            digest = digest_of((file.path, file.mode, file.sha256) for file in view.files)
            locked.append(
                LockedSkill(skill.name, view.scope, view.version, skill.description, digest)
            )
        return Lock(tuple(locked))

    def _load(self, tool: str, name: str, path: str | None) -> Flow[SkillAnswer]:
        if not self._available:
            raise RequestInvalid(UNAVAILABLE, code="skills_unavailable")
        if not name:
            raise RequestInvalid("Name the skill that you want to load.", code="name_missing")
        file = clean_path(path)
        if not is_directory_name(name):
            raise SkillNotFound("No skill has such a name.")
        loaded = yield from self._reader.read(self._wanted(name), file, self._turn)
        body = file == SKILL_MD
        answer = self._answer(tool, loaded, body=body)
        if body:
            self._loaded[name] = loaded.version
            yield from self._publish(self._use(loaded))
        return answer

    def _wanted(self, name: str) -> Wanted:
        lock, query = self._options.lock, self._options.query
        if lock is None:
            pin, wanted = self._pins.get(name), Wanted(name, None, query)
            return wanted if pin is None else wanted.at(pin.version, pin.scope)
        locked = lock.get(name)
        if locked is None:
            raise SkillNotFound(f"`{name}` is not in the lock file of this run.")
        return Wanted(name, None, query, locked).at(locked.version, locked.scope)

    def _answer(self, tool: str, loaded: Loaded, *, body: bool) -> SkillAnswer:
        try:
            text, size, note = loaded.data.decode(), None, loaded.note
        except UnicodeDecodeError:
            text, size = "", len(loaded.data)
            note = " ".join(filter(None, ("The file is no text.", loaded.note)))
        return SkillAnswer(
            tool=tool,
            skill=loaded.name,
            path=None if body else loaded.path,
            version=loaded.version,
            content=text,
            directory=loaded.directory,
            files=tuple(path for path in loaded.files if path != SKILL_MD) if body else (),
            note=note,
            rules=self._options.writing_rules if body else None,
            source=loaded.facts.source if body else None,
            size=size,
        )

    def _use(self, loaded: Loaded) -> SkillUse:
        return SkillUse(
            skill=loaded.name,
            description=loaded.facts.description,
            agent=self._options.agent,
            version=loaded.version,
            body_bytes=len(loaded.data),
            source=loaded.facts.source,
            upstream=upstream_of(loaded.facts.upstream),
        )

    def _refusal(self, tool: str, name: str, path: str | None, error: RegistryError) -> SkillAnswer:
        message, available = error.message, tuple(getattr(error, "available", ()))[:MOST_NAMED]
        if error.code == SkillNotFound.code or not name:
            others = (skill.name for skill in self.skills if skill.name != name)
            available = tuple(others)[:MOST_NAMED]
        if error.code == SkillNotFound.code:
            message = f"There is no skill `{name}` that you can load."
        cause = error.__cause__
        return SkillAnswer(
            tool=tool,
            skill=name,
            path=path,
            content=message,
            code=error.code,
            available=available,
            cause=cause.code if isinstance(cause, RegistryError) else None,
        )

    def _list(self) -> Flow[SkillAnswer]:
        if not self._available:
            return SkillAnswer(LIST_SKILLS, content=UNAVAILABLE, code="skills_unavailable")
        if self._listing is None:
            try:
                yield from self.refresh()
            except RegistryError as error:
                return SkillAnswer(LIST_SKILLS, content=error.message, code=error.code)
        skills = self.skills
        lines = render_markdown(prompt.shown(skills))
        return SkillAnswer(LIST_SKILLS, content=lines or NO_SKILLS, skills=skills)

    def _publish(self, event: SkillEvent) -> Flow[None]:
        publish = self._options.publish
        if publish is not None:
            yield from tell(lambda: publish(event))


def _listing_of(lock: Lock | None) -> SkillList | None:
    return None if lock is None else SkillList(tuple(skill.listed() for skill in lock.skills))


def read_word(value: object) -> str:
    """Return a name or a path that a model sent, as text that can be shown and sent on."""
    try:
        text = "" if value is None else str(value)
    except Exception:
        return ""
    return text[:_LONGEST_WORD].encode("utf-8", "backslashreplace").decode().strip()
