"""The rules of each frontmatter field, and the metadata that the fields make.

Sources: Agent Skills specification (name, description, license, compatibility, metadata,
allowed-tools), seed 1 (description_<lang>, version, min_tier, dependencies), seed 2 (agents,
source, upstream), seed 3 (disable-model-invocation).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from skill_registry.spec.diagnostics import error, warning
from skill_registry.spec.model import Limits, Severity, SkillMeta
from skill_registry.spec.text import shown
from skill_registry.spec.visibility import TIERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skill_registry.spec.frontmatter import Document
    from skill_registry.spec.model import Diagnostic

_TRANSLATION = re.compile(r"description_([A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*)")
# A tool may carry an argument pattern with blanks and commas: Bash(git add:*).
_TOOL = re.compile(r"[^\s,(]*\([^()]*+\)|[^\s,]+")
_UPSTREAM_KEYS = ("repo", "commit", "path", "bodySha256")
_NULLS = frozenset({"null", "Null", "NULL", "~"})
_KNOWN = frozenset(
    {
        "name",
        "description",
        "license",
        "compatibility",
        "allowed-tools",
        "metadata",
        "version",
        "min_tier",
        "agents",
        "source",
        "upstream",
        "disable-model-invocation",
    }
)


@dataclass(slots=True)
class Fields:
    """A frontmatter being read, and what was found wrong with it so far.

    Attributes:
        tolerant: Nothing is an error but a missing description; what cannot be read is left out.
    """

    document: Document
    limits: Limits
    tolerant: bool
    diagnostics: list[Diagnostic] = field(default_factory=list)

    @property
    def mapping(self) -> Mapping[str, Any]:
        """The frontmatter, empty where it could not be read."""
        return self.document.mapping or {}

    def refuse(self, code: str, message: str, *path: str, **rest: Any) -> None:
        """Note what refuses a publish, and is a warning to a tolerant reader."""
        severity = Severity.WARNING if self.tolerant else Severity.ERROR
        place = self.document.place(*path)
        name = ".".join(path)
        self.diagnostics.append(
            error(code, message, place=place, field=name, severity=severity, **rest)
        )

    def warn(self, code: str, message: str, *path: str, **rest: Any) -> None:
        """Note what refuses nothing."""
        place = self.document.place(*path)
        self.diagnostics.append(warning(code, message, place=place, field=".".join(path), **rest))

    def text(self, key: str, code: str) -> str | None:
        """Read an optional text; blank is absent, another kind is a warning."""
        value = self.mapping.get(key, "")
        if not isinstance(value, str):
            self.warn(code, f"{key} is {kind_of(value)}; it must be text.", key)
            return None
        return value if value.strip() else None


def kind_of(value: Any) -> str:
    """Name the kind of a frontmatter value."""
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "a mapping"
    return "a text" if isinstance(value, str) and value.strip() else "empty"


def read_fields(fields: Fields, name: str, description: str) -> SkillMeta:
    """Read every field but name and description, which the caller has decided about."""
    metadata = _metadata(fields)
    return SkillMeta(
        name=name,
        description=description,
        descriptions=_translations(fields),
        license=fields.text("license", "license_invalid"),
        compatibility=_compatibility(fields),
        allowed_tools=_allowed_tools(fields),
        version=_version(fields),
        min_tier=_min_tier(fields),
        agents=_agents(fields),
        source=fields.text("source", "source_invalid"),
        upstream=_upstream(fields),
        disable_model_invocation=_flag(fields),
        dependencies=_dependencies(fields, metadata),
        metadata=metadata,
        extra={
            key: value
            for key, value in fields.mapping.items()
            if key not in _KNOWN and _language(key) is None
        },
    )


def read_description(fields: Fields) -> str | None:
    """Read the description as typed; None where there is none. Its limit counts without margins."""
    value = fields.mapping.get("description", "")
    if not isinstance(value, str):
        message = f"The description is {kind_of(value)}; it must be text."
        place = fields.document.place("description")
        hint = "Put quotes round the value."
        fields.diagnostics.append(
            error("description_invalid", message, place=place, field="description", hint=hint)
        )
        return None
    if not value.strip() or value in _NULLS:
        place = fields.document.place("description")
        message = "The description is required and there is none."
        hint = "Say in one or two sentences what the skill does and when to use it."
        fields.diagnostics.append(
            error("description_missing", message, place=place, field="description", hint=hint)
        )
        return None
    limit, length = fields.limits.description, len(value.strip())
    if length > limit:
        message = f"The description has {length} characters; at most {limit} are allowed."
        hint = "Move details into the body."
        fields.refuse(
            "description_too_long", message, "description", limit=limit, actual=length, hint=hint
        )
    return value


def _translations(fields: Fields) -> dict[str, str]:
    found: dict[str, str] = {}
    limit = fields.limits.description
    for key, value in fields.mapping.items():
        if (language := _language(key)) is None:
            continue
        if not isinstance(value, str) or not value.strip():
            message = f"{key} is {kind_of(value)}; it must be text."
            fields.warn("translation_invalid", message, key)
            continue
        if (length := len(value.strip())) > limit:
            message = f"{key} has {length} characters; at most {limit} are allowed."
            fields.refuse("translation_too_long", message, key, limit=limit, actual=length)
        found[language] = value
    return found


def _language(key: str) -> str | None:
    """Return the language of a ``description_<lang>`` key, None for any other key."""
    match = _TRANSLATION.fullmatch(key) if key.startswith("description_") else None
    return match[1] if match else None


def _compatibility(fields: Fields) -> str | None:
    value = fields.text("compatibility", "compatibility_invalid")
    limit = fields.limits.compatibility
    if value is not None and len(value) > limit:
        message = f"compatibility has {len(value)} characters; the format allows {limit}."
        fields.warn(
            "compatibility_too_long", message, "compatibility", limit=limit, actual=len(value)
        )
    return value


def _version(fields: Fields) -> str | None:
    value = fields.text("version", "version_invalid")
    limit = fields.limits.version
    if value is not None and len(value) > limit:
        message = f"version has {len(value)} characters; over {limit} it is not shown as a tag."
        fields.warn("version_too_long", message, "version", limit=limit, actual=len(value))
        return None
    return value


def _allowed_tools(fields: Fields) -> tuple[str, ...]:
    """Read the three spellings: parted by blanks, by commas, or a YAML list."""
    value = fields.mapping.get("allowed-tools", "")
    if value == "":
        return ()
    if isinstance(value, str):
        return split_tools(value)
    if isinstance(value, list) and all(isinstance(tool, str) for tool in value):
        return tuple(tool.strip() for tool in value if tool.strip())
    message = f"allowed-tools is {kind_of(value)}; it must be text or a list of texts."
    fields.warn("allowed_tools_invalid", message, "allowed-tools")
    return ()


def split_tools(text: str) -> tuple[str, ...]:
    """Split names of tools that are parted by blanks or commas."""
    return tuple(_TOOL.findall(text))


def _metadata(fields: Fields) -> dict[str, Any]:
    value = fields.mapping.get("metadata", {})
    if isinstance(value, dict):
        return value
    if value != "":
        fields.warn(
            "metadata_invalid", f"metadata is {kind_of(value)}; it must be a mapping.", "metadata"
        )
    return {}


def _dependencies(fields: Fields, metadata: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Gather ``metadata.*.dependencies``. They are declared, never installed."""
    found: dict[str, tuple[str, ...]] = {}
    for vendor, block in metadata.items():
        if not isinstance(block, dict) or "dependencies" not in block:
            continue
        path = ("metadata", vendor, "dependencies")
        declared = block["dependencies"]
        if not isinstance(declared, dict):
            message = f"{'.'.join(path)} is {kind_of(declared)}; it must be a mapping of lists."
            fields.warn("dependencies_invalid", message, *path)
            continue
        for language, packages in declared.items():
            if not isinstance(packages, list) or not all(isinstance(one, str) for one in packages):
                message = f"{'.'.join(path)}.{language} must be a list of package names."
                fields.warn("dependencies_invalid", message, *path, language)
                continue
            found[language] = (*found.get(language, ()), *packages)
    return found


def _min_tier(fields: Fields) -> str | None:
    """Read the tier; to a tolerant reader an unknown one is the highest, so nothing is widened."""
    value = fields.mapping.get("min_tier", "")
    if value == "" or value in TIERS:
        return value or None
    got = shown(value) if isinstance(value, str) else kind_of(value)
    hint = "Use lite or ultra, or leave it out."
    fields.refuse("min_tier_invalid", f"min_tier is {got}.", "min_tier", hint=hint)
    return TIERS[-1]


def _agents(fields: Fields) -> tuple[str, ...] | None:
    """Read whom the skill is for; what a tolerant reader cannot read is for nobody."""
    if "agents" not in fields.mapping:
        return None
    value = fields.mapping["agents"]
    hint = "Write it as a list: agents: [review, coding]. Leave it out to mean every agent."
    if not isinstance(value, list) or not value:
        got = "an empty list" if value == [] else kind_of(value)
        message = f"agents is {got}; it must be a list of at least one agent name."
        fields.refuse("agents_invalid", message, "agents", hint=hint)
        return (value.strip(),) if isinstance(value, str) and value.strip() else ()
    names = [agent.strip() for agent in value if isinstance(agent, str) and agent.strip()]
    if len(names) < len(value):
        message = "agents has an entry that is blank or not text."
        fields.refuse("agents_invalid", message, "agents", hint=hint)
    return tuple(names)


def _upstream(fields: Fields) -> dict[str, str] | None:
    if "upstream" not in fields.mapping:
        return None
    value = fields.mapping["upstream"]
    if not isinstance(value, dict):
        message = f"upstream is {kind_of(value)}; it must be a mapping."
        fields.refuse("upstream_invalid", message, "upstream")
        return None
    missing = [
        key
        for key in _UPSTREAM_KEYS
        if not isinstance(value.get(key), str) or not value[key].strip()
    ]
    if missing:
        message = f"upstream lacks {', '.join(missing)}."
        fields.refuse("upstream_invalid", message, "upstream")
        return None
    return {key: text for key, text in value.items() if isinstance(text, str)}


def _flag(fields: Fields) -> bool:
    """Only the plain boolean counts (YAML 1.2); seed 3 loads every other value without a word."""
    key = "disable-model-invocation"
    value = fields.mapping.get(key, False)
    if not isinstance(value, bool) and not fields.tolerant:
        got = shown(value) if isinstance(value, str) else kind_of(value)
        message = f"{key} is {got}, which does not count as true."
        fields.warn("flag_not_boolean", message, key, hint=f"Write {key}: true, without quotes.")
    return value is True
