"""So much of the table as HTTP has time for, and still every kind of row.

Every call by every role, and every role in every scope with every state. What changes nothing comes
first and in any order; what changes something comes after it, each on a skill of its own.
"""

from __future__ import annotations

from itertools import cycle, product
from typing import TYPE_CHECKING

from authorization.calls import CALLS, EVERY_STATE
from authorization.judging import Row
from authorization.table import ROLES, Scope, State

if TYPE_CHECKING:
    from collections.abc import Iterator

    from authorization.calls import Call

_CHANGED = {
    "announce": State.ENABLED,
    "announce-dry": State.ENABLED,
    "put": State.UNKNOWN,
    "delete": State.DISABLED,
    "rollback": State.DELETED,
    "rollback-label": State.ASSIGNED,
    "switch": State.ULTRA,
    "assign": State.OTHERS,
    "label": State.MANUAL,
    "hide": State.MASKED,
    "hide-and-switch": State.SEALED,
    "purge": State.ENABLED,
    "copy-from": State.VENDORED,
    "copy-to": State.MANUAL,
}


def unchanging() -> list[Row]:
    """Return rows that change nothing, since they read or are refused."""
    return list(dict.fromkeys((*_by_place(), *_by_call())))


def changing() -> list[Row]:
    """Return rows that are allowed and change something: each call by each role that may."""
    found = []
    for role, (name, call) in product(ROLES, CALLS.items()):
        scope = _scope_to_change(call)
        row = Row(call, role, scope, _CHANGED.get(name, State.UNKNOWN))
        if call.changes and role in call.roles and row.is_allowed:
            found.append(row)
    return found


def _scope_to_change(call: Call) -> Scope:
    if call.rule in ("administer", "maintain"):
        return Scope.TEAM if Scope.NONE not in call.scopes else Scope.NONE
    return {"copy-from": Scope.TEAM, "seal": Scope.SYSTEM}.get(call.rule, Scope.OWN)


def _is_unchanging(row: Row) -> bool:
    return not (row.call.changes and row.is_allowed)


def _by_place() -> Iterator[Row]:
    """Return every role in every scope with every state, the calls taking turns."""
    wide = [call for call in CALLS.values() if call.states == EVERY_STATE]
    turn = cycle(wide)
    for role, scope, state in product(ROLES, Scope, State):
        for call in (next(turn) for _ in wide):
            row = Row(call, role, scope, state)
            if role in call.roles and scope in call.scopes and _is_unchanging(row):
                yield row
                break


def _by_call() -> Iterator[Row]:
    """Return every call by every role, the places taking turns."""
    turn = 0
    for call in CALLS.values():
        places = list(product(call.scopes, call.states))
        for role in call.roles:
            turn += 7
            rows = (
                Row(call, role, *places[(turn + at) % len(places)]) for at in range(len(places))
            )
            row = next(filter(_is_unchanging, rows), None)
            if row is not None:
                yield row
