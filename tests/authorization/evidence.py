"""What an answer gives away, and what a request did: the facts that two answers are compared by."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from authorization import marks
from authorization.rules import given_by, history_of, target_of
from authorization.table import NAMES, SHARED, Role, Scope, State, listed, source

from skill_registry.catalog.principal import subject_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from authorization.calls import Call, Sent

    from skill_registry.store.gate import Request

STRANGE = (Scope.FOREIGN_TEAM, Scope.FOREIGN_USER, Scope.UNKNOWN)
Sequence = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as its client has it."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def body(self) -> Any:
        """The body as JSON."""
        return json.loads(self.text)

    @property
    def code(self) -> str | None:
        """The problem's code, None for an answer that is none."""
        return str(self.body["code"]) if self.status >= 400 else None

    @property
    def whole(self) -> str:
        """Everything that it says."""
        return f"{self.text} {json.dumps(dict(self.headers))}"


def blurred(text: str, role: Role, scope: Scope, state: State) -> str:
    """Return a text without the names of the skill and of the scope that its caller gave."""
    name = role.scope_name(scope)
    text = re.sub(rf'(?<=[`"/]){state}(?=[`"/])', "NAME", text)
    return text.replace(name, "SCOPE") if name else text


def asked_of(requests: Iterable[Request], role: Role, scope: Scope, state: State) -> Sequence:
    """Return the requests to the store, without the names of skill and scope and the numbers."""
    return tuple(
        (request.op, re.sub(r"\d{8}\.zip", "N.zip", blurred(request.key, role, scope, state)))
        for request in requests
    )


def strange_scopes_in(text: str, role: Role, sent: Sent) -> set[str]:
    """Return the scopes that a text names, which its caller neither reads nor named itself."""
    if role.is_admin:
        return set()
    strange = {NAMES[scope] for scope in STRANGE}
    return {name for name in strange if name in text and name not in sent.text}


def may_be_told(call: Call, role: Role, scope: Scope, state: State) -> set[marks.Place]:
    """Return the skills of which an allowed answer may say something."""
    if call.rule == "list":
        return {(given, State(name)) for name, given in listed(role, scope).items()}
    if call.rule in ("maintain", "examine"):
        return {(each, name) for each in (*SHARED, Scope.OWN) for name in State}
    told = {given_by(call, role, scope, state), target_of(role, scope) if call.changes else None}
    if call.rule in ("copy-from", "copy-to"):
        told |= {source(role, scope, state), Scope.OWN}
    if call.rule in ("versions", "diff"):
        told = {history_of(role, scope, state)}
    return {(each, state) for each in told if each is not None}


def may_be_written(call: Call, role: Role, scope: Scope, state: State) -> tuple[str, ...]:
    """Return the beginnings of the keys that an allowed call may write."""
    if call.rule in ("maintain", "examine"):
        return ("",)
    if call.rule == "administer":
        return ("registry/access.json",)
    target = target_of(role, scope)
    if call.rule in ("copy-from", "hide", "complete"):
        target = Scope.OWN
    elif not call.changes:
        target = source(role, scope, state) or target
    name = role.scope_name(target)
    skill = "arrived" if call.rule == "complete" else state.value
    own = f"uploads/{subject_hash(role.subject)}/"
    catalog = f"registry/{name}/catalog.json.gz"
    return (f"skills/{name}/{skill}/", f"registry/{name}/{skill}/", catalog, own)
