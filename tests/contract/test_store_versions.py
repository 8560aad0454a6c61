"""Stored versions: what a purge sees and removes, alike in every store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from skill_registry.store.base import all_versions
from skill_registry.store.directory import DirectorySkillStore
from skill_registry.store.memory import MemorySkillStore
from skill_registry.store.s3 import S3SkillStore

if TYPE_CHECKING:
    from pathlib import Path

    from mypy_boto3_s3 import S3Client

    from local_stack.emulator import Endpoint
    from skill_registry.store.base import SkillStore

KEY = "skills/system/example/SKILL.md"
OTHER = "skills/system/example/other file+ü.md"


@pytest.fixture(params=["memory", "moto", "emulator"])
def versioned_store(request: pytest.FixtureRequest) -> SkillStore:
    """Return an empty store that keeps what is overwritten."""
    if request.param == "memory":
        return MemorySkillStore(versioned=True)
    status = {"Status": "Enabled"}
    if request.param == "moto":
        moto: S3SkillStore = request.getfixturevalue("moto_store")
        client: S3Client = request.getfixturevalue("moto_client")
        client.put_bucket_versioning(Bucket="registry", VersioningConfiguration=status)  # type: ignore[arg-type]
        return moto
    emulator: Endpoint = request.getfixturevalue("emulator")
    client = request.getfixturevalue("emulator_client")
    bucket = emulator.make_bucket()
    client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration=status)  # type: ignore[arg-type]
    return S3SkillStore(client, bucket)


@pytest.fixture(params=["memory", "directory", "moto"])
def plain_store(request: pytest.FixtureRequest) -> SkillStore:
    """Return an empty store that keeps only what is current."""
    if request.param == "memory":
        return MemorySkillStore()
    if request.param == "directory":
        folder: Path = request.getfixturevalue("tmp_path")
        return DirectorySkillStore(folder / "skills")
    moto: S3SkillStore = request.getfixturevalue("moto_store")
    return moto


def shape(store: SkillStore, prefix: str = "") -> list[tuple[str, bool, bool]]:
    return [(v.key, v.current, v.marker) for v in all_versions(store, prefix)]


def test_a_store_without_versions_shows_what_is_current(plain_store: SkillStore) -> None:
    plain_store.put(KEY, b"one")
    plain_store.put(KEY, b"two")
    plain_store.put(OTHER, b"x")
    assert shape(plain_store) == [(KEY, True, False), (OTHER, True, False)]
    assert shape(plain_store, OTHER) == [(OTHER, True, False)]


def test_removing_the_only_version_removes_the_object(store: SkillStore) -> None:
    store.put(KEY, b"one")
    [version] = all_versions(store, KEY)
    store.delete_version(KEY, version.version_id)
    store.delete_version(KEY, version.version_id)
    assert store.head(KEY) is None
    assert shape(store) == []


def test_what_was_overwritten_and_deleted_is_kept(versioned_store: SkillStore) -> None:
    versioned_store.put(KEY, b"one")
    versioned_store.put(KEY, b"two")
    versioned_store.put(OTHER, b"x")
    versioned_store.delete(OTHER)
    assert shape(versioned_store) == [
        (KEY, True, False),
        (KEY, False, False),
        (OTHER, True, True),
        (OTHER, False, False),
    ]


def test_an_older_version_goes_and_the_current_one_stays(versioned_store: SkillStore) -> None:
    for body in (b"one", b"two", b"three"):
        versioned_store.put(KEY, body)
    for version in all_versions(versioned_store, KEY):
        if not version.current:
            versioned_store.delete_version(KEY, version.version_id)
    assert shape(versioned_store) == [(KEY, True, False)]
    assert getattr(versioned_store.get(KEY), "body", None) == b"three"


def test_versions_come_in_pages_that_meet(versioned_store: SkillStore) -> None:
    for body in (b"one", b"two"):
        for key in (KEY, OTHER):
            versioned_store.put(key, body)
    found: list[tuple[str, bool]] = []
    after: str | None = None
    for _ in range(10):
        page = versioned_store.list_versions("skills/", after=after, limit=1)
        found += [(version.key, version.current) for version in page.versions]
        after = page.after
        if after is None:
            break
    assert found == [(KEY, True), (KEY, False), (OTHER, True), (OTHER, False)]
