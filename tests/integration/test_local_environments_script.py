"""``scripts/_environments.sh``: which Python is taken, and when an environment is made again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from local_stack.virtualenvs import PROJECT

ABSENT = (
    "absent-from-every-index==1.0 "
    "--hash=sha256:0000000000000000000000000000000000000000000000000000000000000000\n"
)


def bash(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", f"set -euo pipefail; . {PROJECT}/scripts/_environments.sh; {script}"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )


@pytest.fixture
def commands(tmp_path: Path) -> Path:
    """Make a folder for PATH that has the tools but no Python."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("bash", "dirname", "env", "cat", "mkdir", "rm"):
        found = subprocess.run(["which", name], capture_output=True, text=True, check=True)
        (folder / name).symlink_to(found.stdout.strip())
    return folder


def write_command(path: Path, text: str) -> None:
    path.write_text(f"#!{os.path.realpath('/bin/bash')}\n{text}\n")
    path.chmod(0o755)


def test_a_shim_that_does_not_answer_is_skipped(commands: Path) -> None:
    write_command(commands / "python3", "echo 'no such version' >&2; exit 127")
    write_command(commands / "python3.13", f'exec "{sys.executable}" "$@"')
    done = bash("find_python; echo $PYTHON", PATH=str(commands))
    assert (done.returncode, done.stdout.strip()) == (0, sys.executable)


def test_without_a_python_there_is_one_sentence(commands: Path) -> None:
    write_command(commands / "python3", "exit 1")  # one that is too old
    done = bash("find_python", PATH=str(commands))
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("This needs Python 3.11 or newer")
    assert done.stderr.count("\n") == 1


def test_an_environment_is_made_once_and_again_when_its_lock_changes(tmp_path: Path) -> None:
    lock, venvs = tmp_path / "tool.txt", tmp_path / "venvs"
    lock.write_text("# nothing\n")
    call = f"ensure_environment tool {lock}"
    runs = [
        subprocess.Popen(
            ["bash", "-c", f". {PROJECT}/scripts/_environments.sh && {call}"],
            env=os.environ | {"SKILL_REGISTRY_VENVS": str(venvs)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    texts = [run.communicate()[1] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], texts
    # Two at once: one of them installs, the other waits for it.
    assert sum("Installing the tool environment" in text for text in texts) == 1
    made = (venvs / "tool" / ".stamp").stat().st_mtime_ns
    assert bash(call, SKILL_REGISTRY_VENVS=str(venvs)).stderr == ""
    assert (venvs / "tool" / ".stamp").stat().st_mtime_ns == made

    # Whoever replaces the interpreter gets another environment; else none is started.
    counted = f"find_python() {{ echo asked; return 1; }}; {call} || true"
    assert bash(counted, SKILL_REGISTRY_VENVS=str(venvs)).stdout == ""
    python = venvs / "tool" / "bin" / "python"
    before = python.readlink()
    python.unlink()
    python.symlink_to("/bin/sh")
    assert bash(counted, SKILL_REGISTRY_VENVS=str(venvs)).stdout == "asked\n"
    python.unlink()
    python.symlink_to(before)

    lock.write_text(ABSENT)
    refused = bash(call, SKILL_REGISTRY_VENVS=str(venvs), **no_network())
    assert refused.returncode == 1
    assert "could not be installed: a network or a package index" in refused.stderr
    assert refused.stderr.count("\n") == 2
    # What was not finished is not taken for whole.
    assert not (venvs / "tool" / ".stamp").exists()


def no_network() -> dict[str, str]:
    return {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_EXTRA_INDEX_URL": "",
        "PIP_FIND_LINKS": "",
        "PIP_RETRIES": "0",
    }


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = str(tmp_path / "file" / "venvs")
    done = bash("ensure_environment server", SKILL_REGISTRY_VENVS=folder)
    assert done.returncode == 1
    assert done.stderr == f"The folder {folder} for virtual environments cannot be written.\n"
