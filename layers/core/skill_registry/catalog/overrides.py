"""The operator's overrides of one skill: ``settings.json``, which wins over frontmatter."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Overrides:
    """What an operator decided about a skill.

    Attributes:
        enabled: A disabled skill is in no listing and answers as an unknown one.
        agents: Who may see it, whatever its frontmatter says; None leaves that to the frontmatter.
        labels: Names of revisions that are protected from pruning.
        prune_below: Revisions below this number may have lost their bytes.
        changes: The last changes, newest last: who, when, why.
    """

    enabled: bool = True
    agents: tuple[str, ...] | None = None
    labels: Mapping[str, int] = field(default_factory=dict)
    prune_below: int = 0
    changes: tuple[Mapping[str, Any], ...] = ()


NO_OVERRIDES = Overrides()


def read_overrides(body: bytes) -> Overrides | None:
    """Read a stored ``settings.json``; None for one that is not ours to understand.

    The caller treats None as disabled: a switch that cannot be read must not open a skill.
    """
    try:
        raw = json.loads(body)
        agents = raw.get("agents")
        labels = raw.get("labels", {})
        if raw.get("schema", SCHEMA) != SCHEMA or not isinstance(labels, dict):
            return None
        return Overrides(
            enabled=raw.get("enabled", True) is True,
            agents=None if agents is None else tuple(map(str, agents)),
            labels={str(label): int(number) for label, number in labels.items()},
            prune_below=int(raw.get("prune_below", 0)),
            changes=tuple(raw.get("changes", ())),
        )
    except (ValueError, TypeError, AttributeError):
        return None


CLOSED = Overrides(enabled=False)


def overrides_of(body: bytes | None) -> Overrides:
    """Return the overrides that a skill has, given its ``settings.json`` or None for none."""
    if body is None:
        return NO_OVERRIDES
    return read_overrides(body) or CLOSED
