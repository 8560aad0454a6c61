"""The manifest: which skills there are, where the vendored ones come from, at which commits.

Source: seed 2, items 78 and 79. Diagnostics name line and column. What is pinned is changed in the
text itself, so that comments and order stay.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import yaml

from skill_registry.spec.model import SKILL_MD
from skill_registry.spec.names import check_path_shape
from skill_registry.spec.text import shown
from skill_registry_cli.vendoring.nodes import Reader, compose
from skill_registry_cli.vendoring.problems import VendoringRefused, problem
from skill_registry_cli.vendoring.repositories import Repository

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from skill_registry_cli.vendoring.repositories import AllowedHosts

MANIFEST = "manifest.yaml"

COMMIT = re.compile(r"[0-9a-f]{40}")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
_MOST_BYTES = 4 * 1024 * 1024
# What may end a name and a password in an address.
_AT = re.compile("@|%40")
_NOWHERE = Repository("", "", "")


@dataclass(frozen=True, slots=True)
class Source:
    """A repository that skills are taken from.

    Attributes:
        key: What the manifest calls it.
        ref: The branch, tag or commit that a sync follows.
        commit: The commit that the tree is of; None until a sync has pinned one.
        position: Line and column of what it says.
    """

    key: str
    repository: Repository
    ref: str
    commit: str | None
    position: tuple[int, int] = (1, 1)


@dataclass(frozen=True, slots=True)
class Entry:
    """A skill of the manifest.

    Attributes:
        source: The key of its source; None for a skill that was written here (``local: true``).
        path: Its directory in the repository, ``""`` for the root.
        position: Line and column of the entry.
    """

    name: str
    agents: tuple[str, ...]
    source: str | None = None
    path: str = ""
    position: tuple[int, int] = (1, 1)

    @property
    def skill_md(self) -> str:
        """The path of its SKILL.md in the repository."""
        return f"{self.path}/{SKILL_MD}" if self.path else SKILL_MD


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the manifest says, and the text that says it."""

    sources: Mapping[str, Source]
    entries: tuple[Entry, ...]
    text: str

    def entry(self, name: str) -> Entry | None:
        """Return the entry of a skill, None where there is none."""
        return next((each for each in self.entries if each.name == name), None)


def load(path: Path, hosts: AllowedHosts) -> Manifest:
    """Read the manifest of a tree.

    Raises:
        VendoringRefused: ``manifest_missing``, or as ``parse``.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except FileNotFoundError as absent:
        message = f"There is no manifest at {path}."
        raise VendoringRefused(message, code="manifest_missing") from absent
    except OSError as failure:
        message = f"The manifest {path} cannot be read: {failure.strerror}."
        raise VendoringRefused(message, code="manifest_missing") from failure
    if len(data) > _MOST_BYTES:
        message = f"{path} has more than {_MOST_BYTES} bytes."
        raise VendoringRefused(message, code="manifest_invalid")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as odd:
        line = data.count(b"\n", 0, odd.start) + 1
        message = f"The manifest is not UTF-8: line {line} has the byte {data[odd.start]:#04x}."
        found = problem("manifest_syntax", message, file=path.name, position=(line, 1))
        raise VendoringRefused(f"{path} cannot be used.", diagnostics=[found]) from odd
    return parse(text, hosts, file=path.name)


def parse(text: str, hosts: AllowedHosts, *, file: str = MANIFEST) -> Manifest:
    """Read a manifest.

    Raises:
        VendoringRefused: Something in it is wrong; every problem is named with its place.
    """
    reader = Reader(file)
    root = compose(text, reader)
    sources: dict[str, Source] = {}
    entries: list[Entry] = []
    top = reader.mapping(root, "", "The manifest", {"sources", "skills"}) if root else {}
    if isinstance(root, yaml.MappingNode):
        sources = _sources(reader, top, hosts, root)
        entries = _entries(reader, top, sources, root)
    if reader.found:
        raise VendoringRefused(f"{file} cannot be used.", diagnostics=reader.found)
    return Manifest(sources, tuple(entries), text)


def _sources(
    reader: Reader, top: Mapping[str, yaml.Node], hosts: AllowedHosts, root: yaml.Node | None
) -> dict[str, Source]:
    node = top.get("sources")
    if node is None:
        reader.missing("sources", "The manifest", root)
        return {}
    read: dict[str, Source] = {}
    for key, value in reader.mapping(node, "sources", "sources").items():
        who = f"The source {shown(key)}"
        parts = reader.mapping(value, f"sources.{key}", who, {"repo", "ref", "commit"})
        url = reader.text(parts, "repo", who, value)
        ref = reader.text(parts, "ref", who, value)
        commit = reader.text(parts, "commit", who, value, required=False)
        repository = hosts.repository(url) if url else None
        if url and repository is None:
            # Whoever wrote a password into it does not want to read it in a log.
            bare = "whose address has an @" if _AT.search(url) else shown(url, 200)
            message = f"The repository of {key}, {bare}, is none that may be used."
            hint = (
                "It is https://github.com/OWNER/NAME; `--allow HOST` allows another host, "
                "`--allow file` repositories of this machine (file:///PATH)."
            )
            reader.refuse("repository_invalid", message, parts["repo"], f"sources.{key}.repo", hint)
        if commit and not COMMIT.fullmatch(commit):
            message = f"The commit of {key}, {shown(commit)}, is not 40 lower-case hex digits."
            hint = "Leave it out: a sync pins it."
            reader.refuse("commit_invalid", message, parts["commit"], f"sources.{key}.commit", hint)
        if repository is not None and ref:
            read[key] = Source(key, repository, ref, commit or None, reader.position(value))
    # A source with a fault is declared all the same: its skills are not to blame.
    for key in reader.keys(node):
        read.setdefault(key, Source(key, _NOWHERE, "", None))
    return read


def _entries(
    reader: Reader,
    top: Mapping[str, yaml.Node],
    sources: Mapping[str, Source],
    root: yaml.Node | None,
) -> list[Entry]:
    node = top.get("skills")
    if node is None:
        reader.missing("skills", "The manifest", root)
        return []
    read: dict[str, Entry] = {}
    for number, item in enumerate(reader.items(node, "skills"), 1):
        entry = _entry(reader, item, number, sources)
        if entry is None:
            continue
        if entry.name in read:
            first = read[entry.name].position[0]
            message = f"The skill {entry.name} is listed twice, first on line {first}."
            reader.refuse("manifest_duplicate", message, item, f"skills.{entry.name}")
        read.setdefault(entry.name, entry)
    return list(read.values())


def _entry(
    reader: Reader, item: yaml.Node, number: int, sources: Mapping[str, Source]
) -> Entry | None:
    known = {"name", "source", "path", "agents", "local"}
    parts = reader.mapping(item, f"skills[{number}]", f"Skill {number}", known)
    name = reader.text(parts, "name", f"Skill {number}", item)
    who = f"The skill {shown(name)}" if name else f"Skill {number}"
    if name and not _NAME.fullmatch(name):
        message = f"{who} has no name for a directory here: a-z, 0-9 and hyphens."
        reader.refuse("manifest_invalid", message, parts["name"], "name")
    agents = reader.texts(parts, "agents", who, item)
    local = reader.flag(parts, "local", who)
    position = reader.position(item)
    if local:
        for key in ("source", "path"):
            if key in parts:
                message = f"{who} is local and names a {key}: it is either written here or not."
                reader.refuse("manifest_invalid", message, parts[key], key)
        return Entry(name, agents, position=position) if name else None
    source = reader.text(parts, "source", who, item)
    path = reader.text(parts, "path", who, item)
    if source and source not in sources:
        message = f"{who} names the source {shown(source)}, which is not declared."
        reader.refuse("source_undeclared", message, parts["source"], "source")
    directory = _directory(reader, path, parts, who) if path else ""
    return Entry(name, agents, source, directory, position) if name and source else None


def _directory(reader: Reader, path: str, parts: Mapping[str, yaml.Node], who: str) -> str:
    """Return the directory of a path that may name its SKILL.md, as in seed 2."""
    bare = path.strip("/") if path not in {".", "./"} else ""
    bare = "" if bare == SKILL_MD else bare.removesuffix(f"/{SKILL_MD}")
    if path.startswith("/") or (bare and check_path_shape(bare)):
        message = f"{who} has the path {shown(path)}, which is no plain path in a repository."
        reader.refuse("manifest_invalid", message, parts["path"], "path")
    return bare


def pinned(manifest: Manifest, commits: Mapping[str, str], hosts: AllowedHosts) -> str:
    """Return the manifest's text with these commits, by source; all else in it stays as it is.

    Raises:
        VendoringRefused: A source is written in a way that cannot be changed in place.
    """
    edits: dict[int, tuple[int, str]] = {}
    root = compose(manifest.text, reader := Reader(MANIFEST))
    sources = reader.mapping(reader.mapping(root, "", "")["sources"], "", "") if root else {}
    for key, commit in commits.items():
        if manifest.sources[key].commit != commit:
            start, end, text = _edit(manifest.text, sources[key], commit)
            edits[start] = (end, text)
    text = manifest.text
    for start in sorted(edits, reverse=True):
        end, inserted = edits[start]
        text = text[:start] + inserted + text[end:]
    _check_pinned(manifest, text, commits, hosts)
    return text


def _check_pinned(
    manifest: Manifest, text: str, commits: Mapping[str, str], hosts: AllowedHosts
) -> None:
    """Refuse an edit after which the text does not say the same, with these commits."""
    wanted = {
        key: (source.repository, source.ref, commits.get(key, source.commit))
        for key, source in manifest.sources.items()
    }
    try:
        again = parse(text, hosts)
    except VendoringRefused:
        faults = [key for key in commits if manifest.sources[key].commit != commits[key]]
    else:
        read = {
            key: (each.repository, each.ref, each.commit) for key, each in again.sources.items()
        }
        faults = [key for key in wanted if read.get(key) != wanted[key]]
        if not faults and [_said(each) for each in again.entries] != [
            _said(each) for each in manifest.entries
        ]:
            faults = list(commits)
    if faults:
        hint = "Write it as plain lines, `repo: ...`, `ref: ...` and `commit: ...`."
        found = [
            problem(
                "manifest_invalid",
                f"A commit cannot be written into the source {key} as it is written there.",
                file=MANIFEST,
                position=manifest.sources[key].position,
                hint=hint,
            )
            for key in faults
        ]
        raise VendoringRefused("The manifest cannot be pinned in place.", diagnostics=found)


def _said(entry: Entry) -> Entry:
    return replace(entry, position=(1, 1))


def _edit(text: str, source: yaml.Node, commit: str) -> tuple[int, int, str]:
    """Return which part of the text is replaced, and by what, so that a source has a commit."""
    parts = {key.value: (key, value) for key, value in source.value}
    # Digits alone would be a number to other readers of YAML.
    scalar = commit if re.search("[a-df-f]", commit) else f'"{commit}"'
    if "commit" in parts:
        node = parts["commit"][1]
        start, end = node.start_mark.index, node.end_mark.index
        gap = " " if text[start - 1 : start] == ":" else ""
        return start, end, gap + scalar
    key, value = parts["ref"]
    end = value.end_mark.index
    if isinstance(source, yaml.MappingNode) and source.flow_style:
        return end, end, f", commit: {scalar}"
    line_end = re.compile(r"\r\n|\n|\r|\Z").search(text, key.end_mark.index)
    newline = (line_end[0] if line_end else "") or "\n"
    if value.style in {"|", ">"}:
        # Whose lines end where the next key begins.
        start = key.start_mark.index
        return start, start, f"commit: {scalar}{newline}{' ' * key.start_mark.column}"
    line_end = re.compile(r"\r\n|\n|\r|\Z").search(text, end)
    end = line_end.start() if line_end else end
    return end, end, f"{newline}{' ' * key.start_mark.column}commit: {scalar}"
