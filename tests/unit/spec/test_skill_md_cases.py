"""Every text of ``cases/skill_md.jsonl``, at the publish door and at the tolerant one."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest
from case_inputs import Case, ids, read_cases, skill_md_of

from skill_registry.spec.frontmatter import read_document
from skill_registry.spec.model import Severity, SkillFile
from skill_registry.spec.validation import check_skill, read_skill

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skill_registry.spec.model import Diagnostic

_CASES = read_cases("skill_md")
_BODIES = [case for case in _CASES if "body" in case]
_QUOTABLE = [
    case
    for case in _CASES
    if {"yaml_colon", "yaml_quotes"} & set(case["strict"]) and case["listed"]
]
_each = pytest.mark.parametrize("case", _CASES, ids=ids(_CASES))


def told(diagnostics: Iterable[Diagnostic]) -> str:
    return "\n".join(f"{found.field} {found.message} {found.hint}" for found in diagnostics)


@_each
def test_a_publish_names_every_problem_of_the_text(case: Case) -> None:
    report = check_skill([SkillFile("SKILL.md", skill_md_of(case))], name=None)
    assert sorted(found.code for found in report.diagnostics) == sorted(case["strict"])
    for found in report.diagnostics:
        assert found.file == "SKILL.md"
        assert found.message
    places = [[found.code, found.line, found.column] for found in report.diagnostics]
    assert [place for place in case.get("at", ()) if place not in places] == []
    lines = [[found.code, found.line] for found in report.diagnostics]
    assert [place for place in case.get("lines", ()) if place not in lines] == []
    assert [word for word in case.get("told", ()) if word not in told(report.diagnostics)] == []


@_each
def test_a_tolerant_reader_lists_what_can_be_read(case: Case) -> None:
    report = read_skill(skill_md_of(case), directory="bean-pots")
    assert sorted(found.code for found in report.diagnostics) == sorted(case["tolerant"])
    assert (report.meta is not None) == case["listed"]
    refused = [found for found in report.diagnostics if found.severity is Severity.ERROR]
    assert bool(refused) != case["listed"]
    words = case.get("told_on_read", ())
    assert [word for word in words if word not in told(report.diagnostics)] == []


@_each
def test_metadata_is_what_the_author_typed(case: Case) -> None:
    report = read_skill(skill_md_of(case), directory="bean-pots")
    if report.meta is not None:
        meta = json.loads(json.dumps(asdict(report.meta)))
        expected = case.get("meta", {})
        assert {key: meta[key] for key in expected} == expected
        if "fill" in case:
            assert meta["description"] == case["fill"][0] * case["fill"][1]


@pytest.mark.parametrize("case", _BODIES, ids=ids(_BODIES))
def test_the_body_is_what_follows_the_fence(case: Case) -> None:
    assert read_document(skill_md_of(case)).body == case["body"]


@pytest.mark.parametrize("case", _QUOTABLE, ids=ids(_QUOTABLE))
def test_the_lines_of_the_hints_mend_the_file(case: Case) -> None:
    data = skill_md_of(case)
    read = read_skill(data, directory="bean-pots").meta
    assert read is not None
    lines = data.decode().splitlines(keepends=True)
    for found in check_skill([SkillFile("SKILL.md", data)], name=None).diagnostics:
        if found.code in {"yaml_colon", "yaml_quotes"}:
            assert found.hint is not None
            start = next(n for n, line in enumerate(lines) if line.startswith(f"{found.field}:"))
            # A value may go on over further lines.
            assert found.line is not None
            lines[start : found.line] = [found.hint.partition("value: ")[2] + "\n"]
    mended = read_skill("".join(lines).encode(), directory="bean-pots")
    assert mended.meta == read
    assert "frontmatter_repaired" not in [found.code for found in mended.diagnostics]


@pytest.mark.parametrize("name", ["12306", "on", "null", "index", "upload", "con"])
def test_a_name_is_the_text_that_was_typed(name: str) -> None:
    text = f"---\nname: {name}\ndescription: Grows beans.\n---\nWater.\n"
    report = check_skill([SkillFile("SKILL.md", text.encode())], name=name)
    assert report.diagnostics == ()
    assert report.meta is not None
    assert report.meta.name == name
