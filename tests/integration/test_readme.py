"""The README: every command in it is run, every table in it is made from the code."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from documents.__main__ import filled
from local_stack.launcher import ServerProcess
from skill_registry.web.contract import ROUTES
from skill_registry_cli.vendoring.manifest import parse
from skill_registry_cli.vendoring.repositories import AllowedHosts

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = Path(__file__).resolve().parents[2]
README = (PROJECT / "README.md").read_text(encoding="utf-8")
VENVS = str(PROJECT / ".venvs")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)

# Commands that run in another place, and where.
ELSEWHERE = {
    "./scripts/server": "the fixture below, with a port and a folder of its own",
    "./scripts/test": "it runs this test",
    "./scripts/bench reliability": "its parts, smaller: tests/properties/test_simulation*.py,"
    " test_mutants.py, and tests/integration/test_real_store_*.py",
    "./scripts/bench api": "its counts: tests/unit/web/test_listing_api.py, test_check_api.py, and"
    " tests/unit/catalog/test_viewing.py, test_configuring.py; its ratios are figures",
    "./scripts/bench crowd": "tests/integration/test_real_store_traffic.py, for less time",
    "./scripts/build": "tests/infrastructure/test_built_artifact.py",
    "./scripts/skillctl vendor status": "tests/unit/cli/test_vendor_status.py; here it would find"
    " what the commands before it changed",
    "python3 -m venv agent-venv": "test_the_python_example_works",
    "agent-venv/bin/pip": "test_the_python_example_works",
    "sam deploy": "tests/infrastructure/test_deploy.py",
}


def commands() -> list[str]:
    """Every command line of the README, in order."""
    return [line for kind, text in BLOCKS if kind == "sh" for line in text.splitlines() if line]


def elsewhere(command: str) -> bool:
    return any(command == name or command.startswith(name + " ") for name in ELSEWHERE)


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, stack_environments: None
) -> Iterator[ServerProcess]:
    server = ServerProcess(tmp_path_factory.mktemp("readme")).start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project to type the commands in."""
    folder = tmp_path_factory.mktemp("checkout")
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.check_output(listed, cwd=PROJECT, text=True).split("\0"):
        if name and (PROJECT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(PROJECT / name, folder / name)
    return folder


def run(command: str, folder: Path, url: str) -> subprocess.CompletedProcess[str]:
    """Type one line into a shell, with the server's own address for the README's."""
    return subprocess.run(
        ["bash", "-c", command.replace("localhost:8080", url.removeprefix("http://"))],
        cwd=folder,
        env={"SKILL_REGISTRY_VENVS": VENVS, **os.environ, "SKILL_REGISTRY_URL": url},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_every_command_works_as_typed(server: ServerProcess, checkout: Path) -> None:
    typed = [command for command in commands() if not elsewhere(command)]
    assert len(typed) >= 15
    answers: dict[str, str] = {}
    for command in typed:
        done = run(command, checkout, server.url)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        if command.startswith("curl"):
            assert done.stdout, command
            assert '"type": "urn:skill-registry:problem' not in done.stdout, (
                f"{command}\n{done.stdout}"
            )
        answers[command] = done.stdout
    assert_told_the_truth(answers)


def assert_told_the_truth(answers: dict[str, str]) -> None:
    """What the text around the commands promises."""
    listed = json.loads(answers["curl -s localhost:8080/skills"])["skills"]
    assert {skill["version"] for skill in listed} == {1}
    old = answers["./scripts/skillctl view test-driven-development --version 1"]
    new = answers["./scripts/skillctl view test-driven-development"]
    assert new == old + "Name the behaviour before the function.\n"
    stable = answers["./scripts/skillctl view test-driven-development --version @stable"]
    assert stable == old
    diff = answers["./scripts/skillctl diff test-driven-development"]
    assert "\n+Name the behaviour before the function.\n" in diff
    (back,) = (text for line, text in answers.items() if "rollback" in line and " 3" in line)
    assert back == "Published test-driven-development v:5 in system with the files of v:3.\n"
    (purged,) = (text for line, text in answers.items() if "skillctl purge" in line)
    assert purged.startswith("Purged test-driven-development v:2 in system; removed ")
    assert answers["./scripts/skillctl doctor --fix"] == ""
    puts = [json.loads(text) for line, text in answers.items() if "-X PUT" in line]
    (sent,) = (json.loads(text) for line, text in answers.items() if line.endswith("/complete"))
    assert (sent["state"], sent["version"], sent["unchanged"]) == ("published", 2, False)
    (checked,) = (json.loads(text) for line, text in answers.items() if "/check" in line)
    states = {name: each["state"] for name, each in checked["skills"].items()}
    assert states == {"pr-description": "current", "incremental-implementation": "stale"}
    (copied,) = (json.loads(text) for line, text in answers.items() if "/copy" in line)
    assert (copied["scope"], copied["copied_from"]["scope"]) == ("team-payments", "system")
    (granted,) = (json.loads(text) for line, text in answers.items() if line.endswith("/access"))
    assert granted["grants"][0]["role"].endswith("/reviewer")
    assert [(put["state"], put["version"]) for put in puts] == [("published", 1), ("published", 2)]
    (dry,) = (json.loads(text) for line, text in answers.items() if "/validate" in line)
    assert dry["valid"] is False
    (gone,) = (json.loads(text) for line, text in answers.items() if "-X DELETE" in line)
    assert (gone["version"], gone["state"]) == (3, "deleted")
    (seen,) = (json.loads(text) for line, text in answers.items() if "X-Local-Claims" in line)
    assert {skill["name"] for skill in seen["skills"]} == {
        *("code-review-and-quality", "performance-optimization", "security-and-hardening"),
        "release-notes",  # of the command before, for every agent
    }


def test_the_python_example_works(server: ServerProcess, checkout: Path) -> None:
    (code,) = (text for kind, text in BLOCKS if kind == "python")
    for command in commands():
        if "agent-venv" in command:
            done = run(command, checkout, server.url)
            assert done.returncode == 0, done.stderr
    done = subprocess.run(
        ["agent-venv/bin/python", "-c", code.replace("http://127.0.0.1:8080", server.url)],
        cwd=checkout,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "SkillUse(skill='test-driven-development'" in done.stdout
    assert ".skills/test-driven-development {" in done.stdout


def yaml_block(word: str) -> str:
    """Return the YAML of the README that has a word in it."""
    found: list[str] = [text for kind, text in BLOCKS if kind == "yaml" and word in text]
    assert len(found) == 1
    return found[0]


def test_the_manifest_in_the_readme_is_one() -> None:
    manifest = parse(yaml_block("sources:"), AllowedHosts())
    assert [entry.name for entry in manifest.entries] == ["review-sql", "pr-description"]
    assert manifest.sources["acme"].commit is None


def test_the_workflow_publishes_what_a_merge_changed(
    tmp_path_factory: pytest.TempPathFactory, stack_environments: None, tmp_path: Path
) -> None:
    workflow = yaml.safe_load(yaml_block("jobs:"))
    steps = [step["run"] for step in workflow["jobs"]["publish"]["steps"] if "run" in step]
    assert len(steps) == 2
    shutil.copytree(PROJECT / "skills", tmp_path / "skills")
    (tmp_path / "registry").symlink_to(PROJECT)
    commit = (
        "git -c user.name=A -c user.email=a@example.com -c core.hooksPath=/dev/null"
        " commit --quiet --message 'A merge'"
    )
    run(f"git init --quiet && git add skills && {commit}", tmp_path, "")
    before = run("git rev-parse HEAD", tmp_path, "").stdout.strip()
    with (tmp_path / "skills/pr-description/SKILL.md").open("a") as skill:
        skill.write("One rule more.\n")
    run(f"git add skills && {commit}", tmp_path, "")
    server = ServerProcess(tmp_path_factory.mktemp("workflow"), "--empty").start()
    try:
        for step in steps:
            done = run(f"BEFORE={before}; {step}", tmp_path, server.url)
            assert done.returncode == 0, f"{step}\n{done.stdout}\n{done.stderr}"
        assert done.stdout == "Published pr-description v:1 in team-blue.\n"
        asked = "registry/scripts/skillctl versions pr-description --scope team-blue"
        assert run(asked, tmp_path, server.url).stdout.rstrip().endswith("A merge")
    finally:
        server.stop()


def test_what_is_run_elsewhere_is_really_in_the_readme() -> None:
    for name in ELSEWHERE:
        assert any(line == name or line.startswith(name + " ") for line in commands())


def test_the_generated_tables_are_up_to_date() -> None:
    assert filled(README) == README, "run ./scripts/readme"


def test_every_call_of_the_contract_is_in_the_readme() -> None:
    assert [route for route in ROUTES if f"`{route}`" not in README] == []


def test_every_file_that_the_documents_name_is_there() -> None:
    text = README + (PROJECT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:tests|scripts|skills|functions|layers)/[\w./-]+)`", text))
    named |= {name[2:] for name in re.findall(r"`(\./[\w./-]+)", text)}
    rings = set(re.findall(r"`((?:spec|store|catalog|web|agent)/\w+\.py)`", text))
    core = PROJECT / "layers" / "core" / "skill_registry"
    missing = [n for n in named if not (PROJECT / n).exists()]
    assert [*missing, *(n for n in rings if not (core / n).exists())] == []
    assert len(named) >= 10
