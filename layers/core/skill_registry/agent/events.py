"""What an agent's run can record of its skills: one event a load, one a refusal (seed 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skill_registry.agent.answers import Version


@dataclass(frozen=True, slots=True)
class SkillUse:
    """The body of a skill went into the model's context.

    Attributes:
        agent: Whose context; "" where nobody said.
        version: Of exactly these bytes.
        body_bytes: UTF-8 bytes of the body, without what the toolkit puts round it.
        source: The link to where the skill is from, if its frontmatter has one.
        upstream: ``repo`` and ``commit`` of a mirrored skill.
    """

    type: ClassVar[str] = "skill_use"

    skill: str
    description: str
    agent: str
    version: Version
    body_bytes: int
    source: str | None = None
    upstream: Mapping[str, str] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; what is not known is left out."""
        return _document(self.type, self)


@dataclass(frozen=True, slots=True)
class SkillRefused:
    """The model, or its user, asked for a skill or a file and was refused.

    Attributes:
        skill: The name as it was asked for.
        path: The file that was asked for, None for the body.
        code: Stable; why.
    """

    type: ClassVar[str] = "skill_refused"

    skill: str
    agent: str
    code: str
    path: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; what is not known is left out."""
        return _document(self.type, self)


SkillEvent = SkillUse | SkillRefused


def upstream_of(upstream: Mapping[str, Any] | None) -> Mapping[str, str] | None:
    """Return what an event tells of a skill's provenance: repository and commit, or nothing."""
    if not upstream or not all(isinstance(upstream.get(key), str) for key in ("repo", "commit")):
        return None
    return {key: upstream[key] for key in ("repo", "commit")}


def _document(kind: str, event: SkillEvent) -> dict[str, Any]:
    values = {name: getattr(event, name) for name in event.__slots__}
    return {"type": kind, **{name: value for name, value in values.items() if value is not None}}
