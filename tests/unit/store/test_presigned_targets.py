"""Targets of the stores without HTTP: deadline, origin, and everything that was signed."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from skill_registry.errors import Forbidden, RequestInvalid
from skill_registry.store.base import Lost, Written
from skill_registry.store.directory import DirectorySkillStore
from skill_registry.store.memory import MemorySkillStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from skill_registry.store.base import UploadTarget

LocalStore = MemorySkillStore | DirectorySkillStore

KEY = "uploads/0123456789abcdef0123456789abcdef/id.zip"
SHA256 = hashlib.sha256(b"data").hexdigest()


class Clock:
    """POSIX seconds that stand still until they are moved."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "directory"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> LocalStore:
    if request.param == "memory":
        return MemorySkillStore(clock=clock)
    return DirectorySkillStore(tmp_path, clock=clock)


def put_target(store: LocalStore) -> UploadTarget:
    return store.presign_put(KEY, size=4, sha256=SHA256, metadata={"n": "1"}, expires=60)


def post_target(store: LocalStore) -> UploadTarget:
    return store.presign_post(KEY, max_size=4, metadata={"n": "1"}, expires=60)


def test_a_target_is_good_until_its_deadline(store: LocalStore, clock: Clock) -> None:
    put, post = put_target(store), post_target(store)
    clock.now += 59.9
    assert isinstance(store.receive(put, b"data"), Written)
    assert isinstance(store.receive(post, b"data"), Written)


@pytest.mark.parametrize("make", [put_target, post_target])
def test_a_target_is_refused_from_its_deadline_on(
    store: LocalStore, clock: Clock, make: Callable[[LocalStore], UploadTarget]
) -> None:
    target = make(store)
    clock.now += 60
    with pytest.raises(Forbidden, match="expired"):
        store.receive(target, b"data")
    assert store.head(KEY) is None


def test_a_second_use_of_a_put_is_lost(store: LocalStore) -> None:
    target = put_target(store)
    store.receive(target, b"data")
    assert isinstance(store.receive(target, b"data"), Lost)


def test_a_put_with_a_header_that_was_not_signed_is_refused(
    store: LocalStore,
) -> None:
    target = put_target(store)
    altered = replace(target, headers={**target.headers, "x-amz-meta-admin": "yes"})
    with pytest.raises(Forbidden, match="not what was signed"):
        store.receive(altered, b"data")


def test_a_target_of_another_store_is_refused(
    store: LocalStore,
) -> None:
    with pytest.raises(Forbidden, match="not what was signed"):
        store.receive(put_target(MemorySkillStore()), b"data")


def test_size_and_digest_are_told_apart(store: LocalStore) -> None:
    with pytest.raises(RequestInvalid) as size:
        store.receive(put_target(store), b"data2")
    with pytest.raises(RequestInvalid) as digest:
        store.receive(put_target(store), b"DATA")
    assert size.value.code == "upload_size_mismatch"
    assert digest.value.code == "upload_digest_mismatch"


def test_a_target_in_memory_names_its_key() -> None:
    store = MemorySkillStore()
    assert put_target(store).url.startswith(f"memory:///{KEY}?")
    url = store.presign_get("a b", expires=5, filename="a.zip")
    assert url == "memory:///a%20b?expires=5&filename=a.zip"


def test_a_target_in_a_folder_names_its_file(tmp_path: Path) -> None:
    store = DirectorySkillStore(tmp_path)
    store.put("skills/system/a b/SKILL.md", b"x")
    file = tmp_path / "a b" / "SKILL.md"
    assert store.presign_get("skills/system/a b/SKILL.md", expires=5) == file.as_uri()
    assert put_target(store).url.startswith(tmp_path.as_uri() + "/.registry/objects/uploads/")
