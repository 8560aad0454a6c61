"""The start of a run, before any command has control."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[3]
PATHS = [str(PROJECT / each) for each in ("layers/core", "scripts")]


def test_ctrl_c_while_the_program_loads_ends_it_without_a_traceback(tmp_path: Path) -> None:
    # Imported early, and before the one that is installed.
    (tmp_path / "typer.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    paths = [str(tmp_path), *PATHS]
    code = (
        f"import sys, runpy; sys.path[:0] = {paths}; sys.argv = ['skillctl', 'list'];"
        " runpy.run_module('skill_registry_cli', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_closed_streams_are_no_fault_of_the_program() -> None:
    for closed in (">&-", "2>&-", ">&- 2>&-"):
        line = f"'{sys.executable}' -m skill_registry_cli --url http://127.0.0.1:9 list {closed}"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(PATHS)}
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=environment)
        assert (done.returncode, "Traceback" in done.stdout + done.stderr) == (2, False)
