"""YAML read as text: every scalar keeps the characters that its author typed.

PyYAML's loaders turn 1.10, 2025-01-05, 12:30 or NO into something else, keep the last of two equal
keys, and share what an alias names. This one builds straight from the parser's events instead,
so nothing is resolved, expanded or executed, and every oddity is reported with its position.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml
from frontmatter.default_handlers import YAMLHandler

_Path = tuple[str, ...]

# Deeper than any real skill (5 in 7,382), far from where a JSON encoder gives up.
MAX_DEPTH = 64

# The only keys whose plain true and false the format reads as booleans.
_FLAGS = frozenset({("disable-model-invocation",)})
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False}

_SURROGATE = re.compile("[\ud800-\udfff]")

# libyaml where the wheel has it; the pure parser gives the same events, slower.
_Parser: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


@dataclass(frozen=True, slots=True)
class Oddity:
    """Something that is YAML and that skills do not use: its code, where, and about which key.

    ``index`` and ``earlier`` (the first of two equal keys) are code points from the block's start.
    """

    code: str
    path: _Path
    index: int
    detail: str = ""
    earlier: int | None = None


class TooDeep(yaml.YAMLError):
    """Collections nest beyond ``MAX_DEPTH``."""

    def __init__(self, mark: Any) -> None:
        super().__init__("nested too deeply")
        self.problem = "nested too deeply"
        self.problem_mark = mark


@dataclass(slots=True)
class Loaded:
    """A frontmatter block as read: text, lists and mappings, with the index of every key."""

    value: Any = None
    keys: dict[_Path, int] = field(default_factory=dict)
    oddities: list[Oddity] = field(default_factory=list)


class _TextDocument:
    """Makes a PyYAML loader's one document a ``Loaded``."""

    get_event: Any

    def get_single_data(self) -> Loaded:
        """Read the one document. Raises ``yaml.YAMLError`` for what is not YAML."""
        try:
            return self._read()
        except (ValueError, OverflowError) as odd:
            # The pure parser hands any escape to chr(); libyaml checks it and names the place.
            raise yaml.YAMLError(str(odd)) from odd

    def _read(self) -> Loaded:
        loaded = Loaded()
        self.get_event()
        if type(self.get_event()) is yaml.StreamEndEvent:
            return loaded
        loaded.value = _Builder(self, loaded).node(self.get_event(), ())
        self.get_event()
        if type(event := self.get_event()) is not yaml.StreamEndEvent:
            raise yaml.parser.ParserError(None, None, "expected one document", event.start_mark)
        return loaded


class PureTextLoader(_TextDocument, yaml.BaseLoader):
    """Reads a block with PyYAML's own parser."""


class TextLoader(_TextDocument, _Parser):  # type: ignore[misc]  # the base is chosen at import
    """Reads a block with the fastest parser there is."""


class _Builder:
    """Walks the events of one document. Recursion is bounded by ``MAX_DEPTH``."""

    __slots__ = ("_loaded", "_next")

    def __init__(self, parser: Any, loaded: Loaded) -> None:
        self._next = parser.get_event
        self._loaded = loaded

    def node(self, event: Any, path: _Path) -> Any:
        kind = type(event)
        if kind is yaml.AliasEvent:
            self._report("yaml_alias", path, event, event.anchor)
            return ""
        if event.anchor is not None:
            self._report("yaml_anchor", path, event, event.anchor)
        if event.tag is not None:
            self._report("yaml_tag", path, event, event.tag)
        if kind is yaml.ScalarEvent:
            if event.style == '"' and _SURROGATE.search(event.value):
                raise yaml.scanner.ScannerError(
                    None, None, "found an escape for half a character", event.start_mark
                )
            if path in _FLAGS and event.implicit[0]:
                return _BOOLEANS.get(event.value, event.value)
            return event.value
        if len(path) > MAX_DEPTH:
            raise TooDeep(event.start_mark)
        return self._mapping(path) if kind is yaml.MappingStartEvent else self._list(path)

    def _mapping(self, path: _Path) -> dict[str, Any]:
        result: dict[str, Any] = {}
        while (kind := type(event := self._next())) is not yaml.MappingEndEvent:
            if kind is not yaml.ScalarEvent:
                self._report("key_not_text", path, event)
                self.node(event, (*path, ""))
                self.node(self._next(), (*path, ""))
                continue
            if event.anchor is not None or event.tag is not None or event.style == '"':
                self.node(event, path)
            key = event.value
            place = (*path, key)
            if key in result:
                index = event.start_mark.index
                earlier = self._loaded.keys[place]
                self._loaded.oddities.append(Oddity("duplicate_key", place, index, key, earlier))
                self.node(self._next(), place)
                self._loaded.keys[place] = earlier
                continue
            self._loaded.keys[place] = event.start_mark.index
            result[key] = self.node(self._next(), place)
        return result

    def _list(self, path: _Path) -> list[Any]:
        result: list[Any] = []
        while type(event := self._next()) is not yaml.SequenceEndEvent:
            result.append(self.node(event, (*path, "")))
        return result

    def _report(self, code: str, path: _Path, event: Any, detail: str = "") -> None:
        self._loaded.oddities.append(Oddity(code, path, event.start_mark.index, detail))


class FrontmatterHandler(YAMLHandler):
    """python-frontmatter's YAML handler, over ``TextLoader``.

    It is given the block between the fences and nothing else: which fences count is decided
    before, because the library takes text above a fence, ``----`` and a byte-order mark wrongly.
    """

    def load(self, fm: str, **kwargs: object) -> Any:
        """Read a block. Returns a ``Loaded``; raises ``yaml.YAMLError``."""
        kwargs.setdefault("Loader", TextLoader)
        return super().load(fm, **kwargs)


def load_block(text: str) -> Loaded:
    """Read the YAML between the fences. Raises ``yaml.YAMLError`` for what is not YAML."""
    loaded: Loaded = FrontmatterHandler().load(text)
    return loaded
