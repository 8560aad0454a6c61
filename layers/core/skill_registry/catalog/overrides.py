"""The operator's overrides of one skill: ``settings.json``, which wins over frontmatter."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from skill_registry.errors import VersionNotFound

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Overrides:
    """What an operator decided about a skill.

    Attributes:
        enabled: A disabled skill is in no listing and answers as an unknown one.
        agents: Who may see it, whatever its frontmatter says; None leaves that to the frontmatter.
        hidden: In a user's scope: its owner wants no skill of this name, whatever scope it is in.
        sealed: In ``system``: a skill of this name comes from ``system`` or from nowhere.
        labels: Names of revisions that are protected from pruning.
        prune_below: Revisions below this number have lost their bytes, or will, but for those with
            a label. It never falls.
        purged: Revisions that were purged, one by one.
        changes: The last changes, newest last: who, when, why.
    """

    enabled: bool = True
    agents: tuple[str, ...] | None = None
    hidden: bool = False
    sealed: bool = False
    labels: Mapping[str, int] = field(default_factory=dict)
    prune_below: int = 0
    purged: tuple[int, ...] = ()
    changes: tuple[Mapping[str, Any], ...] = ()

    def keeps(self, number: int) -> bool:
        """Whether the bytes of a revision are to be kept, the head's aside.

        What is not kept answers as pruned from this moment on, wherever its bytes still are.
        """
        if number in self.purged:
            return False
        return number >= self.prune_below or number in self.labels.values()

    def number_of(self, pin: int | str, name: str) -> int:
        """Return the version that a number or ``@label`` of the skill ``name`` means.

        Raises:
            VersionNotFound: There is no such label.
        """
        number = self.labels.get(pin[1:]) if isinstance(pin, str) else pin
        if number is None:
            raise VersionNotFound(f"`{name}` has no version `{pin}`.")
        return number

    def labels_of(self, number: int) -> tuple[str, ...]:
        """Return the labels of a revision, sorted."""
        return tuple(sorted(label for label, named in self.labels.items() if named == number))


@dataclass(frozen=True, slots=True)
class Retention:
    """Which revisions pruning leaves alone, besides the head and the labelled ones.

    Attributes:
        versions: The newest so many.
        days: Those that are not this many days old.
    """

    versions: int = 20
    days: int = 30


NO_OVERRIDES = Overrides()


def read_overrides(body: bytes) -> Overrides | None:
    """Read a stored ``settings.json``; None for one that is not ours to understand.

    The caller treats None as disabled: a switch that cannot be read must not open a skill.
    """
    try:
        raw = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(raw, dict) or raw.get("schema", SCHEMA) != SCHEMA:
        return None
    members = {name: _frozen(raw[name]) for name in _SOUND if raw.get(name) is not None}
    if not all(_SOUND[name](value) for name, value in members.items()):
        return None
    return Overrides(**members)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _is_number(value: Any) -> bool:
    """Whether it can be a revision's number."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _every(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda members: isinstance(members, tuple) and all(map(check, members))


# Each member has the type that it claims, which JSON does not promise.
_SOUND: Mapping[str, Callable[[Any], bool]] = {
    "enabled": lambda value: isinstance(value, bool),
    "agents": _every(lambda agent: isinstance(agent, str)),
    "hidden": lambda value: isinstance(value, bool),
    "sealed": lambda value: isinstance(value, bool),
    "labels": lambda value: isinstance(value, dict) and all(map(_is_number, value.values())),
    "prune_below": lambda value: value is not False and (value == 0 or _is_number(value)),
    "purged": _every(_is_number),
    "changes": _every(lambda change: isinstance(change, dict)),
}


def write_overrides(overrides: Overrides) -> bytes:
    """Return the ``settings.json`` of these overrides, without what is at its default."""
    document: dict[str, Any] = {"schema": SCHEMA}
    if not overrides.enabled:
        document["enabled"] = False
    if overrides.agents is not None:
        document["agents"] = list(overrides.agents)
    if overrides.hidden:
        document["hidden"] = True
    if overrides.sealed:
        document["sealed"] = True
    if overrides.labels:
        document["labels"] = dict(sorted(overrides.labels.items()))
    if overrides.prune_below:
        document["prune_below"] = overrides.prune_below
    if overrides.purged:
        document["purged"] = sorted(overrides.purged)
    if overrides.changes:
        document["changes"] = [dict(change) for change in overrides.changes]
    return json.dumps(document, ensure_ascii=False, indent=2).encode() + b"\n"


CLOSED = Overrides(enabled=False)


def overrides_of(body: bytes | None) -> Overrides:
    """Return the overrides that a skill has, given its ``settings.json`` or None for none."""
    if body is None:
        return NO_OVERRIDES
    return read_overrides(body) or CLOSED
