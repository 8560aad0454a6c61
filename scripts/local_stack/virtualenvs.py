"""Where the project lies on disk, and where its virtual environments are."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from local_stack.errors import StackError

PROJECT = Path(__file__).resolve().parents[2]


def interpreter(name: str) -> Path:
    """Return the Python of the environment ``name``, which ``scripts/_environments.sh`` makes.

    Raises:
        StackError: It was never made.
    """
    folder = Path(os.environ.get("SKILL_REGISTRY_VENVS") or PROJECT / ".venvs")
    python = folder / name / "bin" / "python"
    if not python.exists():
        raise StackError(
            f"The {name} environment is not there ({python}); ./scripts/server makes it."
        )
    return python


def ensure_environments(*names: str) -> None:
    """Make environments that are not there yet, as ``./scripts/server`` does.

    Raises:
        StackError: One cannot be made; pip's output is in its log.
    """
    calls = " && ".join(f"ensure_environment {name}" for name in names)
    script = f'. "$1/scripts/_environments.sh" && {calls}'
    done = subprocess.run(
        ["bash", "-c", script, "bash", str(PROJECT)], stderr=subprocess.PIPE, text=True
    )
    if done.returncode:
        raise StackError(done.stderr.strip())
