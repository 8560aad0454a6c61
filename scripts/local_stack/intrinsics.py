"""CloudFormation's YAML: its short tags, and what its functions come to without an account."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

from local_stack.errors import StackError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class _Loader(yaml.SafeLoader):
    """A safe loader that also knows CloudFormation's short tags."""


def _construct_intrinsic(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    value: Any
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    elif isinstance(node, yaml.MappingNode):
        value = loader.construct_mapping(node, deep=True)
    else:
        value = None
    if suffix == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}": value}


_Loader.add_multi_constructor("!", _construct_intrinsic)


def read_document(path: Path) -> dict[str, Any]:
    """Read a template; ``!Ref x`` becomes ``{"Ref": "x"}``, ``!Sub x`` ``{"Fn::Sub": "x"}``.

    Raises:
        StackError: The file cannot be read, or is not a template.
    """
    try:
        document = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    except OSError as error:
        raise StackError(f"The template {path} cannot be read: {error.strerror}.") from error
    except yaml.YAMLError as error:
        raise StackError(f"The template {path} is not YAML: {error}.") from error
    if not isinstance(document, dict) or not isinstance(document.get("Resources"), dict):
        raise StackError(f"The template {path} has no resources.")
    return document


class Resolver:
    """Works out values that need no account.

    Args:
        known: What names stand for: of parameters, of resources (their ``Ref``), and of
            ``Resource.Attribute``.
    """

    def __init__(self, known: Mapping[str, str]) -> None:
        self.known = known

    def text(self, value: Any) -> str | None:
        """Return the text that CloudFormation would pass on, None where it cannot be known."""
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, str | int | float):
            return str(value)
        if not isinstance(value, dict) or len(value) != 1:
            return None
        match value:
            case {"Ref": str(name)}:
                return self.known.get(name)
            case {"Fn::GetAtt": [str(resource), str(attribute)]}:
                return self.known.get(f"{resource}.{attribute}")
            case {"Fn::Sub": str(pattern)}:
                return self._substitute(pattern)
        return None

    def texts(self, value: Any) -> list[str]:
        """Return a list's known texts; a single value is a list of one."""
        values = value if isinstance(value, list) else [value]
        return [text for text in map(self.text, values) if text is not None]

    def number(self, value: Any, default: int) -> int:
        """Return a whole number, or the default where it cannot be known."""
        text = self.text(value)
        return int(text) if text is not None and text.isdecimal() else default

    def _substitute(self, pattern: str) -> str | None:
        for name in re.findall(r"\$\{([^!}][^}]*)\}", pattern):
            text = self.known.get(name)
            if text is None:
                return None
            pattern = pattern.replace(f"${{{name}}}", text)
        return pattern.replace("${!", "${")
