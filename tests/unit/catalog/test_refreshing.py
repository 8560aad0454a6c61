"""Events and reconcile: hints that may come twice, late, in any order, or never."""

from __future__ import annotations

import random

import pytest
from house import ADMIN, House, event_body, person, skill_files, skill_zip

from skill_registry.catalog.configuring import Change
from skill_registry.spec.layout import ArchiveContents
from skill_registry.store import keys
from skill_registry.store.gate import Request, Result
from skill_registry.store.keys import SkillId, UploadId
from skill_registry.store.memory import MemorySkillStore

NOTES = SkillId("system", "notes")
BOB = person("bob")
OWN = str(BOB.own_scope)
PATH = keys.tree_file(NOTES, "references/notes.md")


@pytest.fixture(params=[False, True], ids=["md5-etags", "opaque-etags"])
def house(request: pytest.FixtureRequest) -> House:
    return House(bucket=MemorySkillStore(opaque_etags=request.param))


def messy(house: House) -> list[str]:
    """Publish, upload, sync and delete, while catalog and tree never follow; return the keys."""
    seen = set(house.state())
    house.faults.before_if = lambda r: "catalog" in r.key
    house.publish("notes", "a")
    house.publish("notes", "b")
    house.publish("other")
    house.registry.publisher.delete(ADMIN, SkillId("system", "other"))
    house.upload("late", skill_zip("late"))
    house.faults.clear()
    for file in skill_files("plain"):
        house.put(keys.tree_file(SkillId("system", "plain"), file.path), file.data)
    return sorted(set(house.state()) - seen)


def settled(house: House) -> dict[str, bytes]:
    """The bucket's state without what records that something happened, not what."""
    return {
        key: body
        for key, body in house.state().items()
        if not key.startswith("uploads/") and not key.endswith("catalog.json.gz")
    }


EXPECTED = {"late": 1, "notes": 2, "plain": None}


def test_events_bring_log_tree_and_catalog_together(house: House) -> None:
    assert house.deliver(*messy(house)) == set()
    assert house.listed() == EXPECTED
    assert house.tree("notes")["references/notes.md"] == b"b"
    assert house.tree("other") == {}


def test_any_order_and_duplication_of_events_ends_the_same() -> None:
    ends = []
    for seed in range(12):
        house = House()
        events = messy(house) * 2
        random.Random(seed).shuffle(events)
        for start in range(0, len(events), 5):
            assert house.deliver(*events[start : start + 5]) == set()
        assert house.listed() == EXPECTED
        ends.append(settled(house))
    assert all(end == ends[0] for end in ends)


def test_a_second_delivery_writes_nothing(house: House) -> None:
    events = messy(house)
    house.deliver(*events)
    house.counter.reset()
    skills = [key for key in events if not key.startswith("uploads/")]
    assert house.deliver(*skills) == set()
    assert house.counter.count("PUT", "DELETE") == 0


def test_when_every_event_was_lost_one_reconcile_repairs_all(house: House) -> None:
    messy(house)
    done = house.registry.reconciler.run()
    assert house.listed() == EXPECTED
    assert house.tree("notes")["references/notes.md"] == b"b"
    assert len(done.uploads) == 1
    assert done.failed == ()


def test_a_second_reconcile_writes_nothing(house: House) -> None:
    messy(house)
    house.registry.reconciler.run()
    house.counter.reset()
    done = house.registry.reconciler.run()
    assert house.counter.count("PUT", "DELETE") == 0
    assert done.uploads == ()


def test_a_reconcile_with_nothing_to_do_only_lists_and_reads_catalogs() -> None:
    house = House()
    for number in range(5):
        house.publish(f"skill-{number}")
    house.counter.reset()
    assert house.registry.reconciler.run().repaired == ()
    assert house.counter.gets == 1
    assert house.counter.lists == 5


def test_a_committed_revision_that_is_not_visible_is_rolled_forward(house: House) -> None:
    house.publish("notes", "a")
    house.faults.before_if = lambda r: r.op == "PUT" and r.key.endswith(".version")
    with pytest.raises(Exception, match="Too many writers"):
        house.publish("notes", "b")
    house.faults.clear()
    assert house.version("notes") == b"1\n"
    house.deliver(keys.revision(NOTES, 2))
    assert house.version("notes") == b"2\n"
    assert house.listed() == {"notes": 2}


@pytest.mark.parametrize("sidecar", [b"garbage", b"99\n", b"1\n", None])
def test_a_wrong_sidecar_is_healed_to_the_log(house: House, sidecar: bytes | None) -> None:
    for text in ("a", "b", "c"):
        house.publish("notes", text)
    if sidecar is None:
        house.bucket.delete(keys.sidecar(NOTES))
    else:
        house.put(keys.sidecar(NOTES), sidecar)
    house.deliver(keys.sidecar(NOTES))
    assert house.version("notes") == b"3\n"
    assert house.publish("notes", "d") == 4


def test_an_edit_by_hand_stays_until_the_next_publish(house: House) -> None:
    house.publish("notes", "a")
    house.put(PATH, b"edited by hand")
    house.deliver(PATH)
    assert house.read(PATH) == b"edited by hand"
    assert house.registry.viewing.view(ADMIN, "notes", path="references/notes.md").text == "a"
    house.publish("notes", "b")
    assert house.read(PATH) == b"b"


def test_a_removed_tree_object_is_projected_again(house: House) -> None:
    house.publish("notes", "a")
    house.bucket.delete(PATH)
    house.deliver(PATH)
    assert house.read(PATH) == b"a"


def test_the_executable_bit_reaches_the_tree_and_leaves_it_again(house: House) -> None:
    from dataclasses import replace

    plain = skill_files("notes")
    for executable, mode in ((False, "0644"), (True, "0755"), (False, "0644")):
        files = (plain[0], replace(plain[1], executable=executable))
        house.registry.publisher.publish_inline(ADMIN, NOTES, ArchiveContents(files))
        info = house.bucket.head(PATH)
        assert info is not None
        assert info.metadata["mode"] == mode


def test_keys_are_form_decoded_once(house: House) -> None:
    skill = SkillId("system", "plain")
    key = keys.tree_file(skill, "references/a b+c %2B ü.md")
    house.put(key, b"x")
    house.put(keys.tree_file(skill, "SKILL.md"), skill_files("plain")[0].data)
    assert house.deliver(key) == set()
    assert house.listed() == {"plain": None}
    seen = house.registry.viewing.view(ADMIN, "plain", path="references/a b+c %2B ü.md")
    assert seen.text == "x"


def test_a_test_event_and_foreign_keys_are_done_with_at_once(house: House) -> None:
    messages = {
        "test": '{"Service":"Amazon S3","Event":"s3:TestEvent"}',
        "foreign": event_body("logs/x", "skills/readme.md", "skills/nope/x/SKILL.md"),
        "own": event_body("registry/system/notes/snapshots/ab.zip", "uploads/x.json"),
    }
    house.counter.reset()
    assert house.registry.events.handle(messages) == set()
    assert house.counter.count() == 0


@pytest.mark.parametrize("body", ["", "nonsense", "[]", '{"Records":[{}]}', '{"Records":[1]}'])
def test_a_message_that_is_no_notification_fails_alone(house: House, body: str) -> None:
    house.publish("notes")
    messages = {"bad": body, "good": event_body(keys.sidecar(NOTES))}
    assert house.registry.events.handle(messages) == {"bad"}


def test_a_batch_fails_only_the_messages_of_what_failed(house: House) -> None:
    house.publish("notes")
    house.publish("other")
    house.faults.before_if = lambda r: "/other/" in r.key
    failed = house.deliver(keys.sidecar(NOTES), keys.sidecar(SkillId("system", "other")))
    assert "1" in failed


def test_a_refused_upload_is_not_delivered_again(house: House) -> None:
    upload = house.upload("notes", b"not a zip")
    key = keys.upload(UploadId(ADMIN.hash, upload))
    assert house.deliver(key) == set()
    assert house.registry.uploader.outcome(ADMIN, upload)["state"] == "rejected"


def test_a_batch_writes_each_catalog_once(house: House) -> None:
    house.publish("before")
    uploads = [house.upload(f"skill-{n}", skill_zip(f"skill-{n}")) for n in range(8)]
    house.counter.reset()
    house.deliver(*(keys.upload(UploadId(ADMIN.hash, upload)) for upload in uploads))
    writes = [r for r in house.counter.requests if r.op == "PUT" and "catalog" in r.key]
    assert len(writes) == 1
    assert len(house.listed()) == 9


def test_a_scope_has_its_catalog_before_its_first_record(house: House) -> None:
    house.publish("first", scope="team-new")
    house.registry.configurer.change(BOB, SkillId(OWN, "unwanted"), Change(hidden=True))
    for scope in ("team-new", OWN):
        prefix = keys.scope_records(scope)
        written = [r.key for r in house.counter.requests if r.op == "PUT" and prefix in r.key]
        assert written[0] == keys.catalog(scope) and len(written) >= 3


def test_a_catalog_that_is_lost_is_not_taken_for_one_that_never_was(house: House) -> None:
    house.publish("first")
    house.bucket.delete(keys.catalog("system"))
    house.publish("second")
    assert set(house.listed()) == {"first", "second"}


def test_a_scope_that_begins_while_it_is_listed_is_not_taken_for_lost(house: House) -> None:
    """Its catalog and its first record come between the listing's two looks."""
    reader = house.environment()

    def begin(request: Request, _: Result) -> None:
        if request == Request("GET", keys.catalog("system")):
            house.faults.clear()
            house.publish("first")

    house.faults.on_after = begin
    assert house.listed(registry=reader) == {"first": 1}
