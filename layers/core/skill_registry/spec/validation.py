"""The two doors of the format: strict for a publish, tolerant for what a store already holds.

Both run the same rules and name every problem at once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skill_registry.spec.fields import Fields, kind_of, read_description, read_fields
from skill_registry.spec.files import check_files, skill_md_of, without_sidecar
from skill_registry.spec.frontmatter import read_document
from skill_registry.spec.model import DEFAULT_LIMITS, Report, Severity, has_errors
from skill_registry.spec.names import check_skill_name
from skill_registry.spec.references import check_references
from skill_registry.spec.text import shown

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from skill_registry.spec.frontmatter import Document
    from skill_registry.spec.layout import ArchiveContents
    from skill_registry.spec.model import Diagnostic, Limits, SkillFile, SkillMeta

__all__ = ["Report", "check_contents", "check_skill", "read_skill"]


def check_skill(
    files: Sequence[SkillFile],
    *,
    name: str | None,
    limits: Limits = DEFAULT_LIMITS,
    known_agents: Collection[str] | None = None,
) -> Report:
    """Check a skill as a publish does. The metadata is None when there is any error.

    Args:
        files: The skill's files. A version sidecar among them is passed over.
        name: What the skill is published as; None takes the name that its frontmatter states.
        known_agents: The deployment's agents; an ``agents`` entry that is none of them is a
            warning. None knows of none and warns of none.
    """
    kept = without_sidecar(files)
    diagnostics = check_files(kept, limits)
    skill_md = skill_md_of(kept)
    if skill_md is None:
        if name is not None:
            diagnostics.extend(check_skill_name(name, limits=limits))
        return Report(None, tuple(diagnostics))
    document = read_document(skill_md.data, limits=limits)
    diagnostics.extend(document.diagnostics)
    if document.mapping is None:
        if name is not None:
            diagnostics.extend(check_skill_name(name, limits=limits))
        return Report(None, tuple(diagnostics))
    fields = Fields(document, limits, tolerant=False)
    stated = _check_name(fields, name)
    description = read_description(fields)
    meta = read_fields(fields, stated or "", description or "")
    if known_agents is not None:
        _check_known_agents(fields, meta, known_agents)
    diagnostics.extend(fields.diagnostics)
    diagnostics.extend(_check_references(document, kept))
    return Report(None if has_errors(diagnostics) else meta, tuple(diagnostics))


def _check_references(document: Document, files: Sequence[SkillFile]) -> list[Diagnostic]:
    head = document.data[: document.body_offset].decode("utf-8", "replace")
    paths = frozenset(file.path for file in files)
    return check_references(head + document.body, len(head), paths)


def check_contents(
    contents: ArchiveContents,
    *,
    name: str | None,
    limits: Limits = DEFAULT_LIMITS,
    known_agents: Collection[str] | None = None,
) -> Report:
    """Check what an upload held: the faults of its layout and those of the skill, each once."""
    if not contents.files and has_errors(contents.diagnostics):
        return Report(None, contents.diagnostics)
    report = check_skill(contents.files, name=name, limits=limits, known_agents=known_agents)
    diagnostics = tuple(dict.fromkeys((*contents.diagnostics, *report.diagnostics)))
    return Report(None if has_errors(diagnostics) else report.meta, diagnostics)


def read_skill(skill_md: bytes, *, directory: str, limits: Limits = DEFAULT_LIMITS) -> Report:
    """Read the SKILL.md that a store or a local directory holds.

    Faults of format are warnings and the skill goes by its directory's name. Without readable
    frontmatter or without a description there is no metadata, and an error says why.
    """
    document = read_document(skill_md, limits=limits, tolerant=True)
    diagnostics = list(document.diagnostics)
    if document.mapping is None:
        return Report(None, tuple(diagnostics))
    fields = Fields(document, limits, tolerant=True)
    _compare_name(fields, directory)
    description = read_description(fields)
    meta = read_fields(fields, directory, description) if description is not None else None
    diagnostics.extend(fields.diagnostics)
    return Report(None if has_errors(diagnostics) else meta, tuple(diagnostics))


def _check_name(fields: Fields, target: str | None) -> str | None:
    """Check the stated name against the format, and against what the skill is published as."""
    stated: str | None = None
    value = fields.mapping.get("name", "")
    if not isinstance(value, str):
        message = f"The name is {kind_of(value)}; it must be text."
        fields.refuse("name_invalid", message, "name", hint="Put quotes round the value.")
    else:
        stated = value
        fields.diagnostics.extend(_faults_of_name(fields, stated))
    if target is None or target == stated:
        return stated
    fields.diagnostics.extend(check_skill_name(target, limits=fields.limits))
    if not stated:
        return target
    message = (
        f"The frontmatter names the skill {shown(stated)}, it is published as {shown(target)}."
    )
    hint = f"Set name: {target}, or publish it as {stated}."
    fields.refuse("name_mismatch", message, "name", hint=hint)
    return target


def _compare_name(fields: Fields, directory: str) -> None:
    """Note where the stated name is not the directory's; none stated is no fault (seed 3)."""
    stated = fields.mapping.get("name", "")
    if not isinstance(stated, str):
        message = f"The name is {kind_of(stated)}; the skill goes by its directory's name."
        fields.warn("name_invalid", message, "name")
        stated = ""
    checked = stated if stated.strip() else directory
    fields.diagnostics.extend(_softened(found) for found in _faults_of_name(fields, checked))
    if stated.strip() and stated != directory:
        message = (
            f"The name {shown(stated)} does not match the directory {shown(directory)}, "
            "which the skill goes by."
        )
        fields.warn("name_mismatch", message, "name")


def _faults_of_name(fields: Fields, name: str) -> list[Diagnostic]:
    # To find its place costs more than to check it, and hardly any name has a fault.
    if not check_skill_name(name, limits=fields.limits):
        return []
    return check_skill_name(name, limits=fields.limits, place=fields.document.place("name"))


def _softened(diagnostic: Diagnostic) -> Diagnostic:
    return replace(diagnostic, severity=Severity.WARNING)


def _check_known_agents(fields: Fields, meta: SkillMeta, known: Collection[str]) -> None:
    unknown = [agent for agent in meta.agents or () if agent not in known]
    if unknown:
        listed = ", ".join(shown(agent) for agent in unknown[:10])
        message = f"agents names {listed}, which this registry does not know."
        fields.warn("agents_unknown", message, "agents")
