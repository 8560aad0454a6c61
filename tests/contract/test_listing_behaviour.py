"""Listing through the store port: order, pages and folders, alike in every implementation."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from skill_registry.store.base import (
    Written,
    list_all,
    list_folders,
)
from skill_registry.store.memory import MemorySkillStore

if TYPE_CHECKING:
    from skill_registry.store.base import SkillStore


KEY = "registry/system/example/revisions/00000001.zip"


def keys_of(store: SkillStore, prefix: str) -> list[str]:
    return [found.key for found in list_all(store, prefix)]


def test_a_listing_is_in_utf8_byte_order(store: SkillStore) -> None:
    names = ["pdf/SKILL.md", "pdf-tools/SKILL.md", "pdf.md", "Z", "é", "～", "😀", "B", "a/b/c"]
    for name in names:
        store.put(f"skills/system/{name}", b"x")
    assert keys_of(store, "skills/") == [
        f"skills/system/{name}" for name in sorted(names, key=str.encode)
    ]


def test_a_listing_tells_etag_size_and_time_only(store: SkillStore) -> None:
    put = store.put(KEY, b"body", metadata={"author": "ada"}, content_type="text/plain")
    known = store.head(KEY)
    (found,) = list_all(store, KEY)
    assert known is not None
    assert (found.key, found.etag, found.size) == (KEY, known.etag, 4)
    assert put == Written(known.etag)
    assert (found.metadata, found.content_type) == ({}, None)
    assert abs(found.modified - known.modified) < 1


def test_a_prefix_may_end_within_a_name(store: SkillStore) -> None:
    for name in ("ab/1", "abc/1", "ac/1"):
        store.put(f"skills/system/{name}", b"x")
    assert keys_of(store, "skills/system/ab") == ["skills/system/ab/1", "skills/system/abc/1"]
    assert keys_of(store, "skills/system/ab/") == ["skills/system/ab/1"]
    assert keys_of(store, "skills/system/b") == []
    assert keys_of(store, "nothing/here/") == []


def test_a_listing_without_prefix_holds_every_key(store: SkillStore) -> None:
    keys = ["registry/system/x/settings.json", "skills/system/x/SKILL.md", "uploads/0/1.zip"]
    for key in keys:
        store.put(key, b"x")
    assert keys_of(store, "") == keys


def test_a_delimiter_folds_what_lies_beyond_it(store: SkillStore) -> None:
    for name in ("a/SKILL.md", "a/references/x.md", "b/SKILL.md", "manifest.yaml", "z.md"):
        store.put(f"skills/system/{name}", b"x")
    page = store.list_page("skills/system/", delimiter="/")
    assert page.prefixes == ("skills/system/a/", "skills/system/b/")
    assert [found.key for found in page.objects] == [
        "skills/system/manifest.yaml",
        "skills/system/z.md",
    ]
    assert page.after is None
    assert list(list_folders(store, "skills/")) == ["system"]
    assert list(list_folders(store, "skills/system/")) == ["a", "b"]


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_pages_hold_each_entry_once_in_order(store: SkillStore, limit: int) -> None:
    for name in ("a/1", "a/2", "a-b/1", "b", "c/1", "d"):
        store.put(f"skills/system/{name}", b"x")
    entries: list[str] = []
    after: str | None = None
    for _ in range(10):
        page = store.list_page("skills/system/", delimiter="/", after=after, limit=limit)
        assert len(page.objects) + len(page.prefixes) <= limit
        entries += [*(found.key for found in page.objects), *page.prefixes]
        after = page.after
        if after is None:
            break
    assert sorted(entries, key=str.encode) == [
        "skills/system/a-b/",
        "skills/system/a/",
        "skills/system/b",
        "skills/system/c/",
        "skills/system/d",
    ]


def test_paging_goes_on_although_the_last_listed_key_is_gone(store: SkillStore) -> None:
    for name in "abcd":
        store.put(f"skills/system/{name}", b"x")
    first = store.list_page("skills/system/", limit=2)
    store.delete("skills/system/b")
    store.put("skills/system/a0", b"x")
    second = store.list_page("skills/system/", limit=2, after=first.after)
    assert [found.key for found in second.objects] == ["skills/system/c", "skills/system/d"]
    assert second.after is None


def test_a_page_holds_at_least_one_entry(store: SkillStore) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        store.list_page("", limit=0)


def test_more_than_a_thousand_keys_take_two_pages(store: SkillStore) -> None:
    keys = [f"skills/system/x/{number:04d}" for number in range(1003)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: store.put(key, b"x"), keys))
    page = store.list_page("skills/system/x/", limit=5000)
    assert len(page.objects) == 1000
    assert keys_of(store, "skills/system/x/") == keys


def test_more_than_a_thousand_folders_take_two_pages() -> None:
    store = MemorySkillStore()
    names = [f"{number:04d}" for number in range(1003)]
    for name in names:
        store.put(f"skills/system/{name}/SKILL.md", b"x")
    assert list(list_folders(store, "skills/system/")) == names
