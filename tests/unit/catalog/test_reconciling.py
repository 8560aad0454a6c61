"""Reconcile in pieces: so much time, a place to go on, and pruning on the way."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import pytest
from damages import CATALOG, NOTES, PATH, furnished
from house import ADMIN, House, skill_zip

from skill_registry.catalog.reconciling import Reconciler
from skill_registry.store import keys
from skill_registry.store.keys import SkillId, UploadId
from skill_registry.store.memory import MemorySkillStore
from skill_registry.web.refresh import SCHEDULED_SECONDS, refresh
from skill_registry.web.settings import Settings

if TYPE_CHECKING:
    from skill_registry.store.gate import Request, Result

NAMES = [f"skill-{number:02d}" for number in range(12)]
SCOPES = ("system", "team-blue")


@pytest.fixture(params=[False, True], ids=["md5-etags", "opaque-etags"])
def house(request: pytest.FixtureRequest) -> House:
    return furnished(opaque_etags=request.param)


def neglected(house: House) -> None:
    """Publish skills whose catalog and tree never followed, in two scopes."""
    house.faults.before_if = lambda r: "catalog" in r.key
    for scope in SCOPES:
        for name in NAMES:
            house.publish(name, scope=scope)
    house.faults.clear()


def slow(house: House, seconds: float = 1) -> None:
    """Let every request take its time."""

    def tick(_request: Request, _result: Result) -> None:
        house.time += seconds

    house.faults.on_after = tick


def in_step(house: House) -> set[str]:
    registry = house.environment()
    return {
        f"{scope}/{each.entry.name}"
        for scope in SCOPES
        for each in registry.listing.page(ADMIN, scopes=(scope,)).skills
    }


def test_a_run_that_is_short_of_time_says_where_to_go_on(house: House) -> None:
    neglected(house)
    slow(house)
    places: list[str] = []
    repaired: list[str] = []
    start = None
    for _ in range(60):
        done = house.environment().reconciler.run(budget=20, start=start)
        repaired += done.repaired
        start = done.next
        if start is None:
            break
        places.append(start)
    house.faults.clear()
    assert start is None
    assert len(places) > 3
    assert places == sorted(set(places), key=lambda place: place.split("/"))
    assert in_step(house) >= {f"{scope}/{name}" for scope in SCOPES for name in NAMES}
    assert sorted(set(repaired)) == sorted(repaired)


def test_one_skill_is_always_worked_on_so_that_any_time_comes_to_an_end(house: House) -> None:
    neglected(house)
    start, runs = None, 0
    for _ in range(60):
        slow(house)
        done = house.environment().reconciler.run(budget=0, start=start)
        assert len(done.repaired) <= 1
        start, runs = done.next, runs + 1
        if start is None:
            break
    assert start is None
    assert runs >= len(NAMES)


def test_a_run_with_time_enough_has_no_place_to_go_on(house: House) -> None:
    neglected(house)
    done = house.environment().reconciler.run(budget=1)
    assert done.next is None
    assert in_step(house) >= {f"{scope}/{name}" for scope in SCOPES for name in NAMES}


def test_uploads_are_published_in_pieces_too(house: House) -> None:
    uploads = {house.upload(f"late-{number}", skill_zip(f"late-{number}")) for number in range(5)}
    slow(house)
    published: list[str] = []
    start = None
    for _ in range(60):
        done = house.environment().reconciler.run(budget=2, start=start)
        published += done.uploads
        start = done.next
        if start is None:
            break
    assert start is None
    assert sorted(published) == sorted(uploads)


def test_scheduled_runs_reach_every_skill_though_each_begins_anew(house: House) -> None:
    neglected(house)

    def in_vain(request: Request) -> bool:
        return request.op == "PUT" and "/skill-0" in request.key

    # What comes first fails each time, and takes a run's time in doing so.
    for name in NAMES:
        house.bucket.delete(keys.tree_file(SkillId("system", name), "SKILL.md"))
    reached: set[str] = set()
    for _ in range(40):
        house.faults.before_if = in_vain
        slow(house, 0.5)
        done = house.environment().reconciler.run(budget=10, anywhere=True)
        reached |= {*done.repaired, *done.failed}
        house.faults.clear()
        house.time += 3600
    # A catalog made anew brings its whole scope into step.
    everything = {f"{scope}/{name}" for scope in SCOPES for name in NAMES}
    assert reached | in_step(house) >= everything
    assert reached >= {f"system/{name}" for name in NAMES}


def test_the_schedule_stops_before_its_function_does(house: House) -> None:
    neglected(house)
    slow(house, 60)
    before = house.time
    answer = refresh(house.environment(), {"action": "reconcile"})
    assert answer["next"] is not None
    assert house.time - before > SCHEDULED_SECONDS
    house.faults.clear()
    answer = refresh(house.environment(), {"action": "reconcile"})
    assert answer["next"] is None


def test_a_drift_is_told_and_left_by_every_run(house: House) -> None:
    house.put(PATH, b"by hand")
    for _ in range(2):
        house.counter.reset()
        assert "system/notes" in house.environment().reconciler.run().drift
        assert house.counter.count("PUT", "DELETE") == 0
    assert house.read(PATH) == b"by hand"


def test_a_run_prunes_where_its_listings_show_something_to_prune() -> None:
    settings = Settings(keep_versions=2, keep_days=0)
    house = House(settings=settings)
    house.bucket = MemorySkillStore(clock=lambda: house.time)
    house.registry = house.environment()
    for text in "abcdef":
        house.publish("notes", text)
        house.time += 60
    house.publish("other")
    house.time += 86400
    done = house.environment().reconciler.run()
    assert dict(done.pruned) == {"system/notes": (1, 2, 3, 4)}
    assert asdict(done)["pruned"] == {"system/notes": (1, 2, 3, 4)}
    assert house.environment().examiner.examine_all().findings == ()
    house.counter.reset()
    again = house.environment().reconciler.run()
    assert (dict(again.pruned), again.repaired) == ({}, ())
    assert house.counter.count("PUT", "DELETE") == 0


def test_without_a_pruner_nothing_is_pruned(house: House) -> None:
    registry = house.registry
    reconciler = Reconciler(registry.store, registry.runtime, registry.uploader, registry.refresher)
    assert reconciler.run().pruned == {}


def test_settings_that_cannot_be_read_keep_their_skill_from_being_pruned() -> None:
    house = House(settings=replace(Settings(), keep_versions=1, keep_days=0))
    house.bucket = MemorySkillStore(clock=lambda: house.time)
    house.registry = house.environment()
    for name in ("notes", "other"):
        for text in "ab":
            house.publish(name, text)
    house.put(keys.settings(NOTES), b"on!")
    house.time += 86400
    done = house.environment().reconciler.run()
    assert (done.failed, dict(done.pruned)) == (("system/notes",), {"system/other": (1,)})
    assert (house.read(keys.revision(NOTES, 1)) or b"") != b""


def test_a_missing_catalog_is_back_after_one_run_and_the_next_writes_nothing(house: House) -> None:
    house.bucket.delete(CATALOG)
    house.environment().reconciler.run()
    assert house.listed(registry=house.environment()) == {"notes": 3, "other": 1, "plain": None}
    house.counter.reset()
    house.environment().reconciler.run()
    assert house.counter.count("PUT", "DELETE") == 0


def test_names_whose_keys_interleave_are_kept_apart(house: House) -> None:
    for name in ("a", "a-b", "a-b-c", "ab"):
        house.publish(name)
        house.put(keys.settings(SkillId("system", name)), b"{}")
        house.deliver(keys.settings(SkillId("system", name)))
    house.counter.reset()
    done = house.environment().reconciler.run()
    assert done.failed == ()
    assert house.counter.count("PUT", "DELETE") == 0


def test_taking_over_what_is_in_step_writes_nothing(house: House) -> None:
    upload = house.upload("notes", skill_zip("notes", "d"))
    key = keys.upload(UploadId(ADMIN.hash, upload))
    assert house.deliver(key) == set()
    house.counter.reset()
    assert house.deliver(key) == set()
    written = {r.key for r in house.counter.requests if r.op in ("PUT", "DELETE")}
    assert written == {keys.outcome(UploadId(ADMIN.hash, upload))}
