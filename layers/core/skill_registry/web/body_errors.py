"""What is wrong with a body, in words of the contract and not of the library that checks it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skill_registry.spec.text import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MOST = 20

# What a member has to be; where it may be one of several, each of them is reported.
_KINDS = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "dict_type": "an object",
    "model_type": "an object",
    "list_type": "a list",
}
_RULES = {
    "missing": "is missing",
    "extra_forbidden": "is no member of this call",
    "string_too_long": "has more than {max_length} characters",
    "string_too_short": "has less than {min_length} characters",
    "too_long": "has more than {max_length} members",
    "too_short": "has less than {min_length} members",
    "greater_than": "is not more than {gt}",
    "greater_than_equal": "is less than {ge}",
    "less_than": "is not less than {lt}",
    "less_than_equal": "is more than {le}",
    "value_error": "{error}",
}


def body_problems(problems: Iterable[Mapping[str, Any]], document: Mapping[str, Any]) -> str:
    """Say what is wrong with a document, given pydantic's errors: each member once, 20 at most."""
    kinds: dict[str, list[str]] = {}
    rules: dict[str, list[str]] = {}
    for problem in problems:
        path = _path(problem, document)
        if (kind := _KINDS.get(problem["type"])) is not None:
            kinds.setdefault(path, []).append(kind)
        else:
            rule = _RULES.get(problem["type"], "is not of its form")
            rules.setdefault(path, []).append(rule.format_map(problem.get("ctx", {})))
    told = [f"{_name(path)}must be {' or '.join(dict.fromkeys(kinds[path]))}" for path in kinds]
    told += [f"{_name(path)}{' and '.join(rules[path])}" for path in rules]
    more = [f"and {len(told) - MOST} more"] if len(told) > MOST else []
    return "; ".join(told[:MOST] + more)


def _path(problem: Mapping[str, Any], document: Any) -> str:
    """Return where the member is; what of the place leads no further is pydantic's own."""
    path: list[str] = []
    place: Any = document
    for part in problem["loc"]:
        try:
            place = place[part]
        except (KeyError, IndexError, TypeError):
            if problem["type"] == "missing":
                path.append(str(part))
            break
        path.append(str(part))
    return ".".join(path)


def _name(path: str) -> str:
    return f"`{shown(path)[1:-1]}` " if path else ""
