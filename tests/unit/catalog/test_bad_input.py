"""What other hands broke: served right or answered clearly, by every use case, and never spread."""

from __future__ import annotations

import gzip
import hashlib
import json

import pytest
from damages import (
    CATALOG,
    NOTES,
    OTHER,
    PATH,
    furnished,
    put_with_metadata_of,
    rewrite_catalog,
)
from house import ADMIN, House, skill_files, zipped

from skill_registry.catalog.snapshot import SCHEMA, Catalog, Entry, Unreadable, read_catalog
from skill_registry.errors import (
    Gone,
    RevisionDamaged,
    SkillNotFound,
    Unavailable,
    VersionNotFound,
)
from skill_registry.store import keys
from skill_registry.store.keys import SkillId

ALL = {"notes": 3, "other": 1, "plain": None}


@pytest.fixture(params=[False, True], ids=["md5-etags", "opaque-etags"])
def house(request: pytest.FixtureRequest) -> House:
    return furnished(opaque_etags=request.param)


def view(house: House, version: int | None = None) -> str | None:
    """Read the file that tells the versions apart, in an environment that remembers nothing."""
    viewing = house.environment().viewing
    return viewing.view(ADMIN, "notes", path="references/notes.md", pin=version).text


def listed(house: House) -> dict[str, object]:
    return house.listed(registry=house.environment())


@pytest.mark.parametrize("body", [b"six\n", b"", b"-1\n", b"\xff\xfe", b"9" * 40, None])
def test_a_sidecar_that_states_nothing_yields_to_the_log(house: House, body: bytes | None) -> None:
    if body is None:
        house.bucket.delete(keys.sidecar(NOTES))
    else:
        house.put(keys.sidecar(NOTES), body)
    assert view(house) == "c"
    assert view(house, 1) == "a"
    house.registry.reconciler.run()
    assert house.version("notes") == b"3\n"
    assert listed(house) == ALL
    assert house.publish("notes", "d") == 4


def test_a_sidecar_past_the_log_yields_to_the_log(house: House) -> None:
    house.put(keys.sidecar(NOTES), b"99\n")
    assert view(house) == "c"
    assert house.publish("notes", "d") == 4
    assert house.version("notes") == b"4\n"


def test_a_lowered_sidecar_costs_no_number_and_no_version(house: House) -> None:
    house.put(keys.sidecar(NOTES), b"1\n")
    assert house.publish("notes", "d") == 4
    assert house.version("notes") == b"4\n"
    assert [view(house, number) for number in (1, 2, 3, 4)] == ["a", "b", "c", "d"]


def test_a_sidecar_that_was_lowered_to_a_pruned_version_never_wipes_anything(house: House) -> None:
    pruned = house.bucket.head(keys.revision(NOTES, 1))
    assert pruned is not None
    stub = {**pruned.metadata, "kind": "pruned"}
    house.bucket.put(keys.revision(NOTES, 1), zipped({}), metadata=stub)
    house.put(keys.sidecar(NOTES), b"1\n")
    house.environment().refresher.take_over(NOTES, 1)
    house.environment().refresher.refresh("system", ["notes"])
    assert house.tree("notes") == {f.path: f.data for f in skill_files("notes", "c")}
    assert (view(house), listed(house)) == ("c", ALL)
    with pytest.raises(Gone):
        view(house, 1)


def test_a_damaged_head_is_answered_by_its_code_and_costs_no_other_skill(house: House) -> None:
    put_with_metadata_of(house, keys.revision(NOTES, 3), b"not a zip")
    with pytest.raises(RevisionDamaged) as caught:
        view(house)
    assert (caught.value.code, caught.value.number) == ("revision_damaged", 3)
    environment = house.environment()
    assert environment.viewing.view(ADMIN, "other").loaded.version == 1
    house.bucket.delete(CATALOG)
    assert environment.refresher.refresh("system", []).written
    page = environment.listing.page(ADMIN)
    assert [each.entry.name for each in page.skills] == ["other", "plain"]
    (told,) = page.diagnostics
    assert told.code == "skill_unreadable"
    assert "Version 3 of `notes` is damaged" in told.message
    assert house.tree("notes")["references/notes.md"] == b"c"


def test_a_damaged_head_is_replaced_by_the_next_publish(house: House) -> None:
    put_with_metadata_of(house, keys.revision(NOTES, 3), b"not a zip")
    publisher = house.environment().publisher
    assert publisher.rollback(ADMIN, NOTES, 2).info.number == 4
    assert (view(house), listed(house)) == ("b", ALL | {"notes": 4})


def test_a_damaged_head_of_a_disabled_skill_is_as_unknown_as_any(house: House) -> None:
    put_with_metadata_of(house, keys.revision(NOTES, 3), b"not a zip")
    house.put(keys.settings(NOTES), b'{"enabled": false}')
    with pytest.raises(SkillNotFound):
        view(house)


def test_an_older_version_that_is_damaged_costs_only_its_own_pins(house: House) -> None:
    put_with_metadata_of(house, keys.revision(NOTES, 2), zipped({"SKILL.md": b"another skill"}))
    house.put(PATH, b"by hand")
    house.deliver(PATH, keys.revision(NOTES, 2))
    assert (view(house), view(house, 1), listed(house)) == ("c", "a", ALL)
    with pytest.raises(RevisionDamaged):
        view(house, 2)
    assert house.publish("notes", "d") == 4


def test_bytes_that_another_hand_put_in_place_of_a_version_are_never_served(house: House) -> None:
    forged = {file.path: file.data for file in skill_files("notes", "forged")}
    put_with_metadata_of(house, keys.revision(NOTES, 3), zipped(forged))
    with pytest.raises(RevisionDamaged):
        view(house)


@pytest.mark.parametrize(
    "name", ["abc.zip", "0.zip", "00000000.zip", "000000099.zip", "٠٠٠٠٠٠٠٩.zip"]
)
def test_a_stray_object_among_the_versions_is_no_version(house: House, name: str) -> None:
    house.put(keys.revisions(NOTES) + name, b"not a zip")
    house.deliver(keys.revisions(NOTES) + name)
    house.bucket.delete(keys.sidecar(NOTES))
    assert view(house) == "c"
    house.registry.reconciler.run()
    assert house.version("notes") == b"3\n"
    assert house.publish("notes", "d") == 4
    with pytest.raises(VersionNotFound):
        view(house, 99)


BROKEN = {
    "no gzip": b"{}",
    "empty": b"",
    "cut short": b"",
    "no JSON": gzip.compress(b"skills"),
    "nested without end": gzip.compress(b"[" * 100_000),
    "a list": gzip.compress(b"[]"),
    "no schema": gzip.compress(b"{}"),
    "a schema of words": gzip.compress(b'{"schema": "one"}'),
    "of another scope": Catalog("team-blue", 7, {"ghost": Entry("ghost", 1, 1)}).encode(),
    "a version without end": gzip.compress(
        b'{"schema": 1, "scope": "system", "catalog_version": 1e999, "skills": {}}'
    ),
    "skills in a list": gzip.compress(
        b'{"schema": 1, "scope": "system", "catalog_version": 5, "skills": []}'
    ),
    "agents that are no list": gzip.compress(
        b'{"schema":1,"scope":"system","catalog_version":5,"skills":{"notes":{"agents":"ops"}}}'
    ),
    "older schema": gzip.compress(json.dumps({"schema": SCHEMA - 1, "skills": {}}).encode()),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_catalog_is_never_a_listing_and_one_event_mends_it(
    house: House, case: str
) -> None:
    warm, before = house.environment(), house.read(CATALOG) or b""
    known = house.listed(registry=warm)
    version = warm.listing.page(ADMIN).versions["system"]
    house.put(CATALOG, before[: len(before) // 2] if case == "cut short" else BROKEN[case])
    house.time += 5
    assert house.listed(registry=warm) == known
    assert warm.listing.page(ADMIN).stale == 5
    with pytest.raises(Unavailable) as caught:
        listed(house)
    assert (caught.value.code, caught.value.retry_after) == ("store_unavailable", 5)
    assert view(house) == "c"
    assert house.deliver(keys.sidecar(OTHER)) == set()
    page = house.environment().listing.page(ADMIN)
    assert {each.entry.name: each.entry.version for each in page.skills} == ALL
    assert page.versions["system"] > version


def test_a_catalog_of_a_newer_schema_is_served_from_memory_and_never_replaced(house: House) -> None:
    warm = house.environment()
    known = house.listed(registry=warm)
    rewrite_catalog(house, lambda raw: raw.update(schema=SCHEMA + 1))
    newer = house.read(CATALOG)
    assert house.publish("notes", "d") == 4
    assert view(house) == "d"
    assert house.deliver(keys.sidecar(NOTES)) == {"0"}
    assert house.tree("notes")["references/notes.md"] == b"d"
    assert house.registry.reconciler.run().failed == ("system",)
    house.time += 60
    assert house.listed(registry=warm) == known
    with pytest.raises(Unavailable) as caught:
        listed(house)
    assert caught.value.retry_after == 60
    assert "its schema is 2, the one of this code 1" in caught.value.message
    assert house.read(CATALOG) == newer


def test_settings_that_cannot_be_read_close_their_skill_and_no_other(house: House) -> None:
    for body in (b"on!", b"[]", b'{"schema": 2}', b'{"prune_below": 1e999}', b"[" * 100_000):
        house.put(keys.settings(NOTES), body)
        house.deliver(keys.settings(NOTES))
        assert listed(house) == {"other": 1, "plain": None}
        with pytest.raises(SkillNotFound):
            view(house)
    assert house.publish("notes", "d") == 4
    assert listed(house) == {"other": 1, "plain": None}
    house.put(keys.settings(NOTES), b"{}")
    house.deliver(keys.settings(NOTES))
    assert (view(house), listed(house)) == ("d", ALL | {"notes": 4})


def test_a_skill_that_is_for_nobody_stays_so_in_a_catalog(house: House) -> None:
    house.put(keys.settings(NOTES), b'{"agents": []}')
    house.deliver(keys.settings(NOTES))
    catalog = read_catalog("system", house.read(CATALOG) or b"")
    assert isinstance(catalog, Catalog)
    assert catalog.entries["notes"].agents == ()
    house.counter.reset()
    house.deliver(keys.settings(NOTES))
    assert house.counter.count("PUT", "DELETE") == 0


def test_a_tree_object_that_was_edited_by_hand_reaches_nobody(house: House) -> None:
    house.put(PATH, b"by hand")
    house.deliver(PATH)
    assert (view(house), listed(house)) == ("c", ALL)
    bundle = house.environment().viewing.bundle(ADMIN, "notes")
    stored = house.read(keys.revision(NOTES, 3)) or b""
    assert bundle.sha256 == hashlib.sha256(stored).hexdigest()
    house.publish("notes", "d")
    assert house.read(PATH) == b"d"


def test_a_broken_object_of_one_scope_is_none_of_another(house: House) -> None:
    house.publish("blue", scope="team-blue")
    house.put(CATALOG, b"garbage")
    put_with_metadata_of(house, keys.revision(NOTES, 3), b"not a zip")
    house.put(keys.sidecar(OTHER), b"garbage")
    page = house.environment().listing.page(ADMIN, scopes=("team-blue",))
    assert [each.entry.name for each in page.skills] == ["blue"]
    done = house.environment().reconciler.run()
    assert done.failed == ()
    assert listed(house) == {"other": 1, "plain": None}
    assert house.publish("blue", "two", scope="team-blue") == 2


def test_a_damaged_head_costs_a_batch_of_events_nothing(house: House) -> None:
    put_with_metadata_of(house, keys.revision(NOTES, 3), b"not a zip")
    skill = SkillId("system", "fresh")
    for file in skill_files("fresh"):
        house.put(keys.tree_file(skill, file.path), file.data)
    house.registry = house.environment()
    failed = house.deliver(keys.revision(NOTES, 3), keys.tree_file(skill, "SKILL.md"))
    assert failed == set()
    assert listed(house) == {"fresh": None, "other": 1, "plain": None}


def test_why_a_catalog_cannot_be_read_is_said(house: House) -> None:
    said = {case: read_catalog("system", body) for case, body in BROKEN.items()}
    assert all(isinstance(each, Unreadable) and each.why for each in said.values())
    older = said["older schema"]
    assert isinstance(older, Unreadable)
    assert (older.schema, older.newer) == (SCHEMA - 1, False)
