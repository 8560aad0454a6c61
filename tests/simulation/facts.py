"""What happens in a simulated world, as the invariants are told of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skill_registry.catalog.log import NO_PRECONDITION, Precondition
from skill_registry.catalog.overrides import Overrides, overrides_of
from skill_registry.catalog.revision import Kind, RevisionInfo
from skill_registry.catalog.snapshot import Catalog, decode
from skill_registry.spec.files import parse_sidecar
from skill_registry.store import keys
from skill_registry.store.base import StoredObject
from skill_registry.store.keys import SkillId

if TYPE_CHECKING:
    from simulation.bucket import Change
    from simulation.scheduler import Call

    from skill_registry.catalog.loading import Loaded
    from skill_registry.catalog.resolving import Pin
    from skill_registry.errors import RegistryError
    from skill_registry.store.gate import Request

Files = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class RevisionChanged:
    """A revision was created, replaced or removed (``info`` is None)."""

    skill: SkillId
    number: int
    info: RevisionInfo | None
    body: bytes
    change: Change


@dataclass(frozen=True, slots=True)
class SidecarChanged:
    """``.version`` was written or removed; ``stated`` is None for a missing one and for garbage."""

    skill: SkillId
    stated: int | None
    change: Change


@dataclass(frozen=True, slots=True)
class CatalogChanged:
    """A catalog was written or removed; ``catalog`` is None for a missing one and for garbage."""

    scope: str
    catalog: Catalog | None
    change: Change


@dataclass(frozen=True, slots=True)
class SettingsChanged:
    """A skill's overrides were written or removed."""

    skill: SkillId
    overrides: Overrides
    change: Change


@dataclass(frozen=True, slots=True)
class TreeChanged:
    """A file of the plain tree was written or removed, by the registry if there is a ``call``."""

    skill: SkillId
    path: str
    change: Change
    call: Call | None = None


@dataclass(frozen=True, slots=True)
class UploadArrived:
    """Bytes arrived at the target of an upload."""

    upload: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Asked:
    """An invocation is about to send a request, which was not sent before by itself."""

    call: Call
    request: Request


@dataclass(frozen=True, slots=True)
class Promise:
    """What a client asked for under one upload id.

    Attributes:
        digests: Content digests that may be committed: those of every valid archive that it sent.
        since: The step at which it first asked.
        replaced: Whether other bytes are sent to the same target.
    """

    skill: SkillId
    kind: Kind
    since: int
    precondition: Precondition = NO_PRECONDITION
    digests: set[str] = field(default_factory=set)
    replaced: bool = False


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A client was told that its upload is a revision; ``call`` is the invocation that told it."""

    skill: SkillId
    upload: str
    info: RevisionInfo
    call: Call | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """A client was told that what it wants to publish cannot be, from a step on."""

    promise: Promise
    upload: str
    since: int
    error: RegistryError


@dataclass(frozen=True, slots=True)
class Viewed:
    """A client got one state of a skill, or an error.

    Attributes:
        since: The step at which it asked.
        floor: The highest number that was acknowledged to anybody before it asked.
        last: The highest number that this client was shown before.
        files: Of the whole state that the answer was made from.
    """

    skill: SkillId
    pin: Pin
    since: int
    floor: int
    last: int
    loaded: Loaded | None
    error: RegistryError | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """A client got the listing of one scope.

    Attributes:
        versions: Revision numbers by name; None for a vendored skill.
        floor: What the stored catalog said of each name when it asked.
        requests: Sent to the store for this listing.
        known: Whether the scope has a catalog that can be read.
        stale: Whether the answer says that it is old.
    """

    scope: str
    versions: Mapping[str, int | None]
    floor: Mapping[str, int]
    requests: int
    known: bool
    stale: bool


@dataclass(frozen=True, slots=True)
class Quiet:
    """Nothing is under way any more: events are drained, or lost and reconciled."""


Changed = RevisionChanged | SidecarChanged | CatalogChanged | SettingsChanged | TreeChanged
Fact = Changed | UploadArrived | Asked | Acknowledged | Refused | Viewed | Listed | Quiet


def read_change(change: Change) -> Changed | UploadArrived | None:
    """Tell what a change is about; None for what no invariant speaks of."""
    key, after = change.key, change.after
    if key.startswith(keys.UPLOADS):
        upload = keys.parse_upload(key)
        if upload is None or after is None:
            return None
        return UploadArrived(str(upload), after.body)
    if (scope := keys.parse_catalog(key)) is not None:
        return CatalogChanged(scope, decode(scope, after.body) if after else None, change)
    skill = keys.parse_skill(key)
    return None if skill is None else _of_skill(skill, key, after, change)


def _of_skill(
    skill: SkillId, key: str, after: StoredObject | None, change: Change
) -> Changed | None:
    if key == keys.sidecar(skill):
        return SidecarChanged(skill, parse_sidecar(after.body) if after else None, change)
    if key.startswith(keys.SKILLS):
        return TreeChanged(skill, key.removeprefix(keys.tree(skill)), change)
    if key == keys.settings(skill):
        return SettingsChanged(skill, overrides_of(after.body if after else None), change)
    number = keys.revision_number(key)
    if number is None:
        return None
    info = RevisionInfo.from_object(number, after.info) if after else None
    return RevisionChanged(skill, number, info, after.body if after else b"", change)
