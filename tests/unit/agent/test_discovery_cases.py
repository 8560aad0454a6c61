"""Every tree of ``cases/discovery.jsonl``: which skills are found, and what is said of the rest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from case_inputs import ids, read_cases
from trees import grow

from skill_registry.agent.discovery import Locations, discover

if TYPE_CHECKING:
    from skill_registry.agent.discovery import Discovered, LocalSkill
    from skill_registry.spec.model import Diagnostic

_CASES = read_cases("discovery")
_each = pytest.mark.parametrize("case", _CASES, ids=ids(_CASES))


def _call(root: Path, case: dict[str, Any]) -> Discovered:
    grow(root, case["files"], case.get("links", {}))
    call = case["call"]
    locations = None
    if "user" in call:
        locations = Locations(root / call["user"], root / call["project"])
    return discover(
        call["sources"],
        defaults=call.get("defaults", False),
        locations=locations,
        home=root / "home",
        cwd=root,
    )


def _skill(root: Path, skill: LocalSkill) -> dict[str, Any]:
    return {
        "name": skill.name,
        "description": skill.description,
        "path": skill.path.relative_to(root).as_posix(),
        "kind": skill.kind,
        "hidden": skill.meta.disable_model_invocation,
    }


def _said(root: Path, diagnostic: Diagnostic) -> dict[str, Any]:
    said = diagnostic.to_dict()
    if diagnostic.file is not None and Path(diagnostic.file).is_relative_to(root):
        said["file"] = Path(diagnostic.file).relative_to(root).as_posix()
    return said


@_each
def test_the_skills_are_those_that_the_rules_make(case: dict[str, Any], tmp_path: Path) -> None:
    found = [_skill(tmp_path, skill) for skill in _call(tmp_path, case).skills]
    assert [skill["name"] for skill in found] == [skill["name"] for skill in case["skills"]]
    for skill, expected in zip(found, case["skills"], strict=True):
        assert {key: skill[key] for key in expected} == expected


@_each
def test_the_rest_is_named_exactly(case: dict[str, Any], tmp_path: Path) -> None:
    said = [_said(tmp_path, each) for each in _call(tmp_path, case).diagnostics]
    expected = [dict(each) for each in case["diagnostics"]]
    assert [each["code"] for each in said] == [each["code"] for each in expected]
    for each, wanted in zip(said, expected, strict=True):
        assert wanted.pop("contains", "") in each["message"]
        if wanted.get("file", "") is None:
            wanted.pop("file")
        assert {key: each.get(key) for key in wanted} == wanted
