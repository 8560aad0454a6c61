"""The block of a prompt, and a skill that a user names."""

from __future__ import annotations

import pytest

from skill_registry.agent.answers import ListedSkill
from skill_registry.agent.problems import RegistryUnreachable
from skill_registry.agent.prompt import expanded, listing_block, outage_block, read_command
from skill_registry.spec.budget import estimated_tokens

SKILLS = [
    ListedSkill("tidy-csv", "system", 6, "Cleans CSV.", {}),
    ListedSkill("bare", "system", None, "No version.", {}),
]


def block(
    form: str = "markdown", view_tool: str = "view_skill", max_tokens: int | None = None
) -> str:
    return listing_block(SKILLS, form=form, view_tool=view_tool, max_tokens=max_tokens)  # type: ignore[arg-type]


def test_seed_1s_block_has_a_heading_that_names_the_tool_and_a_line_a_skill() -> None:
    text = block()
    assert text.startswith("\n\n### Skills: `view_skill`\n\n")
    assert text.endswith(
        "\nAvailable Skills:\n- **tidy-csv** (v:6): Cleans CSV.\n- **bare**: No version.\n"
    )


@pytest.mark.parametrize("form", ["markdown", "guidance", "xml"])
def test_every_form_names_the_tool_and_says_to_load_a_changed_skill_again(form: str) -> None:
    text = block(form, view_tool="use_skill")
    assert text.startswith("\n\n")
    assert "`use_skill`" in text
    assert "load it again" in text
    assert "Cleans CSV." in text


@pytest.mark.parametrize("form", ["markdown", "guidance", "xml"])
@pytest.mark.parametrize("max_tokens", [None, 10, 500])
def test_for_no_skills_there_is_no_block(form: str, max_tokens: int | None) -> None:
    made = listing_block([], form=form, view_tool="v", max_tokens=max_tokens)  # type: ignore[arg-type]
    assert made == ""


def test_a_budget_shortens_and_says_what_it_left_out() -> None:
    whole = estimated_tokens(block())
    assert block(max_tokens=whole) == block()
    tight = block(max_tokens=whole - 8)
    assert "…" in tight or "not shown" in tight
    many = [ListedSkill(f"skill-{n}", "system", n, "Words. " * 20, {}) for n in range(1, 100)]
    fitted = listing_block(many, form="markdown", view_tool="view_skill", max_tokens=300)
    assert "skill-1" in fitted
    assert "more skills are not shown here." in fitted


@pytest.mark.parametrize("form", ["markdown", "guidance", "xml"])
@pytest.mark.parametrize("max_tokens", [1, 80, 100, 150, 200, 300, 600, 2_000])
def test_a_block_never_takes_more_than_its_budget(form: str, max_tokens: int) -> None:
    many = [ListedSkill(f"skill-{n}", "system", n, "Words. " * 20, {}) for n in range(1, 60)]
    made = listing_block(many, form=form, view_tool="view_skill", max_tokens=max_tokens)  # type: ignore[arg-type]
    # Where not even a name fits, only the count of what is left out is said.
    assert estimated_tokens(made) <= max(max_tokens, 12)
    assert not made.startswith("\n\n\n")


def test_an_outage_is_told_with_its_code_and_the_tool_to_try_again() -> None:
    problem = RegistryUnreachable("Nothing answers.")
    assert "registry_unreachable" in outage_block(problem, list_tool="list_skills")
    assert "`list_skills`" in outage_block(problem, list_tool="list_skills")
    assert "Call" not in outage_block(problem, list_tool=None)


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("/skill:pdf", "pdf", ""),
        ("/skill:pdf fill this in", "pdf", "fill this in"),
        ("/skill:pdf\nfill\nthis", "pdf", "fill\nthis"),
        ("/skill:pdf  two  blanks ", "pdf", "two  blanks"),
    ],
)
def test_a_command_is_a_name_up_to_the_first_blank_and_arguments(
    text: str, name: str, arguments: str
) -> None:
    command = read_command(text)
    assert command is not None
    assert (command.name, command.arguments) == (name, arguments)


@pytest.mark.parametrize(
    "text", ["", "skill:pdf", " /skill:pdf", "/skill:", "/skill: pdf", "/skills:a"]
)
def test_other_texts_are_no_commands(text: str) -> None:
    assert read_command(text) is None


def test_the_model_reads_the_body_with_its_place_and_then_the_arguments() -> None:
    command = read_command("/skill:pdf form.pdf")
    assert command is not None
    text = expanded(command, "\nFill <it> in.\n", ".skills/pdf")
    assert text == (
        '<skill name="pdf" location=".skills/pdf/SKILL.md">\n'
        "Relative paths in it start at .skills/pdf.\n\nFill <it> in.\n</skill>\n\nform.pdf"
    )
    assert expanded(command, "Fill.", None) == ('<skill name="pdf">\nFill.\n</skill>\n\nform.pdf')
