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
    from collections.abc import Iterable

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"})


@dataclass(frozen=True, slots=True)
class ListedSkill:
    """A skill as a listing shows it.

    Attributes:
        version: The tag; None shows none.
        location: Where an agent finds its SKILL.md; None is the mount path.
    """

    name: str
    version: int | str | None
    description: str
    location: str | None = None


def mount_path(name: str) -> str:
    """Return where an agent's workspace holds the SKILL.md of a skill (seed 1)."""
    return f".skills/{name}/{SKILL_MD}"


def render_markdown(skills: Iterable[ListedSkill]) -> str:
    """Render ``- **name** (v:N): description`` lines, each ended by a line feed; "" for none."""
    return "".join(f"{markdown_entry(skill)}\n" for skill in skills)


def markdown_entry(skill: ListedSkill) -> str:
    """Render one skill as one line, without a line end."""
    version = one_line(str(skill.version)) if skill.version is not None else ""
    tag = f" (v:{version})" if version else ""
    return f"- **{one_line(skill.name)}**{tag}: {one_line(skill.description)}"


def render_xml(skills: Iterable[ListedSkill]) -> str:
    """Render an ``<available_skills>`` element: name, description, location of each skill.

    Well-formed XML 1.0 without a declaration, ended by a line feed.
    """
    entries = "".join(map(xml_entry, skills))
    return f"<available_skills>\n{entries}</available_skills>\n"


def xml_entry(skill: ListedSkill) -> str:
    """Render one skill as one ``<skill>`` element."""
    location = skill.location if skill.location is not None else mount_path(skill.name)
    return (
        "  <skill>\n"
        f"    <name>{_escaped(skill.name)}</name>\n"
        f"    <description>{_escaped(skill.description)}</description>\n"
        f"    <location>{_escaped(location)}</location>\n"
        "  </skill>\n"
    )


def _escaped(text: str) -> str:
    return one_line(text).translate(_ESCAPES)
