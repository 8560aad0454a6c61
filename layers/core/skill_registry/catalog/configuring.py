"""Configure: the operator's overrides of a skill, changed by compare-and-set.

Overrides survive every publish, since they lie beside the log and not in it. A label protects a
revision from pruning, so it is set in the same object that says how far pruning went: whoever
comes second sees the other (invariant I9).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from skill_registry.catalog.changing import change_stored
from skill_registry.catalog.entries import decided
from skill_registry.catalog.overrides import (
    CLOSED,
    NO_OVERRIDES,
    SCHEMA,
    Overrides,
    read_overrides,
    write_overrides,
)
from skill_registry.catalog.principal import SYSTEM
from skill_registry.catalog.revision import Kind
from skill_registry.catalog.snapshot import State
from skill_registry.errors import (
    Forbidden,
    Gone,
    RequestInvalid,
    SettingsUnreadable,
    SkillNotFound,
    VersionNotFound,
)
from skill_registry.store import keys
from skill_registry.store.base import IfMatch, StoredObject, Written
from skill_registry.store.conditional import put_once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from skill_registry.catalog.entries import EntryReader
    from skill_registry.catalog.following import Follower
    from skill_registry.catalog.log import RevisionLog
    from skill_registry.catalog.principal import Principal
    from skill_registry.catalog.runtime import Runtime
    from skill_registry.catalog.snapshot import Entry
    from skill_registry.store.base import SkillStore
    from skill_registry.store.keys import SkillId

CHANGES_KEPT = 50
LABELS = 50

_LABEL = re.compile(r"[a-z][a-z0-9]*(?:[._-][a-z0-9]+)*")
_LONGEST_LABEL = 64
# Everybody knows what these would mean, and a label does not follow the head.
_TAKEN = frozenset({"latest", "current", "head"})


class SettingsFiles:
    """The ``settings.json`` of every skill. Holds no state of its own."""

    def __init__(self, store: SkillStore, runtime: Runtime) -> None:
        self._store = store
        self._runtime = runtime

    def read(self, skill: SkillId) -> tuple[Overrides, str | None]:
        """Return the overrides with their ETag, None where the skill has none.

        Raises:
            SettingsUnreadable: There are some, and they are not ours to understand.
        """
        found = self._store.get(keys.settings(skill))
        if not isinstance(found, StoredObject):
            return NO_OVERRIDES, None
        overrides = read_overrides(found.body)
        if overrides is None:
            raise SettingsUnreadable(f"The settings.json of {skill} cannot be read; mend it first.")
        return overrides, found.etag

    def update(self, skill: SkillId, change: Callable[[Overrides], Overrides]) -> Overrides:
        """Change the overrides as ``change`` says, and return them."""
        return self.write(skill, change)[0]

    def write(
        self, skill: SkillId, change: Callable[[Overrides], Overrides]
    ) -> tuple[Overrides, str | None]:
        """Change the overrides: read, change, write if nobody else did, else once more.

        Returns them with their ETag, None where there are none.

        Args:
            change: Called with what is stored now; what it raises ends the update. Answering the
                same overrides writes nothing.

        Raises:
            SettingsUnreadable: What is stored is not ours to understand.
            Unavailable: Others kept winning, or the store does not answer.
        """
        return change_stored(
            self._store,
            self._runtime,
            keys.settings(skill),
            read=lambda: self.read(skill),
            change=change,
            encode=write_overrides,
            exhausted=f"Too many changes of {skill}; try again.",
        )

    @staticmethod
    def is_replaceable(body: bytes) -> bool:
        """Whether settings cannot be read by any code: those of a later schema can."""
        if read_overrides(body) is not None:
            return False
        try:
            schema = json.loads(body).get("schema")
        except (ValueError, AttributeError, RecursionError):
            return True
        return not isinstance(schema, int) or schema <= SCHEMA

    def replace_unreadable(self, skill: SkillId, who: str, *, gone: Iterable[int] = ()) -> bool:
        """Put closed settings in the place of unreadable ones; whether it was this call.

        The skill stays disabled, since nobody knows any more what was decided. Labels and the
        floor of pruning start anew.

        Args:
            who: Is noted among the changes.
            gone: Revisions that lost their bytes, which nobody should miss.
        """
        found = self._store.get(keys.settings(skill))
        if not isinstance(found, StoredObject) or not self.is_replaceable(found.body):
            return False
        change = {
            "who": who,
            "when": self._runtime.now(),
            "what": {"enabled": False},
            "why": "The settings before could not be read.",
        }
        result = put_once(
            self._store,
            keys.settings(skill),
            write_overrides(replace(CLOSED, purged=tuple(gone), changes=(change,))),
            condition=IfMatch(found.etag),
            content_type="application/json",
            write_id=self._runtime.new_id(),
        )
        return isinstance(result, Written)


@dataclass(frozen=True, slots=True)
class Change:
    """What an operator wants changed; None leaves a member as it is.

    Attributes:
        agents: Who may see the skill; an empty tuple leaves that to the frontmatter again.
        hidden: Whether the caller wants no skill of this name, from whatever scope.
        sealed: Whether a skill of this name comes from ``system`` or from nowhere.
        labels: Version by label; None removes the label.
    """

    enabled: bool | None = None
    agents: tuple[str, ...] | None = None
    hidden: bool | None = None
    sealed: bool | None = None
    labels: Mapping[str, int | None] = field(default_factory=dict)
    reason: str | None = None

    def check(self) -> None:
        """Check its form.

        Raises:
            RequestInvalid: ``label_invalid`` or ``change_invalid``.
        """
        for label in self.labels:
            if label in _TAKEN:
                raise RequestInvalid(
                    f"`{label}` would mean the current version, which needs no label.",
                    code="label_invalid",
                )
            if len(label) > _LONGEST_LABEL or _LABEL.fullmatch(label) is None:
                raise RequestInvalid(
                    f"A label starts with a letter and has lower-case letters and digits, with `.`,"
                    f" `_` or `-` between them, {_LONGEST_LABEL} characters at most.",
                    code="label_invalid",
                )
        if self == Change(reason=self.reason):
            raise RequestInvalid("Nothing is to be changed.", code="change_invalid")

    @property
    def is_of_name(self) -> bool:
        """Whether it decides about a name, whatever is there by it."""
        return self == Change(hidden=self.hidden, sealed=self.sealed, reason=self.reason)

    def check_place(self, principal: Principal, scope: str) -> None:
        """Check that what it decides can be decided in this scope, by this principal.

        Raises:
            RequestInvalid: ``change_invalid``.
            Forbidden: Only administrators seal.
        """
        if self.hidden is not None and scope != principal.own_scope:
            why = "alone" if principal.own_scope else "alone, and you have none: disable it instead"
            raise RequestInvalid(
                f"Skills are hidden in one's own scope {why}.", code="change_invalid"
            )
        if self.sealed is not None and not principal.administrator:
            raise Forbidden("Only administrators seal a name.")
        if self.sealed is not None and scope != SYSTEM:
            raise RequestInvalid(f"Names are sealed in `{SYSTEM}` alone.", code="change_invalid")


class Configurer:
    """The configure use case."""

    def __init__(
        self,
        files: SettingsFiles,
        runtime: Runtime,
        log: RevisionLog,
        entries: EntryReader,
        follower: Follower,
    ) -> None:
        self._files = files
        self._runtime = runtime
        self._log = log
        self._entries = entries
        self._follower = follower

    def change(self, principal: Principal, skill: SkillId, change: Change) -> Overrides:
        """Apply a change and note who, when and why; repeating it changes nothing.

        Raises:
            RequestInvalid: The change is malformed, or of something that is decided elsewhere.
            Forbidden: It is for administrators.
            SkillNotFound: There is no such skill, managed or vendored; a deleted one may come back.
            VersionNotFound: A label would name a version that never was, or a deletion.
            Gone: A label would name a version that was pruned, or is about to be.
            SettingsUnreadable: What is stored cannot be read, so it is not replaced.
            Unavailable: The store does not answer; send the change again.
        """
        change.check()
        change.check_place(principal, skill.scope)

        def apply(current: Overrides, head: int | None) -> Overrides:
            wanted = replace(
                current,
                enabled=current.enabled if change.enabled is None else change.enabled,
                agents=current.agents if change.agents is None else (change.agents or None),
                hidden=current.hidden if change.hidden is None else change.hidden,
                sealed=current.sealed if change.sealed is None else change.sealed,
                labels=self._labels(skill, current, change.labels, head),
            )
            if wanted == current:
                return current
            return noted(wanted, principal, self._runtime.now(), _summary(change), change.reason)

        def look() -> Entry | None:
            entry = self._entries.undecided(skill)
            if entry is None and not change.is_of_name:
                raise SkillNotFound(f"There is no skill `{skill.name}` to change.")
            return entry

        def write(entry: Entry | None) -> tuple[Overrides, Entry | None]:
            head = entry.revision if entry and entry.state is State.LIVE else None
            overrides, etag = self._files.write(skill, lambda current: apply(current, head))
            return overrides, decided(skill.name, entry, overrides, etag)

        return self._follower.around(skill, look, write)

    def _labels(
        self,
        skill: SkillId,
        current: Overrides,
        asked: Mapping[str, int | None],
        head: int | None,
    ) -> Mapping[str, int]:
        """Return the labels as asked for; that ``head`` is there and has files is known."""
        labels = dict(current.labels)
        for label, number in asked.items():
            if number is None:
                labels.pop(label, None)
            else:
                if number != head or not current.keeps(number):
                    self._check_version(skill, number, current)
                labels[label] = number
        if len(labels) > LABELS:
            raise RequestInvalid(f"A skill has at most {LABELS} labels.", code="label_invalid")
        return labels

    def _check_version(self, skill: SkillId, number: int, current: Overrides) -> None:
        """Look at the version that a label is to protect, after what says how far pruning went."""
        info = self._log.info(skill, number)
        if info is None or info.kind is Kind.TOMBSTONE:
            raise VersionNotFound(f"`{skill.name}` has no version {number} with files.")
        if info.kind is Kind.PRUNED or not current.keeps(number):
            raise Gone(f"Version {number} of `{skill.name}` was pruned.")


def noted(
    overrides: Overrides,
    principal: Principal,
    when: str,
    what: Mapping[str, object],
    why: str | None,
) -> Overrides:
    """Return the overrides with one more entry among their last changes."""
    entry = {"who": principal.subject, "when": when, "what": dict(what)}
    if why:
        entry["why"] = why
    return replace(overrides, changes=(*overrides.changes, entry)[-CHANGES_KEPT:])


def _summary(change: Change) -> dict[str, object]:
    what: dict[str, object] = {}
    if change.enabled is not None:
        what["enabled"] = change.enabled
    if change.agents is not None:
        what["agents"] = list(change.agents)
    if change.hidden is not None:
        what["hidden"] = change.hidden
    if change.sealed is not None:
        what["sealed"] = change.sealed
    if change.labels:
        what["labels"] = dict(change.labels)
    return what
