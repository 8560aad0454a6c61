"""``POST /check``: what became of what was loaded, in one request per scope."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from house import ADMIN, House, person

from skill_registry.catalog.freshness import CheckedSkill, Freshness, Version
from skill_registry.catalog.principal import Principal, user_scope
from skill_registry.catalog.snapshot import Entry, State
from skill_registry.errors import Unavailable

OWN = user_scope("ann")
ANN = replace(person("ann", "blue"), agent="review")

CURRENT = CheckedSkill(Freshness.CURRENT, 3, "system")
REMOVED = CheckedSkill(Freshness.REMOVED)
DISABLED = CheckedSkill(Freshness.DISABLED)


def skill(name: str = "alpha", version: Version = 3, **more: object) -> Entry:
    revision = version if isinstance(version, int) else None
    return Entry(name, revision=revision, version=version, **more)  # type: ignore[arg-type]


@pytest.fixture
def house() -> House:
    return House()


def checked(
    house: House, version: Version = 3, principal: Principal = ANN, **more: object
) -> CheckedSkill:
    done = house.registry.checks.check(principal, {"alpha": version}, **more)  # type: ignore[arg-type]
    return done.skills["alpha"]


def test_the_version_that_a_view_would_give_is_current(house: House) -> None:
    house.put_catalog("system", skill())
    assert checked(house) == CURRENT


@pytest.mark.parametrize("loaded", [2, 4, "3", None])
def test_any_other_version_is_stale_and_the_one_of_now_is_named(
    house: House, loaded: Version
) -> None:
    house.put_catalog("system", skill())
    assert checked(house, loaded) == replace(CURRENT, state=Freshness.STALE)


@pytest.mark.parametrize("version", ["1.0", "3", None])
def test_the_tag_of_a_directory_is_compared_as_it_is(house: House, version: Version) -> None:
    house.put_catalog("system", skill(version=version))
    assert checked(house, version) == CheckedSkill(Freshness.CURRENT, version, "system")
    assert checked(house, 3).state is Freshness.STALE


GONE: dict[str, dict[str, Any]] = {
    "deleted": {"state": State.DELETED},
    "unreadable": {"state": State.INVALID},
    "masked": {"masked": True},
    "of another agent": {"agents": ("coding",)},
    "of a higher tier": {"min_tier": "ultra"},
    "of another agent, and disabled": {"agents": ("coding",), "enabled": False},
    "of a higher tier, and disabled": {"min_tier": "ultra", "enabled": False},
    "masked, and disabled": {"masked": True, "enabled": False},
    "deleted, and disabled": {"state": State.DELETED, "enabled": False},
    "unreadable, and disabled": {"state": State.INVALID, "enabled": False},
}


@pytest.mark.parametrize("why", GONE)
def test_what_no_view_would_give_is_removed(house: House, why: str) -> None:
    house.put_catalog("system", skill(**GONE[why]))
    assert checked(house) == REMOVED


def test_what_was_never_there_and_what_lies_in_a_foreign_scope_is_removed(house: House) -> None:
    house.put_catalog("team-red", skill())
    assert checked(house) == REMOVED
    assert checked(house, scopes=("team-red",)) == REMOVED
    house.put_catalog("system", skill())
    assert checked(house, scopes=("team-blue",)) == REMOVED
    for name in ("", "..", "../system/alpha", "%2e%2e", "x" * 10_000, "\x00"):
        assert house.registry.checks.check(ANN, {name: 1}).skills == {name: REMOVED}


def test_disabled_is_told_to_who_would_see_the_skill_otherwise(house: House) -> None:
    house.put_catalog("system", skill(enabled=False, agents=("review",)))
    assert checked(house) == DISABLED
    assert checked(house, principal=replace(ANN, agent="coding")) == REMOVED
    assert checked(house, principal=replace(ANN, agent=None)) == DISABLED
    assert checked(house, principal=ANN.narrowed(agent="coding", tier=None)) == REMOVED


def test_a_hidden_skill_is_there_since_it_loads_by_name(house: House) -> None:
    house.put_catalog("system", skill(hidden=True))
    assert checked(house) == CURRENT


def test_the_first_scope_that_has_it_answers_as_for_a_view(house: House) -> None:
    house.put_catalog(OWN, skill(version=1))
    house.put_catalog("system", skill())
    assert checked(house) == CheckedSkill(Freshness.STALE, 1, OWN)
    assert checked(house, scopes=("system", OWN)) == CURRENT
    house.put_catalog(OWN, skill(version=1, enabled=False), version=2)
    assert checked(house) == CURRENT


def test_a_sealed_name_is_that_of_system_or_none(house: House) -> None:
    house.put_catalog(OWN, skill())
    house.put_catalog("system", skill(sealed=True))
    assert checked(house) == CURRENT
    house.put_catalog("system", skill(sealed=True, enabled=False), version=2)
    assert checked(house) == DISABLED
    house.put_catalog("system", skill(sealed=True, state=State.DELETED), version=3)
    assert checked(house) == REMOVED


@pytest.mark.parametrize("count", [1, 1000])
def test_a_check_costs_one_get_per_scope_whatever_the_number_of_skills(
    house: House, count: int
) -> None:
    names = [f"skill-{n:04d}" for n in range(count)]
    for scope in ANN.reads:
        house.put_catalog(scope, *map(skill, names))
    checks = house.registry.checks
    for bodies in (3, 0):
        house.counter.reset()
        done = checks.check(ANN, dict.fromkeys(names, 3))
        assert [r.op for r in house.counter.requests] == ["GET"] * 3
        assert house.counter.bodies == bodies
        assert len(done.skills) == count
        assert set(done.versions) == set(ANN.reads)


def test_list_and_check_remember_the_same_catalogs(house: House) -> None:
    house.put_catalog("system", skill())
    house.registry.listing.page(ADMIN)
    house.counter.reset()
    house.registry.checks.check(ADMIN, {"alpha": 3})
    assert house.counter.bodies == 0


def test_without_the_store_the_last_catalog_answers_marked_with_its_age(house: House) -> None:
    house.put_catalog("system", skill())
    house.registry.checks.check(ADMIN, {"alpha": 3})
    house.faults.before_if = lambda _: True
    house.time += 42
    assert house.registry.checks.check(ADMIN, {"alpha": 3}).stale == 42
    house.time += 300
    with pytest.raises(Unavailable):
        house.registry.checks.check(ADMIN, {"alpha": 3})


def test_a_check_agrees_with_the_view_after_each_change(house: House) -> None:
    house.publish("alpha")
    view = house.registry.viewing.view(ADMIN, "alpha").loaded
    assert checked(house, view.version, ADMIN) == CheckedSkill(Freshness.CURRENT, 1, "system")
    house.publish("alpha", "two")
    assert checked(house, view.version, ADMIN) == CheckedSkill(Freshness.STALE, 2, "system")
    house.registry.publisher.delete(ADMIN, view.skill)
    assert checked(house, view.version, ADMIN) == REMOVED
