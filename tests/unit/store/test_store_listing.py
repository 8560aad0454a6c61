"""Paging: for any keys and any page size, each entry comes once, in byte order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_registry.store.limits import page_size
from skill_registry.store.listing import page_of

KEYS = st.sets(st.text("ab/-é😀～", min_size=1, max_size=6), max_size=20)


@given(KEYS, st.text("ab/", max_size=2), st.sampled_from(["", "/", "-"]), st.integers(1, 5))
def test_pages_together_are_the_folded_keys(
    keys: set[str], prefix: str, delimiter: str, limit: int
) -> None:
    expected = set()
    for key in keys:
        if key.startswith(prefix):
            head, found, _ = key[len(prefix) :].partition(delimiter or "\n")
            expected.add((prefix + head + found, bool(found)))
    entries: list[tuple[str, bool]] = []
    after: str | None = None
    for _ in range(len(keys) + 1):
        page = page_of(keys, prefix, delimiter=delimiter, after=after, limit=limit)
        assert len(page.keys) + len(page.prefixes) <= limit
        listed = [(key, False) for key in page.keys] + [(fold, True) for fold in page.prefixes]
        entries += sorted(listed, key=_bytes)
        after = page.after
        if after is None:
            break
    assert after is None
    assert entries == sorted(expected, key=_bytes)


def _bytes(entry: tuple[str, bool]) -> bytes:
    return entry[0].encode()


def test_a_key_that_ends_with_the_delimiter_is_folded_into_itself() -> None:
    page = page_of(["a/", "a/b"], "", delimiter="/", after=None, limit=10)
    assert page.prefixes == ("a/",)
    assert page.keys == ()


def test_a_page_is_capped_at_a_thousand() -> None:
    assert (page_size(1), page_size(1000), page_size(1001)) == (1, 1000, 1000)
    with pytest.raises(ValueError, match="at least 1"):
        page_size(0)
