"""Reading YAML nodes of which each knows where it stands, so that what is wrong has a place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import yaml

from skill_registry.spec.text import shown
from skill_registry_cli.vendoring.problems import problem

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from skill_registry.spec.model import Diagnostic

_STR, _BOOL, _NULL = (f"tag:yaml.org,2002:{kind}" for kind in ("str", "bool", "null"))
_KINDS = {
    "int": "a number",
    "float": "a number",
    "bool": "true or false",
    "null": "empty",
    "timestamp": "a date",
}


def compose(text: str, reader: Reader) -> yaml.Node | None:
    """Return the root node; None where the text is no YAML, or empty, which the reader notes."""
    try:
        root: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as stopped:
        mark = getattr(stopped, "problem_mark", None)
        position = (mark.line + 1, mark.column + 1) if mark else None
        why = getattr(stopped, "problem", None) or "it cannot be read"
        hint = "Indent with blanks, not with tabs." if "'\\t'" in why else None
        message = f"The file is not valid YAML: {why}."
        reader.found.append(
            problem("manifest_syntax", message, file=reader.file, position=position, hint=hint)
        )
        return None
    except RecursionError:
        message = "The file nests too deeply."
        reader.found.append(problem("manifest_syntax", message, file=reader.file))
        return None
    if root is None:
        message = "The manifest is empty: it has `sources` and `skills`."
        reader.found.append(problem("manifest_invalid", message, file=reader.file))
    return root


@dataclass(slots=True)
class Reader:
    """Reads nodes and notes what is wrong with them; what cannot be read comes back empty."""

    file: str
    found: list[Diagnostic] = field(default_factory=list)

    def refuse(
        self, code: str, message: str, node: yaml.Node, name: str, hint: str | None = None
    ) -> None:
        """Note a problem at a node."""
        place = self.position(node)
        self.found.append(
            problem(code, message, file=self.file, position=place, field=name, hint=hint)
        )

    def missing(self, key: str, who: str, node: yaml.Node | None) -> None:
        """Note that something has no such member."""
        place = self.position(node) if node is not None else None
        message = f"{who} has no {key}."
        self.found.append(
            problem("manifest_invalid", message, file=self.file, position=place, field=key)
        )

    def position(self, node: yaml.Node) -> tuple[int, int]:
        """Return line and column, 1-based."""
        return node.start_mark.line + 1, node.start_mark.column + 1

    def keys(self, node: yaml.Node) -> list[str]:
        """Return the keys of a mapping that are plain values."""
        pairs = node.value if isinstance(node, yaml.MappingNode) else []
        return [key.value for key, _ in pairs if isinstance(key, yaml.ScalarNode)]

    def mapping(
        self, node: yaml.Node, name: str, who: str, known: Collection[str] | None = None
    ) -> dict[str, yaml.Node]:
        """Read a mapping. With ``known``, another key is refused: it may be a misspelt one."""
        if not isinstance(node, yaml.MappingNode):
            message = f"{who} is {_kind(node)}; it must be a mapping."
            self.refuse("manifest_invalid", message, node, name)
            return {}
        read: dict[str, yaml.Node] = {}
        for key, value in node.value:
            word = key.value if isinstance(key, yaml.ScalarNode) else ""
            if word in read:
                message = f"{who} has the key {shown(word)} twice."
                self.refuse("manifest_duplicate", message, key, word)
            elif known is not None and word not in known:
                hint = f"It may have {', '.join(sorted(known))}."
                message = f"{who} has the key {shown(word)}, which means nothing there."
                self.refuse("manifest_invalid", message, key, word, hint)
            else:
                read[word] = value
        return read

    def items(self, node: yaml.Node, name: str) -> Sequence[yaml.Node]:
        """Read a list."""
        if isinstance(node, yaml.SequenceNode):
            return list(node.value)
        message = f"{name} is {_kind(node)}; it must be a list."
        self.refuse("manifest_invalid", message, node, name)
        return []

    def text(
        self,
        parts: Mapping[str, yaml.Node],
        key: str,
        who: str,
        parent: yaml.Node,
        *,
        required: bool = True,
    ) -> str:
        """Read a text without margins; ``""`` where there is none."""
        node = parts.get(key)
        if node is None or (not required and node.tag == _NULL):
            if required:
                self.missing(key, who, parent)
            return ""
        if node.tag != _STR or not isinstance(node.value, str):
            # What somebody wrote and YAML took for something else.
            plain = isinstance(node, yaml.ScalarNode) and node.tag != _NULL
            hint = "Put it in quotes." if plain else None
            message = f"{who}: {key} is {_kind(node)}; it must be text."
            self.refuse("manifest_invalid", message, node, key, hint)
            return ""
        if not (value := node.value.strip()):
            self.refuse("manifest_invalid", f"{who}: {key} is blank.", node, key)
        return value

    def texts(
        self, parts: Mapping[str, yaml.Node], key: str, who: str, parent: yaml.Node
    ) -> tuple[str, ...]:
        """Read a list of texts that has at least one; order and doubles are kept."""
        node = parts.get(key)
        if node is None:
            self.missing(key, who, parent)
            return ()
        each = node.value if isinstance(node, yaml.SequenceNode) else []
        words = [one.value.strip() for one in each if one.tag == _STR]
        if not each or len(words) != len(each) or not all(words):
            message = f"{who}: {key} is no list of names with at least one."
            self.refuse("manifest_invalid", message, node, key, "Write it like [review, coding].")
            return ()
        return tuple(words)

    def flag(self, parts: Mapping[str, yaml.Node], key: str, who: str) -> bool:
        """Read a flag: only the plain true counts, false is as if it were not there (seed 2)."""
        node = parts.get(key)
        if node is None:
            return False
        if node.tag != _BOOL:
            message = f"{who}: {key} is {_kind(node)}; it must be true or false."
            self.refuse("manifest_invalid", message, node, key)
        return node.tag == _BOOL and node.value.lower() == "true"


def _kind(node: yaml.Node) -> str:
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    return _KINDS.get(node.tag.rpartition(":")[2], "text")
