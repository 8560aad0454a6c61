"""What goes wrong on the way to a skill: each fault has one answer that a model can act on."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from house import zipped
from loopback import Fault, Loopback
from toolkit import Agents, publish_sample

from skill_registry.agent.answers import Bundle
from skill_registry.agent.async_client import AsyncRegistryClient
from skill_registry.agent.bundles import copy_of
from skill_registry.agent.client import RegistryClient
from skill_registry.agent.problems import AnswerInvalid, RegistryUnreachable
from skill_registry.agent.skillset import AsyncSkillset
from skill_registry.errors import RegistryError
from skill_registry.spec.model import MOST_FILES

if TYPE_CHECKING:
    from skill_registry.agent.events import SkillEvent

# Nothing listens on the port of discard.
NOWHERE = "http://127.0.0.1:9"
DOWN = [Fault("GET /skills", None)] * 4
GARBAGE = Fault("GET /skills", 200, {"content-type": "text/html"}, b"<html>Sign in</html>")


def test_a_registry_that_is_down_is_told_in_the_prompt_and_by_each_tool(
    agents: Agents, tmp_path: Path
) -> None:
    skills = agents.make(url=NOWHERE)
    block = skills.instructions()
    assert "registry_unreachable" in block
    assert "`list_skills`" in block
    assert isinstance(skills.problem, RegistryUnreachable)
    assert skills.list_skills().code == "registry_unreachable"
    assert skills.view_skill("tidy-csv").code == "registry_unreachable"
    mounted = agents.make(url=NOWHERE, workspace=tmp_path).view_skill("tidy-csv")
    assert (mounted.code, mounted.cause) == ("skill_copy_failed", "registry_unreachable")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(RegistryUnreachable):
        skills.refresh()


def test_a_registry_that_comes_back_is_listed_again(registry: Loopback, agents: Agents) -> None:
    publish_sample(registry)
    skills = agents.make()
    registry.faults.extend(DOWN)
    assert "cannot be listed" in skills.instructions()
    assert skills.list_skills().content == "- **tidy-csv** (v:1): Does one.\n"
    assert "(v:1)" in skills.instructions()
    assert skills.problem is None


def test_while_the_registry_is_down_the_last_listing_and_copy_count(
    registry: Loopback, agents: Agents, tmp_path: Path
) -> None:
    publish_sample(registry)
    skills = agents.make(workspace=tmp_path)
    block = skills.instructions()
    skills.view_skill("tidy-csv")
    registry.faults.extend([*DOWN, *DOWN])
    assert skills.instructions() == block
    assert skills.problem is not None
    answer = skills.view_skill("tidy-csv")
    assert (answer.version, answer.is_error) == (1, False)
    assert "does not answer (registry_unreachable)" in str(answer.note)


def test_a_copy_that_was_changed_is_not_what_counts_while_the_registry_is_down(
    registry: Loopback, agents: Agents, tmp_path: Path
) -> None:
    publish_sample(registry)
    skills = agents.make(workspace=tmp_path)
    skills.view_skill("tidy-csv")
    (tmp_path / ".skills/tidy-csv/SKILL.md").write_text("EVIL")
    skills.refresh()
    registry.faults.extend(DOWN)
    answer = skills.view_skill("tidy-csv")
    assert (answer.code, answer.cause) == ("skill_copy_failed", "registry_unreachable")
    assert "EVIL" not in answer.text


def test_a_slow_registry_is_one_that_does_not_answer(registry: Loopback, agents: Agents) -> None:
    publish_sample(registry)
    held = threading.Event()
    registry.before = lambda request: (held.wait(30), request)[1]
    skills = agents.make(timeout=0.2)
    try:
        assert "registry_unreachable" in skills.instructions()
        assert skills.view_skill("tidy-csv").code == "registry_unreachable"
    finally:
        held.set()


@pytest.mark.parametrize("mounted", [False, True], ids=["direct", "mounted"])
def test_garbage_is_no_listing_and_no_skill(
    registry: Loopback, agents: Agents, tmp_path: Path, mounted: bool
) -> None:
    publish_sample(registry)
    skills = agents.make(workspace=tmp_path if mounted else None)
    registry.faults.append(GARBAGE)
    assert "answer_invalid" in skills.instructions()
    registry.faults.append(GARBAGE)
    answer = skills.view_skill("tidy-csv")
    assert answer.code == ("skill_copy_failed" if mounted else "answer_invalid")
    assert "Sign in" not in answer.text


@pytest.mark.parametrize("data", [b"", b"PK", b"no archive at all"])
def test_a_bundle_with_another_digest_is_not_used(
    registry: Loopback, agents: Agents, tmp_path: Path, data: bytes
) -> None:
    publish_sample(registry)
    skills = agents.make(workspace=tmp_path)
    registry.faults.append(Fault("GET /s3/", 200, {}, data))
    answer = skills.view_skill("tidy-csv")
    assert (answer.code, answer.cause) == ("skill_copy_failed", "transfer_failed")
    assert list(tmp_path.iterdir()) == []
    assert skills.view_skill("tidy-csv").version == 1


def test_a_bundle_that_unpacks_to_more_than_any_registry_takes_is_not_unpacked() -> None:
    bomb = zipped({f"{number}.txt": b"" for number in range(MOST_FILES + 1)})
    bundle = Bundle("a", "system", 1, "http://127.0.0.1/", "", None, None)
    with pytest.raises(AnswerInvalid):
        copy_of(bundle, bomb)


def test_a_404_of_something_else_is_no_word_of_the_registry(
    registry: Loopback, agents: Agents, tmp_path: Path
) -> None:
    publish_sample(registry)
    skills = agents.make(workspace=tmp_path)
    skills.view_skill("tidy-csv")
    skills.refresh()
    registry.faults.append(Fault("GET /skills/tidy-csv", 404, {}, b"<html>"))
    answer = skills.view_skill("tidy-csv")
    assert (answer.version, answer.is_error) == (1, False)
    assert "does not answer" in str(answer.note)


def test_a_source_that_fails_as_it_should_not_is_answered_and_its_secrets_are_not(
    registry: Loopback, agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("secret")

    skills = agents.make()
    for name in ("_whole_listing", "_view"):
        monkeypatch.setattr(f"skill_registry.agent.reading_calls.ReadingCalls.{name}", fail)
    assert "source_failed" in skills.instructions()
    for answer in (skills.list_skills(), skills.view_skill("a")):
        assert answer.code == "source_failed"
        assert "secret" not in answer.text


def test_a_copy_that_an_earlier_process_left_goes_with_its_skill(
    registry: Loopback, agents: Agents, tmp_path: Path
) -> None:
    publish_sample(registry)
    agents.make(workspace=tmp_path).view_skill("tidy-csv")
    with RegistryClient(registry.url) as client:
        client.delete("tidy-csv")
    assert agents.make(workspace=tmp_path).view_skill("tidy-csv").code == "skill_not_found"
    assert not (tmp_path / ".skills" / "tidy-csv").exists()


def test_a_callback_may_ask_for_skills_itself(registry: Loopback) -> None:
    publish_sample(registry)

    async def play() -> list[str]:
        async with AsyncRegistryClient(registry.url) as client:
            seen: list[str] = []

            async def publish(event: SkillEvent) -> None:
                seen.append((await skills.view_skill("tidy-csv", "references/more.md")).content)
                seen.append(event.type)

            skills = AsyncSkillset(client, publish=publish)
            await asyncio.wait_for(skills.view_skill("tidy-csv"), 30)
            return seen

    assert asyncio.run(play()) == ["More of one.\n", "skill_use"]


def test_a_url_that_has_expired_is_asked_for_anew(
    registry: Loopback, agents: Agents, tmp_path: Path
) -> None:
    publish_sample(registry)
    registry.faults.append(Fault("GET /s3/", 403))
    assert agents.make(workspace=tmp_path).view_skill("tidy-csv").version == 1


@pytest.mark.parametrize("kind", ["missing", "file", "read-only"])
def test_a_workspace_that_takes_nothing_is_told_with_its_reason(
    registry: Loopback, agents: Agents, tmp_path: Path, kind: str
) -> None:
    publish_sample(registry)
    (tmp_path / "file").write_text("")
    place = {"missing": tmp_path / "none", "file": tmp_path / "file", "read-only": Path("/proc")}
    answer = agents.make(workspace=place[kind]).view_skill("tidy-csv")
    assert answer.code == "skill_copy_failed"
    assert "workspace" in answer.content
    assert str(tmp_path) not in answer.text


@pytest.mark.parametrize("path", ["SKILL.md", "references/more.md", "scripts/run.py"])
def test_a_mount_that_the_model_edited_is_put_back_and_the_model_told(
    registry: Loopback, agents: Agents, tmp_path: Path, path: str
) -> None:
    publish_sample(registry)
    skills = agents.make(workspace=tmp_path)
    whole = skills.view_skill("tidy-csv", path)
    (tmp_path / ".skills/tidy-csv" / path).write_text("EVIL")
    again = skills.view_skill("tidy-csv", path)
    assert (again.content, again.version) == (whole.content, 1)
    assert "had been changed and was put back" in str(again.note)
    assert skills.view_skill("tidy-csv", path).note is None


def test_an_edit_between_turns_is_put_back_at_the_first_view(
    registry: Loopback, agents: Agents, tmp_path: Path
) -> None:
    publish_sample(registry)
    skills = agents.make(workspace=tmp_path)
    skills.view_skill("tidy-csv")
    script = tmp_path / ".skills/tidy-csv/scripts/run.py"
    script.write_text("EVIL")
    skills.refresh()
    assert "put back" in str(skills.view_skill("tidy-csv").note)
    assert script.read_text() == "print('ran one')\n"


@pytest.mark.parametrize("how", ["deleted", "disabled"])
def test_a_skill_that_goes_away_mid_task_is_stale_then_refused_and_leaves_the_workspace(
    registry: Loopback, agents: Agents, tmp_path: Path, how: str
) -> None:
    publish_sample(registry)
    publish_sample(registry, "other")
    skills = agents.make(workspace=tmp_path)
    skills.instructions()
    skills.view_skill("tidy-csv")
    with RegistryClient(registry.url) as client:
        if how == "deleted":
            client.delete("tidy-csv")
        else:
            client.configure("tidy-csv", enabled=False)
    assert "tidy-csv" not in skills.instructions()
    stale = skills.stale()["tidy-csv"]
    assert (stale.loaded, stale.listed) == (1, None)
    assert stale.state in ("removed", "disabled")
    answer = skills.view_skill("tidy-csv")
    assert (answer.code, answer.available) == ("skill_not_found", ("other",))
    assert not (tmp_path / ".skills" / "tidy-csv").exists()


def test_two_threads_that_view_one_skill_download_it_once(
    registry: Loopback, tmp_path: Path
) -> None:
    publish_sample(registry)
    agents = Agents(registry, "sync")
    skills = agents.make(workspace=tmp_path)
    barrier = threading.Barrier(4)
    versions: list[object] = []

    def view() -> None:
        barrier.wait()
        versions.append(skills.view_skill("tidy-csv").version)

    threads = [threading.Thread(target=view) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    agents.close()
    assert versions == [1, 1, 1, 1]
    assert agents.asked().count("GET /s3") == 1


def test_what_nobody_foresaw_is_logged_and_answered(
    registry: Loopback,
    agents: Agents,
    monkeypatch: pytest.MonkeyPatch,
    agent_log: pytest.LogCaptureFixture,
) -> None:
    publish_sample(registry)

    def fail(*_: object) -> str:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr("skill_registry.agent.session.clean_path", fail)
    answer = agents.make().view_skill("tidy-csv")
    assert answer.code == RegistryError.code
    assert "ZeroDivisionError" not in answer.text
    assert "a fault" in agent_log.text
