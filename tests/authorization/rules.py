"""What each call has to answer, by the rules and not by what the code does.

No identity, and an identity without a role, come before everything. A caller who may not write is
told so before anything is said of scope or skill. A scope that may not be read answers as an empty
one, and a skill that may not be seen as one that is not there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from authorization.calls import Aim, Call
from authorization.table import (
    FORBIDDEN,
    SHARED,
    Role,
    Scope,
    State,
    asked,
    exists,
    is_managed,
    source,
)

if TYPE_CHECKING:
    from collections.abc import Callable

Answer = tuple[int, str | None]

OK: Answer = (200, None)
CREATED: Answer = (201, None)
NO_SKILL: Answer = (404, "skill_not_found")
NO_FILE: Answer = (404, "file_not_found")
NO_VERSION: Answer = (404, "version_not_found")
NO_UPLOAD: Answer = (404, "upload_not_found")
NO_SCOPE: Answer = (400, "scope_invalid")
WRONG_CHANGE: Answer = (400, "change_invalid")
ONTO_ITSELF: Answer = (400, "request_invalid")
IN_USE: Answer = (409, "version_in_use")
NO_TASK: Answer = (404, "route_not_found")


def expected(call: Call, role: Role, scope: Scope, state: State) -> Answer:
    """Return the status that a call has to have, with the problem's code where it is refused."""
    if role.refused is not None:
        return role.refused
    return RULES[call.rule](role, scope, state)


def given_by(call: Call, role: Role, scope: Scope, state: State) -> Scope | None:
    """Return the scope whose skill an allowed call is about."""
    if call.rule in ("versions", "diff"):
        return history_of(role, scope, state)
    if call.rule == "copy-to":
        return source(role, Scope.TEAM, state)
    if call.rule == "hide" and role.own:
        return Scope.OWN
    if call.rule in _TO_A_SCOPE:
        return target_of(role, scope)
    return source(role, scope, state)


def aim_of(call: Call, role: Role, scope: Scope, state: State) -> Aim:
    """Return what a call is aimed at, with the versions of the skill that it would be about."""
    given = given_by(call, role, scope, state)
    return Aim(role, scope, state, given if given in SHARED else Scope.OWN)


def history_of(role: Role, scope: Scope, state: State) -> Scope | None:
    """Return the scope whose history is told: of the skill that is seen, else of one to write."""
    seen = source(role, scope, state)
    if seen is not None:
        return seen
    written = (
        each
        for each in asked(role, scope)
        if role.may_write(each) and is_managed(role, each, state)
    )
    return next(written, None)


def checked(role: Role, scope: Scope, state: State) -> str:
    """Return what a check says of a skill whose current version was loaded.

    Disabled is told to whoever would see the skill but for that.
    """
    if source(role, scope, state) is not None:
        return "current"
    there = any(exists(role, each, state) for each in asked(role, scope))
    return "disabled" if state is State.DISABLED and there else "removed"


def target_of(role: Role, scope: Scope) -> Scope:
    """Return the scope that a write is to."""
    return role.default if scope is Scope.NONE else scope


def write_refusal(role: Role, scope: Scope) -> Answer | None:
    """Return why a role may not write to a scope, None where it may."""
    if not any(role.may_write(each) for each in Scope):
        return FORBIDDEN
    if scope is Scope.MALFORMED:
        return NO_SCOPE
    return None if role.may_write(target_of(role, scope)) else FORBIDDEN


def _reading(
    seen: Callable[[State], Answer],
) -> Callable[[Role, Scope, State], Answer]:
    """Return the rule of a call that reads one skill."""

    def rule(role: Role, scope: Scope, state: State) -> Answer:
        if scope is Scope.MALFORMED:
            return NO_SCOPE
        return NO_SKILL if source(role, scope, state) is None else seen(state)

    return rule


def _told(of_vendored: Answer) -> Callable[[Role, Scope, State], Answer]:
    """Return the rule of a call that tells the history of a skill."""

    def rule(role: Role, scope: Scope, state: State) -> Answer:
        if scope is Scope.MALFORMED:
            return NO_SCOPE
        if history_of(role, scope, state) is None:
            return NO_SKILL
        return of_vendored if state is State.VENDORED else OK

    return rule


def _writing(
    allowed: Callable[[Role, Scope, State], Answer],
) -> Callable[[Role, Scope, State], Answer]:
    """Return the rule of a call that writes one skill; ``allowed`` is told where to."""

    def rule(role: Role, scope: Scope, state: State) -> Answer:
        return write_refusal(role, scope) or allowed(role, target_of(role, scope), state)

    return rule


def _listing(_role: Role, scope: Scope, _state: State) -> Answer:
    return NO_SCOPE if scope is Scope.MALFORMED else OK


def _publish(role: Role, target: Scope, state: State) -> Answer:
    return OK if exists(role, target, state) else CREATED


def _delete(role: Role, target: Scope, state: State) -> Answer:
    there = exists(role, target, state) and state is not State.DELETED
    return OK if there else NO_SKILL


def _change(role: Role, target: Scope, state: State) -> Answer:
    return OK if exists(role, target, state) else NO_SKILL


def _change_version(role: Role, target: Scope, state: State) -> Answer:
    return OK if is_managed(role, target, state) else NO_SKILL


def _label(role: Role, target: Scope, state: State) -> Answer:
    unversioned = state is State.VENDORED and exists(role, target, state)
    return NO_VERSION if unversioned else _change_version(role, target, state)


def _purge_current(role: Role, target: Scope, state: State) -> Answer:
    # Of a deleted skill the version before the deletion is not the current one, but has a label.
    return IN_USE if is_managed(role, target, state) else NO_SKILL


def _hide(role: Role, scope: Scope, state: State) -> Answer:
    """Whoever has a scope of its own hides there, readers too, and whatever is of that name."""
    if role.own and scope in (Scope.OWN, Scope.NONE):
        return OK
    return write_refusal(role, scope) or WRONG_CHANGE


def _hide_and(role: Role, target: Scope, state: State) -> Answer:
    if not (role.own and target is Scope.OWN):
        return WRONG_CHANGE
    return _change(role, target, state)


def _seal(role: Role, target: Scope, state: State) -> Answer:
    if not role.is_admin:
        return FORBIDDEN
    return OK if target is Scope.SYSTEM else WRONG_CHANGE


def _copy(role: Role, scope: Scope, state: State, target: Scope) -> Answer:
    refused = write_refusal(role, target)
    if refused is not None:
        return refused
    if scope is Scope.MALFORMED:
        return NO_SCOPE
    found = source(role, scope, state)
    if found is None:
        return NO_SKILL
    return ONTO_ITSELF if found is target else _publish(role, target, state)


def _upload(_role: Role, scope: Scope, _state: State) -> Answer:
    """Whose ticket it is may do with it what the ticket says; to others there is none."""
    return OK if scope is Scope.OWN else NO_UPLOAD


def _administer(role: Role, _scope: Scope, _state: State) -> Answer:
    return OK if role.is_admin else FORBIDDEN


def _maintain(role: Role, scope: Scope, _state: State) -> Answer:
    if not role.is_admin:
        return FORBIDDEN
    return NO_SCOPE if scope is Scope.MALFORMED else OK


def _examine(role: Role, scope: Scope, state: State) -> Answer:
    done = _maintain(role, scope, state)
    return done if done != OK else _change(role, target_of(role, scope), state)


RULES: dict[str, Callable[[Role, Scope, State], Answer]] = {
    "anyone": lambda _role, _scope, _state: OK,
    "list": _listing,
    "check": _listing,
    "view": _reading(lambda _: OK),
    "redirect": _reading(lambda _: (303, None)),
    "view-no-file": _reading(lambda _: NO_FILE),
    "view-no-version": _reading(lambda _: NO_VERSION),
    "pinned": _reading(lambda state: NO_VERSION if state is State.VENDORED else OK),
    "versions": _told(OK),
    "diff": _told(NO_VERSION),
    "announce": _writing(lambda *_: CREATED),
    "complete": _upload,
    "outcome": _upload,
    "publish": _writing(_publish),
    "delete": _writing(_delete),
    "rollback": _writing(_change_version),
    "configure": _writing(_change),
    "label": _writing(_label),
    "hide": _hide,
    "hide-and": _writing(_hide_and),
    "seal": _writing(_seal),
    "purge": _writing(_change_version),
    "purge-current": _writing(_purge_current),
    "copy-from": lambda role, scope, state: _copy(role, scope, state, Scope.OWN),
    "copy-to": lambda role, scope, state: _copy(role, Scope.TEAM, state, scope),
    "administer": _administer,
    "maintain": _maintain,
    "examine": _examine,
    "no-task": lambda role, _scope, _state: NO_TASK if role.is_admin else FORBIDDEN,
}

_TO_A_SCOPE = {
    *("announce", "publish", "delete", "rollback", "configure", "label"),
    *("hide-and", "seal", "purge", "purge-current", "examine"),
}
