"""The YAML between the fences, and every fault of it as a diagnostic with line and column."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from skill_registry.spec.diagnostics import Place, error, first_of_each, warning
from skill_registry.spec.faults import Fault, explain
from skill_registry.spec.loader import load_block
from skill_registry.spec.model import Severity
from skill_registry.spec.text import Lines, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skill_registry.spec.loader import Loaded, Oddity
    from skill_registry.spec.model import Diagnostic

# YAML 1.1 and 1.2, section 5.1: what a stream may not hold.
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MOST_REPAIRS = 8
_MOST_OF_A_KIND = 5


@dataclass(frozen=True, slots=True)
class Block:
    """What a frontmatter block says.

    Attributes:
        mapping: None where it could not be read.
        text: The YAML, with the quotes that were put round values.
        above: Lines of the file above it.
        keys: Where each key stands, by its path, in code points from the start of ``text``.
    """

    mapping: dict[str, Any] | None
    diagnostics: tuple[Diagnostic, ...] = ()
    text: str = ""
    above: int = 0
    keys: Mapping[tuple[str, ...], int] = field(default_factory=dict)

    def position(self, path: tuple[str, ...]) -> tuple[int, int] | None:
        """Return line and column in the file, 1-based, of a key or its nearest parent."""
        for end in range(len(path), 0, -1):
            if (index := self.keys.get(path[:end])) is not None:
                line, column = Lines(self.text).position(index)
                return line + self.above, column
        return None


NO_BLOCK = Block(None)


@dataclass(frozen=True, slots=True)
class Door:
    """How a block is read: for which file, how many lines lie above it, and how strictly."""

    file: str
    above: int
    tolerant: bool

    def place(self, line: int, column: int) -> Place:
        """Return the place in the file of a 1-based position in the block."""
        return Place(self.file, line + self.above, column)


def read_block(text: str, door: Door) -> Block:
    """Read the block, with quotes put round the values that YAML stops at.

    Such a value, and the second of two equal keys, is a warning at a tolerant door and an error
    at a strict one, where reading goes on for the other problems.
    """
    if match := _UNPRINTABLE.search(text):
        place = door.place(*Lines(text).position(match.start()))
        message = f"The frontmatter holds the character U+{ord(match[0]):04X}."
        hint = "Delete it, or write it as an escape in double quotes."
        return Block(None, (error("control_character", message, place=place, hint=hint),))
    faults: list[Fault] = []
    while True:
        try:
            loaded = load_block(text)
        except yaml.YAMLError as stopped:
            fault, mended = explain(stopped, text)
        else:
            break
        if len(faults) == _MOST_REPAIRS or any(fault.key == seen.key for seen in faults):
            mended = None
        faults.append(fault)
        if mended is None:
            return Block(None, tuple(_refused(one, door) for one in faults))
        text = mended
    found = [_repaired(one, door) if door.tolerant else _refused(one, door) for one in faults]
    return _loaded(loaded, text, found, door)


def _loaded(loaded: Loaded, text: str, found: list[Diagnostic], door: Door) -> Block:
    if loaded.oddities:
        lines = Lines(text)
        odd = (_odd(oddity, lines, door) for oddity in loaded.oddities)
        found.extend(first_of_each(odd, _MOST_OF_A_KIND))
    if loaded.value is None or isinstance(loaded.value, dict):
        return Block(loaded.value or {}, tuple(found), text, door.above, loaded.keys)
    kind = "list" if isinstance(loaded.value, list) else "plain text"
    message = f"The frontmatter is a {kind}; it must be lines of `key: value`."
    found.append(error("frontmatter_not_mapping", message, place=door.place(1, 1)))
    return Block(None, tuple(found))


def _refused(fault: Fault, door: Door) -> Diagnostic:
    place = door.place(fault.line, fault.column)
    return error(fault.code, fault.message, place=place, field=fault.key, hint=fault.hint)


def _repaired(fault: Fault, door: Door) -> Diagnostic:
    message = f"The value of {fault.key} needs quotes; it was read as if it had them."
    place = door.place(fault.line, fault.column)
    return warning("frontmatter_repaired", message, place=place, field=fault.key, hint=fault.hint)


def _odd(oddity: Oddity, lines: Lines, door: Door) -> Diagnostic:
    place = door.place(*lines.position(oddity.index))
    name = shown(".".join(part for part in oddity.path if part), 120)[1:-1] or None
    severity = Severity.ERROR
    hint = "Write the value out, or put it in quotes if it is meant as text."
    if oddity.code == "duplicate_key":
        first = lines.position(oddity.earlier or 0)[0] + door.above
        message = f"The key {name} stands twice, on line {first} and on line {place.line}."
        hint = "Keep one of them."
        severity = Severity.WARNING if door.tolerant else Severity.ERROR
    elif oddity.code == "yaml_alias":
        message = f"Aliases are not supported in frontmatter: {shown('*' + oddity.detail)}."
    elif oddity.code == "yaml_anchor":
        message = f"Anchors are not supported in frontmatter: {shown('&' + oddity.detail)}."
    elif oddity.code == "yaml_tag":
        message = f"Type tags are not supported in frontmatter: {shown(oddity.detail)}."
    else:
        message = "A key is a list or a mapping; only text can be a key."
    return error(oddity.code, message, place=place, field=name, hint=hint, severity=severity)
