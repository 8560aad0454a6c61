"""Adapters and shapes under the frameworks and SDKs that they are for: ``tests/frameworks``."""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING

import pytest
from framework_programs import TESTS, run_program

from local_stack.virtualenvs import ensure_environments

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = sorted((TESTS / "frameworks").glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_every_check_of_a_program_passes(program: Path, tmp_path: Path) -> None:
    ensure_environments("frameworks")
    done = run_program(program, home=tmp_path, environment={"PYTHONWARNINGS": "default"})
    assert done.returncode == 0, done.stderr
    written = [
        node.name
        for node in ast.parse(program.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("check_")
    ]
    assert json.loads(done.stdout) == sorted(written)
    assert len(written) >= 4
