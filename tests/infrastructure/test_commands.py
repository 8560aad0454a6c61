"""What the build and the tests say where they cannot run: one sentence, and a failure."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from infrastructure.conftest import PROJECT


@pytest.fixture
def bare_path(tmp_path: Path) -> Path:
    """A folder for PATH with what a shell script needs, and no Python."""
    for name in ("bash", "cat", "dirname", "env"):
        found = shutil.which(name)
        assert found
        (tmp_path / name).symlink_to(found)
    return tmp_path


def _run(command: list[str], path: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(path), "HOME": str(path)}
    return subprocess.run(
        [str(path / "bash"), *command],
        cwd=PROJECT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("command", [["scripts/build"], ["scripts/test", "infrastructure"]])
def test_a_missing_python_313_is_one_sentence(command: list[str], bare_path: Path) -> None:
    finished = _run(command, bare_path)
    assert finished.returncode != 0
    assert finished.stdout == ""
    (sentence,) = finished.stderr.splitlines()
    assert "needs a Python 3.13" in sentence


def test_a_shim_with_no_interpreter_behind_it_is_missing_too(bare_path: Path) -> None:
    shim = bare_path / "python3.13"
    shim.write_text("#!/bin/sh\necho 'command not found in this version' >&2\nexit 127\n")
    shim.chmod(0o755)
    finished = _run(["scripts/build"], bare_path)
    assert finished.returncode != 0
    (sentence,) = finished.stderr.splitlines()
    assert "needs a Python 3.13" in sentence


def test_the_interpreter_behind_a_pyenv_shim_is_used(bare_path: Path, python313: Path) -> None:
    versions = bare_path / "root" / "versions" / "3.13.9" / "bin"
    versions.mkdir(parents=True)
    (versions / "python3.13").symlink_to(python313)
    for name, text in {
        "python3.13": "#!/bin/sh\nexit 127\n",
        "pyenv": f"#!/bin/sh\necho '{bare_path}/root'\n",
    }.items():
        (bare_path / name).write_text(text)
        (bare_path / name).chmod(0o755)
    find = '. scripts/_python313.sh && find_python313 && echo "$PYTHON313"'
    finished = _run(["-c", find], bare_path)
    assert finished.returncode == 0, finished.stderr
    assert Path(finished.stdout.strip()).name.startswith("python")


@pytest.mark.parametrize("architecture", ["", "riscv"])
def test_another_architecture_is_refused(architecture: str) -> None:
    command = [str(PROJECT / "scripts" / "build"), "--architecture", architecture]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 2
    assert "arm64 or x86_64" in finished.stderr


def test_the_layer_is_not_built_for_another_architecture(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "LAYER_ARCHITECTURE": "riscv"}
    finished = subprocess.run(
        [
            "make",
            "-C",
            str(PROJECT / "layers" / "core"),
            "build-CoreLayer",
            f"ARTIFACTS_DIR={tmp_path}",
        ],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode != 0
    assert "must be arm64 or x86_64" in finished.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [(["nonsense"], "no kind of test"), (["unit", "--corpus", "no/such/folder"], "--corpus")],
)
def test_a_wrong_call_of_the_tests_is_one_sentence(arguments: list[str], reason: str) -> None:
    command = [str(PROJECT / "scripts" / "test"), *arguments]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 2
    (sentence,) = finished.stderr.splitlines()
    assert reason in sentence
