"""Copy: read as a view reads, published as a publish publishes, and what it says of its source."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from house import ADMIN, House, person, skill_files, skill_md

from skill_registry.catalog.configuring import Change
from skill_registry.catalog.log import Precondition
from skill_registry.catalog.principal import user_scope
from skill_registry.catalog.publishing import Published
from skill_registry.catalog.revision import Source
from skill_registry.errors import (
    Gone,
    RequestInvalid,
    ScopeFull,
    SkillInvalid,
    SkillNotFound,
    UploadAlreadyUsed,
    VersionConflict,
    VersionNotFound,
)
from skill_registry.store import keys
from skill_registry.store.keys import SkillId
from skill_registry.web.settings import Settings

NOTES = SkillId("system", "notes")
BLUE = SkillId("team-blue", "notes")
ANN = person("ann", "blue")


@pytest.fixture
def house() -> House:
    made = House()
    made.publish("notes", "one")
    made.publish("notes", "two")
    return made


def copy(house: House, target: SkillId = BLUE, **more: Any) -> Published:
    return house.registry.copier.copy(ANN, target, **more)


def test_a_copy_is_the_targets_next_version_with_the_sources_files(house: House) -> None:
    done = copy(house, message="Promoted")
    assert (done.skill, done.info.number, done.info.author) == (BLUE, 1, "ann")
    assert done.info.copied_from == Source(NOTES, 2)
    assert house.tree("notes", "team-blue") == house.tree("notes")
    assert house.listed(ANN) == {"notes": 1}
    assert copy(house, scopes=("system",)).info.unchanged


def test_a_copy_of_a_pinned_version_or_label(house: House) -> None:
    house.registry.configurer.change(ADMIN, NOTES, Change(labels={"stable": 1}))
    for pin in (1, "@stable"):
        done = copy(house, scopes=("system",), pin=pin)
        assert done.info.copied_from == Source(NOTES, 1)
    assert house.tree("notes", "team-blue")["references/notes.md"] == b"one"
    with pytest.raises(VersionNotFound):
        copy(house, scopes=("system",), pin=7)


def test_what_a_caller_may_not_view_it_may_not_copy(house: House) -> None:
    before = house.state()
    with pytest.raises(SkillNotFound):
        copy(house, scopes=("team-red",))
    house.registry.configurer.change(ADMIN, NOTES, Change(enabled=False))
    with pytest.raises(SkillNotFound):
        copy(house)
    house.registry.configurer.change(ADMIN, NOTES, Change(enabled=True, agents=("review",)))
    with pytest.raises(SkillNotFound):
        house.registry.copier.copy(person("ann", "blue", agent="coding"), BLUE)
    assert set(house.state()) - set(before) == {keys.settings(NOTES)}


def test_a_copy_onto_itself_is_refused(house: House) -> None:
    before = house.state()
    with pytest.raises(RequestInvalid, match="onto itself"):
        house.registry.copier.copy(ADMIN, NOTES)
    assert house.state() == before


def test_preconditions_are_about_the_target(house: House) -> None:
    new = Precondition(create_only=True)
    assert copy(house, precondition=new).info.number == 1
    with pytest.raises(VersionConflict) as caught:
        copy(house, scopes=("system",), precondition=new)
    assert caught.value.current == 1
    with pytest.raises(VersionConflict):
        copy(house, scopes=("system",), precondition=Precondition(version=2))
    again = copy(house, scopes=("system",), precondition=Precondition(version=1))
    assert again.info.number == 2


def test_the_same_key_never_makes_a_second_version_even_when_the_source_went_on(
    house: House,
) -> None:
    given: dict[str, Any] = {"scopes": ("system",), "idempotency_key": "once"}
    assert copy(house, **given).info.number == 1
    house.publish("notes", "three")
    assert copy(house, **given).info.copied_from == Source(NOTES, 2)
    house.registry.publisher.delete(ADMIN, NOTES)
    assert copy(house, **given).info.number == 1
    assert house.version("notes", "team-blue") == b"1\n"
    with pytest.raises(SkillNotFound):
        copy(house, scopes=("system",), idempotency_key="other")


def test_a_key_that_was_used_for_another_copy_is_refused(house: House) -> None:
    copy(house, scopes=("system",), pin=1, idempotency_key="once")
    with pytest.raises(UploadAlreadyUsed):
        copy(house, scopes=("system",), pin=2, idempotency_key="once")


def test_a_retry_is_answered_after_its_source_was_pruned(house: House) -> None:
    given: dict[str, Any] = {"scopes": ("system",), "pin": 1, "idempotency_key": "once"}
    assert copy(house, **given).info.number == 1
    house.registry.purger.purge(ADMIN, NOTES, 1, reason="A key in it")
    assert copy(house, **given).info.number == 1
    with pytest.raises(Gone):
        copy(house, scopes=("system",), pin=1)


def test_a_copy_brings_a_deleted_skill_back_with_a_larger_number(house: House) -> None:
    copy(house)
    house.registry.publisher.delete(ADMIN, BLUE)
    assert copy(house).info.number == 3


def test_a_vendored_source_is_copied_with_its_own_version(house: House) -> None:
    house.put("skills/system/pdf/SKILL.md", skill_md("pdf", version="1.2"))
    done = copy(house, SkillId("team-blue", "pdf"))
    assert done.info.copied_from == Source(SkillId("system", "pdf"), "1.2")
    info = house.registry.log.info(SkillId("team-blue", "pdf"), 1)
    assert info is not None and info.copied_from == done.info.copied_from


def test_a_vendored_source_that_breaks_rules_is_refused_with_each(house: House) -> None:
    house.put("skills/system/pdf/SKILL.md", skill_md("other-name"))
    before = house.state()
    with pytest.raises(SkillInvalid) as caught:
        copy(house, SkillId("team-blue", "pdf"))
    assert [d.code for d in caught.value.diagnostics] == ["name_mismatch"]
    assert house.state() == before


def test_a_copy_needs_room_in_its_target() -> None:
    house = House(settings=replace(Settings(), max_scope_skills=1))
    house.publish("notes")
    house.publish("other", scope="team-blue")
    with pytest.raises(ScopeFull):
        copy(house)
    assert copy(house, SkillId(user_scope("ann"), "notes")).info.number == 1


@pytest.mark.parametrize("version", [6, "6", "1.2", 'a"@b', None])
def test_what_a_copy_says_of_its_source_comes_back_as_it_was(version: int | str | None) -> None:
    source = Source(NOTES, version)
    assert Source.parse(str(source)) == source


@pytest.mark.parametrize("text", ["", "system", "/notes@1", "system/@1", "system/notes@x", "a/b@"])
def test_what_is_no_source_reads_as_none(text: str) -> None:
    assert Source.parse(text) is None


def test_a_version_that_was_never_copied_has_no_source(house: House) -> None:
    info = house.registry.log.info(NOTES, 2)
    assert info is not None and info.copied_from is None
    assert "copied-from" not in info.to_metadata()
    assert {f.path for f in skill_files("notes")} == set(house.tree("notes"))
