"""The table of codes against the code that uses them, both ways."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import skill_registry
import skill_registry_cli
from skill_registry.spec.diagnostics import CODES, error, first_of_each

_PACKAGE = Path(skill_registry.__file__).parent
_FOLDERS = (
    _PACKAGE / "spec",
    _PACKAGE / "catalog",
    _PACKAGE / "agent",
    Path(skill_registry_cli.__file__).parent,
)
_CODE = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")


def _modules() -> list[Path]:
    return [path for folder in _FOLDERS for path in sorted(folder.glob("*.py"))]


def _texts() -> set[str]:
    """Every string of the code that looks like one, the table's own module aside."""
    found: set[str] = set()
    for path in _modules():
        if path.name != "diagnostics.py":
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found |= {
                node.value
                for node in ast.walk(tree)
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            }
    return {text for text in found if _CODE.fullmatch(text)}


def _made() -> set[str]:
    """Every code that is handed to a maker of diagnostics as a literal."""
    # Loggers have methods of the first two names, so that only the plain functions count.
    functions = {"error": 0, "warning": 0, "Fault": 0, "Diagnostic": 1}
    methods = {"refuse": 0, "warn": 0, "text": 1}
    found: set[str] = set()
    for path in _modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            function = functions.get(str(getattr(node.func, "id", "")))
            method = methods.get(str(getattr(node.func, "attr", "")))
            position = function if function is not None else method
            if position is None:
                continue
            if position < len(node.args):
                value = node.args[position]
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    found.add(value.value)
    return found


def test_every_code_that_is_made_is_in_the_table() -> None:
    assert _made() - CODES.keys() == set()


def test_every_code_of_the_table_is_used() -> None:
    assert CODES.keys() - _texts() == set()


def test_a_meaning_is_one_sentence() -> None:
    for code, meaning in CODES.items():
        assert _CODE.fullmatch(code)
        assert meaning.endswith(".")
        assert "\n" not in meaning


def test_many_of_a_kind_are_cut_and_counted() -> None:
    given = [error("path_empty", f"{n}.") for n in range(9)] + [error("not_utf8", "x.")]
    kept = first_of_each(given, 3)
    assert [found.message for found in kept] == ["0.", "1.", "2. There are 6 more.", "x."]
