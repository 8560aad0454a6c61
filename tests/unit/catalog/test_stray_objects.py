"""Objects that other hands left in the bucket: named or passed over, never spread, never fatal."""

from __future__ import annotations

import pytest
from house import ADMIN, House, skill_files, skill_md, skill_zip

from skill_registry.errors import SkillNotFound, Unavailable
from skill_registry.spec.archive import read_archive
from skill_registry.store import keys
from skill_registry.store.gate import Request, Result
from skill_registry.store.keys import SkillId

PLAIN = SkillId("system", "plain")
STRAY = ["skills/system//SKILL.md", "skills/system/../SKILL.md", "skills/system/./SKILL.md"]


@pytest.fixture
def house() -> House:
    return House()


@pytest.mark.parametrize("key", STRAY)
def test_a_folder_that_no_skill_can_have_costs_nothing(house: House, key: str) -> None:
    house.publish("notes", "a")
    house.put(key, skill_md("notes"))
    house.bucket.delete(keys.catalog("system"))
    assert house.deliver(key) == set()
    assert house.publish("notes", "b") == 2
    assert house.registry.reconciler.run().failed == ()
    assert house.listed(registry=house.environment()) == {"notes": 2}
    for name in ("", "..", "."):
        with pytest.raises(SkillNotFound):
            house.registry.viewing.view(ADMIN, name)


def test_a_path_that_would_leave_a_directory_is_left_out_and_named(house: House) -> None:
    for file in skill_files("plain"):
        house.put(keys.tree_file(PLAIN, file.path), file.data)
    for path in ("a/../../b", "x//y", "back\\slash", "sub/.version"):
        house.bucket.put(keys.tree(PLAIN) + path, b"evil")
    house.deliver(keys.tree_file(PLAIN, "SKILL.md"))
    seen = house.registry.viewing.view(ADMIN, "plain")
    assert set(seen.loaded.files) == {"SKILL.md", "references/notes.md"}
    codes = {"path_traversal", "path_segment", "path_backslash", "file_ignored"}
    assert {d.code for d in seen.loaded.diagnostics} == codes
    assert {d.code for d in house.registry.listing.page(ADMIN).diagnostics} == codes
    bundle = house.registry.viewing.bundle(ADMIN, "plain")
    stored = house.read(keys.snapshot(PLAIN, bundle.sha256)) or b""
    assert {f.path for f in read_archive(stored).files} == set(seen.loaded.files)


def test_a_lost_catalog_is_never_an_empty_listing(house: House) -> None:
    house.publish("notes")
    warm, cold = house.registry, house.environment()
    assert house.listed(registry=warm) == {"notes": 1}
    house.bucket.delete(keys.catalog("system"))
    house.time += 7
    page = warm.listing.page(ADMIN)
    assert ([x.entry.name for x in page.skills], page.stale) == (["notes"], 7)
    with pytest.raises(Unavailable) as caught:
        cold.listing.page(ADMIN)
    assert caught.value.retry_after == 5
    house.deliver(keys.catalog("system"))
    assert house.listed(registry=cold) == {"notes": 1}


def test_a_broken_catalog_is_never_an_empty_listing(house: House) -> None:
    house.publish("notes")
    house.put(keys.catalog("system"), b"garbage")
    with pytest.raises(Unavailable):
        house.environment().listing.page(ADMIN)


def test_a_scope_without_anything_is_empty_and_asked_for_records_once(house: House) -> None:
    reader = house.environment()
    house.counter.reset()
    assert house.listed(registry=reader) == {}
    assert [r.op for r in house.counter.requests] == ["GET", "LIST"]
    house.counter.reset()
    assert house.listed(registry=reader) == {}
    assert [r.op for r in house.counter.requests] == ["GET"]


def test_a_crash_behind_the_commit_does_not_fail_the_publish(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    def crash(request: Request, _: Result) -> None:
        if "catalog" in request.key and house.version("notes"):
            raise ZeroDivisionError("a defect of ours")

    house.faults.on_after = crash
    assert house.publish("notes") == 1
    assert "follow_crashed" in caplog.text
    house.faults.clear()
    house.deliver(keys.sidecar(SkillId("system", "notes")))
    assert house.listed(registry=house.environment()) == {"notes": 1}


def test_a_scope_that_cannot_be_reconciled_costs_no_other(house: House) -> None:
    def crash(request: Request, _: Result) -> None:
        if request.key == keys.catalog("system") and house.version("late"):
            raise ZeroDivisionError("a defect of ours")

    upload = house.upload("late", skill_zip("late"))
    house.publish("notes", scope="team-blue")
    house.bucket.delete(keys.catalog("team-blue"))
    house.faults.on_after = crash
    done = house.registry.reconciler.run()
    assert (done.uploads, done.failed) == ((upload,), ("system",))
    assert "team-blue/notes" in done.repaired
