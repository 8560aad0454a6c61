"""Rules that no linter has: sizes, and what a file of the project must not say."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
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


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function of its own: without docstrings and without the functions inside it."""
    inside = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node is not function
    ]
    docstring = function.body[0] if ast.get_docstring(function) is not None else None
    return (
        _lines(function)
        - (_lines(docstring) if docstring is not None else 0)
        - sum(_lines(node) for node in inside)
    )


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
    names = Counter(path.name for path in _python() if path.name.startswith("test_"))
    assert [name for name, count in names.items() if count > 1] == []
    tests = [path for path in _python() if path.is_relative_to(PROJECT / "tests")]
    assert [path for path in tests if path.name == "__init__.py"] == []


def test_every_kind_of_test_is_described_and_has_a_command() -> None:
    described = (PROJECT / "tests" / "README.md").read_text("utf-8")
    kinds = {
        path.relative_to(PROJECT).parts[1]
        for path in _python()
        if path.is_relative_to(PROJECT / "tests") and path.name.startswith("test_")
    }
    assert set(re.findall(r"\| `\./scripts/test (\w+)` \|", described)) == kinds


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
