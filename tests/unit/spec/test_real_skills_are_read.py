"""Skills as people write them: look-alikes, the bundled ones, and with ``--corpus`` real ones."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from case_inputs import Case, ids

from benchmarks.judging import Judged, find_skills, judge
from benchmarks.look_alikes import read_look_alikes, write_look_alike
from skill_registry.spec.validation import read_skill

PROJECT = Path(__file__).resolve().parents[3]
LOOK_ALIKES = read_look_alikes()

_FRONTMATTER = re.compile(r"---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@pytest.fixture(scope="module")
def judged(corpus: Path | None, tmp_path_factory: pytest.TempPathFactory) -> list[Judged]:
    """Every skill that there is, at the publish door."""
    made = tmp_path_factory.mktemp("made")
    for case in LOOK_ALIKES:
        write_look_alike(case, made)
    folders = [made, PROJECT / "skills", *([corpus] if corpus else [])]
    return [judge(directory) for folder in folders for directory in find_skills(folder)]


@pytest.mark.parametrize("case", LOOK_ALIKES, ids=ids(LOOK_ALIKES))
def test_a_look_alike_is_accepted_or_refused_by_its_rule(case: Case, tmp_path: Path) -> None:
    result = judge(write_look_alike(case, tmp_path))
    outcome = "refused" if result.errors else "warned" if result.warnings else "accepted"
    assert (outcome, sorted(result.errors | result.warnings)) == (case["outcome"], case["codes"])


def test_no_accepted_byte_changes(judged: list[Judged]) -> None:
    assert [one for one in judged if one.changed] == []
    assert sum(one.files for one in judged) >= 60


def test_parseable_frontmatter_with_name_and_description_in_bounds_is_accepted(
    judged: list[Judged],
) -> None:
    sound = [one for one in judged if _is_sound(_skill_md(one.directory))]
    assert len(sound) >= 40
    assert [(one.directory.name, one.errors) for one in sound if not one.accepted] == []


def test_a_tolerant_reader_lists_it_too(judged: list[Judged]) -> None:
    for one in judged:
        data = _skill_md(one.directory)
        report = read_skill(data, directory=one.directory.name)
        assert report.meta is not None or report.diagnostics
        if _is_sound(data):
            assert report.meta is not None


def test_a_folder_of_skills_is_searched_down_to_the_outermost(tmp_path: Path) -> None:
    nested = next(case for case in LOOK_ALIKES if case["id"] == "contact-desk")
    write_look_alike(nested, tmp_path / "deeper")
    (tmp_path / "no-skill").mkdir()
    assert find_skills(tmp_path) == [tmp_path / "deeper" / "contact-desk"]


def _skill_md(directory: Path) -> bytes:
    return min(p for p in directory.iterdir() if p.name.lower() == "skill.md").read_bytes()


def _is_sound(data: bytes) -> bool:
    """Judge by other means than ours: one regular expression and PyYAML's own loader."""
    match = _FRONTMATTER.match(data.decode("utf-8-sig"))
    try:
        values: Any = yaml.load(match[1], Loader=yaml.CSafeLoader) if match else None
    except yaml.YAMLError:
        return False
    if not isinstance(values, dict):
        return False
    name, description = values.get("name"), values.get("description")
    if not isinstance(name, str) or not isinstance(description, str):
        return False
    named = len(name) <= 64 and _NAME.fullmatch(name) is not None
    return named and 0 < len(description.strip()) <= 1024
