"""Every text of ``cases/skill_md.jsonl``, at the publish door and at the tolerant one."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from skill_registry.spec.model import Severity, SkillFile
from skill_registry.spec.validation import check_skill, read_skill

_CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "cases" / "skill_md.jsonl")
    .read_text(encoding="utf-8")
    .split("\n")
    if line
]
_each = pytest.mark.parametrize("case", _CASES, ids=[case["id"] for case in _CASES])


@_each
def test_a_publish_names_every_problem_of_the_text(case: dict[str, Any]) -> None:
    report = check_skill([SkillFile("SKILL.md", case["text"].encode())], name=None)
    assert sorted(found.code for found in report.diagnostics) == sorted(case["strict"])
    for found in report.diagnostics:
        assert found.file == "SKILL.md"
        assert found.message


@_each
def test_a_tolerant_reader_lists_what_can_be_read(case: dict[str, Any]) -> None:
    report = read_skill(case["text"].encode(), directory="bean-pots")
    assert sorted(found.code for found in report.diagnostics) == sorted(case["tolerant"])
    assert (report.meta is not None) == case["listed"]
    refused = [found for found in report.diagnostics if found.severity is Severity.ERROR]
    assert bool(refused) != case["listed"]


@_each
def test_metadata_is_what_the_author_typed(case: dict[str, Any]) -> None:
    report = read_skill(case["text"].encode(), directory="bean-pots")
    if report.meta is not None:
        meta = json.loads(json.dumps(asdict(report.meta)))
        expected = case.get("meta", {})
        assert {key: meta[key] for key in expected} == expected


@pytest.mark.parametrize("name", ["12306", "on", "null", "index", "upload", "con"])
def test_a_name_is_the_text_that_was_typed(name: str) -> None:
    text = f"---\nname: {name}\ndescription: Grows beans.\n---\nWater.\n"
    report = check_skill([SkillFile("SKILL.md", text.encode())], name=name)
    assert report.diagnostics == ()
    assert report.meta is not None
    assert report.meta.name == name
