"""Purging: the bytes of a leaked revision leave the bucket, whatever held them."""

from __future__ import annotations

import gzip

import pytest
from house import ADMIN, House, skill, skill_files, zipped

from skill_registry.catalog.configuring import Change
from skill_registry.catalog.overrides import read_overrides
from skill_registry.catalog.revision import Kind
from skill_registry.errors import (
    Gone,
    Unavailable,
    UploadAlreadyUsed,
    VersionInUse,
    VersionNotFound,
)
from skill_registry.spec.archive import read_revision
from skill_registry.store import keys
from skill_registry.store.base import StoredObject, all_versions, list_all
from skill_registry.store.gate import Request
from skill_registry.store.keys import SkillId
from skill_registry.store.memory import MemorySkillStore

NOTES = SkillId("system", "notes")
SECRET = "the secret"


@pytest.fixture
def house() -> House:
    """A skill whose second version leaked something, in a bucket that keeps versions."""
    made = House(bucket=MemorySkillStore(versioned=True))
    made.publish("notes", "first")
    upload = made.upload("notes", zipped(leaking()), message=f"Adds {SECRET}")
    made.registry.uploader.complete(ADMIN, upload)
    made.publish("notes", "third")
    return made


def leaking() -> dict[str, bytes]:
    files = skill_files("notes", SECRET, description=f"Knows {SECRET}.")
    return {file.path: file.data for file in files}


def holders(house: House) -> set[str]:
    """Keys of every stored version that holds the secret, packed or beside its bytes."""
    assert house.bucket._versions is not None
    return {
        key
        for key, versions in house.bucket._versions.items()
        for _, stored in versions
        if stored is not None and SECRET in _text(stored)
    }


def _text(stored: StoredObject) -> str:
    body = stored.body
    if stored.info.key.endswith(".gz"):
        body = gzip.decompress(body)
    elif stored.info.key.endswith(".zip"):
        body = b"".join(file.data for file in read_revision(body))
    return body.decode() + str(dict(stored.info.metadata))


def test_no_stored_version_of_any_object_holds_the_bytes_afterwards(house: House) -> None:
    assert {key.split("/")[-1] for key in holders(house)} > {
        "SKILL.md",
        "notes.md",
        "00000002.zip",
        "catalog.json.gz",
    }
    done = house.registry.purger.purge(ADMIN, NOTES, 2, reason="A token.")
    assert holders(house) == set()
    assert done.removed >= 3


def test_the_number_stays_taken(house: House) -> None:
    house.registry.purger.purge(ADMIN, NOTES, 2)
    info = house.registry.log.info(NOTES, 2)
    assert info is not None and info.kind is Kind.PRUNED
    assert house.publish("notes", "fourth") == 4


def test_a_purged_version_is_gone_at_once_where_it_is_remembered(house: House) -> None:
    warm = house.environment()
    assert warm.viewing.view(ADMIN, "notes", pin=2).loaded.version == 2
    house.registry.purger.purge(ADMIN, NOTES, 2)
    with pytest.raises(Gone):
        warm.viewing.view(ADMIN, "notes", pin=2)
    assert warm.viewing.view(ADMIN, "notes", pin=1).loaded.version == 1


def test_who_when_and_why_are_noted(house: House) -> None:
    house.registry.purger.purge(ADMIN, NOTES, 2, reason="A token.")
    stored = read_overrides(house.read(keys.settings(NOTES)) or b"")
    assert stored is not None and stored.purged == (2,)
    assert stored.changes[-1]["what"] == {"purged": 2}
    assert stored.changes[-1]["why"] == "A token."


def test_the_head_and_a_labelled_version_are_refused(house: House) -> None:
    house.registry.configurer.change(ADMIN, NOTES, Change(labels={"stable": 2}))
    for number in (2, 3):
        with pytest.raises(VersionInUse):
            house.registry.purger.purge(ADMIN, NOTES, number)
    assert holders(house)


@pytest.mark.parametrize("number", [-1, 0, 9])
def test_a_version_that_never_was_cannot_be_purged(house: House, number: int) -> None:
    with pytest.raises(VersionNotFound):
        house.registry.purger.purge(ADMIN, NOTES, number)


def test_a_deletion_has_nothing_to_purge_and_what_was_deleted_has(house: House) -> None:
    house.registry.publisher.delete(ADMIN, NOTES)
    assert house.publish("notes", "fifth") == 5
    with pytest.raises(VersionNotFound):
        house.registry.purger.purge(ADMIN, NOTES, 4)
    house.registry.purger.purge(ADMIN, NOTES, 3)


def test_a_purge_again_changes_nothing_more(house: House) -> None:
    house.registry.purger.purge(ADMIN, NOTES, 2)
    before = house.state()
    house.counter.reset()
    assert house.registry.purger.purge(ADMIN, NOTES, 2).removed == 0
    assert house.state() == before
    assert house.counter.puts == 0


def test_a_purge_goes_on_where_a_crash_ended_it(house: House) -> None:
    for last in range(1, 60):
        made = 0

        def fails(_: Request, last: int = last) -> bool:
            nonlocal made
            made += 1
            return made >= last

        house.faults.before_if = fails
        try:
            house.environment().purger.purge(ADMIN, NOTES, 2)
            break
        except Unavailable:
            house.faults.clear()
    house.faults.clear()
    assert last > 10, "every request was the last one once"
    assert holders(house) == set()


def test_other_versions_with_the_same_leak_are_named(house: House) -> None:
    assert house.publish("notes", SECRET) == 4
    assert house.publish("notes", "clean") == 5
    done = house.registry.purger.purge(ADMIN, NOTES, 2)
    assert dict(done.also_in) == {4: ("references/notes.md",)}
    assert dict(house.registry.purger.purge(ADMIN, NOTES, 4).also_in) == {}
    assert holders(house) == set()


def test_a_version_that_was_pruned_before_is_purged_of_what_is_left(house: House) -> None:
    info = house.bucket.head(keys.revision(NOTES, 2))
    assert info is not None
    assert house.registry.pruner.stub(NOTES, 2, info.etag)
    assert keys.revision(NOTES, 2) in holders(house)
    house.registry.purger.purge(ADMIN, NOTES, 2)
    assert holders(house) == set()


def test_what_a_keyed_call_left_beside_the_uploads_is_cleaned(house: House) -> None:
    publisher = house.registry.publisher

    def leak() -> int:
        contents = skill("notes", SECRET)
        message = f"Adds {SECRET}"
        done = publisher.publish_inline(
            ADMIN, NOTES, contents, message=message, idempotency_key="k"
        )
        return done.info.number

    assert leak() == 4
    house.publish("notes", "clean")
    for number in (2, 4):
        house.registry.purger.purge(ADMIN, NOTES, number)
    assert holders(house) == set()
    with pytest.raises(UploadAlreadyUsed):
        leak()
    assert house.listed() == {"notes": 5}


def test_the_bundle_of_an_adopted_directory_is_removed() -> None:
    house = House(bucket=MemorySkillStore(versioned=True))
    for file in skill_files("notes", SECRET):
        house.put(keys.tree_file(NOTES, file.path), file.data)
    house.registry.viewing.bundle(ADMIN, "notes")
    assert any("/snapshots/" in key for key in holders(house))
    house.publish("notes", "second")
    house.registry.purger.purge(ADMIN, NOTES, 1)
    assert holders(house) == set()


def test_what_is_current_is_untouched(house: House) -> None:
    before = {o.key: house.read(o.key) for o in list_all(house.bucket, keys.tree(NOTES))}
    house.registry.purger.purge(ADMIN, NOTES, 2)
    assert {o.key: house.read(o.key) for o in list_all(house.bucket, keys.tree(NOTES))} == before
    sidecars = [v for v in all_versions(house.bucket, keys.sidecar(NOTES)) if not v.current]
    assert sidecars, "the versions of the sidecar hold no bytes of the skill"
    assert house.listed() == {"notes": 3}
