"""Refusals of a view: alike in what they say and in what they ask the store, whatever they are for.

``reason`` of the fact is for the operator alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from house import ADMIN, House, person, skill_md

from skill_registry.catalog.facts import Fact, SkillRefused
from skill_registry.catalog.principal import SYSTEM
from skill_registry.errors import SkillNotFound
from skill_registry.spec.layout import ArchiveContents
from skill_registry.spec.model import SkillFile
from skill_registry.store import keys
from skill_registry.store.keys import SkillId
from skill_registry.web.wiring import Registry

BOT = person("bot", "red", agent="review")
REFUSED = {
    "absent": "unknown",
    "switched": "disabled",
    "removed": "deleted",
    "foreign": "agent",
    "elsewhere": "agent",
    "heavy": "tier",
}
Asked = list[tuple[str, str]]
Calls = Sequence[Callable[[], object]]


@pytest.fixture
def house() -> House:
    house = House()
    house.publish("shown")
    for name in ("switched", "removed", "elsewhere"):
        house.publish(name)
    house.publish("foreign", agents="[coding]")
    text = skill_md("heavy").replace(b"name:", b"min_tier: ultra\nname:")
    heavy = ArchiveContents((SkillFile("SKILL.md", text),))
    house.registry.publisher.publish_inline(ADMIN, SkillId(SYSTEM, "heavy"), heavy)
    decide(house, "switched", enabled=False)
    decide(house, "elsewhere", agents=["coding"])
    house.registry.publisher.delete(ADMIN, SkillId(SYSTEM, "removed"))
    return house


def decide(house: House, name: str, scope: str = SYSTEM, **values: object) -> None:
    document = {"schema": 1, **values}
    house.put(keys.settings(SkillId(scope, name)), json.dumps(document).encode())


def refused(house: House, registry: Registry, name: str) -> tuple[tuple[str, ...], Asked]:
    """View a skill in vain; return the names that were offered, and the requests that it took."""
    house.counter.reset()
    with pytest.raises(SkillNotFound) as error:
        registry.viewing.view(BOT, name)
    assert error.value.message == f"No skill `{name}` that you may load."
    asked: Asked = [
        (r.op, re.sub(r"\d{8}\.zip", "N.zip", r.key.replace(f"/{name}/", "/NAME/")))
        for r in house.counter.requests
    ]
    return error.value.available, asked


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_unknown_and_forbidden_make_the_same_requests_cold_and_warm(
    house: House, name: str
) -> None:
    ours, theirs = house.environment(), house.environment()
    for _ in range(3):
        assert refused(house, ours, name) == refused(house, theirs, "absent")


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_they_are_alike_too_when_what_was_absent_is_looked_for_again(
    house: House, name: str
) -> None:
    ours, theirs = house.environment(), house.environment()
    refused(house, ours, name), refused(house, theirs, "absent")
    house.time += 60
    again = refused(house, ours, name)
    assert again == refused(house, theirs, "absent")
    assert [op for op, _ in again[1]].count("LIST") == 2 * len(BOT.reads)
    once_more = refused(house, ours, name)
    assert [op for op, _ in once_more[1]].count("LIST") == len(BOT.reads)


@pytest.mark.parametrize(("name", "reason"), sorted(REFUSED.items()))
def test_the_operator_is_told_the_true_reason(house: House, name: str, reason: str) -> None:
    facts: list[Fact] = []
    registry = house.environment()
    registry = replace(registry, runtime=replace(registry.runtime, tell=facts.append))
    refused(house, registry, name)
    assert facts == [SkillRefused(name, reason, agent="review")]


def test_a_warm_view_through_several_scopes_is_one_round_without_bodies(house: House) -> None:
    registry = house.environment()
    registry.viewing.view(BOT, "shown")
    rounds: list[int] = []

    def parallel(calls: Calls) -> list[object]:
        rounds.append(len(calls))
        return [call() for call in calls]

    object.__setattr__(registry.resolver._runtime, "parallel", parallel)
    house.counter.reset()
    registry.viewing.view(BOT, "shown")
    before = len(BOT.reads) - 1
    assert house.counter.count("GET") == 2 * len(BOT.reads)
    # Where there is no sidecar, the log of a first publish may be all that there is.
    assert house.counter.count("LIST") == before
    assert rounds == [house.counter.count()]
    assert house.counter.bodies == 0


def test_a_skill_whose_sidecar_is_lost_is_never_taken_for_absent(house: House) -> None:
    registry = house.environment()
    refused(house, registry, "absent")
    house.publish("absent")
    house.bucket.delete(keys.sidecar(SkillId(SYSTEM, "absent")))
    assert registry.viewing.view(BOT, "absent").loaded.version == 1


def test_a_skill_that_comes_to_be_is_seen_at_once_where_it_was_absent(house: House) -> None:
    registry = house.environment()
    refused(house, registry, "absent")
    house.publish("absent")
    assert registry.viewing.view(BOT, "absent").loaded.version == 1


def test_a_directory_that_is_copied_there_is_seen_after_ten_seconds(house: House) -> None:
    registry = house.environment()
    refused(house, registry, "absent")
    house.put("skills/system/absent/SKILL.md", b"---\nname: absent\ndescription: Is.\n---\nHere.\n")
    refused(house, registry, "absent")
    house.time += 11
    assert registry.viewing.view(BOT, "absent").text == "Here.\n"


def test_the_operator_is_told_of_who_asks_for_scopes_that_it_may_not_read(house: House) -> None:
    facts: list[Fact] = []
    registry = house.environment()
    registry = replace(registry, runtime=replace(registry.runtime, tell=facts.append))
    with pytest.raises(SkillNotFound):
        registry.viewing.view(BOT, "shown", scopes=("team-blue",))
    assert facts == [SkillRefused("shown", "scope", agent="review")]


def test_tags_are_read_from_both_places(house: House) -> None:
    for name, tags in (("near", b"tags: [zebra]"), ("far", b"metadata: {tags: zebra}")):
        text = skill_md(name).replace(b"name:", tags + b"\nname:")
        contents = ArchiveContents((SkillFile("SKILL.md", text),))
        house.registry.publisher.publish_inline(ADMIN, SkillId(SYSTEM, name), contents)
    listed = house.registry.listing.page(ADMIN).skills
    assert {e.entry.name for e in listed if e.entry.tags == ("zebra",)} == {"near", "far"}
