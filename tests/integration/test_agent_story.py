"""A task of an agent, from its prompt to its compacted context, against the local server."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from house import zipped

from local_stack.launcher import ServerProcess
from skill_registry.agent import (
    RegistryClient,
    SkillAnswer,
    SkillEvent,
    SkillRefused,
    Skillset,
    SkillUse,
    client_output,
    compact,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

PROMPT = "You tidy tables.\n"
NAME = "tidy-csv"


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, stack_environments: None
) -> Iterator[ServerProcess]:
    server = ServerProcess(tmp_path_factory.mktemp("agent"), "--empty").start()
    yield server
    server.stop()


@pytest.fixture
def client(server: ServerProcess) -> Iterator[RegistryClient]:
    with RegistryClient(server.url) as client:
        yield client


def publish(client: RegistryClient, text: str) -> int:
    skill_md = (
        f"---\nname: {NAME}\ndescription: Tidies tables, {text}.\nsource: https://example.org/t\n"
        f"---\n# Tidy, {text}\n\nRead references/rules.md, then run scripts/tidy.py.\n"
    )
    script = f"import sys\nprint('tidied {text}', *sys.argv[1:])\n"
    files = {
        "SKILL.md": skill_md.encode(),
        "references/rules.md": f"Rules of {text}.\n".encode(),
        "scripts/tidy.py": script.encode(),
    }
    return client.publish(NAME, zipped(files)).version


def run_script(workspace: Path) -> str:
    command = [sys.executable, f".skills/{NAME}/scripts/tidy.py", "table.csv"]
    done = subprocess.run(command, cwd=workspace, capture_output=True, text=True, check=True)
    return done.stdout


@dataclass
class Task:
    """An agent at work, and what it saw."""

    client: RegistryClient
    workspace: Path
    events: list[SkillEvent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.skills = Skillset(
            self.client, agent="tidier", workspace=self.workspace, publish=self.events.append
        )

    def view(self, path: str | None = None, name: str = NAME) -> SkillAnswer:
        """Call the tool as a model does."""
        arguments = {"name": name} if path is None else {"name": name, "path": path}
        return self.skills.call("view_skill", arguments)

    def sees_the_skill(self) -> None:
        """The listing is in the prompt, its names in the tool."""
        assert PROMPT + self.skills.instructions() == PROMPT
        assert publish(self.client, "at first") == 1
        system = PROMPT + self.skills.instructions()
        assert system.startswith(PROMPT)
        assert f"- **{NAME}** (v:1): Tidies tables, at first." in system
        assert "load it again before you rely on it" in system
        (view, _) = self.skills.definitions()
        assert view.parameters["properties"]["name"]["enum"] == [NAME]

    def works_with(self, text: str, version: int) -> SkillAnswer:
        """Body, reference and script are all of one version."""
        body = self.view()
        assert (body.version, body.directory) == (version, f".skills/{NAME}")
        assert body.content.startswith(f"# Tidy, {text}")
        self.still_has(text, version)
        return body

    def still_has(self, text: str, version: int) -> None:
        rules = self.view("references/rules.md")
        assert (rules.version, rules.content) == (version, f"Rules of {text}.\n")
        assert compact(rules.text) == rules.text
        assert run_script(self.workspace) == f"tidied {text} table.csv\n"

    def learns_of_the_new_version(self, old: SkillAnswer) -> None:
        """The next listing shows it, and compaction keeps what to compare it with."""
        assert f"- **{NAME}** (v:2): Tidies tables, better." in self.skills.instructions()
        stale = {name: (s.loaded, s.listed) for name, s in self.skills.stale().items()}
        assert stale == {NAME: (1, 2)}
        kept = json.loads(compact(old.text))
        assert (kept["skillName"], kept["version"]) == (NAME, 1)
        assert "at first" not in json.dumps(kept)


def test_an_agent_notices_a_new_version_in_the_middle_of_its_task(
    client: RegistryClient, tmp_path: Path
) -> None:
    task = Task(client, tmp_path)
    task.sees_the_skill()
    first = task.works_with("at first", 1)
    assert publish(client, "better") == 2
    task.still_has("at first", 1)
    task.learns_of_the_new_version(first)
    second = task.works_with("better", 2)
    assert task.skills.stale() == {}
    assert json.loads(compact(second.text))["version"] == 2
    shown = {"skillName": NAME, "path": None, "content": "Skill activated."}
    assert client_output(second) == shown
    assert task.view(name="tidy-xml").code == "skill_not_found"
    source = "https://example.org/t"
    assert task.events == [
        SkillUse(NAME, "Tidies tables, at first.", "tidier", 1, len(first.content), source),
        SkillUse(NAME, "Tidies tables, better.", "tidier", 2, len(second.content), source),
        SkillRefused("tidy-xml", "tidier", "skill_not_found"),
    ]
    assert not (tmp_path / ".skills" / NAME / ".version").exists()
