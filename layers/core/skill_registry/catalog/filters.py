"""What a caller asks of a listing, besides who it is: tools that it has, words, a language."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skill_registry.catalog.principal import is_scope
from skill_registry.catalog.searching import NO_QUERY, Query
from skill_registry.errors import RequestInvalid
from skill_registry.spec.fields import split_tools
from skill_registry.spec.rendering import in_language
from skill_registry.spec.visibility import tools_suffice

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from skill_registry.catalog.snapshot import Entry

LONGEST_QUERY = 200
MOST_WORDS = 16
MOST_TOOLS = 200
_LONGEST_LANGUAGE = 35

_LANGUAGE = re.compile(r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*")
_FRESHNESS = re.compile(r"([a-z0-9-]+):([0-9]{1,15})")


@dataclass(frozen=True, slots=True)
class Filters:
    """What narrows a listing, and which of its descriptions is shown.

    Attributes:
        tools: A skill is left out that needs another one; None where tools do not matter.
        query: Words that a skill has to have.
        language: Of the description, lower case; None for the plain one.
    """

    tools: frozenset[str] | None = None
    query: Query = NO_QUERY
    language: str | None = None

    @classmethod
    def read(
        cls, *, tools: Sequence[str] = (), words: str | None = None, language: str | None = None
    ) -> Filters:
        """Read the filters as a request spells them.

        Args:
            tools: Each may name several, parted by blanks or commas. A blank one names none, so
                that skills are left which need no tool.

        Raises:
            RequestInvalid: ``filter_invalid``.
        """
        if language is not None and not (
            len(language) <= _LONGEST_LANGUAGE and _LANGUAGE.fullmatch(language)
        ):
            raise _invalid(f"`lang` is a language tag of at most {_LONGEST_LANGUAGE} characters.")
        return cls(_tools(tools), _query(words or ""), language.lower() if language else None)

    def lets(self, needed: Iterable[str]) -> bool:
        """Tell whether the tools that a skill needs are among those of the caller."""
        return tools_suffice(needed, self.tools)

    def description(self, entry: Entry) -> str:
        """Return the description in the language, where there is one."""
        return in_language(entry.description, entry.descriptions, self.language)


NO_FILTERS = Filters()


def read_versions(texts: Iterable[str]) -> Mapping[str, int]:
    """Read ``scope:version`` texts: which version a catalog has at least. The highest counts.

    Raises:
        RequestInvalid: ``filter_invalid``.
    """
    versions: dict[str, int] = {}
    for text in texts:
        match = _FRESHNESS.fullmatch(text)
        if match is None or not is_scope(match[1]):
            raise _invalid("`min_catalog_version` is a scope, a colon and a number.")
        versions[match[1]] = max(int(match[2]), versions.get(match[1], 0))
    return versions


def _tools(texts: Sequence[str]) -> frozenset[str] | None:
    if not texts:
        return None
    tools = frozenset(tool for text in texts for tool in split_tools(text))
    if len(tools) > MOST_TOOLS:
        raise _invalid(f"`tools` names at most {MOST_TOOLS} tools.")
    return tools


def _query(text: str) -> Query:
    if len(text) > LONGEST_QUERY:
        raise _invalid(f"`q` has at most {LONGEST_QUERY} characters.")
    query = Query.of(text)
    if len(set(query.words)) > MOST_WORDS:
        raise _invalid(f"`q` has at most {MOST_WORDS} words; each CJK character counts as one.")
    return query


def _invalid(message: str) -> RequestInvalid:
    return RequestInvalid(message, code="filter_invalid")
