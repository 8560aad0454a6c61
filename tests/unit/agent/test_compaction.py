"""What compaction keeps, and what a client shows."""

from __future__ import annotations

import json

import pytest

from skill_registry.agent.compaction import client_output, compact
from skill_registry.agent.tool_answers import SkillAnswer
from skill_registry.spec.budget import estimated_tokens

BODY = SkillAnswer("view_skill", "tidy-csv", None, 5, content="word " * 1_400, files=("a.md",))
USED = SkillAnswer("use_skill", "tidy-csv", None, 5, content="word " * 1_400)
FILE = SkillAnswer("view_skill", "tidy-csv", "references/a.md", 5, content="long " * 900)
REFUSED = SkillAnswer("view_skill", "nothing", content="There is none.", code="skill_not_found")


@pytest.mark.parametrize("answer", [BODY, USED], ids=["view_skill", "use_skill"])
def test_a_body_load_keeps_its_name_and_version_only(answer: SkillAnswer) -> None:
    kept = json.loads(compact(answer.text))
    assert list(kept) == ["skillName", "path", "version", "content", "note"]
    assert (kept["skillName"], kept["path"], kept["version"]) == ("tidy-csv", None, 5)
    assert "word" not in kept["content"]
    assert "again" in kept["note"]
    assert estimated_tokens(compact(answer.text)) <= 40


def test_value_object_and_text_of_an_answer_are_compacted_alike() -> None:
    assert compact(BODY) == compact(BODY.to_dict()) == json.loads(compact(BODY.text))


@pytest.mark.parametrize("answer", [FILE, REFUSED], ids=["a file", "a refusal"])
def test_what_is_no_body_load_stays_as_it_is(answer: SkillAnswer) -> None:
    assert compact(answer) == answer.to_dict()
    assert compact(answer.to_dict()) == answer.to_dict()
    assert compact(answer.text) == answer.text


@pytest.mark.parametrize(
    "text",
    ["", "ls\nREADME.md", "[1, 2]", '{"content": "x"}', "# Skills", "# Skill: notes\nA file."],
)
def test_results_of_other_tools_stay_as_they_are(text: str) -> None:
    assert compact(text) == text


@pytest.mark.parametrize("path", ["SKILL.md", "", None])
def test_every_way_to_ask_for_the_body_is_a_body_load(path: str | None) -> None:
    result = {"skillName": "a", "path": path, "version": "2.3", "content": "long"}
    assert compact(result)["version"] == "2.3"
    assert compact(result)["content"] != "long"


def test_compacting_twice_changes_nothing_more() -> None:
    once = compact(BODY.text)
    assert compact(once) == once


def test_a_version_is_kept_where_there_is_none() -> None:
    answer = SkillAnswer("use_skill", "bare", content="Body.")
    assert json.loads(compact(answer.text))["version"] is None


@pytest.mark.parametrize("form", ["value", "object", "text"])
def test_a_client_is_shown_that_a_skill_was_activated_and_no_more(form: str) -> None:
    shown = {"value": BODY, "object": BODY.to_dict(), "text": BODY.text}[form]
    assert client_output(shown) == {  # type: ignore[arg-type]
        "skillName": "tidy-csv",
        "path": None,
        "content": "Skill activated.",
    }


def test_a_client_is_shown_the_file_and_the_skill_of_a_text() -> None:
    assert client_output(FILE)["path"] == "references/a.md"
    assert client_output(USED.text)["skillName"] == "tidy-csv"


@pytest.mark.parametrize("text", ["hello", "There is no skill `x`.", "- **a**: Does a.\n"])
def test_a_client_is_shown_other_texts_as_they_are(text: str) -> None:
    assert client_output(text) == {"skillName": None, "path": None, "content": text}


def test_a_client_is_shown_why_nothing_was_loaded() -> None:
    assert client_output(REFUSED) == {
        "skillName": "nothing",
        "path": None,
        "content": "There is none.",
    }
