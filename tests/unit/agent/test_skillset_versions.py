"""Which version a model is given: of a turn, of pins, of a lock file; and what is stale."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from toolkit import Agents, publish_sample

from skill_registry.agent.client import RegistryClient
from skill_registry.agent.lockfile import Lock
from skill_registry.agent.problems import RegistryProblem
from skill_registry.errors import RequestInvalid

if TYPE_CHECKING:
    from pathlib import Path

    from loopback import Loopback

PROMPT = "You are an agent.\n"


@pytest.mark.parametrize("mounted", [False, True], ids=["direct", "mounted"])
def test_a_turn_reads_one_version_whatever_is_published_meanwhile(
    registry: Loopback, agents: Agents, tmp_path: Path, mounted: bool
) -> None:
    publish_sample(registry)
    skills = agents.make(workspace=tmp_path if mounted else None)
    skills.instructions()
    assert skills.view_skill("tidy-csv").version == 1
    publish_sample(registry, text="two")
    more = skills.view_skill("tidy-csv", "references/more.md")
    assert (more.version, more.content) == (1, "More of one.\n")
    skills.instructions()
    more = skills.view_skill("tidy-csv", "references/more.md")
    assert (more.version, more.content) == (2, "More of two.\n")


def test_identical_bytes_at_a_new_version_are_that_version(
    registry: Loopback, agents: Agents, tmp_path: Path
) -> None:
    publish_sample(registry)
    skills = agents.make(workspace=tmp_path)
    skills.view_skill("tidy-csv")
    publish_sample(registry)
    skills.refresh()
    assert skills.view_skill("tidy-csv").version == 2


def test_a_loaded_skill_that_is_listed_at_another_version_is_stale(
    registry: Loopback, agents: Agents
) -> None:
    publish_sample(registry)
    skills = agents.make()
    skills.instructions()
    skills.view_skill("tidy-csv")
    assert skills.stale() == {}
    publish_sample(registry, text="two")
    skills.instructions()
    stale = skills.stale()["tidy-csv"]
    assert (stale.loaded, stale.listed) == (1, 2)
    skills.view_skill("tidy-csv")
    assert skills.stale() == {}


def test_a_file_that_is_read_does_not_make_the_body_current(
    registry: Loopback, agents: Agents
) -> None:
    publish_sample(registry)
    skills = agents.make()
    skills.instructions()
    skills.view_skill("tidy-csv")
    publish_sample(registry, text="two")
    skills.instructions()
    skills.view_skill("tidy-csv", "references/more.md")
    assert skills.stale()["tidy-csv"].loaded == 1


def test_pins_are_listed_and_loaded_and_never_stale(registry: Loopback, agents: Agents) -> None:
    publish_sample(registry)
    publish_sample(registry, text="two")
    skills = agents.make()
    skills.pin({"tidy-csv": 1})
    assert "(v:1)" in skills.instructions()
    assert skills.view_skill("tidy-csv").version == 1
    publish_sample(registry, text="three")
    skills.instructions()
    assert skills.stale() == {}


def test_a_pin_keeps_the_scope_and_what_was_listed(registry: Loopback, agents: Agents) -> None:
    publish_sample(registry)
    publish_sample(registry, text="two")
    skills = agents.make(scopes=("team-a", "system"))
    skills.pin({"tidy-csv": 1})
    registry.house.publish("tidy-csv", "theirs", scope="team-a")
    assert "- **tidy-csv** (v:1): Does one." in skills.instructions()
    assert skills.view_skill("tidy-csv").content.startswith("# one")


def test_a_pinned_skill_that_is_gone_is_stale(registry: Loopback, agents: Agents) -> None:
    publish_sample(registry)
    publish_sample(registry, "hidden", disable_model_invocation="true")
    skills = agents.make()
    skills.pin({"tidy-csv": 1, "hidden": 1})
    skills.view_skill("tidy-csv")
    skills.view_skill("hidden")
    publish_sample(registry, "hidden", "two", disable_model_invocation="true")
    skills.instructions()
    assert skills.stale() == {}
    with RegistryClient(registry.url) as client:
        client.delete("tidy-csv")
    skills.instructions()
    assert skills.stale()["tidy-csv"].state == "removed"


def test_a_run_under_a_lock_takes_no_pins(registry: Loopback, agents: Agents) -> None:
    publish_sample(registry)
    bound = agents.make(lock=agents.make().lock())
    with pytest.raises(RequestInvalid) as refused:
        bound.pin({"tidy-csv": 1})
    assert refused.value.code == "pin_invalid"


def test_a_label_is_pinned_to_what_it_means_now(registry: Loopback, agents: Agents) -> None:
    publish_sample(registry)
    publish_sample(registry, text="two")
    with RegistryClient(registry.url) as client:
        client.configure("tidy-csv", labels={"stable": 1})
        skills = agents.make()
        skills.pin({"tidy-csv": "@stable"})
        client.configure("tidy-csv", labels={"stable": 2})
    assert skills.view_skill("tidy-csv").version == 1


def test_a_pin_that_cannot_be_loaded_is_refused_and_none_is_kept(
    registry: Loopback, agents: Agents
) -> None:
    publish_sample(registry)
    publish_sample(registry, text="two")
    skills = agents.make()
    with pytest.raises(RegistryProblem) as refused:
        skills.pin({"tidy-csv": 1, "nothing": 7})
    assert refused.value.status == 404
    assert skills.view_skill("tidy-csv").version == 2


@pytest.mark.parametrize("mounted", [False, True], ids=["direct", "mounted"])
def test_a_run_under_a_lock_sees_the_same_prompt_and_the_same_bytes(
    registry: Loopback, agents: Agents, tmp_path: Path, mounted: bool
) -> None:
    publish_sample(registry)
    first = agents.make()
    block, body = first.instructions(), first.view_skill("tidy-csv").content
    first.lock().write(tmp_path / "skills.lock")
    publish_sample(registry, text="two")
    publish_sample(registry, "another")
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
    publish_sample(registry)
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
