"""What other hands do to a bucket, each with the code by which the doctor knows it."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

from house import House, skill_files, zipped

from skill_registry.catalog.snapshot import SCHEMA
from skill_registry.store import keys
from skill_registry.store.keys import SkillId
from skill_registry.store.memory import MemorySkillStore

if TYPE_CHECKING:
    from collections.abc import Callable

NOTES = SkillId("system", "notes")
OTHER = SkillId("system", "other")
PLAIN = SkillId("system", "plain")
CATALOG = keys.catalog("system")
PATH = keys.tree_file(NOTES, "references/notes.md")


def furnished(*, opaque_etags: bool = False) -> House:
    """A bucket in step: `notes` at version 3, `other` at 1, `plain` vendored."""
    made = House(bucket=MemorySkillStore(opaque_etags=opaque_etags))
    for text in ("a", "b", "c"):
        made.publish("notes", text)
    made.publish("other")
    for file in skill_files("plain"):
        made.put(keys.tree_file(PLAIN, file.path), file.data)
    made.deliver(keys.tree_file(PLAIN, "SKILL.md"))
    return made


def rewrite_catalog(house: House, change: Callable[[dict[str, Any]], None]) -> None:
    raw = json.loads(gzip.decompress(house.read(CATALOG) or b""))
    change(raw)
    house.put(CATALOG, gzip.compress(json.dumps(raw).encode()))


def put_with_metadata_of(house: House, key: str, body: bytes) -> None:
    """Overwrite an object and keep what was stored beside it, as a careful script would."""
    info = house.bucket.head(key)
    assert info is not None
    house.bucket.put(key, body, metadata=info.metadata)


def label_on_damage(house: House) -> None:
    put_with_metadata_of(house, keys.revision(NOTES, 2), b"not a zip")
    house.put(keys.settings(NOTES), b'{"labels": {"stable": 2}}')


# Each damage, the code that names it, and words of what was found against what should be.
Damage = tuple["Callable[[House], object]", str, str]
FIXABLE: dict[str, Damage] = {
    "sidecar missing": (
        lambda h: h.bucket.delete(keys.sidecar(NOTES)),
        "sidecar_missing",
        "There is none, should be 3.",
    ),
    "sidecar garbage": (
        lambda h: h.put(keys.sidecar(NOTES), b"six\n"),
        "sidecar_garbage",
        'It holds "six", should be 3.',
    ),
    "sidecar past the log": (
        lambda h: h.put(keys.sidecar(NOTES), b"9\n"),
        "sidecar_past_log",
        "It states 9, should be 3",
    ),
    "sidecar lowered": (
        lambda h: h.put(keys.sidecar(NOTES), b"1\n"),
        "sidecar_behind",
        "It states 1, should be 3.",
    ),
    "tree object removed": (
        lambda h: h.bucket.delete(PATH),
        "tree_missing_file",
        "There is none, should have 1 byte with sha256",
    ),
    "tree object edited by hand": (
        lambda h: h.put(PATH, b"by hand"),
        "tree_foreign_file",
        "It has 7 bytes that no version has there, should have 1 byte ",
    ),
    "tree object edited, its metadata kept": (
        lambda h: put_with_metadata_of(h, PATH, b"by hand"),
        "tree_foreign_file",
        "It has 7 bytes that no version has there",
    ),
    "tree object of an earlier version": (
        lambda h: h.put(PATH, b"a"),
        "tree_stale_file",
        "of an earlier version, should have 1 byte ",
    ),
    "tree object beside the others": (
        lambda h: h.put(keys.tree_file(NOTES, "extra.md"), b"x"),
        "tree_extra_file",
        "It was put there by hand, should be gone.",
    ),
    "catalog missing": (lambda h: h.bucket.delete(CATALOG), "catalog_missing", "There is none"),
    "catalog no gzip": (
        lambda h: h.put(CATALOG, b"{}"),
        "catalog_broken",
        "not gzipped",
    ),
    "catalog cut short": (
        lambda h: h.put(CATALOG, (h.read(CATALOG) or b"")[:-12]),
        "catalog_broken",
        "not to its end",
    ),
    "catalog no JSON": (
        lambda h: h.put(CATALOG, gzip.compress(b"skills")),
        "catalog_broken",
        "not JSON",
    ),
    "catalog of an older schema": (
        lambda h: rewrite_catalog(h, lambda raw: raw.update(schema=SCHEMA - 1)),
        "catalog_schema",
        f"its schema is {SCHEMA - 1}, the one of this code {SCHEMA}",
    ),
    "entry missing": (
        lambda h: rewrite_catalog(h, lambda raw: raw["skills"].pop("notes")),
        "catalog_entry_missing",
        "There is no entry, should be one of version 3.",
    ),
    "entry stale": (
        lambda h: rewrite_catalog(h, lambda raw: raw["skills"]["notes"].update(version=2)),
        "catalog_entry_stale",
        "version is 2, should be 3.",
    ),
}

UNFIXABLE: dict[str, Damage] = {
    "old revision no zip": (
        lambda h: put_with_metadata_of(h, keys.revision(NOTES, 2), b"not a zip"),
        "revision_damaged",
        "Version 2: its 9 bytes are no readable zip archive.",
    ),
    "old revision another zip": (
        lambda h: put_with_metadata_of(h, keys.revision(NOTES, 2), zipped({"a": b"x"})),
        "revision_damaged",
        "Version 2: its sha256 is",
    ),
    "old revision without metadata": (
        lambda h: h.put(keys.revision(NOTES, 2), h.read(keys.revision(NOTES, 2)) or b""),
        "revision_damaged",
        "Version 2: its metadata has no kind",
    ),
    "a number missing": (
        lambda h: h.bucket.delete(keys.revision(NOTES, 2)),
        "revision_gap",
        "Version 2 is missing, should be between 1 and 3.",
    ),
    "an object that is no revision": (
        lambda h: h.put(keys.revisions(NOTES) + "abc.zip", b""),
        "revision_stray",
        "no number of eight digits",
    ),
    "settings of a newer schema": (
        lambda h: h.put(keys.settings(OTHER), b'{"schema": 2}'),
        "settings_broken",
        "Its schema is later than the one of this code",
    ),
    "settings that prune a version to come": (
        lambda h: h.put(keys.settings(NOTES), b'{"prune_below": 8}'),
        "settings_broken",
        "It prunes below 8, should be at most 3",
    ),
    "a label on a damaged version": (
        label_on_damage,
        "label_dangling",
        "`stable` names version 2, which is damaged",
    ),
    "another zip some numbers ahead": (
        lambda h: h.put(keys.revision(NOTES, 9), zipped({"a": b"x"})),
        "revision_gap",
        "Versions 4 to 8 are missing, should be between 3 and 9. The current version is 3",
    ),
    "head without metadata": (
        lambda h: h.put(keys.revision(NOTES, 3), zipped({"SKILL.md": b"another skill"})),
        "revision_damaged",
        "Version 3: its metadata has no kind",
    ),
    "a path that no skill can have": (
        lambda h: h.bucket.put(keys.tree(NOTES) + "a/../b", b"x"),
        "tree_unsafe_path",
        'The path "a/../b"',
    ),
}


# Of all the damages, those that do not undo one another.
TOGETHER = (
    "sidecar lowered",
    "tree object edited by hand",
    "tree object beside the others",
    "entry stale",
    "old revision no zip",
    "an object that is no revision",
    "settings of a newer schema",
    "a path that no skill can have",
)


def damage_all(house: House) -> set[str]:
    """Do all of these; return their codes."""
    for case in TOGETHER:
        (FIXABLE | UNFIXABLE)[case][0](house)
    return {(FIXABLE | UNFIXABLE)[case][1] for case in TOGETHER}
