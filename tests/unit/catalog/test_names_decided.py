"""What is decided about a name: hidden by its reader, sealed by an administrator."""

from __future__ import annotations

import pytest
from house import ADMIN, House, person

from skill_registry.catalog.configuring import Change
from skill_registry.catalog.principal import SYSTEM, Principal
from skill_registry.catalog.snapshot import State, decode
from skill_registry.errors import Forbidden, RequestInvalid, SkillNotFound
from skill_registry.store import keys
from skill_registry.store.keys import SkillId

ANN = person("ann", "red")
BEN = person("ben", "red")
OWN = str(ANN.default_scope)


@pytest.fixture
def house() -> House:
    house = House()
    house.publish("notes", "of all")
    return house


def hide(house: House, *, hidden: bool = True) -> None:
    house.registry.configurer.change(ANN, SkillId(OWN, "notes"), Change(hidden=hidden))


def seal(house: House, name: str = "notes", *, sealed: bool = True) -> None:
    house.registry.configurer.change(ADMIN, SkillId(SYSTEM, name), Change(sealed=sealed))


def seen_from(house: House, principal: Principal, *scopes: str) -> str | None:
    """Return the scope that the skill comes from; view and listing have to agree."""
    try:
        view = house.registry.viewing.view(principal, "notes", scopes=scopes)
        scope: str | None = view.loaded.skill.scope
    except SkillNotFound:
        scope = None
    page = house.registry.listing.page(principal, scopes=scopes)
    assert [e.scope for e in page.skills if e.entry.name == "notes"] == ([scope] if scope else [])
    return scope


def test_what_a_reader_hides_is_gone_for_it_alone(house: House) -> None:
    hide(house)
    assert seen_from(house, ANN) is None
    assert seen_from(house, BEN) == SYSTEM
    hide(house, hidden=False)
    assert seen_from(house, ANN) == SYSTEM


def test_what_is_hidden_is_still_there_in_a_scope_that_is_asked_for(house: House) -> None:
    hide(house)
    assert seen_from(house, ANN, SYSTEM) == SYSTEM


def test_hiding_survives_publishes_of_the_skill_and_a_rebuild(house: House) -> None:
    hide(house)
    house.publish("notes", "again")
    house.registry.refresher.rebuild(OWN)
    assert seen_from(house, ANN) is None


def test_nobody_hides_for_somebody_else(house: House) -> None:
    for scope in (SYSTEM, "team-red", str(BEN.default_scope)):
        with pytest.raises(RequestInvalid) as error:
            house.registry.configurer.change(ANN, SkillId(scope, "notes"), Change(hidden=True))
        assert error.value.code == "change_invalid"


def test_hiding_an_unknown_name_tells_nothing_and_waits_for_it(house: House) -> None:
    house.registry.configurer.change(ANN, SkillId(OWN, "later"), Change(hidden=True))
    house.publish("later")
    assert [each.entry.name for each in house.registry.listing.page(ANN).skills] == ["notes"]


def test_a_sealed_name_comes_from_system_before_every_other_scope(house: House) -> None:
    house.publish("notes", "of ann", scope=OWN)
    assert seen_from(house, ANN) == OWN
    seal(house)
    assert seen_from(house, ANN) == SYSTEM
    assert seen_from(house, ANN, OWN) == OWN, "asked for by its scope, it shadows nothing"
    seal(house, sealed=False)
    assert seen_from(house, ANN) == OWN


@pytest.mark.parametrize("state", ["disabled", "deleted", "never there"])
def test_a_sealed_name_comes_from_nowhere_else_whatever_its_state(house: House, state: str) -> None:
    house.publish("notes", "of ann", scope=OWN)
    skill = SkillId(SYSTEM, "notes")
    if state == "never there":
        house.publish("other", scope=OWN)
        seal(house, "other")
        assert "other" not in {e.entry.name for e in house.registry.listing.page(ANN).skills}
        with pytest.raises(SkillNotFound):
            house.registry.viewing.view(ANN, "other")
        return
    seal(house)
    if state == "disabled":
        house.registry.configurer.change(ADMIN, skill, Change(enabled=False))
    else:
        house.registry.publisher.delete(ADMIN, skill)
    assert seen_from(house, ANN) is None


def test_only_administrators_seal_and_only_in_system(house: House) -> None:
    with pytest.raises(Forbidden):
        house.registry.configurer.change(ANN, SkillId("team-red", "notes"), Change(sealed=True))
    with pytest.raises(RequestInvalid) as error:
        house.registry.configurer.change(ADMIN, SkillId("team-red", "notes"), Change(sealed=True))
    assert error.value.code == "change_invalid"


def test_both_are_noted_among_the_last_changes(house: House) -> None:
    change = Change(sealed=True, reason="The one way to do it")
    overrides = house.registry.configurer.change(ADMIN, SkillId(SYSTEM, "notes"), change)
    assert overrides.changes[-1]["what"] == {"sealed": True}
    assert overrides.changes[-1]["why"] == "The one way to do it"


def test_code_that_knows_nothing_of_hiding_lists_nothing_in_its_place(house: House) -> None:
    hide(house)
    catalog = decode(OWN, house.read(keys.catalog(OWN)) or b"")
    assert catalog is not None and catalog.entries["notes"].state is State.DELETED


def test_the_doctor_and_the_reconcile_find_nothing_wrong_with_a_decided_name(house: House) -> None:
    hide(house)
    seal(house, "reserved")
    state = house.state()
    registry = house.environment()
    assert registry.reconciler.run().repaired == ()
    assert registry.examiner.examine_all().findings == ()
    assert house.state() == state
