"""View: which bytes, of which version, for how many requests, and for whom."""

from __future__ import annotations

import json

import pytest
from house import ADMIN, House, person, skill_files, skill_md

from skill_registry.catalog.principal import user_scope
from skill_registry.errors import (
    FileNotFound,
    Gone,
    PathInvalid,
    SkillNotFound,
    Unavailable,
    VersionNotFound,
)
from skill_registry.spec.archive import read_archive
from skill_registry.store import keys
from skill_registry.store.keys import SkillId

NOTES = SkillId("system", "notes")


@pytest.fixture
def house() -> House:
    return House()


def override(house: House, **values: object) -> None:
    house.put(keys.settings(NOTES), json.dumps({"schema": 1, **values}).encode())


@pytest.mark.parametrize("path", [None, "", "SKILL.md"])
def test_without_a_path_the_body_comes_without_frontmatter(house: House, path: str | None) -> None:
    house.publish("notes")
    seen = house.registry.viewing.view(ADMIN, "notes", path=path)
    assert (seen.text, seen.loaded.version) == ("# notes\n\nDo it.\n", 1)
    assert seen.file.data == skill_md("notes")


def test_another_path_comes_verbatim_with_the_same_version(house: House) -> None:
    house.publish("notes", "---\nkept: yes\n---\n")
    seen = house.registry.viewing.view(ADMIN, "notes", path="references/notes.md")
    assert (seen.text, seen.loaded.version) == ("---\nkept: yes\n---\n", 1)


def test_a_warm_view_is_two_conditional_gets_without_a_body(house: House) -> None:
    house.publish("notes")
    reader = house.environment()
    override(house, enabled=True)
    reader.viewing.view(ADMIN, "notes")
    house.counter.reset()
    reader.viewing.view(ADMIN, "notes")
    assert [(r.op, r.key) for r in house.counter.requests] == [
        ("GET", keys.sidecar(NOTES)),
        ("GET", keys.settings(NOTES)),
    ]
    assert house.counter.bodies == 0


def test_a_cold_view_is_three_gets(house: House) -> None:
    house.publish("notes")
    reader = house.environment()
    house.counter.reset()
    reader.viewing.view(ADMIN, "notes")
    assert (house.counter.count(), house.counter.gets) == (3, 3)


def test_a_new_version_is_seen_by_a_warm_environment_at_once(house: House) -> None:
    house.publish("notes", "a")
    reader = house.environment()
    path = "references/notes.md"
    assert reader.viewing.view(ADMIN, "notes", path=path).text == "a"
    house.publish("notes", "b")
    seen = reader.viewing.view(ADMIN, "notes", path=path)
    assert (seen.text, seen.loaded.version) == ("b", 2)


def test_a_pinned_version_keeps_its_bytes_and_a_label_names_one(house: House) -> None:
    house.publish("notes", "a")
    house.publish("notes", "b")
    override(house, labels={"stable": 1})
    for pin in (1, "@stable"):
        seen = house.registry.viewing.view(ADMIN, "notes", path="references/notes.md", pin=pin)
        assert (seen.text, seen.loaded.version) == ("a", 1)


@pytest.mark.parametrize("pin", [7, "@nothing"])
def test_an_unknown_version_is_not_found(house: House, pin: int | str) -> None:
    house.publish("notes")
    with pytest.raises(VersionNotFound):
        house.registry.viewing.view(ADMIN, "notes", pin=pin)


def test_a_pruned_version_is_gone(house: House) -> None:
    house.publish("notes", "a")
    house.publish("notes", "b")
    key = keys.revision(NOTES, 1)
    info = house.bucket.head(key)
    assert info is not None
    house.bucket.put(key, b"", metadata={**info.metadata, "kind": "pruned"})
    with pytest.raises(Gone):
        house.environment().viewing.view(ADMIN, "notes", pin=1)


def test_a_missing_file_names_the_nearest_ones(house: House) -> None:
    house.publish("notes")
    with pytest.raises(FileNotFound) as caught:
        house.registry.viewing.view(ADMIN, "notes", path="reference/note.md")
    assert caught.value.available == ("references/notes.md",)


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a\\b", "a/../../b", "a\0b", "C:/x"])
def test_a_path_that_leaves_the_skill_is_refused_before_any_request(
    house: House, path: str
) -> None:
    house.publish("notes")
    house.counter.reset()
    with pytest.raises(PathInvalid) as caught:
        house.registry.viewing.view(ADMIN, "notes", path=path)
    assert caught.value.code == "skill_path_invalid"
    assert house.counter.count() == 0


def test_the_sidecar_is_no_file_of_a_skill(house: House) -> None:
    house.publish("notes")
    with pytest.raises(FileNotFound):
        house.registry.viewing.view(ADMIN, "notes", path=".version")
    vendored = SkillId("system", "plain")
    house.put(keys.tree_file(vendored, "SKILL.md"), skill_md("plain"))
    house.put(keys.sidecar(vendored), b"4\n")
    seen = house.registry.viewing.view(ADMIN, "plain")
    assert (list(seen.loaded.files), seen.loaded.version) == (["SKILL.md"], 4)


def test_an_unknown_skill_names_what_may_be_loaded(house: House) -> None:
    for number in range(25):
        house.publish(f"skill-{number:02d}")
    house.publish("secret", agents="[other]")
    with pytest.raises(SkillNotFound) as caught:
        house.registry.viewing.view(person("ann", agent="review"), "secret")
    assert caught.value.available == tuple(f"skill-{number:02d}" for number in range(20))


@pytest.mark.parametrize("body", [b"garbage", b""])
def test_an_unknown_skill_is_not_found_though_the_catalog_is_broken(
    house: House, body: bytes
) -> None:
    house.put(keys.catalog("system"), body)
    with pytest.raises(SkillNotFound) as unknown:
        house.environment().viewing.view(ADMIN, "ghost")
    assert unknown.value.available == ()


@pytest.mark.parametrize(
    "values", [{"enabled": False}, {"agents": ["other"]}, {"schema": 99}, {"labels": 3}]
)
def test_an_override_closes_a_skill_on_list_and_view_alike(
    house: House, values: dict[str, object]
) -> None:
    house.publish("notes")
    override(house, **values)
    house.deliver(keys.settings(NOTES))
    reader = person("ann", agent="review")
    with pytest.raises(SkillNotFound):
        house.registry.viewing.view(reader, "notes")
    assert house.listed(reader) == {}


def test_an_override_opens_a_skill_to_another_agent(house: House) -> None:
    house.publish("notes", agents="[coding]")
    override(house, agents=["review"])
    house.deliver(keys.settings(NOTES))
    assert house.registry.viewing.view(person("ann", agent="review"), "notes").loaded.version == 1
    assert house.listed(person("ann", agent="review")) == {"notes": 1}


def test_a_deleted_skill_is_not_found_pins_included(house: House) -> None:
    house.publish("notes")
    house.registry.publisher.delete(ADMIN, NOTES)
    for pin in (None, 1):
        with pytest.raises(SkillNotFound):
            house.registry.viewing.view(ADMIN, "notes", pin=pin)


def test_the_nearer_scope_is_viewed(house: House) -> None:
    house.publish("notes", "system")
    house.publish("notes", "own", scope=user_scope("ann"))
    path = "references/notes.md"
    assert house.registry.viewing.view(person("ann"), "notes", path=path).text == "own"
    asked = house.registry.viewing.view(person("ann"), "notes", path=path, scopes=("system",))
    assert asked.text == "system"
    assert house.registry.viewing.view(person("bob"), "notes", path=path).text == "system"


@pytest.mark.parametrize("sidecar", [b"", b"nonsense", b"99\n", b"-1\n", b"1e3", None])
def test_whatever_the_sidecar_says_the_log_is_served(house: House, sidecar: bytes | None) -> None:
    house.publish("notes", "a")
    house.publish("notes", "b")
    if sidecar is None:
        house.bucket.delete(keys.sidecar(NOTES))
    else:
        house.put(keys.sidecar(NOTES), sidecar)
    seen = house.environment().viewing.view(ADMIN, "notes", path="references/notes.md")
    assert (seen.text, seen.loaded.version) == ("b", 2)


def test_a_damaged_revision_is_unavailable_never_half_a_skill(house: House) -> None:
    house.publish("notes")
    house.put(keys.revision(NOTES, 1), b"PK garbage")
    with pytest.raises(Unavailable):
        house.environment().viewing.view(ADMIN, "notes")


def test_a_bundle_is_the_stored_archive_with_its_digest(house: House) -> None:
    house.publish("notes")
    made = house.registry.viewing.bundle(ADMIN, "notes")
    stored = house.read(keys.revision(NOTES, 1)) or b""
    import hashlib

    assert (made.sha256, made.size) == (hashlib.sha256(stored).hexdigest(), len(stored))
    assert keys.revision(NOTES, 1) in made.url


def test_a_bundle_of_a_vendored_skill_is_archived_once(house: House) -> None:
    skill = SkillId("system", "plain")
    for file in skill_files("plain"):
        house.put(keys.tree_file(skill, file.path), file.data)
    made = house.registry.viewing.bundle(ADMIN, "plain")
    stored = house.read(keys.snapshot(skill, made.sha256)) or b""
    assert {f.path: f.data for f in read_archive(stored).files} == {
        f.path: f.data for f in skill_files("plain")
    }
    house.counter.reset()
    assert house.environment().viewing.bundle(ADMIN, "plain").sha256 == made.sha256
    assert house.counter.puts == 0
