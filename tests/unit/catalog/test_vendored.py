"""Directories that were put straight into the bucket: served as they lie, adopted by a publish."""

from __future__ import annotations

import pytest
from house import ADMIN, House, as_published, skill, skill_files, skill_md, skill_zip

from skill_registry.catalog.log import Precondition
from skill_registry.errors import SkillInvalid, SkillNotFound, VersionConflict
from skill_registry.store import keys
from skill_registry.store.base import StoredObject
from skill_registry.store.gate import Request, Result
from skill_registry.store.keys import SkillId, UploadId
from skill_registry.web.settings import Settings

PLAIN = SkillId("system", "plain")


@pytest.fixture
def house() -> House:
    return House()


def sync(house: House, text: str = "one", **more: str) -> list[str]:
    """Put a directory into the bucket, as ``aws s3 sync`` does."""
    written = []
    for file in skill_files("plain", text, **more):
        key = keys.tree_file(PLAIN, file.path)
        house.put(key, file.data)
        written.append(key)
    return written


def test_a_synced_directory_is_listed_and_viewed_without_a_version(house: House) -> None:
    house.deliver(*sync(house))
    assert house.listed() == {"plain": None}
    seen = house.registry.viewing.view(ADMIN, "plain", path="references/notes.md")
    assert (seen.text, seen.loaded.version) == ("one", None)


def test_its_version_is_the_sidecar_else_the_frontmatter(house: House) -> None:
    house.deliver(*sync(house, version="1.10"))
    assert house.listed() == {"plain": "1.10"}
    house.put(keys.sidecar(PLAIN), b"7\n")
    house.deliver(keys.sidecar(PLAIN))
    assert house.listed() == {"plain": 7}
    assert house.registry.viewing.view(ADMIN, "plain").loaded.version == 7


def test_a_warm_view_of_it_sees_a_change_at_once(house: House) -> None:
    sync(house, "one")
    path = "references/notes.md"
    assert house.registry.viewing.view(ADMIN, "plain", path=path).text == "one"
    sync(house, "two")
    assert house.registry.viewing.view(ADMIN, "plain", path=path).text == "two"


def test_an_answer_never_mixes_two_states_of_it(house: House) -> None:
    sync(house, "one")
    changes = iter(["two"])

    def change(request: Request, result: Result) -> None:
        """Change the directory between the first read of a file and the second listing."""
        if (
            request.op == "GET"
            and isinstance(result, StoredObject)
            and (text := next(changes, None))
        ):
            sync(house, text, license=f"License-{text}")

    house.faults.on_after = change
    seen = house.registry.viewing.view(ADMIN, "plain", path="references/notes.md")
    assert seen.loaded.meta is not None
    assert (seen.text, seen.loaded.meta.license) == ("two", "License-two")


def test_a_directory_that_is_removed_leaves_the_listing(house: House) -> None:
    written = sync(house)
    house.deliver(*written)
    for key in written:
        house.bucket.delete(key)
    house.deliver(*written)
    assert house.listed() == {}
    with pytest.raises(SkillNotFound):
        house.registry.viewing.view(ADMIN, "plain")


def test_an_unquoted_colon_is_repaired_and_warned_about(house: House) -> None:
    key = keys.tree_file(PLAIN, "SKILL.md")
    house.put(key, b"---\nname: plain\ndescription: Two jobs: plan and review\n---\nBody\n")
    house.deliver(key)
    page = house.registry.listing.page(ADMIN)
    assert page.skills[0].entry.description == "Two jobs: plan and review"
    seen = house.registry.viewing.view(ADMIN, "plain")
    assert [d.code for d in seen.loaded.diagnostics] == ["frontmatter_repaired"]


def test_a_directory_over_the_limits_is_refused_by_name(house: House) -> None:
    small = House(bucket=house.bucket, settings=Settings(max_files=1))
    sync(house)
    with pytest.raises(SkillInvalid) as caught:
        small.registry.viewing.view(ADMIN, "plain")
    assert [d.code for d in caught.value.diagnostics] == ["too_many_files"]


@pytest.mark.parametrize(("sidecar", "first"), [(None, 1), (b"6\n", 6), (b"garbage", 1)])
def test_the_first_publish_adopts_the_directory(
    house: House, sidecar: bytes | None, first: int
) -> None:
    sync(house, "theirs")
    if sidecar is not None:
        house.put(keys.sidecar(PLAIN), sidecar)
    assert house.publish("plain", "ours") == first + 1
    path = "references/notes.md"
    old = house.registry.viewing.view(ADMIN, "plain", path=path, pin=first)
    new = house.registry.viewing.view(ADMIN, "plain", path=path)
    assert (old.text, new.text, new.loaded.version) == ("theirs", "ours", first + 1)
    assert house.tree("plain")["references/notes.md"] == b"ours"
    assert house.version("plain") == b"%d\n" % (first + 1)


def test_a_delete_adopts_first_so_that_nothing_is_lost(house: House) -> None:
    sync(house, "theirs")
    assert house.registry.publisher.delete(ADMIN, PLAIN).info.number == 2
    assert house.tree("plain") == {}
    assert house.read(keys.revision(PLAIN, 1)) is not None


def test_create_only_is_refused_where_a_directory_lies_and_adopts_nothing(house: House) -> None:
    sync(house)
    house.registry.reconciler.run()
    before = house.state()
    with pytest.raises(VersionConflict):
        house.registry.publisher.publish_inline(
            ADMIN, PLAIN, skill("plain"), precondition=Precondition(create_only=True)
        )
    assert house.state() == before


def test_files_without_a_skill_are_adopted_too_by_a_create(house: House) -> None:
    key = keys.tree_file(PLAIN, "draft.txt")
    house.put(key, b"the only copy")
    done = house.registry.publisher.publish_inline(
        ADMIN, PLAIN, skill("plain"), precondition=Precondition(create_only=True)
    )
    assert done.info.number == 2
    from skill_registry.spec.archive import read_revision

    first = read_revision(house.read(keys.revision(PLAIN, 1)) or b"")
    assert [(f.path, f.data) for f in first] == [("draft.txt", b"the only copy")]


def test_a_faulty_name_still_loads_under_its_directory(house: House) -> None:
    key = keys.tree_file(SkillId("system", "Odd_Name"), "SKILL.md")
    house.put(key, skill_md("other"))
    house.deliver(key)
    assert house.listed() == {"Odd_Name": None}
    seen = house.registry.viewing.view(ADMIN, "Odd_Name")
    assert seen.loaded.skill.name == "Odd_Name"
    assert seen.loaded.diagnostics


def test_a_ticket_may_name_the_version_of_a_directory(house: House) -> None:
    sync(house, "theirs")
    house.put(keys.sidecar(PLAIN), b"6\n")
    upload = house.upload("plain", skill_zip("plain"), precondition=Precondition(version=6))
    assert as_published(house.registry.uploader.complete(ADMIN, upload)).info.number == 7
    other = house.upload("fresh", skill_zip("fresh"), precondition=Precondition(version=6))
    with pytest.raises(VersionConflict):
        house.registry.uploader.complete(ADMIN, other)


@pytest.mark.parametrize("stated", [101, 5_000])
def test_a_directory_of_a_high_number_is_adopted_and_published_in_one_call(
    house: House, stated: int
) -> None:
    sync(house)
    house.put(keys.sidecar(PLAIN), b"%d\n" % stated)
    assert house.publish("plain") == stated + 1
    upload = house.upload("plain", skill_zip("plain", "three"))
    assert house.deliver(keys.upload(UploadId(ADMIN.hash, upload))) == set()
    assert house.version("plain") == b"%d\n" % (stated + 2)


def test_an_upload_that_was_announced_before_the_adoption_is_published(house: House) -> None:
    sync(house)
    house.put(keys.sidecar(PLAIN), b"300\n")
    upload = house.upload("plain", skill_zip("plain", "two"))
    house.registry.uploader.complete(ADMIN, upload)
    assert house.version("plain") == b"301\n"
    assert house.registry.uploader.outcome(ADMIN, upload)["version"] == 301


def test_a_directory_of_a_name_that_no_publish_takes_can_be_deleted(house: House) -> None:
    odd = SkillId("system", "Odd_Name")
    house.put(keys.tree_file(odd, "SKILL.md"), skill_md("Odd_Name"))
    house.registry.publisher.delete(ADMIN, odd)
    assert house.tree("Odd_Name") == {}
