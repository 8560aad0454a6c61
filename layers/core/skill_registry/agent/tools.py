"""The tools that give a model its skills, as definitions that no framework owns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

VIEW_SKILL = "view_skill"
LIST_SKILLS = "list_skills"
USE_SKILL = "use_skill"
TOOL_NAMES = (VIEW_SKILL, LIST_SKILLS, USE_SKILL)

_VIEW = (
    "Load a skill: the instructions for one kind of work. Without a path it returns them, with the"
    " version that they are of; with one, it returns that file of the skill, such as"
    " references/example.md. Load a skill before you do work that its description matches, and"
    " again when it is listed with another version."
)
_LIST = "List the skills that you can load, each with its version and what it is for."
_USE = (
    "Load the full instructions of a skill by its name. Use it before work that the skill's"
    " description matches, and again when the skill is listed with another version."
)


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """One tool.

    Attributes:
        parameters: JSON Schema (2020-12) of its arguments, an object.
        read_only: It changes nothing that a user has (MCP ``readOnlyHint``): it belongs into sets
            of tools that only read, as into full ones.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    read_only: bool = True


def define(tools: Sequence[str], names: Sequence[str] | None) -> tuple[ToolDefinition, ...]:
    """Return the definitions of some of ``TOOL_NAMES``.

    Args:
        tools: Which.
        names: The skills that can be loaded; None where they are not known, so that every name
            has to be let through. For none there are no tools.
    """
    if names is not None and not names:
        return ()
    return tuple(_DEFINERS[tool](names) for tool in tools)


def _view(names: Sequence[str] | None) -> ToolDefinition:
    path = {
        "type": "string",
        "description": "A file of the skill, relative to its directory; leave it out for the"
        " instructions.",
    }
    return ToolDefinition(VIEW_SKILL, _VIEW, _object({"name": _name(names), "path": path}))


def _use(names: Sequence[str] | None) -> ToolDefinition:
    return ToolDefinition(USE_SKILL, _USE, _object({"name": _name(names)}))


def _list(names: Sequence[str] | None) -> ToolDefinition:
    return ToolDefinition(LIST_SKILLS, _LIST, _object({}))


def _name(names: Sequence[str] | None) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string", "description": "The name of a listed skill."}
    return schema if names is None else schema | {"enum": list(names)}


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [name for name in properties if name == "name"],
        "additionalProperties": False,
    }


_DEFINERS = {VIEW_SKILL: _view, LIST_SKILLS: _list, USE_SKILL: _use}
