"""Words and numbers by which a skill betrays itself: each skill has its own, and nothing else has.

A skill's word stands in its description, body, frontmatter, message, author, settings and files;
its versions are numbers that nobody else counts.
"""

from __future__ import annotations

import re
from itertools import product

from authorization.table import SHARED, Scope, State

Place = tuple[Scope, State]

SCOPES = (*SHARED, Scope.OWN)

_PLACES: dict[Place, int] = {place: at for at, place in enumerate(product(SCOPES, State), 1)}
_WORD = re.compile(r"qz\d{4}zq")
_NUMBER = re.compile(r"(?<![0-9a-zA-Z])7\d{6}(?![0-9a-zA-Z])")
_FIRST = 7_000_000


def word(scope: Scope, state: State) -> str:
    """Return the word of a skill."""
    return f"qz{_PLACES[scope, state]:04d}zq"


def first(scope: Scope, state: State) -> int:
    """Return the number of its first version: what lay there before anything was published."""
    return _FIRST + 10 * _PLACES[scope, state]


def published(scope: Scope, state: State) -> int:
    """Return the number of the version that was published, the current one unless deleted."""
    return first(scope, state) + 1


def told_in(text: str, said: str = "") -> set[Place]:
    """Return the skills that a text betrays. A version that the caller said itself is no news."""
    words = {int(found[2:6]) for found in _WORD.findall(text.lower())}
    numbers = {int(found) for found in set(_NUMBER.findall(text)) - set(_NUMBER.findall(said))}
    known = {at: place for place, at in _PLACES.items()}
    return {known[at] for at in words | {(number - _FIRST) // 10 for number in numbers}}
