"""History: versions, differences, and going back to one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from house import ADMIN, House, person, skill, skill_files

from skill_registry.catalog.configuring import Change
from skill_registry.catalog.history import PAGE, State
from skill_registry.catalog.log import Precondition
from skill_registry.errors import (
    Gone,
    RequestInvalid,
    RevisionDamaged,
    SkillNotFound,
    UploadAlreadyUsed,
    VersionConflict,
    VersionNotFound,
)
from skill_registry.spec.diff import ChangeKind
from skill_registry.store import keys
from skill_registry.store.keys import SkillId
from skill_registry.web.settings import Settings

NOTES = SkillId("system", "notes")
READER = replace(person("arn:reader"), writes=frozenset())


@pytest.fixture
def house() -> House:
    made = House(settings=Settings(keep_versions=1, keep_days=0))
    for text in ("one", "two", "three"):
        made.publish("notes", text)
    return made


def test_versions_come_newest_first_with_what_is_known_of_them(house: House) -> None:
    contents = skill("notes", "four")
    house.registry.publisher.publish_inline(ADMIN, NOTES, contents, message="Says more")
    house.registry.configurer.change(ADMIN, NOTES, Change(labels={"stable": 2, "good": 2}))
    page = house.registry.history.versions(ADMIN, "notes")
    assert [version.info.number for version in page.versions] == [4, 3, 2, 1]
    newest, _, labelled, _ = page.versions
    assert (newest.info.message, newest.info.author) == ("Says more", ADMIN.subject)
    assert newest.info.created == "2027-01-15T08:00:00Z"
    assert newest.info.size > 0
    assert labelled.labels == ("good", "stable")
    assert (page.head, page.next) == (4, None)


def test_versions_come_in_pages_that_meet(house: House) -> None:
    history = house.registry.history
    first = history.versions(ADMIN, "notes", limit=2)
    second = history.versions(ADMIN, "notes", limit=2, before=first.next)
    assert [v.info.number for v in (*first.versions, *second.versions)] == [3, 2, 1]
    assert second.next is None
    assert history.versions(ADMIN, "notes", limit=3).next is None


@pytest.mark.parametrize("limit", [0, -1, PAGE + 1])
def test_a_page_has_one_to_fifty_versions(house: House, limit: int) -> None:
    with pytest.raises(RequestInvalid) as refused:
        house.registry.history.versions(ADMIN, "notes", limit=limit)
    assert refused.value.code == "limit_invalid"


def test_a_page_costs_one_request_a_version(house: House) -> None:
    house.registry.history.versions(ADMIN, "notes")
    house.counter.reset()
    house.registry.history.versions(ADMIN, "notes")
    assert house.counter.lists == 0
    assert house.counter.gets == 2 + 3


def test_states_tell_what_can_be_had(house: House) -> None:
    house.registry.publisher.delete(ADMIN, NOTES)
    house.publish("notes", "five")
    house.registry.pruner.prune(NOTES)
    page = house.registry.history.versions(ADMIN, "notes")
    states = [version.state for version in page.versions]
    assert states == [State.CONTENT, State.DELETED, State.PRUNED, State.PRUNED, State.PRUNED]


def test_an_adopted_history_starts_at_its_first_number(house: House) -> None:
    old = SkillId("system", "old")
    for file in skill_files("old"):
        house.put(keys.tree_file(old, file.path), file.data)
    house.put(keys.sidecar(old), b"7\n")
    house.publish("old", "next")
    page = house.registry.history.versions(ADMIN, "old", limit=2)
    assert [version.info.number for version in page.versions] == [8, 7]
    following = house.registry.history.versions(ADMIN, "old", limit=2, before=page.next)
    assert (following.versions, following.next) == ((), None)


def test_a_vendored_skill_has_no_history(house: House) -> None:
    for file in skill_files("plain"):
        house.put(keys.tree_file(SkillId("system", "plain"), file.path), file.data)
    page = house.registry.history.versions(ADMIN, "plain")
    assert (page.head, page.versions) == (0, ())


def test_who_may_not_see_a_skill_does_not_see_its_history(house: House) -> None:
    house.registry.configurer.change(ADMIN, NOTES, Change(agents=("reviewer",)))
    history = house.registry.history
    stranger = replace(READER, agent="coder")
    for call in (history.versions, history.diff):
        with pytest.raises(SkillNotFound):
            call(stranger, "notes")
        with pytest.raises(SkillNotFound):
            call(ADMIN, "../notes")


def test_a_deleted_skill_shows_its_history_to_its_writers_only(house: House) -> None:
    house.registry.publisher.delete(ADMIN, NOTES)
    assert house.registry.history.versions(ADMIN, "notes").head == 4
    with pytest.raises(SkillNotFound):
        house.registry.history.versions(READER, "notes")


def test_a_damaged_head_leaves_the_history_to_its_writers(house: House) -> None:
    house.put(keys.revision(NOTES, 3), b"not a zip")
    history = house.environment().history
    assert [each.info.number for each in history.versions(ADMIN, "notes").versions] == [3, 2, 1]
    diff = history.diff(ADMIN, "notes", old=1, new=2)
    assert "-one" in diff.comparison.text and "+two" in diff.comparison.text
    with pytest.raises(RevisionDamaged):
        history.diff(ADMIN, "notes")
    for call in (history.versions, history.diff):
        with pytest.raises(RevisionDamaged):
            call(READER, "notes")


def test_a_damaged_head_is_looked_for_in_the_scope_that_has_it(house: House) -> None:
    writer = person("arn:writer", "blue")
    house.publish("notes", "blue", scope="team-blue")
    house.put(keys.revision(NOTES, 3), b"not a zip")
    history = house.environment().history
    assert history.versions(writer, "notes").skill == SkillId("team-blue", "notes")
    with pytest.raises(RevisionDamaged):
        history.versions(writer, "notes", scopes=("system", "team-blue"))
    found = history.versions(ADMIN, "notes", scopes=("system", "team-blue"))
    assert (found.skill, found.head) == (NOTES, 3)
    house.registry.configurer.change(ADMIN, NOTES, Change(enabled=False))
    assert history.versions(writer, "notes", scopes=("system", "team-blue")).head == 1


def test_a_difference_names_files_and_lines(house: House) -> None:
    diff = house.registry.history.diff(ADMIN, "notes")
    assert (diff.old, diff.new) == (2, 3)
    [change] = diff.comparison.changes
    assert (change.path, change.kind) == ("references/notes.md", ChangeKind.CHANGED)
    assert "-two" in diff.comparison.text and "+three" in diff.comparison.text


def test_the_first_version_and_one_after_a_deletion_are_all_new(house: House) -> None:
    house.publish("fresh")
    assert house.registry.history.diff(ADMIN, "fresh").old == 0
    house.registry.publisher.delete(ADMIN, NOTES)
    assert house.registry.history.diff(ADMIN, "notes").new == 4
    house.publish("notes", "five")
    diffs = [house.registry.history.diff(ADMIN, name) for name in ("fresh", "notes")]
    for diff in diffs:
        assert {change.kind for change in diff.comparison.changes} == {ChangeKind.ADDED}
    with pytest.raises(VersionNotFound):
        house.registry.history.diff(ADMIN, "notes", old=0)


def test_any_two_versions_compare_by_number_or_label(house: House) -> None:
    house.registry.configurer.change(ADMIN, NOTES, Change(labels={"stable": 1}))
    diff = house.registry.history.diff(ADMIN, "notes", old=3, new="@stable")
    assert (diff.old, diff.new) == (3, 1)
    with pytest.raises(VersionNotFound):
        house.registry.history.diff(ADMIN, "notes", old="@none")
    with pytest.raises(VersionNotFound):
        house.registry.history.diff(ADMIN, "notes", old=4)


def test_a_pruned_version_cannot_be_compared(house: House) -> None:
    house.registry.pruner.prune(NOTES)
    with pytest.raises(Gone):
        house.registry.history.diff(ADMIN, "notes", old=1, new=3)


def test_a_rollback_publishes_the_old_files_as_the_next_version(house: House) -> None:
    done = house.registry.publisher.rollback(ADMIN, NOTES, 1, message="Back")
    assert (done.info.number, done.info.restores, done.info.message) == (4, 1, "Back")
    assert house.tree("notes")["references/notes.md"] == b"one"
    assert house.listed() == {"notes": 4}
    first = house.registry.log.info(NOTES, 1)
    assert first is not None and first.digest == done.info.digest


def test_a_rollback_brings_back_what_was_deleted(house: House) -> None:
    house.registry.publisher.delete(ADMIN, NOTES)
    assert house.listed() == {}
    assert house.registry.publisher.rollback(ADMIN, NOTES, 3).info.number == 5
    assert house.listed() == {"notes": 5}


def test_a_rollback_repeated_under_its_key_is_one_version(house: House) -> None:
    for _ in range(2):
        done = house.registry.publisher.rollback(ADMIN, NOTES, 1, idempotency_key="k")
        assert done.info.number == 4
    with pytest.raises(UploadAlreadyUsed):
        house.registry.publisher.rollback(ADMIN, NOTES, 2, idempotency_key="k")


def test_a_rollback_is_repeated_though_its_source_was_pruned(house: House) -> None:
    first = house.registry.publisher.rollback(ADMIN, NOTES, 1, idempotency_key="k")
    house.registry.pruner.prune(NOTES)
    again = house.registry.publisher.rollback(ADMIN, NOTES, 1, idempotency_key="k")
    assert again.info.number == first.info.number == 4
    for number, key in ((1, "other"), (2, "k")):
        with pytest.raises(Gone):
            house.registry.publisher.rollback(ADMIN, NOTES, number, idempotency_key=key)


def test_a_rollback_keeps_its_precondition(house: House) -> None:
    with pytest.raises(VersionConflict):
        house.registry.publisher.rollback(ADMIN, NOTES, 1, precondition=Precondition(version=2))
    assert house.listed() == {"notes": 3}


def test_there_is_nothing_to_go_back_to(house: House) -> None:
    with pytest.raises(VersionNotFound):
        house.registry.publisher.rollback(ADMIN, NOTES, 9)
    with pytest.raises(SkillNotFound):
        house.registry.publisher.rollback(ADMIN, SkillId("system", "other"), 1)
    house.registry.pruner.prune(NOTES)
    with pytest.raises(Gone):
        house.registry.publisher.rollback(ADMIN, NOTES, 1)
    house.registry.publisher.delete(ADMIN, NOTES)
    with pytest.raises(VersionNotFound):
        house.registry.publisher.rollback(ADMIN, NOTES, 4)


def test_a_number_is_never_used_again_after_a_deletion(house: House) -> None:
    house.registry.publisher.delete(ADMIN, NOTES)
    assert house.publish("notes", "again") == 5
