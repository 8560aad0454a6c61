"""What a sync writes: the upstream's files byte for byte, and three keys in SKILL.md.

Source: seed 2, item 81, which kept name and description alone. Here every other key stays as well,
licence and allowed tools among them.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from skill_registry.spec.fences import split
from skill_registry.spec.frontmatter import read_document
from skill_registry.spec.model import SKILL_MD
from skill_registry.spec.text import shown
from skill_registry_cli.vendoring.digests import (
    OURS,
    UPSTREAM,
    digest_of_files,
    digests,
    upstream_block,
)
from skill_registry_cli.vendoring.problems import VendoringRefused, problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skill_registry.spec.frontmatter import Document
    from skill_registry.spec.model import SkillFile
    from skill_registry_cli.vendoring.manifest import Entry, Source

# Needs no quotes in YAML, whoever reads it: no digits first, no word that means something.
_PLAIN = re.compile(
    r"(?!(?:true|false|yes|no|on|off|null|y|n)\Z)[a-z][a-z0-9-]*|https?://[\w./%-]+"
)
_LINE_END = re.compile(rb"\r\n|\n|\r")


def rendered(entry: Entry, source: Source, files: Sequence[SkillFile]) -> tuple[SkillFile, ...]:
    """Return the files of a vendored skill from those of its upstream.

    Raises:
        VendoringRefused: ``skill_renamed``, ``source_unpinned``, ``skill_unusable``, or the entry
            is local.
    """
    if entry.source is None:
        raise _refused(
            entry, "skill_unusable", f"{entry.name} is written here, so has no upstream."
        )
    if source.commit is None:
        message = f"The source {source.key} of {entry.name} is not pinned to a commit."
        raise _refused(entry, "source_unpinned", message)
    skill_md = next(file for file in files if file.path == SKILL_MD)
    document = read_document(skill_md.data, file=entry.skill_md, tolerant=True)
    _check_upstream(entry, document)
    found = digests(files)
    ours = _ours(entry, source, found.body, digest_of_files(found.files))
    cut = split(skill_md.data)
    newline = _newline(skill_md.data)
    block = upstream_block(skill_md.data)
    if block and not block.endswith((b"\n", b"\r")):
        block += newline
    text = b"".join(line.encode() + newline for line in ours)
    data = skill_md.data[: cut.start] + block + text + skill_md.data[cut.end :]
    _check_rendered(entry, document, data)
    return tuple(replace(file, data=data) if file is skill_md else file for file in files)


def _ours(entry: Entry, source: Source, body: str, all_files: str) -> list[str]:
    commit = source.commit or ""
    values = (
        _scalar(source.repository.url),
        json.dumps(commit),
        json.dumps(entry.skill_md, ensure_ascii=False),
        json.dumps(body),
        json.dumps(all_files),
    )
    return [
        f"agents: [{', '.join(_scalar(agent) for agent in entry.agents)}]",
        f"source: {_scalar(source.repository.page(commit, entry.skill_md))}",
        "upstream:",
        *(f"  {key}: {value}" for key, value in zip(UPSTREAM, values, strict=True)),
    ]


def _check_upstream(entry: Entry, document: Document) -> None:
    mapping = document.mapping
    if mapping is None:
        why = document.diagnostics[0].message if document.diagnostics else "it has no frontmatter"
        message = f"The SKILL.md of {entry.name} cannot be read: {why}"
        raise _refused(entry, "skill_unusable", message)
    name = mapping.get("name")
    if name != entry.name:
        named = shown(name) if isinstance(name, str) and name else "nothing"
        message = f"The upstream of {entry.name} names itself {named} now."
        hint = "Where it was renamed or moved, change the entry of the manifest."
        raise _refused(entry, "skill_renamed", message, hint)
    description = mapping.get("description")
    if not isinstance(description, str) or not description.strip():
        message = f"The upstream of {entry.name} has no description."
        raise _refused(entry, "skill_unusable", message)


def _check_rendered(entry: Entry, document: Document, data: bytes) -> None:
    """Refuse a frontmatter that is written in a way that lines cannot be put into."""
    ours = frozenset(OURS)
    again = read_document(data, tolerant=True).mapping or {}
    before = {key: value for key, value in (document.mapping or {}).items() if key not in ours}
    if {key: value for key, value in again.items() if key not in ours} != before or not (
        ours <= again.keys()
    ):
        message = f"The frontmatter of {entry.name} is not written as plain `key: value` lines."
        raise _refused(entry, "skill_unusable", message)


def _refused(entry: Entry, code: str, message: str, hint: str | None = None) -> VendoringRefused:
    found = problem(code, message, file=entry.skill_md, hint=hint)
    return VendoringRefused(message, diagnostics=[found])


def _scalar(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _newline(skill_md: bytes) -> bytes:
    """Return how the file's own lines end."""
    found = _LINE_END.search(skill_md, skill_md.find(b"---"))
    return found[0] if found else b"\n"
