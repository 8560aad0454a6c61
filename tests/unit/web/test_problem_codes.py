"""The table of problem codes against the code that raises them, both ways."""

from __future__ import annotations

import ast
from pathlib import Path

import skill_registry
from skill_registry.errors import RegistryError
from skill_registry.web.codes import PROBLEMS

PACKAGE = Path(skill_registry.__file__).parent
RINGS = ("errors.py", "catalog/*.py", "store/*.py", "web/*.py")


def _raised() -> set[str]:
    """Codes that a class has, or that a call gives by keyword."""
    found = {RegistryError.code}
    for pattern in RINGS:
        for path in PACKAGE.glob(pattern):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                found |= _in_call(node) | _in_class(node)
    return found


def _in_call(node: ast.AST) -> set[str]:
    values = (
        [k.value for k in node.keywords if k.arg == "code"] if isinstance(node, ast.Call) else []
    )
    return {v.value for v in values if isinstance(v, ast.Constant) and isinstance(v.value, str)}


def _in_class(node: ast.AST) -> set[str]:
    if not isinstance(node, ast.ClassDef):
        return set()
    return {
        str(item.value.value)
        for item in node.body
        if isinstance(item, ast.Assign)
        and isinstance(item.value, ast.Constant)
        and any(isinstance(t, ast.Name) and t.id == "code" for t in item.targets)
    }


def test_the_table_holds_exactly_the_codes_that_are_raised() -> None:
    assert _raised() == set(PROBLEMS)


def test_a_meaning_is_one_sentence() -> None:
    assert all(meaning.endswith(".") and "\n" not in meaning for meaning in PROBLEMS.values())
