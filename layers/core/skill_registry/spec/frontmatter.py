"""SKILL.md read: its frontmatter as the author typed it, its body byte-exact, every fault named.

Never raises for bad input, and never rewrites a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skill_registry.spec.diagnostics import Place, error, warning
from skill_registry.spec.fences import body_of, split, wide_encoding
from skill_registry.spec.model import DEFAULT_LIMITS, SKILL_MD, Severity
from skill_registry.spec.text import Lines
from skill_registry.spec.yaml_block import NO_BLOCK, Door, read_block

if TYPE_CHECKING:
    from skill_registry.spec.fences import Split
    from skill_registry.spec.model import Diagnostic, Limits
    from skill_registry.spec.yaml_block import Block

__all__ = ["Document", "body_of", "read_document"]

_FENCE_FAULTS = {
    "skill_md_empty": (
        "SKILL.md has no text.",
        "Start it with `---`, name and description lines, and `---`.",
    ),
    "frontmatter_missing": (
        "SKILL.md does not start with frontmatter: its first line is not exactly `---`.",
        "Put a `---` line first, then name and description, then another `---` line.",
    ),
    "text_above_frontmatter": (
        "There is text above the opening `---` line.",
        "Move it below the closing `---` line; the frontmatter comes first.",
    ),
    "fence_unclosed": (
        "The frontmatter is never closed: no other line is exactly `---`.",
        "Put a `---` line behind the last key.",
    ),
}


@dataclass(frozen=True, slots=True)
class Document:
    """A SKILL.md as read.

    Attributes:
        data: The file's bytes.
        mapping: The frontmatter, None where it could not be read. Values are text, lists and
            mappings, and booleans for keys where the format defines one.
        body_offset: Where the body begins, in bytes; without frontmatter that is the whole file.
        block: The YAML as it was read.
    """

    data: bytes
    mapping: dict[str, Any] | None
    body_offset: int
    diagnostics: tuple[Diagnostic, ...] = ()
    file: str = SKILL_MD
    block: Block = NO_BLOCK

    @property
    def body(self) -> str:
        """The text behind the closing fence, untrimmed. Not UTF-8 comes back as U+FFFD."""
        return self.data[self.body_offset :].decode("utf-8", "replace")

    def place(self, *path: str) -> Place:
        """Tell where a key stands, else its nearest parent, else the file."""
        position = self.block.position(path)
        return Place(self.file, *position) if position is not None else Place(self.file)


def read_document(
    data: bytes,
    *,
    file: str = SKILL_MD,
    limits: Limits = DEFAULT_LIMITS,
    tolerant: bool = False,
) -> Document:
    """Read a SKILL.md and name everything that is wrong with its text.

    Args:
        data: The file's bytes. UTF-8, with or without byte-order mark.
        file: The path that diagnostics name.
        limits: ``skill_md_bytes`` and ``frontmatter_bytes`` are used.
        tolerant: Read what a store or a local directory holds: quote values that need it, keep the
            first of two equal keys, replace what is not UTF-8; each with a warning, not an error.
    """
    softened = Severity.WARNING if tolerant else Severity.ERROR
    if encoding := wide_encoding(data):
        text = f"SKILL.md is encoded in {encoding}, not in UTF-8."
        found = error("not_utf8", text, place=Place(file, 1, 1), hint="Save it as UTF-8.")
        return Document(data, None, 0, (found,), file)
    cut = split(data)
    diagnostics = _check_bytes(data, cut, file, limits, softened)
    if cut.fault is not None:
        message, hint = _FENCE_FAULTS[cut.fault]
        diagnostics.append(error(cut.fault, message, place=Place(file, 1, 1), hint=hint))
        return Document(data, None, cut.body, tuple(diagnostics), file)
    if not data[cut.body :].strip():
        text = "There is no text after the frontmatter: an agent that loads the skill gets nothing."
        diagnostics.append(warning("body_empty", text, place=Place(file)))
    if cut.end - cut.start > limits.frontmatter_bytes:
        return Document(data, None, cut.body, tuple(diagnostics), file)
    text = data[cut.start : cut.end].decode("utf-8", "replace")
    block = read_block(text, Door(file, cut.blank_lines + 1, tolerant))
    diagnostics.extend(block.diagnostics)
    return Document(data, block.mapping, cut.body, tuple(diagnostics), file, block)


def _check_bytes(
    data: bytes, cut: Split, file: str, limits: Limits, softened: Severity
) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    if len(data) > limits.skill_md_bytes:
        text = f"{file} has {len(data)} bytes; at most {limits.skill_md_bytes} are allowed."
        found.append(
            error(
                "skill_md_too_large",
                text,
                place=Place(file),
                limit=limits.skill_md_bytes,
                actual=len(data),
                hint="Move details into files under references/.",
                severity=softened,
            )
        )
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as invalid:
        before = data[: invalid.start].decode("utf-8")
        line, column = Lines(before).position(len(before))
        text = f"Byte {invalid.start} of {file} (0x{data[invalid.start]:02x}) is not UTF-8."
        place = Place(file, line, column)
        hint = "Save it as UTF-8."
        found.append(error("not_utf8", text, place=place, hint=hint, severity=softened))
    if cut.blank_lines:
        text = "There are blank lines above the opening `---` line; other tools see no frontmatter."
        place = Place(file, 1, 1)
        hint = "Delete them."
        found.append(warning("blank_lines_above_frontmatter", text, place=place, hint=hint))
    if (size := cut.end - cut.start) > limits.frontmatter_bytes and cut.fault is None:
        limit = limits.frontmatter_bytes
        text = f"The frontmatter has {size} bytes; at most {limit} are allowed."
        place = Place(file, 1, 1)
        found.append(error("frontmatter_too_large", text, place=place, limit=limit, actual=size))
    return found
