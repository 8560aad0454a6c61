"""The doctor and the whole bucket: strays, failures of one skill, the time of one call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from damages import (
    NOTES,
    OTHER,
    PATH,
    furnished,
)
from house import ADMIN, House, skill_zip

from skill_registry.catalog.access import Access, write_access
from skill_registry.errors import Unavailable
from skill_registry.store import keys
from skill_registry.store.gate import Request, Result
from skill_registry.store.keys import SkillId

if TYPE_CHECKING:
    from skill_registry.catalog.findings import Finding


@pytest.fixture(params=[False, True], ids=["md5-etags", "opaque-etags"])
def house(request: pytest.FixtureRequest) -> House:
    return furnished(opaque_etags=request.param)


def test_objects_that_belong_to_no_skill_are_named_with_their_keys(house: House) -> None:
    strays = (
        "skills/readme.md",
        "skills/somebody/notes/SKILL.md",
        "skills/system/readme.md",
        "registry/system/notes/other.json",
        "registry/notes.txt",
        "junk.txt",
        "logs/today.txt",
        "uploads/x",
        "uploads/someone/thing.zip",
    )
    for key in strays:
        house.bucket.put(key, b"x")
    house.bucket.put("skills/system/marker/", b"")
    house.bucket.put(keys.access(), write_access(Access()))
    done = house.environment().examiner.examine_all()
    assert {f.code for f in done.findings} == {"stray_object"}
    assert {f.key for f in done.findings} == {
        "skills/readme.md",
        "skills/somebody/",
        "skills/system/readme.md",
        "registry/system/notes/other.json",
        "registry/notes.txt",
        "junk.txt",
        "logs/",
        "uploads/x",
        "uploads/someone/thing.zip",
    }


def test_uploads_and_what_became_of_them_are_no_strays(house: House) -> None:
    house.registry.uploader.complete(ADMIN, house.upload("late", skill_zip("late")))
    house.upload("later", skill_zip("later"))
    assert sum(key.startswith("uploads/") for key in house.state()) == 3
    assert house.environment().examiner.examine_all().findings == ()


@pytest.mark.parametrize("body", [b"", b"{}", b'{"schema": 2, "grants": [], "changes": []}'])
def test_grants_that_cannot_be_read_are_told_and_left_as_they_are(
    house: House, body: bytes
) -> None:
    house.bucket.put(keys.access(), body)
    (found,) = house.environment().examiner.examine_all(fix=True).findings
    assert (found.code, found.key, found.fixable) == ("access_broken", keys.access(), False)
    assert found.hint
    assert house.read(keys.access()) == body
    assert house.environment().examiner.examine_all(scope="system").findings == ()


def test_grants_concern_no_skill(house: House) -> None:
    house.bucket.put(keys.access(), write_access(Access()))
    before = house.state()
    assert house.deliver(keys.access()) == set()
    done = house.registry.reconciler.run()
    assert (done.repaired, done.failed, done.drift) == ((), (), ())
    assert house.environment().examiner.examine_all().findings == ()
    assert house.state() == before


def test_a_thousand_strays_make_a_short_answer(house: House) -> None:
    for number in range(130):
        house.bucket.put(f"skills/system/{number}.txt", b"x")
    found = house.environment().examiner.scope("system")
    assert len(found) == 101
    assert "There are 30 more." in found[-1].detail


def test_one_skill_that_cannot_be_examined_stops_no_other(house: House) -> None:
    house.put(keys.sidecar(OTHER), b"9\n")
    house.faults.before_if = lambda r: r.key == keys.sidecar(NOTES)
    done = house.environment().examiner.examine_all()
    assert {(f.code, str(f.skill)) for f in done.findings} == {
        ("examine_failed", "system/notes"),
        ("sidecar_past_log", "system/other"),
    }


def test_a_repair_that_fails_says_so_and_goes_on_the_next_time(house: House) -> None:
    house.put(keys.sidecar(NOTES), b"9\n")
    house.put(PATH, b"by hand")
    house.faults.before_if = lambda r: r.op == "PUT" and r.key == PATH
    left = house.environment().examiner.repair(NOTES)
    assert "repair_failed" in {finding.code for finding in left}
    house.faults.clear()
    assert house.environment().examiner.repair(NOTES) == []


def test_a_store_that_does_not_answer_is_an_outage(house: House) -> None:
    house.faults.before_if = lambda _: True
    with pytest.raises(Unavailable):
        house.environment().examiner.examine_all()


def test_the_examination_goes_on_where_its_time_was_over(house: House) -> None:
    house.put(keys.sidecar(NOTES), b"9\n")
    house.publish("late", scope="team-blue")
    house.put(keys.sidecar(SkillId("team-blue", "late")), b"9\n")

    def tick(_request: Request, _result: Result) -> None:
        house.time += 1

    house.faults.on_after = tick
    places: list[str] = []
    found: list[Finding] = []
    examined = 0
    start = None
    for _ in range(20):
        done = house.environment().examiner.examine_all(start=start, budget=3)
        examined += done.examined
        found += done.findings
        start = done.next
        if start is None:
            break
        places.append(start)
    assert start is None
    assert places == sorted(set(places))
    assert examined == 4
    assert [str(f.skill) for f in found] == ["system/notes", "team-blue/late"]
