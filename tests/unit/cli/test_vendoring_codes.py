"""The codes of vendoring against the code that uses them, both ways."""

from __future__ import annotations

import ast
from pathlib import Path

import skill_registry_cli.vendoring
from skill_registry_cli.vendoring.problems import VENDORING

FOLDER = Path(skill_registry_cli.vendoring.__file__).parent


def calls() -> list[ast.Call]:
    return [
        node
        for path in sorted(FOLDER.glob("*.py"))
        if path.name != "problems.py"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
    ]


def texts(call: ast.Call) -> list[str]:
    """Return every text that a call is given, also one of two by a condition."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    nodes = [inner for value in given for inner in ast.walk(value)]
    return [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def test_every_code_is_used() -> None:
    source = "".join(
        path.read_text("utf-8") for path in FOLDER.glob("*.py") if path.name != "problems.py"
    )
    assert [code for code in VENDORING if f'"{code}"' not in source] == []


def test_every_code_that_is_used_is_in_the_table() -> None:
    makers = {"problem", "caution"}
    named = [call for call in calls() if getattr(call.func, "id", "") in makers]
    first = [
        text for call in named for text in texts(call)[:1] if isinstance(call.args[0], ast.Constant)
    ]
    keyword = [
        one.value.value
        for call in calls()
        for one in call.keywords
        if one.arg == "code" and isinstance(one.value, ast.Constant)
    ]
    assert len(first) > 20 and len(keyword) > 5
    assert {*first, *keyword} - VENDORING.keys() == set()
