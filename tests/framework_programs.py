"""Runs programs in the environment ``frameworks``: with the toolkit, and with no way out."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from local_stack.virtualenvs import interpreter

if TYPE_CHECKING:
    from collections.abc import Mapping

PROJECT = Path(__file__).resolve().parents[1]
TESTS = PROJECT / "tests"


def run_program(
    program: Path, *arguments: str, home: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, with no environment but the given one.

    Args:
        program: A file of Python.
        home: What it takes for its home directory.
    """
    paths = (TESTS / "loopback_only", PROJECT / "layers" / "core", TESTS)
    return subprocess.run(
        [str(interpreter("frameworks")), str(program), *arguments],
        env={
            "PATH": f"{interpreter('frameworks').parent}:{os.environ['PATH']}",
            "HOME": str(home),
            "PYTHONPATH": ":".join(map(str, paths)),
            **environment,
        },
        cwd=home,
        capture_output=True,
        text=True,
        timeout=120,
    )
