"""A task of an agent, from its prompt to its compacted context, against the local server."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from house import zipped

from local_stack.launcher import ServerProcess
from skill_registry.agent import (
    RegistryClient,
    SkillEvent,
    SkillRefused,
    Skillset,
    SkillUse,
    client_output,
    compact,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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


def test_an_agent_notices_a_new_version_in_the_middle_of_its_task(
    client: RegistryClient, tmp_path: Path
) -> None:
    events: list[SkillEvent] = []
    skills = Skillset(client, agent="tidier", workspace=tmp_path, publish=events.append)
    assert PROMPT + skills.instructions() == PROMPT
    assert publish(client, "at first") == 1

    system = PROMPT + skills.instructions()
    assert system.startswith(PROMPT)
    assert f"- **{NAME}** (v:1): Tidies tables, at first." in system
    assert "load it again before you rely on it" in system
    (view, _) = skills.definitions()
    assert view.parameters["properties"]["name"]["enum"] == [NAME]

    body = skills.call("view_skill", {"name": NAME})
    assert (body.version, body.directory) == (1, f".skills/{NAME}")
    assert body.content.startswith("# Tidy, at first")
    rules = skills.call("view_skill", {"name": NAME, "path": "references/rules.md"})
    assert (rules.version, rules.content) == (1, "Rules of at first.\n")
    assert run_script(tmp_path) == "tidied at first table.csv\n"

    assert publish(client, "better") == 2
    still = skills.call("view_skill", {"name": NAME, "path": "references/rules.md"})
    assert (still.version, still.content) == (1, "Rules of at first.\n")
    assert run_script(tmp_path) == "tidied at first table.csv\n"

    assert f"- **{NAME}** (v:2): Tidies tables, better." in skills.instructions()
    stale = skills.stale()
    assert {name: (each.loaded, each.listed) for name, each in stale.items()} == {NAME: (1, 2)}
    kept = json.loads(compact(body.text))
    assert (kept["skillName"], kept["version"]) == (NAME, 1)
    assert "at first" not in json.dumps(kept)
    assert compact(rules.text) == rules.text

    again = skills.call("view_skill", {"name": NAME})
    assert again.version == 2
    assert again.content.startswith("# Tidy, better")
    assert run_script(tmp_path) == "tidied better table.csv\n"
    assert skills.stale() == {}
    assert json.loads(compact(again.text))["version"] == 2
    assert client_output(again) == {
        "skillName": NAME,
        "path": None,
        "content": "Skill activated.",
    }

    assert skills.call("view_skill", {"name": "tidy-xml"}).code == "skill_not_found"
    source = "https://example.org/t"
    assert events == [
        SkillUse(NAME, "Tidies tables, at first.", "tidier", 1, len(body.content), source),
        SkillUse(NAME, "Tidies tables, better.", "tidier", 2, len(again.content), source),
        SkillRefused("tidy-xml", "tidier", "skill_not_found"),
    ]
    assert not (tmp_path / ".skills" / NAME / ".version").exists()
