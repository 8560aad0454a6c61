"""What a skill tool answers a model: a value, in the two forms that models and programs read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skill_registry.agent.answers import ListedSkill, Version

NO_SKILLS = "No skills are available to you."
# The last line of a used skill that names no source; compaction knows its texts by the last line.
LOADED = "_(Skill loaded.)_"
# A refusal names no more than that many, as the registry's own do.
MOST_NAMED = 20
_MOST_FILES = 100


@dataclass(frozen=True, slots=True)
class SkillAnswer:
    """The answer of one call, a refusal included.

    Attributes:
        tool: Which tool answers.
        skill: The name that was asked for; None for a listing.
        path: The file; None for the body.
        version: Of exactly the bytes in ``content``.
        content: The body, or the file's text; for a refusal the sentence that says why.
        code: A refusal's stable code, None where something was loaded.
        available: What could have been asked for.
        cause: The code of what lies behind a ``skill_copy_failed``.
        directory: Where the skill's files lie, relative to the workspace; None without one.
        files: The paths of the skill's other files, with its body.
        note: What the model should know besides.
        rules: Writing rules of the deployment, which are no part of the skill.
        source: The link to where the skill is from.
        skills: What a listing lists.
        size: Bytes of a file that is no text, and whose ``content`` is therefore empty.
    """

    tool: str
    skill: str | None = None
    path: str | None = None
    version: Version = None
    content: str = ""
    code: str | None = None
    available: tuple[str, ...] = ()
    cause: str | None = None
    directory: str | None = None
    files: tuple[str, ...] = ()
    note: str | None = None
    rules: str | None = None
    source: str | None = None
    skills: tuple[ListedSkill, ...] | None = None
    size: int | None = None

    @property
    def is_error(self) -> bool:
        """Whether this is a refusal."""
        return self.code is not None

    @property
    def is_body(self) -> bool:
        """Whether a skill's instructions came with it: what compaction may drop."""
        return not self.is_error and self.skill is not None and self.path is None

    @property
    def text(self) -> str:
        """What the model reads."""
        if self.tool == "view_skill":
            return json.dumps(self.to_dict(), ensure_ascii=False)
        if self.is_error:
            named = f" Available: {', '.join(self.available)}." if self.available else ""
            return self.content + named
        return self.content if self.skill is None else self._document()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; optional members are left out where there is nothing to say."""
        if self.is_error:
            error: dict[str, Any] = {
                "code": self.code,
                "message": self.content,
                "cause": self.cause,
                "available": list(self.available),
            }
            asked = {} if self.skill is None else {"skillName": self.skill, "path": self.path}
            return {**asked, "error": {key: value for key, value in error.items() if value}}
        if self.skill is None:
            return {"skills": [_listed(each) for each in self.skills or ()]}
        more = {
            "size": self.size,
            "directory": self.directory,
            "files": list(self.files[:_MOST_FILES]),
            "filesOmitted": max(0, len(self.files) - _MOST_FILES),
            "source": self.source,
            "writingRules": self.rules,
            "note": self.note,
        }
        return {
            "skillName": self.skill,
            "path": self.path,
            "version": self.version,
            "content": self.content,
            **{key: value for key, value in more.items() if value},
        }

    def _document(self) -> str:
        """Write a load as one text: header, body, footer (seed 2)."""
        tag = "" if self.version is None else f" (v:{self.version})"
        parts = [f"# Skill: {self.skill}{tag}", self.content.strip("\n")]
        if self.directory is not None:
            parts.append(f"_(Skill files: {self.directory}/)_")
        parts.extend(part for part in (self.rules, self.note) if part)
        parts.append(f"_(Skill source: {self.source})_" if self.source else LOADED)
        return "\n\n".join(parts)


def _listed(skill: ListedSkill) -> dict[str, Any]:
    listed = {"name": skill.name, "version": skill.version, "description": skill.description}
    return {key: value for key, value in listed.items() if value is not None}
