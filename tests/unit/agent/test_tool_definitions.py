"""The tools as a model is shown them."""

from __future__ import annotations

import json

from skill_registry.agent.answers import ListedSkill
from skill_registry.agent.shapes import (
    anthropic_result,
    anthropic_tools,
    bedrock_result,
    bedrock_tools,
    mcp_result,
    mcp_tools,
    openai_result,
    openai_tools,
)
from skill_registry.agent.tool_answers import SkillAnswer
from skill_registry.agent.tools import TOOL_NAMES, define

TOOLS = define(TOOL_NAMES, ["tidy-csv", "bare"])
LOADED = SkillAnswer(
    "view_skill",
    "tidy-csv",
    None,
    5,
    content="Tidy.\n",
    directory=".skills/tidy-csv",
    files=("references/a.md",),
    note="Mind.",
    rules="Write short sentences.",
    source="https://example.org/tidy",
)
REFUSED = SkillAnswer(
    "use_skill",
    "nothing",
    content="There is no skill `nothing` that you can load.",
    code="skill_not_found",
    available=("bare", "tidy-csv"),
)


def test_the_name_is_one_of_the_listed_skills_and_the_path_optional() -> None:
    view = TOOLS[0].parameters
    assert view["properties"]["name"]["enum"] == ["tidy-csv", "bare"]
    assert view["properties"]["path"]["type"] == "string"
    assert view["required"] == ["name"]
    assert view["additionalProperties"] is False


def test_without_a_listing_every_name_is_let_through() -> None:
    (view,) = define(["view_skill"], None)
    assert "enum" not in view.parameters["properties"]["name"]


def test_where_no_skill_is_listed_there_are_no_tools() -> None:
    assert define(TOOL_NAMES, []) == ()


def test_every_tool_only_reads() -> None:
    assert [tool.read_only for tool in TOOLS] == [True, True, True]
    assert all(tool["annotations"]["readOnlyHint"] for tool in mcp_tools(TOOLS))


def test_each_api_is_given_the_schema_where_it_looks_for_it() -> None:
    view = TOOLS[0]
    assert anthropic_tools(TOOLS)[0]["input_schema"] == view.parameters
    assert bedrock_tools(TOOLS)["tools"][0]["toolSpec"]["inputSchema"]["json"] == view.parameters
    assert mcp_tools(TOOLS)[0]["inputSchema"] == view.parameters


def test_a_strict_function_requires_every_property_and_lets_the_optional_be_null() -> None:
    view, listing, _ = (tool["parameters"] for tool in openai_tools(TOOLS))
    assert view["required"] == ["name", "path"]
    assert view["properties"]["path"]["type"] == ["string", "null"]
    assert view["properties"]["name"]["type"] == "string"
    assert listing["required"] == []
    assert TOOLS[0].parameters["required"] == ["name"]


def test_an_answer_is_an_object_with_the_version_of_what_it_holds() -> None:
    assert json.loads(LOADED.text) == {
        "skillName": "tidy-csv",
        "path": None,
        "version": 5,
        "content": "Tidy.\n",
        "directory": ".skills/tidy-csv",
        "files": ["references/a.md"],
        "source": "https://example.org/tidy",
        "writingRules": "Write short sentences.",
        "note": "Mind.",
    }


def test_a_used_skill_is_a_text_with_header_body_rules_and_source() -> None:
    used = SkillAnswer("use_skill", "a", None, 2, "Do.\n", rules="Briefly.", source="https://e.org")
    assert used.text == "# Skill: a (v:2)\n\nDo.\n\nBriefly.\n\n_(Skill source: https://e.org)_"
    alone = SkillAnswer("use_skill", "a", content="Do.")
    assert alone.text == "# Skill: a\n\nDo.\n\n_(Skill loaded.)_"


def test_a_refusal_names_what_can_be_loaded_and_says_so_only_where_there_is_something() -> None:
    assert REFUSED.text.endswith(" Available: bare, tidy-csv.")
    alone = SkillAnswer("use_skill", "nothing", content="There is none.", code="skill_not_found")
    assert alone.text == "There is none."
    assert "available" not in alone.to_dict()["error"]


def test_results_are_marked_as_errors_where_the_api_can_be_told() -> None:
    assert anthropic_result("toolu_1", REFUSED)["is_error"] is True
    assert anthropic_result("toolu_1", LOADED)["is_error"] is False
    assert bedrock_result("t", REFUSED)["toolResult"]["status"] == "error"
    assert bedrock_result("t", LOADED)["toolResult"]["status"] == "success"
    assert mcp_result(REFUSED)["isError"] is True
    assert mcp_result(LOADED)["structuredContent"] == LOADED.to_dict()
    assert openai_result("call_1", LOADED)["output"] == LOADED.text


def test_a_listing_has_names_versions_and_descriptions() -> None:
    skills = (
        ListedSkill("a", "system", 3, "Does a.", {}),
        ListedSkill("b", "system", None, "", {}),
    )
    answer = SkillAnswer("list_skills", content="- **a** (v:3): Does a.\n", skills=skills)
    assert answer.to_dict() == {
        "skills": [
            {"name": "a", "version": 3, "description": "Does a."},
            {"name": "b", "description": ""},
        ]
    }
    assert answer.text == "- **a** (v:3): Does a.\n"
