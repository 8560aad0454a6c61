"""What has to hold of the format for whatever bytes come in. A target raises where it does not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from skill_registry.spec.archive import (
    content_digest,
    read_archive,
    read_revision,
    write_archive,
)
from skill_registry.spec.budget import estimated_tokens, fit
from skill_registry.spec.diagnostics import CODES
from skill_registry.spec.frontmatter import body_of, read_document
from skill_registry.spec.model import DEFAULT_LIMITS, SkillFile
from skill_registry.spec.names import check_path, is_skill_name
from skill_registry.spec.rendering import (
    XML_ELEMENT,
    ListedSkill,
    render,
    render_guidance,
    render_markdown,
)
from skill_registry.spec.validation import check_contents, check_skill, read_skill

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skill_registry.spec.model import Diagnostic, Report

# A hostile file breaks each rule a few times; what it makes of that has to stay an answer.
MOST_DIAGNOSTICS = 2_000
MOST_ANSWER_BYTES = 2_000_000


class Broken(AssertionError):
    """Something does not hold; the message says what."""


def check_text(data: bytes) -> None:
    """Read bytes as a SKILL.md through every door."""
    for tolerant in (False, True):
        document = read_document(data, tolerant=tolerant)
        json.dumps(document.mapping)
        _check_diagnostics(document.diagnostics)
        _hold(data.endswith(data[document.body_offset :]), "the body is no slice of the file")
        if document.mapping is not None:
            _hold(document.body == body_of(data), "two readers see two bodies")
    listed = read_skill(data, directory="bean-pots")
    published = check_skill([SkillFile("SKILL.md", data)], name=None)
    for report in (listed, published):
        _check_report(report)
    if published.meta is not None:
        _hold(is_skill_name(published.meta.name), "a name that is none was accepted")
        _hold(listed.meta is not None, "what a publish accepts is not listed")


def check_archive(data: bytes) -> None:
    """Read bytes as an upload, and pack what was accepted."""
    contents = read_archive(data)
    report = check_contents(contents, name=None)
    _check_report(report)
    _hold(report.ok or bool(report.diagnostics), "a refusal without a reason")
    _hold(
        sum(len(file.data) for file in contents.files) <= DEFAULT_LIMITS.total_bytes,
        "more was unpacked than is allowed",
    )
    if not report.ok:
        return
    paths = [file.path for file in contents.files]
    _hold(not any(check_path(path) for path in paths), "a path that leaves its skill was accepted")
    _hold(len({path.casefold() for path in paths}) == len(paths), "two paths collide")
    packed = write_archive(contents.files)
    stored = read_revision(packed)
    _hold(set(stored) == set(contents.files), "a file changed while it was packed")
    _hold(write_archive(stored) == packed, "packing twice gives two archives")
    _hold(content_digest(stored) == content_digest(contents.files), "a digest changed")


def _check_report(report: Report) -> None:
    _check_diagnostics(report.diagnostics)
    if report.meta is None:
        _hold(bool(report.diagnostics), "there is neither a skill nor a reason")
        return
    json.dumps([dict(report.meta.metadata), dict(report.meta.extra), report.meta.agents])
    skills = [ListedSkill(report.meta.name, report.meta.version, report.meta.description)]
    _hold(len(render_markdown(skills).splitlines()) == 1, "a description makes a second line")
    _hold(len(render_guidance(skills).splitlines()) == 5, "a description adds to the guidance")
    _hold(len(ElementTree.fromstring(render(skills, XML_ELEMENT))) == 1, "an element is forged")
    fitted = render_markdown(fit(skills, 30).skills)
    _hold(estimated_tokens(fitted) <= 30, "a listing is over its budget")


def _check_diagnostics(diagnostics: Sequence[Diagnostic]) -> None:
    _hold(len(diagnostics) <= MOST_DIAGNOSTICS, f"there are {len(diagnostics)} diagnostics")
    size = len(json.dumps([found.to_dict() for found in diagnostics]))
    _hold(size <= MOST_ANSWER_BYTES, f"the diagnostics have {size} bytes")
    for found in diagnostics:
        _hold(found.code in CODES, f"{found.code} is in no table")
        _hold(bool(found.message), f"{found.code} says nothing")
        _hold((found.line or 1) >= 1 and (found.column or 1) >= 1, f"{found.code} is nowhere")
        "".join((found.message, found.hint or "", found.file or "")).encode()


def _hold(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Broken(otherwise)
