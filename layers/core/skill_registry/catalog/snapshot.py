"""The catalog of a scope: the derived listing that is one object and one GET away.

Derived means: every entry is a pure function of the log, the tree and the settings, so that a
catalog can be rebuilt at any time and comes out equal (invariant I15).
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from skill_registry.spec.text import shown
from skill_registry.store.etags import content_etag

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from skill_registry.store.base import ObjectInfo

SCHEMA = 1


class State(StrEnum):
    """Whether a skill can be read: ``invalid`` is a vendored one whose SKILL.md cannot."""

    LIVE = "live"
    DELETED = "deleted"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Entry:
    """One skill in a catalog.

    Attributes:
        revision: Number of the head; None for a vendored skill.
        version: What a listing shows: the number, or a vendored skill's own version, or nothing.
        agents: Who may see it, overrides already applied; None for everyone.
        hidden: ``disable-model-invocation``: in no listing, loadable by name.
        masked: The scope's owner wants no skill of this name, from whatever scope. Where the scope
            has none itself, the entry is of a deleted one.
        sealed: The name belongs to this scope: no other one gives it, whatever the state.
        tree: Fingerprint of the plain tree as it should be listed, for the reconcile.
        settings: ETag of ``settings.json``, for the reconcile.
        diagnostics: What the format's rules say of it, JSON form.
    """

    name: str
    revision: int | None = None
    version: int | str | None = None
    state: State = State.LIVE
    enabled: bool = True
    description: str = ""
    descriptions: Mapping[str, str] = field(default_factory=dict)
    agents: tuple[str, ...] | None = None
    min_tier: str | None = None
    hidden: bool = False
    masked: bool = False
    sealed: bool = False
    allowed_tools: tuple[str, ...] = ()
    license: str | None = None
    compatibility: str | None = None
    source: str | None = None
    upstream: Mapping[str, str] | None = None
    tags: tuple[str, ...] = ()
    files: int = 0
    bytes: int = 0
    sha256: str | None = None
    tree: str | None = None
    settings: str | None = None
    diagnostics: tuple[Mapping[str, Any], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, without members that have their default.

        Nobody (an empty ``agents``) is not everyone (none), so it is the default that is left out,
        and not what is empty.
        """
        blank = Entry(self.name)
        document: dict[str, Any] = {"name": self.name}
        for member in _MEMBERS:
            value = getattr(self, member)
            if value != getattr(blank, member):
                document[member] = value
        return document

    @classmethod
    def from_dict(cls, name: str, raw: Mapping[str, Any]) -> Entry:
        """Read the JSON form; members that a later version added are left out.

        Raises:
            TypeError: A member is not of the type that it is written with.
            ValueError: The state is none.
        """
        if (state := raw.get("state", State.LIVE)) not in set(State):
            raise ValueError("a `state` is none that a skill can have")
        values = {
            key: _checked(key, value)
            for key, value in raw.items()
            if key in _TYPES and value is not None
        }
        return cls(name=name, state=State(state), **values)


_MEMBERS = tuple(member.name for member in fields(Entry))

# What JSON may hold for each member, and what a list of it may.
_TYPES: Mapping[str, tuple[type, ...]] = {
    "revision": (int,),
    "version": (int, str),
    "enabled": (bool,),
    "description": (str,),
    "descriptions": (dict,),
    "agents": (list,),
    "min_tier": (str,),
    "hidden": (bool,),
    "masked": (bool,),
    "sealed": (bool,),
    "allowed_tools": (list,),
    "license": (str,),
    "compatibility": (str,),
    "source": (str,),
    "upstream": (dict,),
    "tags": (list,),
    "files": (int,),
    "bytes": (int,),
    "sha256": (str,),
    "tree": (str,),
    "settings": (str,),
    "diagnostics": (list,),
}
_ELEMENTS: Mapping[str, type] = {"diagnostics": dict}


def _checked(key: str, value: Any) -> Any:
    """Return a member as an entry holds it."""
    if not isinstance(value, _TYPES[key]):
        raise TypeError(f"a `{key}` is not of its type")
    if not isinstance(value, list):
        return value
    wanted = _ELEMENTS.get(key, str)
    if not all(isinstance(each, wanted) for each in value):
        raise TypeError(f"a `{key}` holds what is not of its type")
    return tuple(value)


@dataclass(frozen=True, slots=True)
class Catalog:
    """All entries of a scope by name. ``version`` grows with every change and never decreases."""

    scope: str
    version: int
    entries: Mapping[str, Entry]

    def changed(self, updates: Mapping[str, Entry | None], *, floor: int) -> Catalog | None:
        """Return the catalog with these entries (None removes), or None where nothing changes.

        ``floor`` is the lowest version for a catalog that is made anew.
        """
        merged = {name: e for name, e in self.entries.items() if updates.get(name, e) is not None}
        merged |= {name: entry for name, entry in updates.items() if entry is not None}
        if merged == self.entries and self.version:
            return None
        version = self.version + 1 if self.version else floor
        return replace(self, version=version, entries=dict(sorted(merged.items())))

    def encode(self) -> bytes:
        """Return the stored form: JSON, gzipped without a time so that equal is equal."""
        document = {
            "schema": SCHEMA,
            "scope": self.scope,
            "catalog_version": self.version,
            "skills": {name: _without_name(entry) for name, entry in self.entries.items()},
        }
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
        return gzip.compress(text.encode(), compresslevel=6, mtime=0)


def _without_name(entry: Entry) -> dict[str, Any]:
    values = entry.to_dict()
    del values["name"]
    return values


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A stored catalog that this code cannot read.

    Attributes:
        why: What is wrong with it, to follow "The catalog of a scope cannot be read:".
        schema: The schema that it states, where it is another than ours; None for a broken one.
        version: Its ``catalog_version``, 0 where none can be told.
    """

    why: str
    schema: int | None = None
    version: int = 0

    @property
    def newer(self) -> bool:
        """Whether later code wrote it. That code still runs, or ran: never write over it unasked.

        While a deployment rolls, both write; the older would undo the newer at every turn.
        """
        return self.schema is not None and self.schema > SCHEMA


def read_catalog(scope: str, body: bytes) -> Catalog | Unreadable:
    """Read a stored catalog, or say why it cannot be read. Never raises for bad input."""
    try:
        raw = json.loads(gzip.decompress(body))
    except (OSError, EOFError, zlib.error):
        return Unreadable("it is not gzipped, or not to its end")
    except (ValueError, RecursionError):
        return Unreadable("it is not JSON")
    if not isinstance(raw, dict) or (schema := _count(raw.get("schema"))) is None:
        return Unreadable("it states no schema")
    version = _count(raw.get("catalog_version"))
    if schema != SCHEMA:
        why = f"its schema is {schema}, the one of this code {SCHEMA}"
        return Unreadable(why, schema, version or 0)
    if raw.get("scope") != scope:
        said = raw.get("scope")
        of = f"the catalog of {shown(said)}" if isinstance(said, str) else "of no scope"
        return Unreadable(f"it is {of}")
    if version is None:
        return Unreadable("it states no catalog_version")
    skills = raw.get("skills")
    if not isinstance(skills, dict) or not all(isinstance(each, dict) for each in skills.values()):
        return Unreadable("its skills are malformed (they are no objects)", version=version)
    try:
        entries = {name: Entry.from_dict(name, value) for name, value in skills.items()}
    except (ValueError, TypeError) as odd:
        return Unreadable(f"its skills are malformed ({odd})", version=version)
    return Catalog(scope, version, entries)


def decode(scope: str, body: bytes) -> Catalog | None:
    """Read a stored catalog; None for one that is broken or of another schema."""
    found = read_catalog(scope, body)
    return found if isinstance(found, Catalog) else None


def _count(value: Any) -> int | None:
    right = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if right else None


def fingerprint(etags: Mapping[str, str]) -> str:
    """Hash the state of a directory: each path with the ETag of its object."""
    digest = hashlib.sha256()
    for path, etag in sorted(etags.items()):
        digest.update(f"{path}\0{etag}\0".encode())
    return digest.hexdigest()


def listed_fingerprint(prefix: str, objects: Iterable[ObjectInfo]) -> str:
    """Fingerprint of a listed directory. Keys that end in a slash are other tools' folder marks."""
    return fingerprint({o.key.removeprefix(prefix): o.etag for o in objects if o.key[-1] != "/"})


def content_fingerprint(contents: Mapping[str, bytes]) -> str:
    """The fingerprint that a tree of these files is listed with, where an ETag is the MD5.

    Where it is not (SSE-KMS) the reconcile finds a difference, looks closer, and writes nothing.
    """
    return fingerprint({path: content_etag(data) for path, data in contents.items()})
