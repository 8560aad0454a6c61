"""``Skillset`` over the registry's own code behind a socket, sync and async."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import toolkit
from toolkit import KINDS, Agents

from skill_registry.agent.client import RegistryClient
from skill_registry.agent.events import SkillRefused, SkillUse
from skill_registry.agent.lockfile import Lock
from skill_registry.agent.problems import RegistryProblem
from skill_registry.agent.skillset import Skillset
from skill_registry.agent.tools import LIST_SKILLS, USE_SKILL, VIEW_SKILL
from skill_registry.errors import RequestInvalid

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from loopback import Loopback

PROMPT = "You are an agent.\n"
SKILL = """---
name: {name}
description: Does {text}.
source: https://example.org/{name}
---
# {text}

See references/more.md.
"""


@pytest.fixture(params=KINDS)
def agents(registry: Loopback, request: pytest.FixtureRequest) -> Iterator[Agents]:
    made = Agents(registry, request.param)
    yield made
    made.close()


def publish(registry: Loopback, name: str = "tidy-csv", text: str = "one", **more: str) -> None:
    head = "".join(f"{key.replace('_', '-')}: {value}\n" for key, value in more.items())
    files: dict[str, bytes | str] = {
        "SKILL.md": SKILL.format(name=name, text=text).replace("source:", f"{head}source:"),
        "references/more.md": f"More of {text}.\n",
        "scripts/run.py": f"print('ran {text}')\n",
        "assets/logo.png": b"\x89PNG\xff\x00" + text.encode(),
    }
    toolkit.publish(registry, name, files)


def test_the_block_is_appended_and_lists_what_there_is(registry: Loopback, agents: Agents) -> None:
    publish(registry)
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
    publish(registry)
    skills = agents.make()
    assert skills.instructions(tool_keys=["shell", "list_skills"]) == ""
    assert agents.asked() == []
    assert skills.instructions(tool_keys=["shell", "view_skill"]) != ""


def test_an_unchanged_listing_costs_one_304(registry: Loopback, agents: Agents) -> None:
    publish(registry)
    skills = agents.make()
    first = skills.instructions()
    assert agents.asked() == ["GET /skills"]
    assert skills.instructions() == first
    assert agents.asked() == ["GET /skills"]


def test_a_new_version_shows_in_the_next_turn(registry: Loopback, agents: Agents) -> None:
    publish(registry)
    skills = agents.make()
    skills.instructions()
    publish(registry, text="two")
    assert "(v:2): Does two." in skills.instructions()


def test_the_tools_name_the_listed_skills(registry: Loopback, agents: Agents) -> None:
    publish(registry)
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
    publish(registry)
    for path in (None, "", "SKILL.md", "./SKILL.md"):
        answer = agents.make().view_skill("tidy-csv", path)
        assert answer.content == "# one\n\nSee references/more.md.\n"
        assert (answer.version, answer.path) == (1, None)
        assert answer.files == ("assets/logo.png", "references/more.md", "scripts/run.py")


def test_without_a_workspace_a_second_view_in_a_turn_costs_nothing(
    registry: Loopback, agents: Agents
) -> None:
    publish(registry)
    skills = agents.make()
    assert skills.view_skill("tidy-csv") == skills.view_skill("tidy-csv")
    assert skills.view_skill("tidy-csv", "references/more.md").content == "More of one.\n"
    skills.view_skill("tidy-csv", "references/more.md")
    assert agents.asked() == ["GET /skills/tidy-csv", "GET /skills/tidy-csv"]


@pytest.mark.parametrize("mounted", [False, True], ids=["direct", "mounted"])
def test_a_turn_reads_one_version_whatever_is_published_meanwhile(
    registry: Loopback, agents: Agents, tmp_path: Path, mounted: bool
) -> None:
    publish(registry)
    skills = agents.make(workspace=tmp_path if mounted else None)
    skills.instructions()
    assert skills.view_skill("tidy-csv").version == 1
    publish(registry, text="two")
    more = skills.view_skill("tidy-csv", "references/more.md")
    assert (more.version, more.content) == (1, "More of one.\n")
    skills.instructions()
    more = skills.view_skill("tidy-csv", "references/more.md")
    assert (more.version, more.content) == (2, "More of two.\n")


def test_a_mounted_skill_costs_one_download_and_then_nothing_in_a_turn(
    registry: Loopback, agents: Agents, tmp_path: Path
) -> None:
    publish(registry)
    skills = agents.make(workspace=tmp_path)
    skills.view_skill("tidy-csv")
    skills.view_skill("tidy-csv", "references/more.md")
    skills.view_skill("tidy-csv")
    assert agents.asked() == ["GET /skills/tidy-csv/bundle", "GET /s3"]
    skills.instructions()
    agents.asked()
    skills.view_skill("tidy-csv")
    assert agents.asked() == ["GET /skills/tidy-csv/bundle"]


def test_identical_bytes_at_a_new_version_are_that_version(
    registry: Loopback, agents: Agents, tmp_path: Path
) -> None:
    publish(registry)
    skills = agents.make(workspace=tmp_path)
    skills.view_skill("tidy-csv")
    publish(registry)
    skills.refresh()
    assert skills.view_skill("tidy-csv").version == 2


def test_the_mount_holds_every_file_as_stored_and_its_scripts_run(
    registry: Loopback, agents: Agents, tmp_path: Path
) -> None:
    publish(registry)
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
    publish(registry)
    answer = agents.make(workspace=tmp_path).view_skill("tidy-csv", "assets/logo.png")
    assert (answer.content, answer.size) == ("", 9)
    assert answer.note == "The file is no text."
    assert not answer.is_error


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
    publish(registry)
    skills = agents.make(workspace=tmp_path if mounted else None)
    answer = skills.view_skill("tidy-csv", path)
    assert answer.code == "skill_path_invalid"
    assert agents.asked() == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mounted", [False, True], ids=["direct", "mounted"])
def test_a_missing_file_is_refused_with_those_that_there_are(
    registry: Loopback, agents: Agents, tmp_path: Path, mounted: bool
) -> None:
    publish(registry)
    skills = agents.make(workspace=tmp_path if mounted else None)
    answer = skills.view_skill("tidy-csv", "references/none.md")
    assert answer.code == "file_not_found"
    assert "references/more.md" in answer.available
    assert skills.view_skill("tidy-csv", ".version").code == "file_not_found"


def test_an_unknown_skill_is_refused_with_those_that_can_be_loaded(
    registry: Loopback, agents: Agents
) -> None:
    publish(registry)
    skills = agents.make(tools=(USE_SKILL,))
    skills.instructions()
    answer = skills.use_skill("nothing")
    assert answer.code == "skill_not_found"
    assert answer.text == "There is no skill `nothing` that you can load. Available: tidy-csv."


@pytest.mark.parametrize("name", ["", "  ", None])
def test_a_blank_name_is_asked_for(registry: Loopback, agents: Agents, name: str | None) -> None:
    publish(registry)
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
    publish(registry)
    answer = agents.make().call(tool, arguments)
    assert answer.text
    if tool != LIST_SKILLS:
        assert answer.is_error == (
            tool != USE_SKILL or arguments != {"name": "tidy-csv", "path": 7}
        )


def test_arguments_may_come_as_json_text_and_names_with_blanks_round_them(
    registry: Loopback, agents: Agents
) -> None:
    publish(registry)
    answer = agents.make().call("view_skill", json.dumps({"name": " tidy-csv ", "path": None}))
    assert answer.version == 1


def test_an_agent_without_a_source_is_told_so_and_its_prompt_stays() -> None:
    skills = Skillset(None, tools=(LIST_SKILLS, USE_SKILL))
    assert skills.instructions() == ""
    assert skills.definitions() == ()
    for answer in (skills.list_skills(), skills.use_skill("tidy-csv"), skills.view_skill("a", "b")):
        assert answer.code == "skills_unavailable"
        assert "not available" in answer.text


def test_writing_rules_go_with_every_load_and_are_no_part_of_the_body(
    registry: Loopback, agents: Agents
) -> None:
    publish(registry)
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
    publish(registry)
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


def test_a_callback_that_fails_costs_the_model_nothing(
    registry: Loopback, agents: Agents, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: object) -> None:
        raise ZeroDivisionError

    publish(registry)
    assert agents.make(publish=fail).view_skill("tidy-csv").version == 1
    assert agents.make(publish=None).view_skill("tidy-csv").version == 1
    assert [record.levelname for record in caplog.records if "callback" in record.message]


def test_a_loaded_skill_that_is_listed_at_another_version_is_stale(
    registry: Loopback, agents: Agents
) -> None:
    publish(registry)
    skills = agents.make()
    skills.instructions()
    skills.view_skill("tidy-csv")
    assert skills.stale() == {}
    publish(registry, text="two")
    skills.instructions()
    stale = skills.stale()["tidy-csv"]
    assert (stale.loaded, stale.listed) == (1, 2)
    skills.view_skill("tidy-csv")
    assert skills.stale() == {}


def test_a_file_that_is_read_does_not_make_the_body_current(
    registry: Loopback, agents: Agents
) -> None:
    publish(registry)
    skills = agents.make()
    skills.instructions()
    skills.view_skill("tidy-csv")
    publish(registry, text="two")
    skills.instructions()
    skills.view_skill("tidy-csv", "references/more.md")
    assert skills.stale()["tidy-csv"].loaded == 1


def test_pins_are_listed_and_loaded_and_never_stale(registry: Loopback, agents: Agents) -> None:
    publish(registry)
    publish(registry, text="two")
    skills = agents.make()
    skills.pin({"tidy-csv": 1})
    assert "(v:1)" in skills.instructions()
    assert skills.view_skill("tidy-csv").version == 1
    publish(registry, text="three")
    skills.instructions()
    assert skills.stale() == {}


def test_a_label_is_pinned_to_what_it_means_now(registry: Loopback, agents: Agents) -> None:
    publish(registry)
    publish(registry, text="two")
    with RegistryClient(registry.url) as client:
        client.configure("tidy-csv", labels={"stable": 1})
        skills = agents.make()
        skills.pin({"tidy-csv": "@stable"})
        client.configure("tidy-csv", labels={"stable": 2})
    assert skills.view_skill("tidy-csv").version == 1


def test_a_pin_that_cannot_be_loaded_is_refused_and_none_is_kept(
    registry: Loopback, agents: Agents
) -> None:
    publish(registry)
    publish(registry, text="two")
    skills = agents.make()
    with pytest.raises(RegistryProblem) as refused:
        skills.pin({"tidy-csv": 1, "nothing": 7})
    assert refused.value.status == 404
    assert skills.view_skill("tidy-csv").version == 2


@pytest.mark.parametrize("mounted", [False, True], ids=["direct", "mounted"])
def test_a_run_under_a_lock_sees_the_same_prompt_and_the_same_bytes(
    registry: Loopback, agents: Agents, tmp_path: Path, mounted: bool
) -> None:
    publish(registry)
    first = agents.make()
    block, body = first.instructions(), first.view_skill("tidy-csv").content
    first.lock().write(tmp_path / "skills.lock")
    publish(registry, text="two")
    publish(registry, "another")
    agents.asked()
    lock = Lock.read(tmp_path / "skills.lock")
    again = agents.make(lock=lock, workspace=tmp_path if mounted else None)
    assert again.instructions() == block
    assert agents.asked() == []
    assert again.view_skill("tidy-csv").content == body
    assert again.stale() == {}
    assert again.view_skill("another").code == "skill_not_found"
    assert again.lock() == lock


@pytest.mark.parametrize("mounted", [False, True], ids=["direct", "mounted"])
def test_bytes_other_than_the_locked_ones_are_refused(
    registry: Loopback, agents: Agents, tmp_path: Path, mounted: bool
) -> None:
    publish(registry)
    skills = agents.make()
    path = tmp_path / "skills.lock"
    skills.lock().write(path)
    text = path.read_text()
    digest = json.loads(text)["skills"][0]["sha256"]
    path.write_text(text.replace(digest, "0" * 64))
    bound = agents.make(lock=Lock.read(path), workspace=tmp_path if mounted else None)
    answer = bound.view_skill("tidy-csv")
    assert answer.code == "skill_digest_mismatch"
    assert "one" not in answer.content


def test_a_hidden_skill_is_loaded_by_its_users_command_only(
    registry: Loopback, agents: Agents, tmp_path: Path
) -> None:
    publish(registry, "mine", "mine", disable_model_invocation="true")
    skills = agents.make(workspace=tmp_path)
    assert skills.instructions() == ""
    told = skills.expand("/skill:mine do it")
    assert told.startswith('<skill name="mine" location=".skills/mine/SKILL.md">')
    assert told.endswith("</skill>\n\ndo it")
    assert "# mine" in told
    assert [event.type for event in agents.events] == ["skill_use"]
    assert skills.stale() == {}


def test_a_command_reads_the_skill_anew(registry: Loopback, agents: Agents) -> None:
    publish(registry)
    skills = agents.make()
    skills.instructions()
    skills.view_skill("tidy-csv")
    publish(registry, text="two")
    assert "# two" in skills.expand("/skill:tidy-csv")


@pytest.mark.parametrize("text", ["Hello.", "/skill:nothing do it", "/skill:", "/skill:../x"])
def test_any_other_text_and_an_unknown_skill_stay_as_typed(agents: Agents, text: str) -> None:
    assert agents.make().expand(text) == text


def test_skills_of_another_agent_are_not_shown_and_not_loaded(
    registry: Loopback, agents: Agents
) -> None:
    publish(registry, "theirs", "theirs", agents="[dba]")
    publish(registry)
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
    publish(registry, "needy", "needy", allowed_tools="search")
    assert agents.make(has_tools=["shell"]).instructions() == ""
    assert "needy" in agents.make(has_tools=["shell", "search"]).instructions()
