"""What a model is answered that asks for what it cannot have."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from toolkit import Agents, publish_sample

from skill_registry.agent.client import RegistryClient
from skill_registry.agent.skillset import Skillset
from skill_registry.agent.tools import LIST_SKILLS, USE_SKILL

if TYPE_CHECKING:
    from pathlib import Path

    from loopback import Loopback

PROMPT = "You are an agent.\n"


@pytest.mark.parametrize("mounted", [False, True], ids=["direct", "mounted"])
@pytest.mark.parametrize(
    "path",
    [
        "../other/SKILL.md",
        "/etc/hostname",
        "references\\more.md",
        "references/../../other/SKILL.md",
        "../../references/performance-checklist.md",
        "%2e%2e/other",
        "a\0b",
        "C:\\x",
    ],
)
def test_a_path_that_leaves_the_skill_is_refused_before_anything_is_touched(
    registry: Loopback, agents: Agents, tmp_path: Path, path: str, mounted: bool
) -> None:
    publish_sample(registry)
    skills = agents.make(workspace=tmp_path if mounted else None)
    answer = skills.view_skill("tidy-csv", path)
    assert answer.code == "skill_path_invalid"
    assert agents.asked() == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mounted", [False, True], ids=["direct", "mounted"])
def test_a_missing_file_is_refused_with_those_that_there_are(
    registry: Loopback, agents: Agents, tmp_path: Path, mounted: bool
) -> None:
    publish_sample(registry)
    skills = agents.make(workspace=tmp_path if mounted else None)
    answer = skills.view_skill("tidy-csv", "references/none.md")
    assert answer.code == "file_not_found"
    assert "references/more.md" in answer.available
    assert skills.view_skill("tidy-csv", ".version").code == "file_not_found"


def test_an_unknown_skill_is_refused_with_those_that_can_be_loaded(
    registry: Loopback, agents: Agents
) -> None:
    publish_sample(registry)
    skills = agents.make(tools=(USE_SKILL,))
    skills.instructions()
    answer = skills.use_skill("nothing")
    assert answer.code == "skill_not_found"
    assert answer.text == "There is no skill `nothing` that you can load. Available: tidy-csv."


@pytest.mark.parametrize("name", ["", "  ", None])
def test_a_blank_name_is_asked_for(registry: Loopback, agents: Agents, name: str | None) -> None:
    publish_sample(registry)
    skills = agents.make()
    skills.instructions()
    answer = skills.call("use_skill", {"name": name})
    assert answer.code == "name_missing"
    assert "Available: tidy-csv." in answer.text


@pytest.mark.parametrize(
    "arguments", [None, [], "no json", 7, {"name": 7}, {"name": "tidy-csv", "path": 7}, "[" * 9999]
)
@pytest.mark.parametrize("tool", ["view_skill", "use_skill", "list_skills", "rm", ""])
def test_a_model_is_answered_whatever_it_sends(
    registry: Loopback, agents: Agents, tool: str, arguments: object
) -> None:
    publish_sample(registry)
    answer = agents.make().call(tool, arguments)
    assert answer.text
    if tool != LIST_SKILLS:
        assert answer.is_error == (
            tool != USE_SKILL or arguments != {"name": "tidy-csv", "path": 7}
        )


class Odd:
    def __str__(self) -> str:
        raise ZeroDivisionError


@pytest.mark.parametrize(
    "name",
    [
        *("../x", "a/b", "\ud800\n/", "a\0b", "."),
        pytest.param("x" * 2_000_000, id="long"),
        pytest.param(10**5_000, id="digits"),
        pytest.param(Odd(), id="odd"),
    ],
)
@pytest.mark.parametrize("mounted", [False, True], ids=["direct", "mounted"])
def test_a_name_that_no_skill_has_is_refused_without_a_request_in_few_words(
    registry: Loopback, agents: Agents, tmp_path: Path, name: object, mounted: bool
) -> None:
    publish_sample(registry)
    skills = agents.make(workspace=tmp_path if mounted else None)
    skills.instructions()
    agents.asked()
    answer = skills.view_skill(name)  # type: ignore[arg-type]
    assert answer.code in ("skill_not_found", "name_missing")
    assert answer.available == ("tidy-csv",)
    assert len(answer.text.encode()) < 2_000
    assert agents.asked() == []


def test_a_refusal_does_not_recommend_what_it_refuses(registry: Loopback, agents: Agents) -> None:
    publish_sample(registry)
    skills = agents.make()
    skills.instructions()
    with RegistryClient(registry.url) as client:
        client.delete("tidy-csv")
    answer = skills.view_skill("tidy-csv")
    assert (answer.code, answer.available) == ("skill_not_found", ())


def test_arguments_may_come_as_json_text_and_names_with_blanks_round_them(
    registry: Loopback, agents: Agents
) -> None:
    publish_sample(registry)
    answer = agents.make().call("view_skill", json.dumps({"name": " tidy-csv ", "path": None}))
    assert answer.version == 1


def test_an_agent_without_a_source_is_told_so_and_its_prompt_stays() -> None:
    skills = Skillset(None, tools=(LIST_SKILLS, USE_SKILL))
    assert skills.instructions() == ""
    assert skills.definitions() == ()
    for answer in (skills.list_skills(), skills.use_skill("tidy-csv"), skills.view_skill("a", "b")):
        assert answer.code == "skills_unavailable"
        assert "not available" in answer.text
