"""Facts of writing: told by the call that made a version, and by no other."""

from __future__ import annotations

from dataclasses import replace

import pytest
from house import ADMIN, House, person, skill, skill_zip

from skill_registry.catalog.configuring import Change
from skill_registry.catalog.facts import Fact, SkillPublished, SkillRefused
from skill_registry.catalog.principal import SYSTEM
from skill_registry.errors import SkillInvalid, Unavailable
from skill_registry.store import keys
from skill_registry.store.keys import SkillId, UploadId
from skill_registry.web.wiring import Registry

NOTES = SkillId(SYSTEM, "notes")


class Told:
    """A house whose environments tell one list of facts."""

    def __init__(self) -> None:
        self.house = House()
        self.facts: list[Fact] = []

    def environment(self) -> Registry:
        registry = self.house.environment()
        return replace(registry, runtime=replace(registry.runtime, tell=self.facts.append))

    def taken(self) -> list[Fact]:
        facts, self.facts[:] = list(self.facts), []
        return facts


@pytest.fixture
def told() -> Told:
    return Told()


def test_a_publish_a_rollback_a_copy_and_a_deletion_are_told_once_each(told: Told) -> None:
    registry = told.environment()
    registry.publisher.publish_inline(ADMIN, NOTES, skill("notes"))
    registry.publisher.rollback(ADMIN, NOTES, 1)
    registry.copier.copy(person("ann", "blue"), SkillId("team-blue", "notes"))
    registry.publisher.delete(ADMIN, NOTES)
    facts = told.taken()
    assert all(isinstance(fact, SkillPublished) for fact in facts)
    shown = [(f.scope, f.version, f.kind, f.restores) for f in facts]  # type: ignore[union-attr]
    assert shown == [
        ("system", 1, "content", None),
        ("system", 2, "content", 1),
        ("team-blue", 1, "content", None),
        ("system", 3, "tombstone", None),
    ]


def test_a_retry_tells_nothing(told: Told) -> None:
    for count in (1, 0, 0):
        told.environment().publisher.publish_inline(
            ADMIN, NOTES, skill("notes"), idempotency_key="one"
        )
        assert len(told.taken()) == count


def test_an_upload_is_told_once_by_whoever_published_it_with_its_correlation(told: Told) -> None:
    upload = told.house.upload("notes", skill_zip("notes"), correlation="c-1")
    event = keys.upload(UploadId(ADMIN.hash, upload))
    told.house.registry = told.environment()
    told.house.deliver(event)
    told.house.registry.uploader.complete(ADMIN, upload)
    told.house.deliver(event)
    (fact,) = told.taken()
    assert isinstance(fact, SkillPublished)
    assert (fact.skill, fact.version, fact.correlation) == ("notes", 1, "c-1")
    assert fact.upload_id == f"{ADMIN.hash}/{upload}"


def test_a_version_that_a_later_call_makes_visible_was_told_by_the_one_that_made_it(
    told: Told,
) -> None:
    told.house.faults.before_if = lambda r: r.op == "PUT" and r.key.endswith(".version")
    upload = told.house.upload("notes", skill_zip("notes"))
    with pytest.raises(Unavailable):
        told.environment().uploader.complete(ADMIN, upload)
    assert len(told.taken()) == 1
    told.house.faults.clear()
    told.environment().uploader.complete(ADMIN, upload)
    assert told.taken() == []


def test_a_refusal_without_a_client_is_told_once(told: Told) -> None:
    upload = told.house.upload("notes", b"no zip", correlation="c-2")
    event = keys.upload(UploadId(ADMIN.hash, upload))
    told.house.registry = told.environment()
    told.house.deliver(event)
    told.house.deliver(event)
    assert told.taken() == [SkillRefused("notes", "skill_invalid", "system", correlation="c-2")]


def test_a_refusal_that_a_client_was_answered_is_not_told_by_the_event(told: Told) -> None:
    upload = told.house.upload("notes", b"no zip")
    told.house.registry = told.environment()
    with pytest.raises(SkillInvalid):
        told.house.registry.uploader.complete(ADMIN, upload)
    told.house.deliver(keys.upload(UploadId(ADMIN.hash, upload)))
    assert told.taken() == []


def test_a_dry_run_tells_nothing(told: Told) -> None:
    told.house.registry = told.environment()
    upload = told.house.upload("notes", skill_zip("notes"), dry_run=True)
    told.house.registry.uploader.complete(ADMIN, upload)
    assert told.taken() == []


def test_a_publish_of_a_disabled_skill_says_that_nobody_sees_it() -> None:
    house = House()
    house.publish("notes")
    house.registry.configurer.change(ADMIN, NOTES, Change(enabled=False))
    done = house.registry.publisher.publish_inline(ADMIN, NOTES, skill("notes"))
    assert [d.code for d in done.diagnostics] == ["skill_disabled"]
    assert not [d for d in done.diagnostics if d.severity == "error"]
    upload = house.upload("notes", skill_zip("notes"))
    house.registry.uploader.complete(ADMIN, upload)
    (warned,) = house.registry.uploader.outcome(ADMIN, upload)["diagnostics"]
    assert warned["code"] == "skill_disabled"
    house.registry.configurer.change(ADMIN, NOTES, Change(enabled=True))
    assert not house.registry.publisher.rollback(ADMIN, NOTES, 1).diagnostics
