"""Where YAML stopped, why, and what mends it: a parser's exception in an author's words."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import yaml

from skill_registry.spec.loader import MAX_DEPTH, TooDeep, load_block
from skill_registry.spec.repair import key_at, quote_value, quoted_line
from skill_registry.spec.text import Lines, split_lines

if TYPE_CHECKING:
    from skill_registry.spec.repair import Repair

_VALUE = re.compile(r"(?P<key>[ \t]*(?:- +)*[\w.-]+)[ \t]*:[ \t]+(?P<value>\S.*)")
_UNMENDABLE = frozenset({"yaml_tab", "yaml_too_deep", "yaml_unclosed"})
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Fault:
    """A place where YAML stopped.

    Attributes:
        line: 1-based in the block.
        column: 1-based, in code points.
        key: The top-level key that the line belongs to.
        value: What the key's value is when quotes are put round it, None where that is no cure.
    """

    code: str
    message: str
    line: int
    column: int
    key: str | None = None
    value: str | None = None
    hint: str | None = None


def explain(stopped: yaml.YAMLError, block: str) -> tuple[Fault, str | None]:
    """Say why YAML stopped, and return the block with the quotes that mend it, where they do."""
    fault = _locate(stopped, block)
    fault = replace(fault, key=key_at(block, fault.line - 1))
    if fault.code in _UNMENDABLE:
        return fault, None
    repair = quote_value(block, fault.line - 1)
    if repair is not None and fault.code == "yaml_syntax" and repair.scalar[1].isalnum():
        # Nothing but a colon stops YAML in a value that starts like a word.
        repair = None
    value = _value_of(repair) if repair is not None else None
    if repair is None or value is None:
        return _with_quoted_line(fault, block), None
    code = "yaml_quotes" if fault.code == "yaml_syntax" else fault.code
    message = fault.message
    if code == "yaml_quotes":
        message = (
            f"The value of {repair.key} needs quotes: YAML reads its first character as syntax."
        )
    line = quoted_line(repair.key, value)
    hint = f"Put quotes round the value: {line}" if line else "Put quotes round the whole value."
    return replace(fault, code=code, message=message, value=value, hint=hint), repair.block


def _locate(stopped: yaml.YAMLError, block: str) -> Fault:
    opened = getattr(stopped, "context_mark", None)
    mark = getattr(stopped, "problem_mark", None) or opened
    index = min(mark.index, len(block)) if mark else 0
    lines = Lines(block)
    line, column = lines.position(index)
    problem = str(getattr(stopped, "problem", None) or stopped)
    if isinstance(stopped, TooDeep) or "maximum nesting" in problem:
        message = f"Lists and mappings are nested more than {MAX_DEPTH} deep."
        return Fault("yaml_too_deep", message, line, column)
    if (tab := _tab_in_margin(block, line)) is not None:
        return tab
    if "mapping values are not allowed" in problem:
        message = "An unquoted colon followed by a blank starts a second value here."
        return Fault("yaml_colon", message, line, column)
    if opened is not None and (what := _left_open(stopped, problem, opened, line, lines)):
        message = f"A {what} is opened here and never closed."
        hint = "Close it, or put quotes round the whole value."
        return Fault("yaml_unclosed", message, *lines.position(opened.index), hint=hint)
    return Fault("yaml_syntax", f"This is not valid YAML: {problem}.", line, column)


def _left_open(
    stopped: yaml.YAMLError, problem: str, opened: yaml.Mark, line: int, lines: Lines
) -> str | None:
    context = str(getattr(stopped, "context", None) or "")
    if "quoted scalar" in context and "end of stream" in problem:
        return "quote"
    if "parsing a flow" in context and lines.position(opened.index)[0] != line:
        return "bracket"
    return None


def _tab_in_margin(block: str, line: int) -> Fault | None:
    lines = split_lines(block)
    text = lines[line - 1].rstrip() if line <= len(lines) else ""
    content = text.lstrip()
    margin = text[: len(text) - len(content)]
    if "\t" not in margin:
        return None
    message = "The line is indented with a tab; YAML wants blanks."
    hint = f"Write it as `{margin.replace(chr(9), '  ')}{content[:_LONGEST]}`."
    return Fault("yaml_tab", message, line, margin.index("\t") + 1, hint=hint)


def _value_of(repair: Repair) -> str | None:
    try:
        value = load_block(f"{repair.key}: {repair.scalar}").value[repair.key]
    except yaml.YAMLError:
        return None
    return value if isinstance(value, str) else None


def _with_quoted_line(fault: Fault, block: str) -> Fault:
    """Add a hint for a value that is not at the top level: its line, quoted."""
    lines = split_lines(block)
    match = _VALUE.match(lines[fault.line - 1]) if fault.line <= len(lines) else None
    if match is None or fault.code != "yaml_colon":
        return fault
    line = quoted_line(match["key"], match["value"].rstrip())
    return replace(fault, hint=f"Put quotes round the value: {line}") if line else fault
