"""How skills are offered to an agent: what ``Skillset`` takes besides a source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from skill_registry.agent.lockfile import Lock
from skill_registry.agent.prompt import FORMS
from skill_registry.agent.source import SkillQuery
from skill_registry.agent.tools import LIST_SKILLS, TOOL_NAMES, VIEW_SKILL
from skill_registry.errors import RequestInvalid
from skill_registry.spec.visibility import TIERS

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from skill_registry.agent.events import SkillEvent
    from skill_registry.agent.prompt import FormName


class SkillsetOptions(TypedDict, total=False):
    """Every one may be left out.

    Attributes:
        agent: Whose skills; None does not narrow them. See ``SkillQuery`` for this and the next.
        tier: Of the agent's model.
        scopes: Where to look, in order of precedence.
        language: Of the descriptions.
        has_tools: What the agent can call; skills that need anything else are not listed.
        tools: What the model is offered: of ``view_skill``, ``list_skills`` (these two by default)
            and ``use_skill``.
        workspace: The directory that the agent's shell works in. With it, a skill is copied to
            ``.skills/<name>/`` below before it is read; without it, files are read one by one.
        form: How skills are listed: seed 1's ``markdown``, seed 2's ``guidance``, seed 3's ``xml``.
        max_tokens: The most that the block may take, estimated at four characters a token.
        writing_rules: A text that goes with every skill that is loaded.
        publish: Called with each ``SkillUse`` and ``SkillRefused`` before the answer is returned.
        lock: What a run is bound to; then nothing else is listed or loaded.
    """

    agent: str | None
    tier: str | None
    scopes: Sequence[str]
    language: str | None
    has_tools: Sequence[str] | None
    tools: Sequence[str]
    workspace: str | os.PathLike[str] | None
    form: FormName
    max_tokens: int | None
    writing_rules: str | None
    publish: Callable[[SkillEvent], object] | None
    lock: Lock | None


@dataclass(frozen=True, slots=True)
class Options:
    """The options as they count; ``SkillsetOptions`` says what each means."""

    query: SkillQuery
    tools: tuple[str, ...]
    workspace: str | os.PathLike[str] | None
    form: FormName
    max_tokens: int | None
    writing_rules: str | None
    publish: Callable[[SkillEvent], object] | None
    lock: Lock | None

    @property
    def view_tool(self) -> str | None:
        """The tool that loads a skill, None where there is none among those offered."""
        return next((tool for tool in self.tools if tool != LIST_SKILLS), None)

    @property
    def agent(self) -> str:
        """Whose skills, as events name it."""
        return self.query.agent or ""


def read_options(options: SkillsetOptions) -> Options:
    """Read what was given, and what is meant by what was not.

    Raises:
        RequestInvalid: ``tool_unknown``: a tool that there is not, or none; ``option_invalid``:
            an option that there is not, or one that means nothing.
    """
    _check(options)
    tools = tuple(dict.fromkeys(_words(options.get("tools", (VIEW_SKILL, LIST_SKILLS)))))
    unknown = [tool for tool in tools if tool not in TOOL_NAMES]
    if unknown or not tools:
        raise RequestInvalid(
            f"Offer some of {', '.join(TOOL_NAMES)}, not {', '.join(unknown) or 'none'}.",
            code="tool_unknown",
        )
    needs = options.get("has_tools")
    return Options(
        query=SkillQuery(
            _words(options.get("scopes", ())),
            options.get("agent"),
            options.get("tier"),
            None if needs is None else _words(needs),
            options.get("language"),
        ),
        tools=tools,
        workspace=options.get("workspace"),
        form=options.get("form", "markdown"),
        max_tokens=options.get("max_tokens"),
        writing_rules=options.get("writing_rules"),
        publish=options.get("publish"),
        lock=options.get("lock"),
    )


def _check(options: SkillsetOptions) -> None:
    given: Mapping[str, object] = {**options}
    budget, publish = given.get("max_tokens"), given.get("publish")
    wrong = {
        "form": given.get("form", "markdown") not in FORMS,
        "tier": given.get("tier") not in (None, *TIERS),
        "max_tokens": budget is not None and not (isinstance(budget, int) and budget > 0),
        "publish": publish is not None and not callable(publish),
        "lock": not isinstance(given.get("lock"), Lock | None),
        **{
            name: not isinstance(given.get(name), str | None)
            for name in ("agent", "language", "writing_rules")
        },
        **{name: True for name in given if name not in SkillsetOptions.__annotations__},
    }
    found = [name for name, is_wrong in wrong.items() if is_wrong]
    if found:
        raise RequestInvalid(
            f"These options mean nothing to a skillset: {', '.join(found)}.", code="option_invalid"
        )


def _words(value: str | Iterable[str]) -> tuple[str, ...]:
    """Return several texts; one alone is meant as one."""
    return (value,) if isinstance(value, str) else tuple(value)
