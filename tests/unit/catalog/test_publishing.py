"""Publish: numbers, exactly-once, preconditions, and what a refusal leaves behind (nothing)."""

from __future__ import annotations

import threading

import pytest
from house import ADMIN, House, as_published, person, skill, skill_files, skill_zip, zipped

from skill_registry.catalog.log import Precondition
from skill_registry.errors import (
    SkillInvalid,
    SkillNotFound,
    TicketStale,
    TooLarge,
    Unavailable,
    UploadAlreadyUsed,
    UploadNotFound,
    VersionConflict,
)
from skill_registry.spec.archive import read_revision
from skill_registry.spec.layout import ArchiveContents
from skill_registry.store import keys
from skill_registry.store.base import all_versions
from skill_registry.store.gate import Request
from skill_registry.store.keys import SkillId, UploadId
from skill_registry.store.memory import MemorySkillStore

NOTES = SkillId("system", "notes")


@pytest.fixture
def house() -> House:
    return House()


def is_revision_put(request: Request) -> bool:
    return request.op == "PUT" and "/revisions/" in request.key


def is_sidecar_put(request: Request) -> bool:
    return request.op == "PUT" and request.key.endswith(".version")


def test_the_first_publish_is_version_1_and_each_further_one_counts_up(house: House) -> None:
    assert [house.publish("notes", text) for text in ("a", "b", "c")] == [1, 2, 3]
    assert house.version("notes") == b"3\n"


def test_a_publish_shows_in_log_sidecar_tree_and_catalog(house: House) -> None:
    house.publish("notes", "a")
    house.publish("notes", "b")
    revision = house.read(keys.revision(NOTES, 2))
    assert revision is not None
    assert {f.path: f.data for f in read_revision(revision)}["references/notes.md"] == b"b"
    assert house.tree("notes") == {f.path: f.data for f in skill_files("notes", "b")}
    assert house.listed() == {"notes": 2}


def test_files_that_the_new_version_lacks_leave_the_tree(house: House) -> None:
    house.publish("notes")
    only = skill_files("notes")[:1]
    house.registry.publisher.publish_inline(ADMIN, NOTES, ArchiveContents(only))
    assert set(house.tree("notes")) == {"SKILL.md"}


def test_an_identical_publish_counts_up_and_says_unchanged(house: House) -> None:
    house.publish("notes")
    done = house.registry.publisher.publish_inline(ADMIN, NOTES, skill("notes"))
    assert (done.info.number, done.info.unchanged) == (2, True)


def test_an_incoming_sidecar_is_dropped(house: House) -> None:
    archive = zipped({"SKILL.md": skill_files("notes")[0].data, ".version": b"99\n"})
    upload = house.upload("notes", archive)
    assert as_published(house.registry.uploader.complete(ADMIN, upload)).info.number == 1
    revision = house.read(keys.revision(NOTES, 1))
    assert revision is not None
    assert [f.path for f in read_revision(revision)] == ["SKILL.md"]
    assert house.version("notes") == b"1\n"


def test_a_clean_publish_of_an_upload_stays_within_its_requests(house: House) -> None:
    house.publish("notes", "a")
    upload = house.upload("notes", skill_zip("notes", "b"))
    fresh = house.environment()
    house.counter.reset()
    fresh.uploader.complete(ADMIN, upload)
    tree_puts = [r for r in house.counter.requests if _is_tree(r, "PUT")]
    assert [r.key for r in tree_puts] == [keys.tree_file(NOTES, "references/notes.md")]
    assert house.counter.puts - len(tree_puts) == 4
    assert house.counter.gets <= 8
    assert house.counter.lists == 1


def test_a_clean_inline_publish_with_a_key_stays_within_its_requests(house: House) -> None:
    house.publish("notes", "a")
    fresh = house.environment()
    house.counter.reset()
    fresh.publisher.publish_inline(ADMIN, NOTES, skill("notes", "b"), idempotency_key="k")
    tree_puts = [r for r in house.counter.requests if _is_tree(r, "PUT")]
    assert house.counter.puts - len(tree_puts) == 4
    assert house.counter.gets <= 8


def _is_tree(request: Request, op: str) -> bool:
    return (
        request.op == op
        and request.key.startswith("skills/")
        and not request.key.endswith(".version")
    )


def test_an_upload_is_published_once_by_call_event_and_retry(house: House) -> None:
    upload = house.upload("notes", skill_zip("notes"))
    key = keys.upload(UploadId(ADMIN.hash, upload))
    assert as_published(house.registry.uploader.complete(ADMIN, upload)).info.number == 1
    assert house.deliver(key, key) == set()
    assert as_published(house.environment().uploader.complete(ADMIN, upload)).info.number == 1
    assert house.listed() == {"notes": 1}


def test_the_event_publishes_when_the_client_never_calls(house: House) -> None:
    upload = house.upload("notes", skill_zip("notes"))
    assert house.registry.uploader.outcome(ADMIN, upload)["state"] == "received"
    house.deliver(keys.upload(UploadId(ADMIN.hash, upload)))
    outcome = house.registry.uploader.outcome(ADMIN, upload)
    assert (outcome["state"], outcome["version"]) == ("published", 1)
    assert house.listed() == {"notes": 1}


def test_an_upload_that_was_replaced_after_its_publish_is_refused(house: House) -> None:
    upload = house.upload("notes", skill_zip("notes", "a"))
    house.registry.uploader.complete(ADMIN, upload)
    key = keys.upload(UploadId(ADMIN.hash, upload))
    info = house.bucket.head(key)
    assert info is not None
    house.bucket.put(key, skill_zip("notes", "b"), metadata=info.metadata)
    with pytest.raises(UploadAlreadyUsed):
        house.environment().uploader.complete(ADMIN, upload)
    assert house.registry.uploader.outcome(ADMIN, upload)["state"] == "published"
    assert house.listed() == {"notes": 1}


def test_an_unknown_or_foreign_upload_does_not_exist(house: House) -> None:
    upload = house.upload("notes", skill_zip("notes"))
    for principal, asked in ((person("eve"), upload), (ADMIN, "0" * 32), (ADMIN, "../x")):
        with pytest.raises(UploadNotFound):
            house.registry.uploader.complete(principal, asked)
        with pytest.raises(UploadNotFound):
            house.registry.uploader.outcome(principal, asked)


def test_an_archive_over_the_limit_gets_no_ticket(house: House) -> None:
    with pytest.raises(TooLarge):
        house.upload("notes", b"", size=17 * 1024 * 1024, sha256="0" * 64)


def test_the_same_idempotency_key_never_makes_a_second_revision(house: House) -> None:
    for environment in (house.registry, house.environment(), house.environment()):
        done = environment.publisher.publish_inline(
            ADMIN, NOTES, skill("notes"), idempotency_key="one"
        )
        assert done.info.number == 1
    assert house.publish("notes", "b") == 2
    late = house.registry.publisher.publish_inline(
        ADMIN, NOTES, skill("notes"), idempotency_key="one"
    )
    assert late.info.number == 1


@pytest.mark.parametrize("which", [is_revision_put, is_sidecar_put])
def test_a_retry_with_its_key_finishes_what_a_lost_reply_left(house: House, which: object) -> None:
    house.faults.after_if = which  # type: ignore[assignment]
    house.faults.before_if = lambda r: (
        r.op == "HEAD" and "/revisions/" in r.key and r.key.endswith("1.zip")
    )
    with pytest.raises(Unavailable):
        house.registry.publisher.publish_inline(ADMIN, NOTES, skill("notes"), idempotency_key="one")
    house.faults.clear()
    done = house.environment().publisher.publish_inline(
        ADMIN, NOTES, skill("notes"), idempotency_key="one"
    )
    assert done.info.number == 1
    assert house.read(keys.revision(NOTES, 2)) is None


def test_a_key_that_was_used_for_another_call_is_refused(house: House) -> None:
    publisher = house.registry.publisher
    publisher.publish_inline(ADMIN, NOTES, skill("notes"), idempotency_key="one")
    before = house.state()
    with pytest.raises(UploadAlreadyUsed):
        publisher.publish_inline(ADMIN, NOTES, skill("notes", "b"), idempotency_key="one")
    with pytest.raises(UploadAlreadyUsed):
        publisher.delete(ADMIN, NOTES, idempotency_key="one")
    assert house.state() == before


def test_two_principals_may_use_the_same_key(house: House) -> None:
    house.registry.publisher.publish_inline(ADMIN, NOTES, skill("notes"), idempotency_key="one")
    done = house.registry.publisher.publish_inline(
        person("ann"), NOTES, skill("notes"), idempotency_key="one"
    )
    assert done.info.number == 2


@pytest.mark.parametrize(
    "precondition", [Precondition(version=1), Precondition(create_only=True)], ids=["match", "new"]
)
def test_a_precondition_that_does_not_hold_changes_nothing(
    house: House, precondition: Precondition
) -> None:
    house.publish("notes", "a")
    house.publish("notes", "b")
    before = house.state()
    with pytest.raises(VersionConflict) as caught:
        house.registry.publisher.publish_inline(
            ADMIN, NOTES, skill("notes", "c"), precondition=precondition
        )
    assert caught.value.current == 2
    assert house.state() == before


def test_a_ticket_carries_its_precondition_to_the_event(house: House) -> None:
    house.publish("notes", "a")
    upload = house.upload("notes", skill_zip("notes", "b"), precondition=Precondition(version=1))
    house.publish("notes", "other")
    assert house.deliver(keys.upload(UploadId(ADMIN.hash, upload))) == set()
    outcome = house.registry.uploader.outcome(ADMIN, upload)
    assert (outcome["state"], outcome["code"], outcome["current"]) == (
        "rejected",
        "version_conflict",
        2,
    )


def test_a_ticket_that_fell_100_versions_behind_is_stale(house: House) -> None:
    upload = house.upload("notes", skill_zip("notes", "late"))
    for number in range(101):
        house.publish("notes", str(number))
    with pytest.raises(TicketStale):
        house.registry.uploader.complete(ADMIN, upload)


def test_an_upload_that_was_published_is_found_however_many_came_after_it(house: House) -> None:
    upload = house.upload("notes", skill_zip("notes", "early"))
    assert as_published(house.registry.uploader.complete(ADMIN, upload)).info.number == 1
    for number in range(102):
        house.publish("notes", str(number))
    assert as_published(house.environment().uploader.complete(ADMIN, upload)).info.number == 1
    assert house.registry.uploader.outcome(ADMIN, upload)["state"] == "published"
    assert house.listed() == {"notes": 103}


def test_a_refused_upload_changes_nothing_but_its_outcome(house: House) -> None:
    upload = house.upload("notes", zipped({"SKILL.md": b"no frontmatter"}))
    before = house.state()
    with pytest.raises(SkillInvalid) as caught:
        house.registry.uploader.complete(ADMIN, upload)
    assert caught.value.diagnostics
    after = house.state()
    outcome_key = keys.outcome(UploadId(ADMIN.hash, upload))
    assert set(after) - set(before) == {outcome_key}
    assert house.registry.uploader.outcome(ADMIN, upload)["state"] == "rejected"


def test_an_outcome_is_written_once_however_often_the_event_comes() -> None:
    house = House(bucket=MemorySkillStore(versioned=True))
    good = house.upload("notes", skill_zip("notes"))
    bad = house.upload("notes", b"no zip")
    for _ in range(3):
        house.deliver(*(keys.upload(UploadId(ADMIN.hash, upload)) for upload in (good, bad)))
    states = [house.registry.uploader.outcome(ADMIN, upload)["state"] for upload in (good, bad)]
    assert states == ["published", "rejected"]
    for upload in (good, bad):
        outcome = keys.outcome(UploadId(ADMIN.hash, upload))
        assert len(list(all_versions(house.bucket, outcome))) == 1


def test_a_refused_inline_publish_changes_nothing(house: House) -> None:
    house.publish("notes")
    before = house.state()
    with pytest.raises(SkillInvalid):
        house.registry.publisher.publish_inline(
            ADMIN, NOTES, skill("other-name"), idempotency_key="one"
        )
    assert house.state() == before


def test_delete_keeps_the_number_and_a_publish_after_it_counts_on(house: House) -> None:
    house.publish("notes")
    assert house.registry.publisher.delete(ADMIN, NOTES).info.number == 2
    assert house.listed() == {}
    assert house.tree("notes") == {}
    assert house.version("notes") == b"2\n"
    done = house.registry.publisher.publish_inline(
        ADMIN, NOTES, skill("notes"), precondition=Precondition(create_only=True)
    )
    assert done.info.number == 3


def test_deleting_what_is_not_there_is_not_found_and_writes_nothing(house: House) -> None:
    with pytest.raises(SkillNotFound):
        house.registry.publisher.delete(ADMIN, NOTES)
    house.publish("notes")
    house.registry.publisher.delete(ADMIN, NOTES, idempotency_key="one")
    before = house.state()
    with pytest.raises(SkillNotFound):
        house.registry.publisher.delete(ADMIN, NOTES)
    again = house.environment().publisher.delete(ADMIN, NOTES, idempotency_key="one")
    assert again.info.number == 2
    assert house.state() == before


def test_a_publish_succeeds_though_catalog_and_tree_cannot_follow(house: House) -> None:
    house.faults.before_if = lambda r: "catalog" in r.key
    assert house.publish("notes") == 1
    house.faults.clear()
    with pytest.raises(Unavailable, match="being rebuilt"):
        house.listed()
    house.deliver(keys.sidecar(NOTES))
    assert house.listed() == {"notes": 1}
    assert set(house.tree("notes")) == {"SKILL.md", "references/notes.md"}


@pytest.mark.parametrize("op", ["GET", "PUT", "LIST"])
def test_a_store_that_does_not_answer_is_unavailable_and_nothing_is_visible(
    house: House, op: str
) -> None:
    house.faults.before_if = lambda r: r.op == op
    with pytest.raises(Unavailable):
        house.registry.publisher.publish_inline(ADMIN, NOTES, skill("notes"), idempotency_key="one")
    house.faults.clear()
    assert house.listed() == {}


def test_sixteen_publishers_of_one_skill_get_dense_numbers(house: House) -> None:
    numbers: list[int] = []
    errors: list[Exception] = []

    def publish(index: int) -> None:
        try:
            done = house.environment().publisher.publish_inline(
                ADMIN, NOTES, skill("notes", str(index)), idempotency_key=str(index)
            )
            numbers.append(done.info.number)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=publish, args=(index,)) for index in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert errors == []
    assert sorted(numbers) == list(range(1, 17))
    assert house.version("notes") == b"16\n"
    house.deliver(keys.sidecar(NOTES))
    assert house.listed() == {"notes": 16}


def test_one_of_many_writers_on_the_same_base_wins(house: House) -> None:
    house.publish("notes", "a")
    outcomes: list[str] = []

    def publish(index: int) -> None:
        try:
            house.environment().publisher.publish_inline(
                ADMIN,
                NOTES,
                skill("notes", str(index)),
                precondition=Precondition(version=1),
            )
            outcomes.append("won")
        except VersionConflict:
            outcomes.append("lost")

    threads = [threading.Thread(target=publish, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert sorted(outcomes) == ["lost"] * 7 + ["won"]


def test_a_key_that_published_bytes_does_not_roll_back_to_them(house: House) -> None:
    publisher = house.registry.publisher
    publisher.publish_inline(ADMIN, NOTES, skill("notes"), idempotency_key="one")
    house.publish("notes", "two")
    with pytest.raises(UploadAlreadyUsed):
        publisher.rollback(ADMIN, NOTES, 1, idempotency_key="one")
    done = publisher.rollback(ADMIN, NOTES, 1, idempotency_key="two")
    assert publisher.rollback(ADMIN, NOTES, 1, idempotency_key="two").info == done.info
    assert house.version("notes") == b"3\n"
