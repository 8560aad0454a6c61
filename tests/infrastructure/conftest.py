"""The infrastructure environment, and the template as its translator leaves it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest
from infrastructure.artifact import Artifact, host_architecture
from infrastructure.stack import Stack

if TYPE_CHECKING:
    from collections.abc import Callable

PROJECT = Path(__file__).resolve().parents[2]
TEMPLATE = PROJECT / "template.yaml"
ROLE = "arn:aws:iam::111122223333:role/registry-administrator"


class Deploy(Protocol):
    """Translate the template as a deployment with these parameters would."""

    def __call__(self, **parameters: str) -> Stack: ...


def bash(script: str) -> str:
    """Run a line that uses the project's shell functions; return what it prints."""
    finished = subprocess.run(["bash", "-c", script], check=True, stdout=subprocess.PIPE, text=True)
    return finished.stdout.strip()


@pytest.fixture(scope="session")
def tools() -> Path:
    """Return the folder with the sam and cfn-lint commands; made on first use."""
    script = f'. "{PROJECT}/scripts/_environments.sh" && ensure_environment infrastructure'
    return Path(bash(f"{script} && environment_python infrastructure")).parent


@pytest.fixture(scope="session")
def translate(tools: Path) -> Callable[[Path, dict[str, str]], dict[str, Any]]:
    """Return a function that translates a template file with given parameters."""

    def translated(template: Path, parameters: dict[str, str]) -> dict[str, Any]:
        script = PROJECT / "tests" / "infrastructure" / "translate.py"
        command = [str(tools / "python"), str(script), str(template), json.dumps(parameters)]
        environment = {"PATH": os.environ["PATH"], "AWS_DEFAULT_REGION": "eu-west-1"}
        finished = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
        result: dict[str, Any] = json.loads(finished.stdout)
        return result

    return translated


@pytest.fixture(scope="session")
def deploy(translate: Callable[[Path, dict[str, str]], dict[str, Any]]) -> Deploy:
    """Return a function that translates the project's template; a translation is kept."""
    kept: dict[str, Stack] = {}

    def deployed(**parameters: str) -> Stack:
        key = json.dumps(parameters, sort_keys=True)
        if key not in kept:
            kept[key] = Stack(translate(TEMPLATE, parameters), parameters)
        return kept[key]

    return deployed


@pytest.fixture
def stack(deploy: Deploy) -> Stack:
    """Return the template as deployed with the one parameter that has to be set."""
    return deploy(Administrators=ROLE)


@pytest.fixture(scope="session")
def python313() -> Path:
    """Return the Python 3.13 that builds and runs the functions here."""
    script = f'. "{PROJECT}/scripts/_python313.sh" && find_python313 && echo "$PYTHON313"'
    return Path(bash(script))


def _build(architecture: str, *options: str) -> None:
    command = [str(PROJECT / "scripts" / "build"), "--architecture", architecture, *options]
    finished = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert finished.returncode == 0, finished.stdout


@pytest.fixture(scope="session")
def deployed_artifact() -> Artifact:
    """Build what `sam deploy` takes by default, into .aws-sam/build."""
    _build("arm64")
    return Artifact(PROJECT / ".aws-sam" / "build", "arm64")


@pytest.fixture(scope="session")
def artifact(deployed_artifact: Artifact) -> Artifact:
    """Build for this machine's architecture, so that the handlers can run here."""
    architecture = host_architecture()
    if architecture == deployed_artifact.architecture:
        return deployed_artifact
    directory = PROJECT / ".aws-sam" / f"build-{architecture}"
    _build(architecture, "--build-dir", str(directory))
    return Artifact(directory, architecture)


def requirements(lock: Path) -> dict[str, str]:
    """Read a lock as name to its whole entry, hashes included."""
    entries: dict[str, str] = {}
    name = ""
    for line in lock.read_text(encoding="utf-8").splitlines():
        if not line.startswith(" "):
            name = line.split("==")[0]
        entries[name] = entries.get(name, "") + line + "\n"
    return entries


@pytest.fixture(scope="session")
def bare_python(python313: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an environment with the runtime interface client and nothing that the layer holds."""
    layer = requirements(PROJECT / "layers" / "core" / "requirements.txt")
    runtime = requirements(PROJECT / "scripts" / "locks" / "runtime.txt")
    directory = tmp_path_factory.mktemp("bare")
    lock = directory / "requirements.txt"
    lock.write_text("".join(entry for name, entry in runtime.items() if name not in layer))
    subprocess.run([python313, "-m", "venv", directory / "venv"], check=True)
    python = directory / "venv" / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
    subprocess.run([*install, "-r", str(lock)], check=True)
    return python
