"""Limits of principals and scopes: what is refused, what always passes, what is not counted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from house import ADMIN, House, as_published, person, skill_files, skill_zip, zipped

from skill_registry.catalog.log import NO_PRECONDITION, Precondition
from skill_registry.catalog.quotas import PAGES
from skill_registry.errors import ScopeFull, SkillInvalid, TooManyUploads, VersionConflict
from skill_registry.store import keys
from skill_registry.store.base import Page
from skill_registry.store.keys import SkillId, UploadId
from skill_registry.store.memory import MemorySkillStore
from skill_registry.web.settings import Settings

NOTES = SkillId("system", "notes")
SIZE = sum(len(file.data) for file in skill_files("notes"))


class _SmallPages(MemorySkillStore):
    """Lists four objects a page."""

    def list_page(
        self, prefix: str, *, delimiter: str = "", after: str | None = None, limit: int = 1000
    ) -> Page:
        return super().list_page(prefix, delimiter=delimiter, after=after, limit=4)


def limited(**limits: int) -> House:
    """A registry with these limits."""
    return House(settings=replace(Settings(), **limits))  # type: ignore[arg-type]


def test_uploads_that_wait_are_counted_and_one_too_many_gets_no_ticket() -> None:
    settings = replace(Settings(), max_outstanding_uploads=2)
    house = House(MemorySkillStore(clock=lambda: 1_800_000_000.0), settings)
    house.time += 3 * 60 * 60
    first = house.upload("notes", skill_zip("notes"))
    house.upload("notes", skill_zip("notes"))
    with pytest.raises(TooManyUploads) as caught:
        house.upload("notes", skill_zip("notes"))
    assert "2 uploads of yours" in caught.value.message
    assert "at most 2 may" in caught.value.message
    assert "about 21 hours" in caught.value.message
    assert caught.value.retry_after > 0
    house.registry.uploader.complete(ADMIN, first)
    house.upload("notes", skill_zip("notes"))


def test_an_upload_that_was_refused_or_only_looked_at_waits_no_more() -> None:
    house = limited(max_outstanding_uploads=1)
    with pytest.raises(SkillInvalid):
        house.registry.uploader.complete(ADMIN, house.upload("notes", b"no zip"))
    house.registry.uploader.complete(ADMIN, house.upload("notes", b"no zip", dry_run=True))
    house.upload("notes", skill_zip("notes"))


def test_a_ticket_that_nobody_used_costs_nothing() -> None:
    house = limited(max_outstanding_uploads=1)
    uploader = house.registry.uploader
    given = [uploader.announce(ADMIN, NOTES, precondition=NO_PRECONDITION) for _ in range(5)]
    assert len({each.upload for each in given}) == 5


def test_uploads_of_others_do_not_count() -> None:
    house = limited(max_outstanding_uploads=1)
    ann, bob = person("ann"), person("bob")
    first = house.upload("notes", skill_zip("notes"), ann)
    second = house.upload("notes", skill_zip("notes"), bob)
    outcomes = [
        house.registry.uploader.outcome(who, upload)["state"]
        for who, upload in ((ann, first), (bob, second))
    ]
    assert outcomes == ["received", "received"]


def test_counting_uploads_reads_three_pages_at_most() -> None:
    house = House(bucket=_SmallPages(), settings=replace(Settings(), max_outstanding_uploads=20))
    for number in range(30):
        house.put(keys.outcome(UploadId(ADMIN.hash, f"{number:032x}")), b"{}")
    house.counter.reset()
    house.registry.uploader.announce(ADMIN, NOTES, precondition=NO_PRECONDITION)
    listed = [r for r in house.counter.requests if r.op == "LIST" and r.key.startswith("uploads/")]
    assert len(listed) == PAGES


def test_a_ticket_stays_within_its_requests() -> None:
    house = House()
    house.publish("notes")
    house.counter.reset()
    house.registry.uploader.announce(ADMIN, NOTES, precondition=NO_PRECONDITION)
    assert sorted(r.op for r in house.counter.requests) == ["GET", "GET", "HEAD", "LIST"]


def test_a_full_scope_takes_no_new_skill_by_any_way() -> None:
    house = limited(max_scope_skills=2)
    publisher = house.registry.publisher
    house.publish("gone")
    publisher.delete(ADMIN, SkillId("system", "gone"))
    house.publish("one")
    waiting = house.upload("late", skill_zip("late"))
    house.publish("two")
    before = house.state()
    with pytest.raises(ScopeFull, match="holds 2 skills; at most 2"):
        house.publish("three")
    with pytest.raises(ScopeFull):
        house.upload("three", skill_zip("three"))
    with pytest.raises(ScopeFull):
        publisher.rollback(ADMIN, SkillId("system", "gone"), 1)
    assert house.state() == before
    with pytest.raises(ScopeFull):
        house.registry.uploader.complete(ADMIN, waiting)
    outcome = house.registry.uploader.outcome(ADMIN, waiting)
    assert (outcome["state"], outcome["code"]) == ("rejected", "scope_full")
    assert house.publish("one", "again") == 2
    assert house.publish("three", scope="team-blue") == 1


def test_a_refused_upload_is_published_once_there_is_room() -> None:
    house = limited(max_scope_skills=1)
    upload = house.upload("late", skill_zip("late"))
    house.publish("one")
    house.deliver(keys.upload(UploadId(ADMIN.hash, upload)))
    assert house.registry.uploader.outcome(ADMIN, upload)["code"] == "scope_full"
    house.registry.publisher.delete(ADMIN, SkillId("system", "one"))
    done = as_published(house.environment().uploader.complete(ADMIN, upload))
    assert done.info.number == 1
    assert house.registry.uploader.outcome(ADMIN, upload)["state"] == "published"


def test_bytes_are_those_of_current_versions_the_replaced_one_left_out() -> None:
    house = limited(max_scope_bytes=2 * SIZE + 10)
    house.publish("notes")
    house.publish("other", "one"[:2])
    assert house.publish("notes", "ten more chars"[: 3 + 10]) == 2
    with pytest.raises(ScopeFull, match=f"at most {2 * SIZE + 10}"):
        house.publish("notes", "x" * 100)
    with pytest.raises(ScopeFull):
        house.publish("third")
    with pytest.raises(ScopeFull):
        house.upload("third", b"", size=1024 * 1024, sha256="0" * 64)


def test_a_version_that_is_not_larger_passes_in_an_overfull_scope() -> None:
    house = House()
    house.publish("notes", "x" * 100)
    house.publish("notes", "y" * 100)
    small = replace(house, settings=replace(Settings(), max_scope_bytes=1))
    assert small.publish("notes", "z" * 100) == 3
    with pytest.raises(ScopeFull):
        small.publish("notes", "z" * 101)
    assert small.registry.publisher.rollback(ADMIN, NOTES, 1).info.number == 4


def test_a_catalog_that_cannot_be_read_refuses_nothing() -> None:
    house = limited(max_scope_skills=1)
    house.publish("one")
    house.put(keys.catalog("system"), b"garbage")
    assert house.publish("two") == 1


def test_a_skill_that_the_catalog_does_not_know_yet_is_no_new_one() -> None:
    house = limited(max_scope_skills=1)
    house.faults.before_if = lambda r: r.op == "PUT" and "catalog" in r.key
    house.publish("late")
    house.faults.clear()
    house.put(keys.catalog("system"), _catalog_of("one"))
    assert house.publish("late", "again") == 2


def _catalog_of(name: str) -> bytes:
    other = House()
    other.publish(name)
    return other.read(keys.catalog("system")) or b""


def test_a_retry_of_what_was_published_is_never_refused_for_room() -> None:
    house = limited(max_scope_skills=1)
    upload = house.upload("late", skill_zip("late"))
    house.faults.before_if = lambda r: "catalog" in r.key or r.key.endswith(".json")
    assert as_published(house.registry.uploader.complete(ADMIN, upload)).info.number == 1
    house.faults.clear()
    house.put(keys.catalog("system"), _catalog_of("one"))
    done = as_published(house.environment().uploader.complete(ADMIN, upload))
    assert (done.info.number, house.read(keys.revision(done.skill, 2))) == (1, None)
    assert house.registry.uploader.outcome(ADMIN, upload)["state"] == "published"


def test_a_deletion_needs_no_room_and_asks_for_none() -> None:
    house = limited(max_scope_skills=1)
    house.publish("notes")
    house.faults.before_if = lambda r: r.op == "GET" and "catalog" in r.key
    assert house.registry.publisher.delete(ADMIN, NOTES).info.number == 2


def test_a_precondition_that_does_not_hold_is_told_before_the_room_is_looked_at() -> None:
    house = limited(max_scope_skills=1)
    house.publish("notes")
    with pytest.raises(VersionConflict):
        house.upload("notes", zipped({}), precondition=Precondition(version=7))
