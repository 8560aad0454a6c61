"""Pruning: which revisions lose their bytes, and what stays of them."""

from __future__ import annotations

import pytest
from house import ADMIN, House, as_published, skill, skill_zip

from skill_registry.catalog.configuring import Change
from skill_registry.catalog.overrides import read_overrides
from skill_registry.catalog.revision import Kind
from skill_registry.errors import Gone, SettingsUnreadable, VersionNotFound
from skill_registry.store import keys
from skill_registry.store.base import IfMatch, list_all
from skill_registry.store.gate import Request
from skill_registry.store.keys import SkillId
from skill_registry.store.memory import MemorySkillStore
from skill_registry.web.settings import Settings

NOTES = SkillId("system", "notes")


@pytest.fixture
def house() -> House:
    return House(settings=Settings(keep_versions=2, keep_days=0))


def published(house: House, count: int) -> None:
    for number in range(1, count + 1):
        assert house.publish("notes", f"text {number}") == number


def kinds(house: House) -> list[Kind]:
    infos = [house.registry.log.info(NOTES, number) for number in range(1, 20)]
    return [info.kind for info in infos if info]


def label(house: House, name: str, number: int | None) -> None:
    house.registry.configurer.change(ADMIN, NOTES, Change(labels={name: number}))


def test_what_is_older_than_the_kept_ones_becomes_a_stub(house: House) -> None:
    published(house, 5)
    assert house.registry.pruner.prune(NOTES) == (1, 2, 3)
    assert kinds(house) == [Kind.PRUNED] * 3 + [Kind.CONTENT] * 2
    for number in (1, 2, 3):
        body = house.read(keys.revision(NOTES, number))
        assert body is not None and len(body) == 22, "a stub has no bytes of the skill"


def test_a_second_run_writes_nothing(house: House) -> None:
    published(house, 5)
    house.registry.pruner.prune(NOTES)
    house.counter.reset()
    assert house.environment().pruner.prune(NOTES) == ()
    assert house.counter.puts == 0


def test_a_revision_is_kept_until_it_is_old_enough() -> None:
    house = House(settings=Settings(keep_versions=1, keep_days=30))
    house.bucket = MemorySkillStore(clock=lambda: house.time)
    house.registry = house.environment()
    published(house, 2)
    house.time += 10 * 86400
    published_later = house.publish("notes", "later")
    assert published_later == 3
    house.time += 20 * 86400 - 1
    assert house.registry.pruner.prune(NOTES) == ()
    house.time += 1
    assert house.registry.pruner.prune(NOTES) == (1, 2)
    house.time += 100 * 86400
    assert house.registry.pruner.prune(NOTES) == (), "the head is never pruned"


def test_a_labelled_revision_keeps_its_bytes_and_can_be_read(house: House) -> None:
    published(house, 2)
    label(house, "stable", 1)
    published_more = [house.publish("notes", "more") for _ in range(3)]
    assert published_more[-1] == 5
    assert house.registry.pruner.prune(NOTES) == (2, 3)
    seen = house.registry.viewing.view(ADMIN, "notes", path="references/notes.md", pin="@stable")
    assert (seen.loaded.version, seen.text) == (1, "text 1")


def test_a_label_that_is_taken_away_protects_no_longer(house: House) -> None:
    published(house, 5)
    label(house, "stable", 1)
    house.registry.pruner.prune(NOTES)
    label(house, "stable", None)
    with pytest.raises(Gone):
        house.registry.viewing.view(ADMIN, "notes", pin=1)
    with pytest.raises(Gone):
        label(house, "stable", 1)
    assert house.registry.pruner.prune(NOTES) == (1,)


def test_a_pruned_pin_is_gone_also_where_its_bytes_are_remembered(house: House) -> None:
    published(house, 5)
    warm = house.environment()
    assert warm.viewing.view(ADMIN, "notes", pin=1).loaded.version == 1
    house.registry.pruner.prune(NOTES)
    for environment in (warm, house.environment()):
        with pytest.raises(Gone):
            environment.viewing.view(ADMIN, "notes", pin=1)
        assert environment.viewing.view(ADMIN, "notes", pin=4).loaded.version == 4
        with pytest.raises(VersionNotFound):
            environment.viewing.view(ADMIN, "notes", pin=6)


def test_the_floor_is_written_before_a_byte_goes(house: House) -> None:
    published(house, 5)
    house.counter.reset()
    house.registry.pruner.prune(NOTES)
    written = [request.key for request in house.counter.requests if request.op == "PUT"]
    assert written[0] == keys.settings(NOTES)
    assert written[1:] == [keys.revision(NOTES, number) for number in (1, 2, 3)]


def test_a_label_set_between_the_listing_and_the_floor_is_respected(house: House) -> None:
    published(house, 5)
    other = house.environment()
    done: list[int] = []

    def before(request: Request) -> bool:
        if request.op == "PUT" and request.key == keys.settings(NOTES) and not done:
            done.append(1)
            other.configurer.change(ADMIN, NOTES, Change(labels={"stable": 2}))
        return False

    house.faults.before_if = before
    assert house.registry.pruner.prune(NOTES) == (1, 3)
    assert house.registry.viewing.view(ADMIN, "notes", pin="@stable").loaded.version == 2


def test_a_stub_replaces_only_the_object_that_was_looked_at(house: House) -> None:
    published(house, 3)
    house.counter.reset()
    house.registry.pruner.prune(NOTES)
    stubs = [r for r in house.counter.requests if r.op == "PUT" and "/revisions/" in r.key]
    assert stubs and all(isinstance(request.condition, IfMatch) for request in stubs)


def test_an_upload_is_still_found_after_its_revision_was_pruned(house: House) -> None:
    upload = house.upload("notes", skill_zip("notes", "uploaded"))
    assert as_published(house.registry.uploader.complete(ADMIN, upload)).info.number == 1
    for number in (2, 3, 4):
        assert house.publish("notes", "more") == number
    assert house.registry.pruner.prune(NOTES) == (1, 2)
    assert as_published(house.environment().uploader.complete(ADMIN, upload)).info.number == 1
    assert house.publish("notes", "next") == 5


def test_a_deletion_is_left_as_it_is(house: House) -> None:
    published(house, 1)
    house.registry.publisher.delete(ADMIN, NOTES)
    for text in ("a", "b", "c"):
        house.publish("notes", text)
    assert house.registry.pruner.prune(NOTES) == (1, 3)
    assert kinds(house)[1] is Kind.TOMBSTONE


def test_numbers_go_on_after_pruning_and_the_log_stays_dense(house: House) -> None:
    published(house, 4)
    house.registry.pruner.prune(NOTES)
    assert house.publish("notes", "next") == 5
    numbers = [keys.revision_number(o.key) for o in list_all(house.bucket, keys.revisions(NOTES))]
    assert numbers == [1, 2, 3, 4, 5]


def test_labels_that_cannot_be_read_stop_the_pruning(house: House) -> None:
    published(house, 5)
    house.put(keys.settings(NOTES), b"{")
    with pytest.raises(SettingsUnreadable):
        house.registry.pruner.prune(NOTES)
    assert kinds(house) == [Kind.CONTENT] * 5


def test_a_floor_beyond_the_head_is_nobody_s_retention(house: House) -> None:
    published(house, 5)
    house.put(keys.settings(NOTES), b'{"prune_below": 99}')
    with pytest.raises(SettingsUnreadable):
        house.registry.pruner.prune(NOTES)
    assert kinds(house) == [Kind.CONTENT] * 5


def test_a_listing_tells_whether_pruning_is_due(house: House) -> None:
    published(house, 2)

    def is_due() -> bool:
        return house.registry.pruner.is_due(list_all(house.bucket, keys.revisions(NOTES)))

    assert not is_due()
    house.publish("notes", "third")
    assert is_due()
    house.registry.pruner.prune(NOTES)
    assert not is_due()


def test_the_floor_never_falls(house: House) -> None:
    published(house, 6)
    house.registry.pruner.prune(NOTES)
    generous = House(bucket=house.bucket, settings=Settings(keep_versions=5, keep_days=0))
    generous.registry.pruner.prune(NOTES)
    stored = read_overrides(house.read(keys.settings(NOTES)) or b"")
    assert stored is not None and stored.prune_below == 5


def test_a_head_named_by_a_lowered_sidecar_is_not_a_stub(house: House) -> None:
    published(house, 4)
    house.registry.pruner.prune(NOTES)
    house.put(keys.sidecar(NOTES), b"1\n")
    assert house.environment().viewing.view(ADMIN, "notes").loaded.version == 4
    done = house.registry.publisher.publish_inline(ADMIN, NOTES, skill("notes", "next"))
    assert done.info.number == 5
    assert house.version("notes") == b"5\n"
