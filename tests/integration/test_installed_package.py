"""The package as its users install it: the built wheel in an environment with nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]

# What a first import of the toolkit may not bring: AWS, the service's parts, YAML, frameworks.
HEAVY = (
    "asyncio",
    "aws_lambda_powertools",
    "boto3",
    "botocore",
    "langchain",
    "pydantic",
    "pydantic_ai",
    "skill_registry.catalog",
    "skill_registry.store",
    "skill_registry.web",
    "strands",
    "yaml",
)
# asyncio is httpx's own business where httpx brings it.
LOADED = """
import json, sys
import httpx
before = set(sys.modules)
import skill_registry.agent
print(json.dumps(sorted(set(sys.modules) - before)))
"""
USED = """
import pathlib, sys
from skill_registry.agent import LocalSource, Skillset
skills = Skillset(LocalSource(sys.argv[1]), workspace=sys.argv[2])
print("hello" in skills.instructions(), skills.view_skill("hello").content.strip())
"""
SIGNED = """
from skill_registry.agent import RegistryClient, SigV4
try:
    RegistryClient("http://127.0.0.1:9", auth=SigV4("eu-west-1")).list_all()
except Exception as error:
    print(error.code, error)
"""


def run(*command: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "SKILL_"))
    }
    return subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        env={**environment, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **more},
    )


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an empty environment. The project's own ones have no pip."""
    folder = tmp_path_factory.mktemp("environment")
    made = run(sys.executable, "-m", "venv", folder)
    assert made.returncode == 0, made.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = environment / "bin" / "pip"
    built = run(pip, "wheel", "--no-deps", "-q", "-w", folder, PROJECT)
    assert built.returncode == 0, built.stderr
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def python(wheel: Path, environment: Path) -> Path:
    """Install the toolkit, and nothing else."""
    installed = run(environment / "bin" / "pip", "install", "-q", f"{wheel}[agent]")
    assert installed.returncode == 0, installed.stderr
    return environment / "bin" / "python"


@pytest.fixture(scope="module")
def skillctl(wheel: Path, environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the command line, in an environment of its own."""
    folder = tmp_path_factory.mktemp("skillctl")
    made = run(sys.executable, "-m", "venv", "--without-pip", folder)
    assert made.returncode == 0, made.stderr
    pip = environment / "bin" / "pip"
    installed = run(pip, "--python", folder, "install", "-q", f"{wheel}[cli]")
    assert installed.returncode == 0, installed.stderr
    return folder / "bin" / "skillctl"


def test_importing_the_toolkit_brings_neither_aws_nor_the_service_nor_a_framework(
    python: Path,
) -> None:
    done = run(python, "-c", LOADED)
    loaded = json.loads(done.stdout)
    assert "skill_registry.agent.skillset" in loaded
    assert [name for name in HEAVY if name in loaded] == []


def test_an_agent_uses_its_skills_from_there(python: Path, tmp_path: Path) -> None:
    directory = tmp_path / "skills" / "hello"
    directory.mkdir(parents=True)
    (directory / "SKILL.md").write_text("---\nname: hello\ndescription: Greets.\n---\nSay hello.\n")
    done = run(python, "-c", USED, tmp_path / "skills", tmp_path)
    assert done.stdout == "True Say hello.\n", done.stderr


def test_the_command_line_answers_from_there(skillctl: Path, tmp_path: Path) -> None:
    lines = {
        "--help": "push",
        f"new one --in {tmp_path}": "one",
        f"validate {tmp_path}/one": "one",
    }
    for line, said in lines.items():
        done = run(skillctl, *line.split(), NO_COLOR="1", HOME=str(tmp_path))
        assert done.returncode == 0, done.stderr
        assert said in done.stdout


def test_what_is_missing_is_named_with_its_extra(python: Path) -> None:
    assert "aws_extra_missing" in run(python, "-c", SIGNED).stdout
    for module, extra in {
        "langchain": "langchain",
        "pydantic_ai": "pydantic-ai",
        "strands": "strands",
    }.items():
        done = run(python, "-c", f"import skill_registry.agent.adapters.{module}")
        assert f"pip install 'skill-registry[{extra}]'" in done.stderr


def test_every_extra_that_the_readme_names_is_one(wheel: Path, python: Path) -> None:
    code = (
        "import importlib.metadata as m; print(*m.metadata('skill-registry').get_all("
        "'Provides-Extra'))"
    )
    extras = set(run(python, "-c", code).stdout.split())
    assert {"agent", "aws", "cli", "langchain", "pydantic-ai", "strands"} <= extras
