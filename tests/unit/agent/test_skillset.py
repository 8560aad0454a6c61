"""``Skillset`` over the registry's own code behind a socket, sync and async."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from toolkit import SKILL, Agents, publish_sample

from skill_registry.agent.events import SkillRefused, SkillUse
from skill_registry.agent.tools import LIST_SKILLS, USE_SKILL, VIEW_SKILL
from skill_registry.errors import RequestInvalid

if TYPE_CHECKING:
    from pathlib import Path

    from loopback import Loopback

PROMPT = "You are an agent.\n"


def test_the_block_is_appended_and_lists_what_there_is(registry: Loopback, agents: Agents) -> None:
    publish_sample(registry)
    block = agents.make().instructions()
    assert block.startswith("\n\n")
    assert "- **tidy-csv** (v:1): Does one." in block


def test_where_nothing_is_visible_the_prompt_stays_as_it_is(agents: Agents) -> None:
    skills = agents.make()
    assert PROMPT + skills.instructions() == PROMPT
    assert skills.definitions() == ()
    assert skills.list_skills().text == "No skills are available to you."


def test_without_the_tool_that_loads_a_skill_there_is_no_block_and_no_request(
    registry: Loopback, agents: Agents
) -> None:
    publish_sample(registry)
    skills = agents.make()
    assert skills.instructions(tool_keys=["shell", "list_skills"]) == ""
    assert agents.asked() == []
    assert skills.instructions(tool_keys=["shell", "view_skill"]) != ""


def test_an_unchanged_listing_costs_one_304(registry: Loopback, agents: Agents) -> None:
    publish_sample(registry)
    skills = agents.make()
    first = skills.instructions()
    assert agents.asked() == ["GET /skills"]
    assert skills.instructions() == first
    assert agents.asked() == ["GET /skills"]


def test_a_new_version_shows_in_the_next_turn(registry: Loopback, agents: Agents) -> None:
    publish_sample(registry)
    skills = agents.make()
    skills.instructions()
    publish_sample(registry, text="two")
    assert "(v:2): Does two." in skills.instructions()


def test_the_tools_name_the_listed_skills(registry: Loopback, agents: Agents) -> None:
    publish_sample(registry)
    skills = agents.make(tools=(VIEW_SKILL, LIST_SKILLS, USE_SKILL))
    assert "enum" not in skills.definitions()[0].parameters["properties"]["name"]
    skills.instructions()
    names = [tool.name for tool in skills.definitions()]
    assert names == ["view_skill", "list_skills", "use_skill"]
    assert skills.definitions()[0].parameters["properties"]["name"]["enum"] == ["tidy-csv"]


def test_a_tool_that_there_is_not_cannot_be_offered(agents: Agents) -> None:
    for tools in (["view"], []):
        with pytest.raises(RequestInvalid) as refused:
            agents.make(tools=tools)
        assert refused.value.code == "tool_unknown"


def test_a_body_comes_without_frontmatter_and_with_its_version(
    registry: Loopback, agents: Agents
) -> None:
    publish_sample(registry)
    for path in (None, "", "SKILL.md", "./SKILL.md"):
        answer = agents.make().view_skill("tidy-csv", path)
        assert answer.content == "# one\n\nSee references/more.md.\n"
        assert (answer.version, answer.path) == (1, None)
        assert answer.files == ("assets/logo.png", "references/more.md", "scripts/run.py")


def test_without_a_workspace_a_second_view_in_a_turn_costs_nothing(
    registry: Loopback, agents: Agents
) -> None:
    publish_sample(registry)
    skills = agents.make()
    assert skills.view_skill("tidy-csv") == skills.view_skill("tidy-csv")
    assert skills.view_skill("tidy-csv", "references/more.md").content == "More of one.\n"
    skills.view_skill("tidy-csv", "references/more.md")
    assert agents.asked() == ["GET /skills/tidy-csv", "GET /skills/tidy-csv"]


def test_a_mounted_skill_costs_one_download_and_then_nothing_in_a_turn(
    registry: Loopback, agents: Agents, tmp_path: Path
) -> None:
    publish_sample(registry)
    skills = agents.make(workspace=tmp_path)
    skills.view_skill("tidy-csv")
    skills.view_skill("tidy-csv", "references/more.md")
    skills.view_skill("tidy-csv")
    assert agents.asked() == ["GET /skills/tidy-csv/bundle", "GET /s3"]
    skills.instructions()
    agents.asked()
    skills.view_skill("tidy-csv")
    assert agents.asked() == ["GET /skills/tidy-csv/bundle"]


def test_the_mount_holds_every_file_as_stored_and_its_scripts_run(
    registry: Loopback, agents: Agents, tmp_path: Path
) -> None:
    publish_sample(registry)
    answer = agents.make(workspace=tmp_path).view_skill("tidy-csv")
    assert answer.directory == ".skills/tidy-csv"
    mount = tmp_path / ".skills" / "tidy-csv"
    found = {str(path.relative_to(mount)) for path in mount.rglob("*") if path.is_file()}
    assert found == {"SKILL.md", "references/more.md", "scripts/run.py", "assets/logo.png"}
    assert (mount / "SKILL.md").read_text() == SKILL.format(name="tidy-csv", text="one")
    script = [sys.executable, ".skills/tidy-csv/scripts/run.py"]
    done = subprocess.run(script, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "ran one\n"


def test_a_file_that_is_no_text_is_named_with_its_size(
    registry: Loopback, agents: Agents, tmp_path: Path
) -> None:
    publish_sample(registry)
    answer = agents.make(workspace=tmp_path).view_skill("tidy-csv", "assets/logo.png")
    assert (answer.content, answer.size) == ("", 9)
    assert answer.note == "The file is no text."
    assert not answer.is_error


def test_writing_rules_go_with_every_load_and_are_no_part_of_the_body(
    registry: Loopback, agents: Agents
) -> None:
    publish_sample(registry)
    skills = agents.make(writing_rules="Write short sentences.")
    used = skills.use_skill("tidy-csv").text
    assert used.startswith("# Skill: tidy-csv (v:1)\n\n# one")
    assert "Write short sentences." in used
    assert used.endswith("_(Skill source: https://example.org/tidy-csv)_")
    viewed = skills.view_skill("tidy-csv").to_dict()
    assert viewed["writingRules"] == "Write short sentences."
    assert "Write" not in viewed["content"]
    assert "writingRules" not in skills.view_skill("tidy-csv", "references/more.md").to_dict()


def test_a_load_is_one_event_and_a_refusal_another(registry: Loopback, agents: Agents) -> None:
    publish_sample(registry)
    skills = agents.make(agent="review")
    body = skills.view_skill("tidy-csv").content
    skills.view_skill("tidy-csv", "references/more.md")
    skills.view_skill("nothing", "a.md")
    use, refused = agents.events
    assert use == SkillUse(
        "tidy-csv", "Does one.", "review", 1, len(body.encode()), "https://example.org/tidy-csv"
    )
    assert refused == SkillRefused("nothing", "review", "skill_not_found", "a.md")
    assert use.to_dict()["type"] == "skill_use"
    assert "upstream" not in use.to_dict()


@pytest.mark.parametrize("mounted", [False, True], ids=["direct", "mounted"])
def test_a_mirrored_skill_tells_its_repository_and_commit(
    registry: Loopback, agents: Agents, tmp_path: Path, mounted: bool
) -> None:
    origin = {"repo": "https://github.com/acme/kit", "commit": "b" * 40}
    upstream = {**origin, "path": "p", "bodySha256": "c" * 64}
    publish_sample(registry, upstream=json.dumps(upstream))
    skills = agents.make(workspace=tmp_path if mounted else None)
    assert skills.use_skill("tidy-csv").source == "https://example.org/tidy-csv"
    assert [event.to_dict().get("upstream") for event in agents.events] == [origin]


def test_a_callback_that_fails_costs_the_model_nothing(
    registry: Loopback, agents: Agents, agent_log: pytest.LogCaptureFixture
) -> None:
    def fail(_: object) -> None:
        raise ZeroDivisionError

    publish_sample(registry)
    assert agents.make(publish=fail).view_skill("tidy-csv").version == 1
    assert agents.make(publish=None).view_skill("tidy-csv").version == 1
    assert [record.levelname for record in agent_log.records if "callback" in record.message]


def test_a_hidden_skill_is_loaded_by_its_users_command_only(
    registry: Loopback, agents: Agents, tmp_path: Path
) -> None:
    publish_sample(registry, "mine", "mine", disable_model_invocation="true")
    skills = agents.make(workspace=tmp_path)
    assert skills.instructions() == ""
    told = skills.expand("/skill:mine do it")
    assert told.startswith('<skill name="mine" location=".skills/mine/SKILL.md">')
    assert told.endswith("</skill>\n\ndo it")
    assert "# mine" in told
    assert [event.type for event in agents.events] == ["skill_use"]
    assert skills.stale() == {}


def test_a_command_reads_the_skill_anew(registry: Loopback, agents: Agents) -> None:
    publish_sample(registry)
    skills = agents.make()
    skills.instructions()
    skills.view_skill("tidy-csv")
    publish_sample(registry, text="two")
    assert "# two" in skills.expand("/skill:tidy-csv")


@pytest.mark.parametrize("text", ["Hello.", "/skill:nothing do it", "/skill:", "/skill:../x"])
def test_any_other_text_and_an_unknown_skill_stay_as_typed(agents: Agents, text: str) -> None:
    assert agents.make().expand(text) == text


def test_skills_of_another_agent_are_not_shown_and_not_loaded(
    registry: Loopback, agents: Agents
) -> None:
    publish_sample(registry, "theirs", "theirs", agents="[dba]")
    publish_sample(registry)
    review = agents.make(agent="review")
    assert "theirs" not in review.instructions()
    answer = review.view_skill("theirs")
    assert (answer.code, answer.available) == ("skill_not_found", ("tidy-csv",))
    assert "theirs" in agents.make(agent="dba").instructions()
    nobody = agents.make(agent="")
    assert "theirs" not in nobody.instructions()
    assert nobody.view_skill("theirs").is_error


def test_skills_that_need_tools_the_agent_lacks_are_not_listed(
    registry: Loopback, agents: Agents
) -> None:
    publish_sample(registry, "needy", "needy", allowed_tools="search")
    assert agents.make(has_tools=["shell"]).instructions() == ""
    assert "needy" in agents.make(has_tools=["shell", "search"]).instructions()
