"""The nouns of the format: diagnostic, file, frontmatter metadata, limits. Immutable values."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SKILL_MD = "SKILL.md"
VERSION_SIDECAR = ".version"


class Severity(StrEnum):
    """``error`` refuses a publish, ``warning`` does not, ``collision`` names a shadowed skill."""

    ERROR = "error"
    WARNING = "warning"
    COLLISION = "collision"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem, named exactly.

    Attributes:
        code: Stable; listed in the README.
        field: Frontmatter key, dotted for nested ones.
        file: Path inside the skill, or inside the archive where it never became a skill's file.
        line: 1-based, in ``file``.
        column: 1-based, in code points.
        limit: The bound that was crossed, in the unit that ``message`` names.
        actual: The measured value.
        hint: What mends it.
    """

    severity: Severity
    code: str
    message: str
    field: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None
    limit: int | None = None
    actual: int | str | None = None
    hint: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, without the members that are not known."""
        return {key: value for key, value in asdict(self).items() if value is not None}


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """Tell whether any of the diagnostics refuses a publish."""
    return any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)


@dataclass(frozen=True, slots=True)
class SkillFile:
    """One file of a skill: its path inside the skill, its bytes, and whether it may be run."""

    path: str
    data: bytes
    executable: bool = False

    @property
    def mode(self) -> str:
        """The normalised mode, ``0755`` or ``0644``."""
        return "0755" if self.executable else "0644"

    @property
    def sha256(self) -> str:
        """Hex digest of the stored bytes."""
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class SkillMeta:
    """What a skill's frontmatter says, as its author typed it.

    ``metadata`` and ``extra`` hold JSON values only: text, lists and mappings, and booleans where
    the format defines one. ``agents`` is None where the frontmatter names none.
    """

    name: str
    description: str
    descriptions: Mapping[str, str] = field(default_factory=dict)
    license: str | None = None
    compatibility: str | None = None
    allowed_tools: tuple[str, ...] = ()
    version: str | None = None
    min_tier: str | None = None
    agents: tuple[str, ...] | None = None
    source: str | None = None
    upstream: Mapping[str, str] | None = None
    disable_model_invocation: bool = False
    dependencies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of ``metadata``, else those beside it: a list, or words in one text."""
        raw = self.metadata.get("tags", self.extra.get("tags"))
        if isinstance(raw, str):
            return tuple(raw.replace(",", " ").split())
        return tuple(str(tag) for tag in raw) if isinstance(raw, list | tuple) else ()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, without the members that are empty."""
        members: dict[str, Any] = _json(asdict(self))
        return {key: value for key, value in members.items() if value not in (None, [], {})}


def _json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _json(inner) for key, inner in value.items()}
    return [_json(inner) for inner in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a skill. Sizes are bytes, lengths of text are code points.

    The text limits are those of the Agent Skills specification and of seed 1; the sizes are this
    registry's own and can be configured.
    """

    archive_bytes: int = 16 * 1024 * 1024
    total_bytes: int = 16 * 1024 * 1024
    file_bytes: int = 10 * 1024 * 1024
    files: int = 512
    skill_md_bytes: int = 512 * 1024
    frontmatter_bytes: int = 16 * 1024
    path_bytes: int = 255
    path_depth: int = 10
    compression_ratio: int = 100
    name: int = 64
    description: int = 1024
    compatibility: int = 500
    version: int = 32


DEFAULT_LIMITS = Limits()

# Far beyond any registry's limits, for who cannot know what one is configured to take.
MOST_FILES = 10_000
MOST_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found: the skill's metadata where it can be read, and every diagnostic."""

    meta: SkillMeta | None
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the skill may be published: read, and without an error."""
        return self.meta is not None and not has_errors(self.diagnostics)
