"""Ignore patterns with many stars: the same paths as before, in one pass."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from skill_registry.agent.globs import linear
from skill_registry.agent.ignore import IgnoreRules, read_rules

NAMES = st.text(alphabet="ab.", min_size=1, max_size=8)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
GLOBS = st.lists(st.sampled_from(["a", "b", ".", "*", "?", "[ab]", "/", "**/"]), max_size=9).map(
    "".join
)


@given(glob=GLOBS, path=PATHS)
def test_it_matches_exactly_what_the_pattern_matched(glob: str, path: str) -> None:
    for pattern in GitIgnoreSpec.from_lines([glob]).patterns:
        assert (linear(pattern).match_file(path) is None) == (pattern.match_file(path) is None)
        assert linear(pattern).include == pattern.include


@pytest.mark.parametrize("glob", ["*a*a*a*a*a*a*a*ab", "*a" * 60 + "b", "**/*a*a*a*a*a*b/*a*a*a*c"])
def test_a_pattern_of_many_stars_comes_to_an_end(glob: str) -> None:
    rules, found = read_rules(".gitignore", glob.encode())
    assert (len(rules), found) == (1, [])
    ignored = IgnoreRules((("", rules),))
    for length in range(200, 250):
        assert not ignored.ignores("a" * length + ".txt", is_directory=False)
