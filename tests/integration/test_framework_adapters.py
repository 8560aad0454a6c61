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

LOOKS = (
    "import socket; socket.create_connection(('192.0.2.1', 80), timeout=5)",
    "import socket; socket.getaddrinfo('telemetry.example', 443)",
    "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 8125))",
    "import socket, threading; threading.Thread(target=socket.gethostbyname, args=['a.b']).start()",
)
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


@pytest.mark.parametrize("look", LOOKS)
def test_a_program_that_looks_beyond_this_machine_is_ended(look: str, tmp_path: Path) -> None:
    ensure_environments("frameworks")
    program = tmp_path / "curious.py"
    program.write_text(look, encoding="utf-8")
    done = run_program(program, home=tmp_path, environment={})
    assert "Something looked for " in done.stderr
    assert done.returncode == 97
