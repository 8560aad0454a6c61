"""Findings: what the doctor says of a bucket, one disagreement each, with a stable code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skill_registry.store import keys

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skill_registry.store.keys import SkillId

# Codes are only ever added.
FINDINGS: Mapping[str, str] = {
    "sidecar_missing": "A published skill has no `.version`.",
    "sidecar_garbage": "A `.version` holds no number.",
    "sidecar_past_log": "A `.version` states a number that was never published.",
    "sidecar_behind": "A `.version` is below the newest version.",
    "revision_damaged": "A version is not, or not provably, what was published.",
    "revision_gap": "Numbers between the first and the newest version are missing.",
    "revision_pruned": "A version lost its bytes although it is current, labelled or to be kept.",
    "revision_unpruned": "A version was purged or pruned, and its bytes are still there.",
    "revision_stray": "An object among the versions is none.",
    "label_dangling": "A label names a version that cannot be loaded.",
    "settings_broken": "A settings.json cannot be read, or says what cannot be.",
    "log_missing": "A directory was written by publishes, and its versions are gone.",
    "tree_missing_file": "A file of the current version is not in the plain tree.",
    "tree_stale_file": "A file of the plain tree is of an earlier version.",
    "tree_foreign_file": "A file of the plain tree was edited by hand.",
    "tree_extra_file": "The plain tree has a file that the current version has not.",
    "tree_mode": "A file of the plain tree has another mode than in the current version.",
    "tree_unsafe_path": "An object in the plain tree has a path that no skill can have.",
    "catalog_missing": "A scope has no catalog.",
    "catalog_broken": "A catalog cannot be read.",
    "catalog_schema": "A catalog is of another schema than this code writes.",
    "catalog_entry_missing": "A skill has no entry in its catalog.",
    "catalog_entry_stale": "An entry says something else than the skill.",
    "catalog_entry_extra": "An entry is of a skill that is not there.",
    "access_broken": "access.json cannot be read, so nobody whom it names is let in.",
    "stray_object": "An object belongs to no skill.",
    "examine_failed": "A skill could not be examined.",
    "repair_failed": "A repair was begun and did not come to its end.",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One disagreement.

    Attributes:
        code: One of ``FINDINGS``.
        skill: None where it concerns a scope or the bucket.
        key: The object, or the prefix, that is not as it should be.
        detail: What was found, and what should be.
        fixable: Whether ``repair`` mends it.
        hint: What a person can do where it does not.
    """

    code: str
    skill: SkillId | None
    key: str
    detail: str
    fixable: bool = True
    hint: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        document: dict[str, Any] = {
            "code": self.code,
            "skill": str(self.skill) if self.skill else None,
            "key": self.key,
            "detail": self.detail,
            "fixable": self.fixable,
        }
        return document | ({"hint": self.hint} if self.hint else {})


def unfixable(
    code: str, skill: SkillId | None, key: str, detail: str, *, hint: str | None = None
) -> Finding:
    """Return a finding that only a person can mend."""
    return Finding(code, skill, key, detail, fixable=False, hint=hint)


def hint_of_stray(key: str) -> str:
    """Say what an operator can do about an object that nothing reads."""
    if key.startswith(keys.REGISTRY):
        return "Nothing reads it, so it may stay: the bucket policy lets nobody remove it."
    if key.startswith(keys.UPLOADS):
        return "Nothing reads it, and the bucket lets it expire."
    return "Nothing reads it, so it may stay or be deleted."
