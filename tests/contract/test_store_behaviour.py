"""The store port: every implementation answers every request alike."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING

import pytest

from skill_registry.errors import RequestInvalid
from skill_registry.store.base import (
    IfAbsent,
    IfMatch,
    Lost,
    NotModified,
    StoredObject,
    Written,
    list_all,
)

if TYPE_CHECKING:
    from skill_registry.store.base import SkillStore

KEY = "registry/system/example/revisions/00000001.zip"
ODD_KEYS = [
    "skills/system/example/references/naïve 日本語.md",
    "skills/system/example/a b.md",
    "skills/system/example/a+b.md",
    "skills/system/example/a%2Bb.md",
    "skills/system/example/100%.md",
    "skills/system/example/&=?#;,'\"()[]{}~!@$^.md",
    "skills/system/example/😀/～.md",
    "skills/system/example/" + "n" * 255,
    "uploads/" + "/".join(["x" * 200] * 5),
]


def written(outcome: Written | Lost) -> str:
    assert isinstance(outcome, Written)
    return outcome.etag


def body_of(store: SkillStore, key: str) -> bytes | None:
    found = store.get(key)
    assert not isinstance(found, NotModified)
    return None if found is None else found.body


@pytest.mark.parametrize(
    "body", [b"", b"\0", bytes(range(256)), b"a\r\nb\n", b"\xef\xbb\xbfx", b"x" * 1_500_000]
)
def test_the_bytes_that_went_in_come_out(store: SkillStore, body: bytes) -> None:
    etag = written(store.put(KEY, body))
    found = store.get(KEY)
    assert isinstance(found, StoredObject)
    assert (found.body, found.etag, found.info.size) == (body, etag, len(body))


def test_an_absent_key_reads_as_none(store: SkillStore) -> None:
    assert store.get(KEY) is None
    assert store.head(KEY) is None
    assert store.get(KEY, if_none_match='"x"') is None
    assert store.get(KEY, if_match='"x"') is None


def test_the_prefix_of_a_key_is_no_key(store: SkillStore) -> None:
    store.put("skills/system/example/SKILL.md", b"x")
    assert store.get("skills/system/example") is None
    assert store.get("skills/system/example/SKILL.md.bak") is None


def test_head_tells_what_get_tells(store: SkillStore) -> None:
    before = time.time()
    store.put(KEY, b"body", metadata={"author": "ada"}, content_type="text/markdown")
    found = store.get(KEY)
    assert isinstance(found, StoredObject)
    assert store.head(KEY) == found.info
    assert found.info.key == KEY
    assert found.info.metadata == {"author": "ada"}
    assert found.info.content_type == "text/markdown"
    # S3 tells whole seconds.
    assert before - 1 <= found.info.modified <= time.time() + 1


def test_an_etag_is_quoted(store: SkillStore) -> None:
    etag = written(store.put(KEY, b"body"))
    assert etag.startswith('"') and etag.endswith('"') and len(etag) > 2


def test_reading_with_the_current_etag_answers_not_modified(store: SkillStore) -> None:
    etag = written(store.put(KEY, b"one"))
    assert store.get(KEY, if_none_match=etag) == NotModified(etag)


def test_reading_with_an_old_etag_answers_the_new_bytes(store: SkillStore) -> None:
    old = written(store.put(KEY, b"one"))
    store.put(KEY, b"two")
    found = store.get(KEY, if_none_match=old)
    assert isinstance(found, StoredObject)
    assert found.body == b"two"


def test_reading_exactly_one_state_answers_it_or_none(store: SkillStore) -> None:
    old = written(store.put(KEY, b"one"))
    found = store.get(KEY, if_match=old)
    assert isinstance(found, StoredObject)
    assert found.body == b"one"
    store.put(KEY, b"two")
    assert store.get(KEY, if_match=old) is None


def test_creating_loses_against_an_object(store: SkillStore) -> None:
    written(store.put(KEY, b"one", condition=IfAbsent(), metadata={"write-id": "1"}))
    second = store.put(KEY, b"two", condition=IfAbsent(), metadata={"write-id": "2"})
    assert isinstance(second, Lost)
    found = store.get(KEY)
    assert isinstance(found, StoredObject)
    assert (found.body, found.info.metadata) == (b"one", {"write-id": "1"})


def test_creating_loses_even_with_the_same_bytes(store: SkillStore) -> None:
    store.put(KEY, b"one")
    assert isinstance(store.put(KEY, b"one", condition=IfAbsent()), Lost)


def test_replacing_wins_over_exactly_the_named_etag(store: SkillStore) -> None:
    first = written(store.put(KEY, b"one"))
    second = written(store.put(KEY, b"two", condition=IfMatch(first)))
    assert isinstance(store.put(KEY, b"three", condition=IfMatch(first)), Lost)
    assert body_of(store, KEY) == b"two"
    written(store.put(KEY, b"three", condition=IfMatch(second)))


def test_replacing_an_absent_key_loses_and_creates_nothing(store: SkillStore) -> None:
    assert isinstance(store.put(KEY, b"x", condition=IfMatch('"x"')), Lost)
    assert store.head(KEY) is None


def test_replacing_a_deleted_object_loses(store: SkillStore) -> None:
    etag = written(store.put(KEY, b"x"))
    store.delete(KEY)
    assert isinstance(store.put(KEY, b"y", condition=IfMatch(etag)), Lost)
    written(store.put(KEY, b"z", condition=IfAbsent()))


def test_an_unconditional_put_replaces_bytes_and_metadata(store: SkillStore) -> None:
    store.put(KEY, b"one", metadata={"author": "ada", "kind": "content"}, content_type="text/plain")
    store.put(KEY, b"two", metadata={"author": "bob"})
    found = store.get(KEY)
    assert isinstance(found, StoredObject)
    assert found.body == b"two"
    assert found.info.metadata == {"author": "bob"}
    assert found.info.content_type == "application/octet-stream"


def test_other_bytes_have_another_etag(store: SkillStore) -> None:
    assert written(store.put(KEY, b"one")) != written(store.put(KEY, b"two"))


def test_the_same_bytes_with_other_metadata_are_stored(store: SkillStore) -> None:
    store.put(KEY, b"one", metadata={"write-id": "1"})
    etag = written(store.put(KEY, b"one", metadata={"write-id": "2"}))
    found = store.head(KEY)
    assert found is not None
    assert (found.etag, found.metadata) == (etag, {"write-id": "2"})


def test_deleting_removes_and_an_absent_key_counts_as_removed(store: SkillStore) -> None:
    store.put(KEY, b"x")
    assert store.delete(KEY) is True
    assert store.get(KEY) is None
    assert list(list_all(store, "registry/")) == []
    assert store.delete(KEY) is True


def test_a_conditional_delete_of_an_absent_key_counts_as_removed(store: SkillStore) -> None:
    assert store.delete(KEY, if_match='"x"') is True


def test_a_conditional_delete_removes_only_the_named_state(store: SkillStore) -> None:
    old = written(store.put(KEY, b"one"))
    new = written(store.put(KEY, b"two"))
    assert store.delete(KEY, if_match=old) is False
    assert body_of(store, KEY) == b"two"
    assert store.delete(KEY, if_match=new) is True
    assert store.head(KEY) is None


@pytest.mark.parametrize("key", ODD_KEYS)
def test_an_odd_key_is_written_read_listed_and_deleted(store: SkillStore, key: str) -> None:
    etag = written(store.put(key, key.encode(), condition=IfAbsent(), metadata={"n": "1"}))
    assert body_of(store, key) == key.encode()
    assert [(found.key, found.etag) for found in list_all(store, key)] == [(key, etag)]
    assert store.delete(key, if_match=etag) is True
    assert store.head(key) is None


def test_keys_that_differ_in_one_escaped_character_are_two(store: SkillStore) -> None:
    names = ["a b", "a+b", "a%20b", "a%2Bb"]
    for name in names:
        store.put(f"skills/system/x/{name}", name.encode())
    assert {name: body_of(store, f"skills/system/x/{name}") for name in names} == {
        name: name.encode() for name in names
    }


@pytest.mark.parametrize("key", ["", "x" * 1025, "é" * 513, "a/\ud800"])
def test_a_key_that_s3_cannot_hold_is_refused(store: SkillStore, key: str) -> None:
    for request in (store.head, store.get, store.delete):
        with pytest.raises(RequestInvalid) as refusal:
            request(key)
        assert refusal.value.code == "key_invalid"
    with pytest.raises(RequestInvalid):
        store.put(key, b"x")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "  two  spaces  ",
        "naïve 日本語 😀",
        "100% %41 %",
        "line\nbreak\r\n\ttab\0",
        "=?UTF-8?Q?x?=",
        "\ud800 alone",
        "e\u0301 and é",
        "a,b;c=\"d\" 'e' \\",
    ],
)
def test_any_text_survives_as_metadata(store: SkillStore, text: str) -> None:
    metadata = {"message": text, "write-id": "0" * 32}
    store.put(KEY, b"x", metadata=metadata)
    found = store.head(KEY)
    assert found is not None
    assert found.metadata == metadata


def test_metadata_over_two_kilobytes_is_refused_and_nothing_stored(store: SkillStore) -> None:
    store.put(KEY, b"x", metadata={"m": "a" * 2047})
    with pytest.raises(RequestInvalid) as refusal:
        store.put(KEY, b"y", metadata={"m": "a" * 2048})
    assert refusal.value.code == "metadata_too_large"
    with pytest.raises(RequestInvalid):
        store.put(KEY, b"y", metadata={"m": "é" * 400})
    assert body_of(store, KEY) == b"x"


@pytest.mark.parametrize("key", ["", "Author", "a b", "naïve", "a:b", "a\n"])
def test_a_metadata_key_that_is_no_header_name_is_refused(store: SkillStore, key: str) -> None:
    with pytest.raises(RequestInvalid) as refusal:
        store.put(KEY, b"x", metadata={key: "value"})
    assert refusal.value.code == "metadata_invalid"
    assert store.head(KEY) is None


def test_a_tree_file_keeps_its_mode(store: SkillStore) -> None:
    for name, mode in (("run.sh", "0755"), ("SKILL.md", "0644")):
        store.put(f"skills/system/x/{name}", b"x", metadata={"mode": mode})
        found = store.head(f"skills/system/x/{name}")
        assert found is not None
        assert found.metadata == {"mode": mode}


def test_of_concurrent_creators_one_wins(racing_store: SkillStore) -> None:
    start = Barrier(20)

    def create(number: int) -> Written | Lost:
        start.wait(30)
        return racing_store.put(
            KEY, b"%d" % number, condition=IfAbsent(), metadata={"write-id": str(number)}
        )

    with ThreadPoolExecutor(20) as pool:
        outcomes = list(pool.map(create, range(20)))
    (winner,) = (number for number in range(20) if isinstance(outcomes[number], Written))
    found = racing_store.get(KEY)
    assert isinstance(found, StoredObject)
    assert (found.body, found.etag) == (b"%d" % winner, written(outcomes[winner]))
    assert found.info.metadata == {"write-id": str(winner)}


def test_no_update_is_lost_between_concurrent_replacers(racing_store: SkillStore) -> None:
    racing_store.put(KEY, b"0")

    def increment(_: int) -> None:
        for _ in range(1000):
            found = racing_store.get(KEY)
            assert isinstance(found, StoredObject)
            following = b"%d" % (int(found.body) + 1)
            if isinstance(racing_store.put(KEY, following, condition=IfMatch(found.etag)), Written):
                return
        raise AssertionError("never won")

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(increment, range(30)))
    assert body_of(racing_store, KEY) == b"30"


def test_a_reader_sees_whole_objects_while_they_are_replaced(racing_store: SkillStore) -> None:
    bodies = [bytes([letter]) * 20_000 for letter in b"abcd"]
    racing_store.put(KEY, bodies[0], metadata={"letter": "a"})

    def write() -> None:
        for turn in range(40):
            body = bodies[turn % 4]
            racing_store.put(KEY, body, metadata={"letter": body[:1].decode()})

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write)
        while not writer.done():
            found = racing_store.get(KEY)
            assert isinstance(found, StoredObject)
            assert found.body in bodies
            assert found.info.metadata == {"letter": found.body[:1].decode()}
        writer.result()
