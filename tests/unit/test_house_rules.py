"""Rules that no linter has: sizes, and what a file of the project must not say."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
MOST_LINES = 400
LONGEST_FUNCTION = 40
LONGEST_HANDLER = 60

# Written in parts, so that this file does not break its own rule.
FORBIDDEN = {
    "unfinished work": re.compile(r"\b(?:TO" + "DO|FIX" + "ME|XX" + r"X)\b"),
    "a path of one machine": re.compile(r"(?<![\w.$}/-])/(?:wo" + "rk|ro" + r"ot|tmp/sr)(?:/|\b)"),
    "a folder beside the repository": re.compile(r"\.\./sha" + "red"),
    "a package registry": re.compile(
        "py" + r"pi\.org|files\.python" + r"hosted|registry\.np" + "m"
    ),
}


def _tracked() -> list[Path]:
    """Every file that is, or would be, committed."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.check_output(command, cwd=PROJECT, text=True).split("\0")
    return [PROJECT / name for name in sorted(set(listed)) if name and (PROJECT / name).is_file()]


def _python() -> list[Path]:
    return [path for path in _tracked() if path.suffix == ".py" and not _is_sample(path)]


def _is_sample(path: Path) -> bool:
    """Inputs of tests are written by others, by their own rules."""
    return path.relative_to(PROJECT).parts[:2] == ("tests", "cases")


def _length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its docstring, which may say as much as it has to."""
    lines = (function.end_lineno or 0) - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is not None and first.end_lineno is not None:
        lines -= first.end_lineno - first.lineno + 1
    return lines


def test_no_file_owns_so_much_that_it_is_long() -> None:
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in _python()}
    assert {path: lines for path, lines in lengths.items() if lines > MOST_LINES} == {}


def test_no_function_is_long() -> None:
    long = {
        f"{path.relative_to(PROJECT)}:{node.lineno} {node.name}": _length(node)
        for path in _python()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and _length(node) > LONGEST_FUNCTION
    }
    assert long == {}


def test_handlers_are_thin() -> None:
    handlers = [path for path in _python() if path.name == "app.py"]
    assert len(handlers) == 4
    for path in handlers:
        assert len(path.read_text("utf-8").splitlines()) <= LONGEST_HANDLER, path


def test_test_files_have_names_of_their_own_and_no_packages() -> None:
    names = [path.name for path in _python() if path.name.startswith("test_")]
    assert sorted(names) == sorted(set(names))
    assert [path for path in _python() if path.match("tests/**/__init__.py")] == []


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_names(what: str) -> None:
    found = []
    for path in _tracked():
        if _is_sample(path):
            continue
        text = path.read_bytes().decode("utf-8", errors="replace")
        found += [
            f"{path.relative_to(PROJECT)}:{number} {line.strip()[:100]}"
            for number, line in enumerate(text.splitlines(), 1)
            if FORBIDDEN[what].search(line)
        ]
    assert found == []
