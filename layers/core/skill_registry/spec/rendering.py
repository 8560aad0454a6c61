"""L1: the short list of skills that goes into a prompt, one entry a skill whatever it says.

Descriptions come from strangers. Each is folded to one line here and markup is escaped once, so
none can forge an entry, close the block or add a line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skill_registry.spec.model import SKILL_MD
from skill_registry.spec.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

# What seed 1 calls the tool that loads a skill.
VIEW_TOOL = "view_skill"

ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"})
_OPENED = "<available_skills>\n"
_CLOSED = "</available_skills>\n"


@dataclass(frozen=True, slots=True)
class ListedSkill:
    """A skill as a listing shows it.

    Attributes:
        version: The tag; None shows none.
        location: Where an agent finds its SKILL.md; None is the mount path.
        hidden: ``disable-model-invocation``: in no listing that a model reads (seed 3).
    """

    name: str
    version: int | str | None
    description: str
    location: str | None = None
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """A way to list skills.

    Attributes:
        entry: Renders one skill; whatever it holds, it is as many lines.
        text: Renders what a description adds to the entry of a skill without one.
        opening: What stands before the entries.
        closing: What stands behind them.
        empty: The whole text where there is nothing to list.
    """

    entry: Callable[[ListedSkill], str]
    text: Callable[[str], str] = one_line
    opening: str = ""
    closing: str = ""
    empty: str = ""


def in_language(description: str, translations: Mapping[str, str], language: str | None) -> str:
    """Return the description in a language, or in its nearest parent; else the plain one.

    Source: RFC 4647, section 3.4.
    """
    if language is None or not translations:
        return description
    known = {tag.replace("_", "-").lower(): text for tag, text in translations.items()}
    language = language.lower()
    while language:
        if language in known:
            return known[language]
        language = language.rpartition("-")[0]
    return description


def mount_path(name: str) -> str:
    """Return where an agent's workspace holds the SKILL.md of a skill (seed 1)."""
    return f".skills/{name}/{SKILL_MD}"


def render(skills: Iterable[ListedSkill], form: Form) -> str:
    """Render the skills that are not hidden. Every line is ended by a line feed."""
    entries = "".join(form.entry(skill) for skill in skills if not skill.hidden)
    return f"{form.opening}{entries}{form.closing}" if entries else form.empty


def render_markdown(skills: Iterable[ListedSkill]) -> str:
    """Render ``- **name** (v:N): description`` lines; "" for none."""
    return render(skills, MARKDOWN)


def render_xml(skills: Iterable[ListedSkill], *, view_tool: str = VIEW_TOOL) -> str:
    """Render lines of instruction and an ``<available_skills>`` element; "" for none (seed 3)."""
    return render(skills, xml_prompt(view_tool))


def render_guidance(skills: Iterable[ListedSkill], *, view_tool: str = VIEW_TOOL) -> str:
    """Render lines of instruction and ``- `name` (v:N): description`` lines; "" for none (seed 2).

    Append it to the agent's own prompt, which stays as it is where there is nothing to append.
    """
    return render(skills, guidance(view_tool))


def xml_prompt(view_tool: str = VIEW_TOOL) -> Form:
    """Return the form of ``render_xml``. ``view_tool`` is what the model calls to load a skill."""
    return Form(_xml_entry, _escaped, _instructions(view_tool) + _OPENED, _CLOSED)


def markdown_prompt(view_tool: str = VIEW_TOOL) -> Form:
    """Return the form of seed 1: a heading that names the tool, and ``render_markdown``'s lines."""
    heading = f"### Skills: `{one_line(view_tool)}`\n\n"
    return Form(_markdown_line, opening=f"{heading}{_instructions(view_tool)}Available Skills:\n")


def guidance(view_tool: str = VIEW_TOOL) -> Form:
    """Return the form of ``render_guidance``."""
    return Form(_guidance_line, opening=_instructions(view_tool))


def _instructions(view_tool: str) -> str:
    """Say how to use the list: when to load, where paths start, when to load again."""
    return (
        "Skills hold instructions for particular kinds of work. When a task matches the description"
        f" of one, load it with `{one_line(view_tool)}` before you begin.\n"
        "A relative path in a skill starts at the skill's own directory, the one that holds its"
        f" {SKILL_MD}.\n"
        "When a skill is listed with another version than the one that you loaded, it has changed:"
        " load it again before you rely on it.\n\n"
    )


def _markdown_line(skill: ListedSkill) -> str:
    return _line(f"**{one_line(skill.name)}**", skill)


def _guidance_line(skill: ListedSkill) -> str:
    return _line(f"`{one_line(skill.name)}`", skill)


def _line(name: str, skill: ListedSkill) -> str:
    version = _version(skill)
    tag = f" (v:{version})" if version else ""
    return f"- {name}{tag}: {one_line(skill.description)}\n"


def _version(skill: ListedSkill) -> str:
    return one_line(str(skill.version)) if skill.version is not None else ""


def _xml_entry(skill: ListedSkill) -> str:
    location = skill.location if skill.location is not None else mount_path(skill.name)
    version = _escaped(_version(skill))
    return (
        "  <skill>\n"
        f"    <name>{_escaped(skill.name)}</name>\n"
        f"    <description>{_escaped(skill.description)}</description>\n"
        f"    <location>{_escaped(location)}</location>\n"
        + (f"    <version>{version}</version>\n" if version else "")
        + "  </skill>\n"
    )


def _escaped(text: str) -> str:
    return one_line(text).translate(ESCAPES)


MARKDOWN = Form(_markdown_line)

# The element alone: a document of its own, well-formed XML 1.0, and there where it is empty.
XML_ELEMENT = Form(_xml_entry, _escaped, _OPENED, _CLOSED, empty=_OPENED + _CLOSED)
