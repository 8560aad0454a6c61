"""The examples: real frameworks and SDKs, a running registry, and a model that has a script."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from framework_programs import TESTS, run_program
from house import zipped
from scripted_model import ScriptedModel, results_in, say, use

from local_stack.launcher import ServerProcess
from local_stack.virtualenvs import ensure_environments
from skill_registry.agent.client import RegistryClient

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from scripted_model import Block, ModelRequest, Step

EXAMPLES = sorted(path.stem for path in (TESTS / "examples").glob("*.py"))
BODY = "Run scripts/add.py with the numbers; references/units.md says what they count.\n"
HEADER = "---\nname: sums\ndescription: Adds numbers. Use when numbers are to be added.\n---\n"
SKILL = {
    "SKILL.md": HEADER + BODY,
    "references/units.md": "Apples, unless somebody says pears.\n",
    "scripts/add.py": "import sys\nprint('total', sum(map(int, sys.argv[1:])))\n",
}
LISTED = "- **sums** (v:{}): Adds numbers. Use when numbers are to be added."
TASK = "Add 20 and 22."
OWN_PROMPTS = dict.fromkeys(EXAMPLES, "You are an engineer.") | {
    "anthropic_loop": "You are an engineer. Your shell starts in your workspace."
}
# Pydantic AI ends a run that calls a tool which is gone, so its adapter keeps what was called.
KEPT_TOOLS = {"pydantic_ai_agent": {"view_skill", "list_skills"}}
# What a model may call its arguments, and a framework its own.
ODD_ARGUMENTS = ("self", "config", "run_manager", "callbacks", "tool", "ctx", "skills", "a b", "")


@pytest.fixture(scope="module", autouse=True)
def frameworks_environment() -> None:
    ensure_environments("frameworks")


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, stack_environments: None
) -> Iterator[ServerProcess]:
    running = ServerProcess(tmp_path_factory.mktemp("examples"), "--empty").start()
    yield running
    running.stop()


class Stage:
    """A registry with the skill ``sums``, and room for one run of an example.

    Attributes:
        version: Of ``sums``, now.
    """

    def __init__(self, url: str, folder: Path) -> None:
        self._url = url
        self._folder = folder
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self.version = 0
        self.publish({})

    def publish(self, files: Mapping[str, str]) -> None:
        """Publish the next version of ``sums``, with some files changed."""
        texts = {**SKILL, **files}
        archive = zipped({path: text.encode() for path, text in texts.items()})
        with RegistryClient(self._url) as client:
            self.version = client.publish_inline("sums", archive).version

    def delete(self) -> None:
        """Delete ``sums``."""
        with RegistryClient(self._url) as client:
            client.delete("sums")

    def play(self, example: str, *script: Step, tasks: tuple[str, ...] = (TASK,)) -> Played:
        """Run an example to its end."""
        with ScriptedModel(*script) as model:
            done = run_program(
                TESTS / "examples" / f"{example}.py",
                *(str(self.workspace), *tasks),
                home=self._folder,
                environment={"SKILL_REGISTRY_URL": self._url, **model.environment},
            )
        assert model.failures == []
        assert done.returncode == 0, done.stderr
        model.assert_played()
        return Played(model.requests, done.stdout)


@dataclass(frozen=True, slots=True)
class Played:
    """What the model was sent, and what the program printed."""

    requests: list[ModelRequest]
    output: str


@pytest.fixture
def stage(server: ServerProcess, tmp_path: Path) -> Stage:
    return Stage(server.url, tmp_path)


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_does_a_task_with_a_skill(stage: Stage, example: str) -> None:
    first = stage.version

    def view_again(request: ModelRequest) -> list[Block]:
        stage.publish({"SKILL.md": HEADER + "Add them in your head.\n"})
        return [use("view_skill", name="sums", path="references/units.md")]

    played = stage.play(
        example,
        [say("I look for a skill."), use("view_skill", name="sums")],
        [use("shell", command="python .skills/sums/scripts/add.py 20 22")],
        view_again,
        [use("view_skill", name="sums")],
        [say("It is 42.")],
    )
    asked, viewed, ran, read, again = played.requests
    assert played.output.strip().endswith("It is 42.")
    assert asked.prompt == TASK
    assert LISTED.format(first) in asked.system
    assert asked.skills == ["sums"]
    assert asked.tools.keys() == {"shell", "view_skill", "list_skills"}
    (body,) = viewed.results
    assert (body.document["version"], body.document["content"]) == (first, BODY)
    assert body.document["directory"] == ".skills/sums"
    assert [result.text.strip() for result in ran.results] == ["total 42"]
    (file,) = read.results
    assert (file.document["version"], file.document["content"]) == (
        stage.version,
        SKILL["references/units.md"],
    )
    assert LISTED.format(stage.version) in read.system
    (body,) = again.results
    assert (body.document["version"], body.document["content"]) == (
        stage.version,
        "Add them in your head.\n",
    )
    assert stage.version == first + 1
    for request in played.requests:
        assert request.system.startswith(OWN_PROMPTS[example])


@pytest.mark.parametrize("example", EXAMPLES)
def test_what_a_model_does_wrong_is_an_error_that_it_can_read(stage: Stage, example: str) -> None:
    def view_what_is_deleted(request: ModelRequest) -> list[Block]:
        stage.delete()
        return [use("view_skill", name="sums")]

    played = stage.play(
        example,
        [
            use("view_skill", name="products"),
            use("view_skill"),
            use("view_skill", name="sums", path="../../etc/passwd"),
            use("view_skill", name=["sums"], path=7, **dict.fromkeys(ODD_ARGUMENTS, "x")),
            use("list_skills", **dict.fromkeys(ODD_ARGUMENTS, 1)),
        ],
        view_what_is_deleted,
        [say("I cannot.")],
    )
    asked, refused, gone = played.requests
    codes = [each.document["error"]["code"] for each in refused.results if each.is_error]
    assert codes == ["skill_not_found", "name_missing", "skill_path_invalid", "skill_not_found"]
    assert refused.results[0].document["error"]["available"] == ["sums"]
    assert "**sums**" in refused.results[-1].text
    assert not refused.results[-1].is_error
    assert [each.document["error"]["code"] for each in gone.results] == ["skill_not_found"]
    assert gone.results[0].is_error
    assert asked.skills == ["sums"]
    # Without skills, prompt and tools are the agent's own, to the byte.
    assert gone.system == OWN_PROMPTS[example]
    assert gone.tools.keys() == {"shell"} | KEPT_TOOLS.get(example, set())
    assert "I cannot." in played.output


def test_the_loop_compacts_what_earlier_tasks_loaded_and_expands_commands(stage: Stage) -> None:
    played = stage.play(
        "anthropic_loop",
        [
            use("view_skill", name="sums"),
            use("view_skill", name="sums", path="references/units.md"),
        ],
        [say("Loaded.")],
        [say("42")],
        tasks=("Look at the skill.", "/skill:sums 20 22"),
    )
    loaded, last = played.requests[1:]
    body, file = loaded.results
    kept, same = results_in(last.body["messages"][2])
    assert kept.document == {
        "skillName": "sums",
        "path": None,
        "version": stage.version,
        "content": "[instructions dropped]",
        "note": "Load it again to follow it.",
    }
    assert len(kept.text) < len(body.text)
    assert same == file
    assert last.prompt.startswith('<skill name="sums" location=".skills/sums/SKILL.md">')
    assert BODY.strip() in last.prompt
    assert last.prompt.endswith("20 22")


def test_the_loop_is_short_enough_to_read() -> None:
    text = (TESTS / "examples" / "anthropic_loop.py").read_text("utf-8")
    assert len(text.splitlines()) <= 60
