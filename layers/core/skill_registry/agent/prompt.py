"""What a prompt says of skills: the listing's block, and a skill that a user asked for by name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from skill_registry.spec import rendering
from skill_registry.spec.budget import estimated_tokens, fit
from skill_registry.spec.model import SKILL_MD
from skill_registry.spec.rendering import ListedSkill, render

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from skill_registry.agent.answers import ListedSkill as RegistrySkill
    from skill_registry.errors import RegistryError
    from skill_registry.spec.rendering import Form

# Seed 1's lines, seed 2's, seed 3's element.
FormName = Literal["markdown", "guidance", "xml"]
FORMS: dict[str, Callable[[str], Form]] = {
    "markdown": rendering.markdown_prompt,
    "guidance": rendering.guidance,
    "xml": rendering.xml_prompt,
}
_COMMAND = re.compile(r"/skill:(\S+)(?:[ \t\r\n]+(.*))?\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Command:
    """``/skill:name arguments``, as a user types it."""

    name: str
    arguments: str


def listing_block(
    skills: Iterable[RegistrySkill], *, form: FormName, view_tool: str, max_tokens: int | None
) -> str:
    """Render the block to append to a prompt: "" for no skills, else a text after a blank line.

    Args:
        skills: What the model may see.
        form: How.
        view_tool: What the model calls to load a skill.
        max_tokens: At most as many, by ``spec.budget``; what does not fit is counted in a line.
    """
    style, listed = FORMS[form](view_tool), shown(skills)
    whole = _behind_blank_line(render(listed, style))
    if max_tokens is None or estimated_tokens(whole) <= max_tokens:
        return whole
    # The blank line counts, and where names are left out so does the line that says it.
    fitted = fit(listed, max_tokens - 1, style)
    if fitted.omitted:
        fitted = fit(listed, max_tokens - 1 - estimated_tokens(_left_out(len(listed))), style)
    left_out = _left_out(fitted.omitted) if fitted.omitted else ""
    return _behind_blank_line(f"{render(fitted.skills, style)}{left_out}")


def _behind_blank_line(text: str) -> str:
    return f"\n\n{text.lstrip()}" if text else ""


def _left_out(count: int) -> str:
    return f"\n{count} more skills are not shown here.\n"


def shown(skills: Iterable[RegistrySkill]) -> list[ListedSkill]:
    """Return skills as a text shows them."""
    return [ListedSkill(skill.name, skill.version, skill.description) for skill in skills]


def outage_block(problem: RegistryError, *, list_tool: str | None) -> str:
    """Say that there may be skills, and that they cannot be listed now."""
    again = f" Call `{list_tool}` to try again." if list_tool else ""
    return f"\n\nSkills cannot be listed at the moment ({problem.code}).{again}\n"


def read_command(text: str) -> Command | None:
    """Read ``/skill:name arguments``; None for any other text (seed 3)."""
    found = _COMMAND.match(text)
    return Command(found[1], (found[2] or "").strip()) if found else None


def expanded(command: Command, body: str, directory: str | None) -> str:
    """Return what the model reads in place of a command: the skill's body, then the arguments.

    Without a directory it does not say where files lie: the model has a tool to read them.
    """
    name = command.name.translate(rendering.ESCAPES)
    place = lead = ""
    if directory is not None:
        place = f' location="{directory.translate(rendering.ESCAPES)}/{SKILL_MD}"'
        lead = f"Relative paths in it start at {directory}.\n\n"
    parts = [f'<skill name="{name}"{place}>\n{lead}{body.strip()}\n</skill>']
    return "\n\n".join([*parts, command.arguments] if command.arguments else parts)
