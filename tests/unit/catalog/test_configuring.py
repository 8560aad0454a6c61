"""Configuring: overrides and labels, changed by compare-and-set, with who, when and why."""

from __future__ import annotations

import json

import pytest
from house import ADMIN, House, person, skill_files

from skill_registry.catalog.configuring import CHANGES_KEPT, LABELS, Change
from skill_registry.catalog.overrides import (
    Overrides,
    overrides_of,
    read_overrides,
    write_overrides,
)
from skill_registry.errors import (
    Gone,
    RequestInvalid,
    SettingsUnreadable,
    SkillNotFound,
    VersionNotFound,
)
from skill_registry.store import keys
from skill_registry.store.gate import Request
from skill_registry.store.keys import SkillId

NOTES = SkillId("system", "notes")


UNREADABLE = [
    b"{",
    b"[]",
    b'{"schema": 99}',
    b'{"changes": "x"}',
    b'{"changes": [1]}',
    b'{"enabled": "no"}',
    b'{"enabled": 0}',
    b'{"labels": {"a": "2"}}',
    b'{"labels": {"a": true}}',
    b'{"labels": []}',
    b'{"prune_below": -5}',
    b'{"prune_below": 1e999}',
    b'{"purged": 3}',
    b'{"agents": [1]}',
    b'{"agents": "a"}',
    b"[" * 100_000,
]


@pytest.fixture
def house() -> House:
    made = House()
    made.publish("notes", "first")
    return made


def change(house: House, **members: object) -> Overrides:
    return house.registry.configurer.change(ADMIN, NOTES, Change(**members))  # type: ignore[arg-type]


def test_a_disabled_skill_is_unknown_until_it_is_enabled(house: House) -> None:
    change(house, enabled=False, reason="It leaks.")
    assert house.listed() == {}
    with pytest.raises(SkillNotFound):
        house.registry.viewing.view(ADMIN, "notes")
    change(house, enabled=True)
    assert house.listed() == {"notes": 1}


def test_overrides_survive_a_publish(house: House) -> None:
    change(house, enabled=False, labels={"stable": 1})
    house.publish("notes", "second")
    assert house.listed() == {}
    stored = read_overrides(house.read(keys.settings(NOTES)) or b"")
    assert stored is not None and stored.labels == {"stable": 1} and not stored.enabled


def test_agents_override_the_frontmatter_and_an_empty_list_gives_it_back(house: House) -> None:
    coder = person("arn:coder", agent="coder")
    change(house, agents=("reviewer",))
    assert house.listed(coder) == {}
    assert change(house, agents=()).agents is None
    assert house.listed(coder) == {"notes": 1}


def test_each_change_says_who_when_and_why(house: House) -> None:
    done = change(house, enabled=False, reason="It leaks.")
    assert done.changes == (
        {
            "who": ADMIN.subject,
            "when": "2027-01-15T08:00:00Z",
            "what": {"enabled": False},
            "why": "It leaks.",
        },
    )


def test_the_last_fifty_changes_are_kept(house: House) -> None:
    for round_ in range(CHANGES_KEPT + 3):
        done = change(house, enabled=bool(round_ % 2))
    assert len(done.changes) == CHANGES_KEPT


def test_a_change_that_changes_nothing_is_not_written(house: House) -> None:
    change(house, labels={"stable": 1})
    house.counter.reset()
    assert len(change(house, labels={"stable": 1}).changes) == 1
    assert house.counter.puts == 0


def test_changes_at_once_are_both_kept(house: House) -> None:
    other = house.environment()
    done: list[int] = []

    def before(request: Request) -> bool:
        if request.op == "PUT" and request.key == keys.settings(NOTES) and not done:
            done.append(1)
            other.configurer.change(ADMIN, NOTES, Change(labels={"a": 1}))
        return False

    house.faults.before_if = before
    assert change(house, labels={"b": 1}).labels == {"a": 1, "b": 1}


def test_a_lost_reply_does_not_note_the_change_twice(house: House) -> None:
    lost: list[int] = []

    def after(request: Request) -> bool:
        if request.op == "PUT" and request.key == keys.settings(NOTES) and not lost:
            lost.append(1)
            return True
        return False

    house.faults.after_if = after
    assert len(change(house, labels={"stable": 1}).changes) == 1
    assert lost


def test_a_label_moves_and_goes(house: House) -> None:
    house.publish("notes", "second")
    change(house, labels={"stable": 1})
    assert change(house, labels={"stable": 2}).labels == {"stable": 2}
    assert change(house, labels={"stable": None}).labels == {}
    with pytest.raises(VersionNotFound):
        house.registry.viewing.view(ADMIN, "notes", pin="@stable")


def test_a_label_names_a_version_that_has_files(house: House) -> None:
    with pytest.raises(VersionNotFound):
        change(house, labels={"stable": 2})
    house.registry.publisher.delete(ADMIN, NOTES)
    with pytest.raises(VersionNotFound):
        change(house, labels={"stable": 2})
    assert change(house, labels={"stable": 1}).labels == {"stable": 1}


def test_a_label_below_the_floor_is_refused_before_the_bytes_are_gone(house: House) -> None:
    house.publish("notes", "second")
    house.put(keys.settings(NOTES), write_overrides(Overrides(prune_below=2)))
    with pytest.raises(Gone):
        change(house, labels={"stable": 1})


@pytest.mark.parametrize(
    "label", ["", "1", "latest", "Stable", "a b", "-a", "a-", "a..b", "@a", "x" * 65]
)
def test_a_label_is_a_plain_word(house: House, label: str) -> None:
    with pytest.raises(RequestInvalid) as refused:
        change(house, labels={label: 1})
    assert refused.value.code == "label_invalid"


def test_labels_are_counted(house: House) -> None:
    change(house, labels={f"l{n}": 1 for n in range(LABELS)})
    with pytest.raises(RequestInvalid) as refused:
        change(house, labels={"more": 1})
    assert refused.value.code == "label_invalid"


def test_an_empty_change_is_refused(house: House) -> None:
    with pytest.raises(RequestInvalid) as refused:
        change(house, reason="No change at all.")
    assert refused.value.code == "change_invalid"


def test_what_does_not_exist_cannot_be_configured(house: House) -> None:
    with pytest.raises(SkillNotFound):
        house.registry.configurer.change(ADMIN, SkillId("system", "other"), Change(enabled=False))
    assert house.read(keys.settings(SkillId("system", "other"))) is None


def test_a_vendored_skill_can_be_disabled(house: House) -> None:
    other = SkillId("system", "other")
    for file in skill_files("other"):
        house.put(keys.tree_file(other, file.path), file.data)
    house.registry.configurer.change(ADMIN, other, Change(enabled=False))
    assert house.listed() == {"notes": 1}


def test_settings_that_cannot_be_read_are_not_replaced(house: House) -> None:
    for body in UNREADABLE:
        house.put(keys.settings(NOTES), body)
        with pytest.raises(SettingsUnreadable):
            change(house, enabled=True)
        assert house.read(keys.settings(NOTES)) == body
        assert not overrides_of(body).enabled, "a switch that cannot be read opens nothing"


def test_what_is_written_reads_the_same() -> None:
    full = Overrides(
        enabled=False,
        agents=("a", "b"),
        labels={"stable": 3},
        prune_below=2,
        purged=(4,),
        changes=({"who": "x", "when": "y", "what": {}},),
    )
    assert read_overrides(write_overrides(full)) == full
    assert read_overrides(write_overrides(Overrides())) == Overrides()
    assert json.loads(write_overrides(Overrides(prune_below=1))) == {"schema": 1, "prune_below": 1}


@pytest.mark.parametrize(
    "wanted",
    [Change(enabled=False), Change(agents=("review",)), Change(labels={"stable": 2})],
    ids=["enabled", "agents", "label of the current version"],
)
def test_a_change_costs_two_puts_and_four_gets_in_a_cold_environment(
    house: House, wanted: Change
) -> None:
    house.publish("notes", "two")
    registry = house.environment()
    house.counter.reset()
    registry.configurer.change(ADMIN, NOTES, wanted)
    assert (house.counter.puts, house.counter.gets, house.counter.count()) == (2, 4, 6)
    house.counter.reset()
    registry.configurer.change(ADMIN, NOTES, Change(enabled=True, labels={"stable": None}))
    assert (house.counter.puts, house.counter.gets) in {(2, 3), (0, 3)}
