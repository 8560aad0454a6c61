"""What the bundled skills promise: their form, their parts, and the policies that they carry."""

from __future__ import annotations

import json
import os
import re
from functools import cache
from pathlib import Path

import pytest
import yaml

from skill_registry.spec.model import SkillFile, SkillMeta
from skill_registry.spec.validation import check_skill

ROOT = Path(__file__).parents[2] / "skills"
AGENTS = {
    "code-review-and-quality": "review",
    "doubt-driven-development": "coding",
    "incremental-implementation": "coding",
    "performance-optimization": "review",
    "pr-description": "coding",
    "security-and-hardening": "review",
    "spec-driven-development": "coding",
    "test-driven-development": "coding",
}
PARTS = ["When to use", "When not to use", "Steps", "Checks", "Example", "Mistakes"]

every_skill = pytest.mark.parametrize("name", AGENTS)


def paths_of(name: str) -> list[Path]:
    return sorted(path for path in (ROOT / name).rglob("*") if path.is_file())


@cache
def files_of(name: str) -> tuple[SkillFile, ...]:
    return tuple(
        SkillFile(
            path.relative_to(ROOT / name).as_posix(), path.read_bytes(), os.access(path, os.X_OK)
        )
        for path in paths_of(name)
    )


def meta_of(name: str) -> SkillMeta:
    meta = check_skill(files_of(name), name=name).meta
    assert meta is not None
    return meta


def body_of(name: str) -> str:
    return (ROOT / name / "SKILL.md").read_text("utf-8").split("\n---\n", 1)[1]


def section(name: str, heading: str) -> str:
    """Return the text under a heading on one line, up to the next heading of its level or above."""
    lines = prose(body_of(name)).splitlines()
    start = next(i for i, line in enumerate(lines) if line.lstrip("#") == f" {heading}")
    level = lines[start].count("#")
    kept: list[str] = []
    for line in lines[start + 1 :]:
        deeper = re.match(r"(#+) ", line)
        if deeper and len(deeper[1]) <= level:
            break
        kept.append(line)
    return " ".join(" ".join(kept).split())


def prose(markdown: str) -> str:
    return re.sub(r"(?ms)^ *```.*?^ *```$", "", markdown)


def slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def table(text: str, columns: int) -> list[list[str]]:
    """Return the rows of the first table that has so many columns, without its two head lines."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    ]
    return [row for row in rows if len(row) == columns and not row[0].startswith("---")][1:]


def test_the_tree_holds_exactly_the_eight_skills() -> None:
    assert {path.name for path in ROOT.iterdir() if path.is_dir()} == set(AGENTS)


def test_the_manifest_lists_every_skill_as_local_with_its_agents() -> None:
    manifest = yaml.safe_load((ROOT / "manifest.yaml").read_text("utf-8"))
    assert manifest["sources"] == {}
    assert manifest["skills"] == [
        {"name": name, "local": True, "agents": [agent]} for name, agent in AGENTS.items()
    ]


@every_skill
def test_a_bundled_skill_is_published_without_any_diagnostic(name: str) -> None:
    assert check_skill(files_of(name), name=name).diagnostics == ()


@every_skill
def test_frontmatter_names_the_directory_one_agent_and_the_licence(name: str) -> None:
    meta = meta_of(name)
    assert (meta.name, meta.agents, meta.license) == (name, (AGENTS[name],), "Apache-2.0")
    assert meta.upstream is None


@every_skill
def test_a_description_is_short_and_says_when(name: str) -> None:
    description = meta_of(name).description
    assert len(description) <= 200
    assert re.match(r"[A-Z][a-z]+s .+\. Use when .+\.$", description)


@every_skill
def test_text_is_utf8_with_line_feeds_and_a_final_one(name: str) -> None:
    for file in files_of(name):
        text = file.data.decode("utf-8")
        assert text.endswith("\n") and not text.endswith("\n\n"), file.path
        assert "\r" not in text and "\t" not in text, file.path


@every_skill
def test_a_body_has_every_part_in_order_and_fits_its_budget(name: str) -> None:
    body = body_of(name)
    headings = re.findall(r"(?m)^## (.+)$", prose(body))
    assert [heading for heading in headings if heading in PARTS] == PARTS
    assert 100 <= len(body.splitlines()) < 500
    assert len(re.findall(r"(?m)^- \[ \] \S", body)) >= 8
    assert len(re.findall(r"(?m)^\d+\. ", body)) >= 5


@every_skill
def test_links_lead_to_files_and_headings_of_the_skill_itself(name: str) -> None:
    for path in paths_of(name):
        if path.suffix != ".md":
            continue
        text = prose(path.read_text("utf-8"))
        for target in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", text):
            if target.startswith("#"):
                assert target[1:] in map(slug, re.findall(r"(?m)^#+ (.+)$", text)), target
            else:
                linked = (path.parent / target).resolve()
                assert linked.is_relative_to(ROOT / name) and linked.is_file(), target
        assert "../" not in re.sub(r"`[^`]*`", "", text)


@every_skill
def test_every_reference_and_program_is_named_in_the_body(name: str) -> None:
    for file in files_of(name):
        if file.path.startswith("references/") or file.executable:
            assert file.path in body_of(name), file.path


@every_skill
def test_a_skill_recommends_only_skills_that_its_agent_may_load(name: str) -> None:
    for other in re.findall(r"`([a-z-]+)`", body_of(name)):
        assert AGENTS.get(other, AGENTS[name]) == AGENTS[name], other


@every_skill
def test_code_in_the_examples_is_valid(name: str) -> None:
    for language, code in re.findall(r"(?ms)^```(python|json)\n(.*?)^```$", body_of(name)):
        if language == "json":
            assert json.loads(code), name
        else:
            assert compile(code, name, "exec").co_code, name


def test_at_least_two_skills_have_references_and_one_has_a_program() -> None:
    kinds = [{file.path.split("/")[0] for file in files_of(name)} for name in AGENTS]
    assert sum("references" in kind for kind in kinds) >= 2
    assert sum("scripts" in kind for kind in kinds) >= 1
    for name in AGENTS:
        for file in files_of(name):
            assert file.executable == file.data.startswith(b"#!"), file.path


def test_the_review_publishes_at_a_confidence_of_80_and_never_below() -> None:
    bar = section("code-review-and-quality", "The bar: what is published")
    assert "**Confidence is 80 or more**" in bar
    assert "Below 80 there are two choices: verify until the score rises, or drop it." in bar
    rows = table(body_of("code-review-and-quality"), 3)
    published = {int(row[0]): row[2] for row in rows if row[0].isdigit()}
    assert published == {100: "yes", 90: "yes", 80: "yes", 60: "no", 30: "no"}


def test_the_review_drops_low_impact_and_names_what_it_never_reports() -> None:
    name = "code-review-and-quality"
    rows = {row[0]: row[2] for row in table(body_of(name), 3)}
    assert rows["critical"] == rows["high"] == "blocks"
    assert rows["medium"] == "does not block alone"
    assert rows["low"] == "not published"
    assert "Low is not published." in section(name, "The bar: what is published")
    never = section(name, "Never reported")
    for subject in ("Formatting", "linter", "Old problems", "Futures", "Praise", "failing case"):
        assert subject in never


def test_the_review_always_publishes_a_breach_of_a_written_rule_with_its_words() -> None:
    bar = section("code-review-and-quality", "The bar: what is published")
    assert "A breach of a rule that is written in the repository is always published" in bar
    assert "however small its impact" in bar
    assert "Quote the rule word for word and say where it stands." in bar
    assert "AGENTS.md" in bar
    assert "Rule: " in body_of("code-review-and-quality").split("### Report format")[1]


def test_the_description_contract_tells_which_places_get_a_pointer() -> None:
    rule = section("pr-description", "Which places get a pointer")
    for reason in ("A promise changes", "The idea lives here", "easy to miss", "least sure"):
        assert reason in rule
    assert "if a reviewer who skips this pointer would check the same things, drop it" in rule
    assert "If more than seven survive, split the change." in rule


def test_the_description_contract_verifies_anchors_mechanically() -> None:
    rule = section("pr-description", "Anchors")
    assert "Anchors are verified mechanically, never by eye." in rule
    assert "at the head of the branch" in rule
    assert "holds no commit id and no link to code" in rule
    assert "An anchor that was not verified is not published." in rule


def test_the_description_contract_lists_what_is_never_embedded() -> None:
    rule = section("pr-description", "Never embedded")
    for thing in ("commit ids", "secrets", "signed links", "pasted diffs", "HTML", "customers"):
        assert thing in rule


def test_the_description_contract_keeps_bad_news_above_the_fold() -> None:
    rule = section("pr-description", "The fold")
    assert "at most 2500 code points" in rule
    assert "Bad news (risks, what was not tested, what you doubt) always stays above." in rule
    assert "every changed file is anchored or listed" in rule


def test_the_description_contract_describes_the_whole_change_after_every_push() -> None:
    rule = section("pr-description", "After a push")
    assert "the whole change from base to head" in rule
    assert "After every push, rebases and forced pushes included" in rule
    assert "replace title and body **as a whole**" in rule
    assert "never open a second one" in rule
    assert "What was not repeated becomes `not run`." in rule
