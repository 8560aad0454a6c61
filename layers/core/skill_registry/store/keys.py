"""The key layout of the bucket: the only place that spells a key or reads one.

skills/<scope>/<name>/...                            plain tree and the ``.version`` sidecar
registry/<scope>/<name>/revisions/00000006.zip       one immutable object per revision
registry/<scope>/<name>/settings.json                the operator's overrides
registry/<scope>/<name>/snapshots/<fingerprint>.zip  bundle of a vendored directory
registry/<scope>/catalog.json.gz                     derived listing of the scope
uploads/<principal-hash>/<upload-id>.zip|.json       presigned target, and the outcome beside it
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from skill_registry.spec.names import is_directory_name

SKILLS = "skills/"
REGISTRY = "registry/"
UPLOADS = "uploads/"
SIDECAR = ".version"

_REVISION = re.compile(r"([0-9]{8,20})\.zip")
_CATALOG = re.compile(r"registry/([^/]+)/catalog\.json\.gz")
_UPLOAD = re.compile(r"uploads/([0-9a-f]{32})/([0-9A-Za-z_-]{1,64})\.zip")


@dataclass(frozen=True, slots=True, order=True)
class SkillId:
    """A skill's place: its scope and its name inside it."""

    scope: str
    name: str

    def __str__(self) -> str:
        return f"{self.scope}/{self.name}"


@dataclass(frozen=True, slots=True, order=True)
class UploadId:
    """An upload's place: the hash of its principal and the id that the principal knows."""

    principal: str
    id: str

    def __str__(self) -> str:
        return f"{self.principal}/{self.id}"


def scope_tree(scope: str) -> str:
    """Prefix of all plain trees of a scope."""
    return f"{SKILLS}{scope}/"


def tree(skill: SkillId) -> str:
    """Prefix of a skill's plain tree."""
    return f"{SKILLS}{skill.scope}/{skill.name}/"


def tree_file(skill: SkillId, path: str) -> str:
    """Key of one file in the plain tree."""
    return tree(skill) + path


def sidecar(skill: SkillId) -> str:
    """Key of ``.version``, the visible commit point."""
    return tree(skill) + SIDECAR


def scope_records(scope: str) -> str:
    """Prefix of everything that the registry keeps about a scope."""
    return f"{REGISTRY}{scope}/"


def revisions(skill: SkillId) -> str:
    """Prefix of a skill's log."""
    return f"{REGISTRY}{skill.scope}/{skill.name}/revisions/"


def revision(skill: SkillId, number: int) -> str:
    """Key of one revision; eight digits, so that byte order is number order."""
    return f"{revisions(skill)}{number:08d}.zip"


def revision_number(key: str) -> int | None:
    """Number of the revision that a key holds, None when it holds none.

    A number has one spelling: what is spelled otherwise would count, and never be found.
    """
    match = _REVISION.fullmatch(key.rsplit("/", 1)[-1])
    if match is None or "/revisions/" not in key:
        return None
    number = int(match[1])
    return number if number and f"{number:08d}" == match[1] else None


def settings(skill: SkillId) -> str:
    """Key of the operator's overrides."""
    return f"{REGISTRY}{skill.scope}/{skill.name}/settings.json"


def snapshot(skill: SkillId, fingerprint: str) -> str:
    """Key of the bundle of one state of a vendored directory."""
    return f"{REGISTRY}{skill.scope}/{skill.name}/snapshots/{fingerprint}.zip"


def catalog(scope: str) -> str:
    """Key of a scope's derived listing."""
    return f"{REGISTRY}{scope}/catalog.json.gz"


def access() -> str:
    """Key of who is who: which IAM role is which principal."""
    return f"{REGISTRY}access.json"


def uploads_of(principal: str) -> str:
    """Prefix of everything that one principal uploaded, by its hash."""
    return f"{UPLOADS}{principal}/"


def upload(upload_id: UploadId) -> str:
    """Key that a presigned upload writes."""
    return f"{UPLOADS}{upload_id}.zip"


def outcome(upload_id: UploadId) -> str:
    """Key of what became of an upload."""
    return f"{UPLOADS}{upload_id}.json"


def parse_upload(key: str) -> UploadId | None:
    """Read the upload that a key belongs to; None for every other key."""
    match = _UPLOAD.fullmatch(key)
    return UploadId(match[1], match[2]) if match else None


def parse_skill(key: str) -> SkillId | None:
    """Read the skill whose state a key may have changed; None for every other key.

    Catalogs, snapshots and outcomes are derived: a change of theirs concerns no skill. Folders that
    no skill can have (an empty name, `..`) are none.
    """
    parts = key.split("/")
    if len(parts) < 4 or not parts[1] or not is_directory_name(parts[2]):
        return None
    in_tree = parts[0] == "skills"
    of_record = parts[3:] == ["settings.json"] or (parts[3] == "revisions" and len(parts) == 5)
    if in_tree or (parts[0] == "registry" and of_record):
        return SkillId(parts[1], parts[2])
    return None


def parse_catalog(key: str) -> str | None:
    """Read the scope whose catalog a key is; None for every other key."""
    match = _CATALOG.fullmatch(key)
    return match[1] if match else None
