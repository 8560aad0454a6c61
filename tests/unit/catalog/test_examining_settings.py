"""The doctor and settings.json: what it replaces, what it leaves, and what follows from neither."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from damages import NOTES, furnished, rewrite_catalog
from house import ADMIN, House, skill

from skill_registry.catalog.configuring import Change
from skill_registry.catalog.overrides import NO_OVERRIDES, read_overrides, write_overrides
from skill_registry.errors import SettingsUnreadable
from skill_registry.store import keys
from skill_registry.store.memory import MemorySkillStore
from skill_registry.web.settings import Settings

if TYPE_CHECKING:
    from skill_registry.catalog.findings import Finding
    from skill_registry.store.gate import Request

SETTINGS = keys.settings(NOTES)


@pytest.fixture(params=[False, True], ids=["md5-etags", "opaque-etags"])
def house(request: pytest.FixtureRequest) -> House:
    return furnished(opaque_etags=request.param)


def examine(house: House) -> list[Finding]:
    return house.environment().examiner.examine(NOTES)


@pytest.mark.parametrize("body", [b"on!", b"", b"[]", b"\xff", b'{"enabled": "no"}', b"[" * 9999])
def test_unreadable_settings_become_closed_ones_that_can_be_changed(
    house: House, body: bytes
) -> None:
    house.put(SETTINGS, body)
    house.deliver(SETTINGS)
    (found,) = examine(house)
    assert (found.code, found.fixable) == ("settings_broken", True)
    assert "the skill stays disabled, and loses its labels" in found.detail
    assert house.environment().examiner.repair(NOTES, who="ann") == []
    stored = json.loads(house.read(SETTINGS) or b"")
    assert (stored["enabled"], stored["changes"][0]["who"]) == (False, "ann")
    assert "could not be read" in stored["changes"][0]["why"]
    assert "notes" not in house.listed(registry=house.environment())
    house.registry.configurer.change(ADMIN, NOTES, Change(enabled=True))
    assert house.listed(registry=house.environment())["notes"] == 3


@pytest.mark.parametrize("body", [b'{"schema": 2}', b'{"schema": 99, "enabled": "later"}'])
def test_settings_of_later_code_are_left_to_it(house: House, body: bytes) -> None:
    house.put(SETTINGS, body)
    (found,) = (each for each in examine(house) if each.code == "settings_broken")
    assert not found.fixable
    house.environment().examiner.repair(NOTES)
    assert not house.registry.settings_files.replace_unreadable(NOTES, "ann")
    assert house.read(SETTINGS) == body


def test_settings_that_were_mended_meanwhile_are_not_replaced(house: House) -> None:
    house.put(SETTINGS, b"on!")
    mended = b'{"labels": {"stable": 1}}'

    def mend(request: Request) -> bool:
        if request.op == "PUT" and request.key == SETTINGS:
            house.put(SETTINGS, mended)
        return False

    house.faults.before_if = mend
    assert house.environment().examiner.repair(NOTES) == []
    assert house.read(SETTINGS) == mended


def test_nobody_misses_the_bytes_that_were_pruned_under_the_settings_before() -> None:
    house = House(settings=Settings(keep_versions=1, keep_days=0))
    for text in "abc":
        house.publish("notes", text)
    house.registry.reconciler.run()
    house.put(SETTINGS, b"on!")
    house.environment().examiner.repair(NOTES)
    assert examine(house) == []
    stored = read_overrides(house.read(SETTINGS) or b"")
    assert stored is not None and stored.purged == (1, 2)


def test_a_floor_beyond_the_head_is_named_and_nothing_follows_from_it(house: House) -> None:
    house.put(SETTINGS, b'{"prune_below": 4}')
    house.deliver(SETTINGS)
    (found,) = examine(house)
    assert (found.code, found.fixable) == ("settings_broken", False)
    assert "It prunes below 4, should be at most 3" in found.detail
    before = house.state()
    assert house.environment().examiner.repair(NOTES) == [found]
    with pytest.raises(SettingsUnreadable):
        house.registry.pruner.prune(NOTES)
    assert house.state() == before
    assert house.publish("notes", "d") == 4
    assert "settings_broken" not in {each.code for each in examine(house)}


def test_what_the_next_reconcile_prunes_is_no_finding() -> None:
    house = House(settings=Settings(keep_versions=2, keep_days=0))
    house.bucket = MemorySkillStore(clock=lambda: house.time)
    house.registry = house.environment()
    for text in "abcde":
        house.publish("notes", text)
    change = house.registry.configurer.change
    change(ADMIN, NOTES, Change(labels={"stable": 1}))
    house.registry.reconciler.run()
    change(ADMIN, NOTES, Change(labels={"stable": None}))
    assert examine(house) == []
    # Whoever keeps more from now on never comes to what the floor let go before.
    generous = House(bucket=house.bucket, settings=Settings(keep_versions=9))
    (found,) = generous.environment().examiner.examine(NOTES)
    assert (found.code, found.fixable) == ("revision_unpruned", True)
    house.registry.reconciler.run()
    assert generous.environment().examiner.examine(NOTES) == []


def test_an_unfinished_purge_is_a_finding_at_once(house: House) -> None:
    house.put(SETTINGS, write_overrides(replace(NO_OVERRIDES, purged=(1,))))
    house.deliver(SETTINGS)
    (found,) = examine(house)
    assert found.detail == "Version 1 has bytes, should have none: its purge is unfinished."


def test_a_stale_entry_is_told_without_the_words_of_a_programming_language(house: House) -> None:
    def lie(raw: dict[str, dict[str, dict[str, object]]]) -> None:
        del raw["skills"]["plain"]
        raw["skills"]["notes"] = {"state": "invalid", "enabled": False, "agents": ["ops"]}

    rewrite_catalog(house, lie)
    done = house.environment().examiner.examine_all()
    told = " ".join(each.detail for each in done.findings)
    assert 'state is "invalid", should be "live"' in told
    assert "enabled is false, should be true" in told
    assert 'agents is ["ops"], should be nothing' in told
    assert "There is no entry, should be one." in told
    for word in ("None", "<", "True", "False", "()"):
        assert word not in told


@pytest.mark.parametrize(
    "change",
    [
        {"skills": None},
        {"skills": {"notes": None}},
        {"skills": {"notes": {"state": "odd"}}},
        {"skills": {"notes": {"agents": 3}}},
        {"scope": None},
    ],
    ids=str,
)
def test_why_a_catalog_is_broken_is_said_in_words(house: House, change: dict[str, object]) -> None:
    rewrite_catalog(house, lambda raw: raw.update(change))
    (found,) = house.environment().examiner.scope("system")
    assert found.code == "catalog_broken"
    for word in ("None", "object has no", "not a valid", "'"):
        assert word not in found.detail


def test_a_damaged_version_is_never_proposed_for_a_rollback(house: House) -> None:
    house.put(keys.revision(NOTES, 3), b"not a zip")
    house.put(SETTINGS, b'{"purged": [2]}')
    (found,) = (each for each in examine(house) if each.code == "revision_damaged")
    assert found.hint == "Nobody can load the skill: publish it again, or roll back to 1."
    house.registry.publisher.publish_inline(ADMIN, NOTES, skill("notes", "d"))
    (found,) = (each for each in examine(house) if each.code == "revision_damaged")
    assert "not the current version" in (found.hint or "")
