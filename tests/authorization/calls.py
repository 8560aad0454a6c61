"""Every call of the contract, as one request with a right form, whoever sends it and to where."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from authorization.marks import first, published
from authorization.table import ROLES, TWINS, Scope, State

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from authorization.table import Role

JSON = {"content-type": "application/json"}
GRANTED = "arn:aws:iam::123456789012:role/somebody"
UPLOADS = {
    Scope.OWN: "a" * 32,
    Scope.FOREIGN_USER: "b" * 32,
    Scope.UNKNOWN: "c" * 32,
    Scope.MALFORMED: "A" * 32,
}
# What no skill of the bucket has as a version.
NO_VERSION = 9


@dataclass(frozen=True, slots=True)
class Sent:
    """One request."""

    route: str
    path: Mapping[str, str] = field(default_factory=dict)
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None

    @property
    def query_string(self) -> str:
        """The query as it travels."""
        return urlencode(self.query)

    @property
    def body_text(self) -> str | None:
        """The body as it travels."""
        return None if self.body is None else json.dumps(self.body)

    @property
    def text(self) -> str:
        """All that the caller says itself, and may be told again."""
        return f"{dict(self.path)} {self.query} {dict(self.headers)} {self.body_text}"


@dataclass(frozen=True, slots=True)
class Aim:
    """What a call is aimed at.

    Attributes:
        said: The text of the scope, None where none is named.
        given: The scope whose skill it would be about, for the numbers of its versions.
    """

    role: Role
    scope: Scope
    state: State
    given: Scope

    @property
    def said(self) -> str | None:
        """The scope as the request names it."""
        return self.role.scope_name(self.scope)

    @property
    def own(self) -> str:
        """The caller's own scope."""
        return str(self.role.scope_name(Scope.OWN))

    @property
    def head(self) -> int:
        """The version that was published."""
        return published(self.given, self.state)

    @property
    def first(self) -> int:
        """The version before it."""
        return first(self.given, self.state)


EVERY_SCOPE = tuple(Scope)
EVERY_STATE = tuple(State)
NAMED = tuple(scope for scope in Scope if scope is not Scope.NONE)
UNLIKE = tuple(role for role in ROLES if role.name not in TWINS)
NOWHERE = (Scope.NONE,)
NOTHING = (State.UNKNOWN,)


@dataclass(frozen=True, slots=True)
class Call:
    """A call.

    Attributes:
        rule: The rule that says who may do it; see ``rules``.
        make: Makes the request.
        scopes: What it may be aimed at; where it names none, nowhere.
        states: The states that it may meet; one that is about no skill meets none.
        changes: Whether it changes anything where it is allowed.
        roles: Who does it. A variant of another call is not done by those who differ from
            somebody else in their kind of identity alone.
    """

    name: str
    rule: str
    route: str
    make: Callable[[Aim], Sent]
    scopes: tuple[Scope, ...] = EVERY_SCOPE
    states: tuple[State, ...] = EVERY_STATE
    changes: bool = False
    roles: tuple[Role, ...] = ROLES


def _on_skill(
    route: str,
    *,
    query: Callable[[Aim], Mapping[str, Any]] = lambda _: {},
    headers: Mapping[str, str] | None = None,
    body: Callable[[Aim], Mapping[str, Any]] | None = None,
    scoped: bool = True,
) -> Callable[[Aim], Sent]:
    """Return what makes a request about one skill; the scope is in the query."""

    def make(aim: Aim) -> Sent:
        named = [("scope", aim.said)] if scoped and aim.said is not None else []
        more = [(key, str(value)) for key, value in query(aim).items()]
        path = {"name": aim.state.value} if "{name}" in route else {}
        sent = None if body is None else body(aim)
        kind = {} if sent is None else JSON
        return Sent(route, path, (*named, *more), kind | dict(headers or {}), sent)

    return make


def _read(name: str, route: str, rule: str = "view", **more: Any) -> Call:
    return Call(name, rule, route, _on_skill(route, **more), roles=_callers(name))


def _write(name: str, rule: str, route: str, **more: Any) -> Call:
    return Call(name, rule, route, _on_skill(route, **more), changes=True, roles=_callers(name))


def _callers(name: str) -> tuple[Role, ...]:
    return UNLIKE if "-" in name else ROLES


def _task(name: str, body: Callable[[Aim], Mapping[str, Any]], **more: Any) -> Call:
    route = "POST /maintenance/{task}"
    task = name.partition("-")[0]

    def make(aim: Aim) -> Sent:
        return Sent(route, {"task": task}, (), JSON, body(aim))

    return Call(name, more.pop("rule", "maintain"), route, make, **more)


def _of_upload(name: str, route: str, **more: Any) -> Call:
    def make(aim: Aim) -> Sent:
        return Sent(route, {"id": UPLOADS[aim.scope]})

    return Call(name, name, route, make, scopes=tuple(UPLOADS), states=NOTHING, **more)


def skill_text(aim: Aim) -> str:
    """Return a SKILL.md that any publish takes."""
    return f"---\nname: {aim.state}\ndescription: Does it. Use when asked.\n---\nDo it.\n"


def _skill_files(aim: Aim) -> dict[str, Any]:
    return {"files": {"SKILL.md": skill_text(aim)}}


def _scope_of(aim: Aim) -> dict[str, Any]:
    return {} if aim.said is None else {"scope": aim.said}


VIEW = "GET /skills/{name}"
PATCH = "PATCH /skills/{name}"
ROLLBACK = "POST /skills/{name}/rollback"
PURGE = "POST /skills/{name}/purge"
COPY = "POST /skills/{name}/copy"
TEXT = {"accept": "text/markdown"}

READS = (
    Call("list", "list", "GET /skills", _on_skill("GET /skills"), states=NOTHING),
    Call(
        "list-text", "list", "GET /skills", _on_skill("GET /skills", headers=TEXT), states=NOTHING
    ),
    Call(
        "search",
        "list",
        "GET /skills",
        _on_skill("GET /skills", query=lambda _: {"q": "marked", "tools": "Read"}),
        states=NOTHING,
    ),
    Call(
        "check",
        "check",
        "POST /check",
        _on_skill("POST /check", body=lambda aim: {"skills": {aim.state: aim.head}}),
    ),
    Call(
        "describe",
        "anyone",
        "GET /openapi.json",
        _on_skill("GET /openapi.json", scoped=False),
        scopes=NOWHERE,
        states=NOTHING,
    ),
    _read("view", VIEW),
    _read("view-file", VIEW, query=lambda _: {"path": "references/notes.md"}),
    _read("view-raw", VIEW, query=lambda _: {"raw": 1}),
    _read("view-no-file", VIEW, "view-no-file", query=lambda _: {"path": "nothing.md"}),
    _read("view-pinned", VIEW, "pinned", query=lambda aim: {"version": aim.first}),
    _read("view-labelled", VIEW, "pinned", query=lambda _: {"version": "@stable"}),
    _read("view-no-version", VIEW, "view-no-version", query=lambda _: {"version": NO_VERSION}),
    _read("view-as-agent", VIEW, query=lambda _: {"agent": "coding", "tier": "lite"}),
    _read("bundle", VIEW + "/bundle"),
    _read("bundle-zip", VIEW + "/bundle", "redirect", headers={"accept": "application/zip"}),
    _read("bundle-pinned", VIEW + "/bundle", "pinned", query=lambda aim: {"version": aim.first}),
    _read("versions", VIEW + "/versions", "versions", query=lambda _: {"limit": 4}),
    _read("diff", VIEW + "/diff", "diff"),
    _read("diff-pinned", VIEW + "/diff", "diff", query=lambda a: {"from": a.first, "to": a.head}),
    _of_upload("outcome", "GET /uploads/{id}"),
    Call(
        "validate",
        "anyone",
        "POST /validate",
        _on_skill("POST /validate", body=_skill_files, scoped=False),
        scopes=NOWHERE,
        states=NOTHING,
    ),
)

WRITES = (
    _write("announce", "announce", "POST /uploads", body=lambda aim: {"name": aim.state}),
    _write(
        "announce-dry",
        "announce",
        "POST /uploads",
        body=lambda aim: {"name": aim.state, "dry_run": True, "size": 9, "sha256": "0" * 64},
    ),
    _of_upload("complete", "POST /uploads/{id}/complete", changes=True),
    _write("put", "publish", "PUT /skills/{name}", body=_skill_files),
    _write("delete", "delete", "DELETE /skills/{name}"),
    _write("rollback", "rollback", ROLLBACK, body=lambda aim: {"version": aim.first}),
    _write("rollback-label", "rollback", ROLLBACK, body=lambda _: {"version": "@stable"}),
    _write("switch", "configure", PATCH, body=lambda _: {"enabled": False, "reason": "Ill."}),
    _write("assign", "configure", PATCH, body=lambda _: {"agents": ["nobody"]}),
    _write("label", "label", PATCH, body=lambda aim: {"labels": {"good": aim.first}}),
    _write("hide", "hide", PATCH, body=lambda _: {"hidden": True}),
    _write("hide-and-switch", "hide-and", PATCH, body=lambda _: {"hidden": True, "enabled": False}),
    _write("seal", "seal", PATCH, body=lambda _: {"sealed": True}),
    _write("purge", "purge", PURGE, body=lambda aim: {"version": aim.first}),
    _write("purge-current", "purge-current", PURGE, body=lambda aim: {"version": aim.head}),
    Call(
        "copy-from",
        "copy-from",
        COPY,
        _on_skill(COPY, body=lambda aim: {"to": aim.own}),
        changes=True,
    ),
    Call(
        "copy-to",
        "copy-to",
        COPY,
        _on_skill(
            COPY,
            query=lambda aim: {"scope": aim.role.scope_name(Scope.TEAM)},
            body=lambda aim: {"to": aim.said},
            scoped=False,
        ),
        scopes=NAMED,
        changes=True,
    ),
)

OPERATES = (
    Call(
        "access",
        "administer",
        "GET /access",
        _on_skill("GET /access", scoped=False),
        scopes=NOWHERE,
        states=NOTHING,
    ),
    Call(
        "grant",
        "administer",
        "PATCH /access",
        _on_skill(
            "PATCH /access",
            body=lambda _: {"role": GRANTED, "grant": {"roles": ["reader"]}},
            scoped=False,
        ),
        scopes=NOWHERE,
        states=NOTHING,
        changes=True,
    ),
    _task("reconcile", lambda _: {}, scopes=NOWHERE, states=NOTHING, changes=True),
    _task("rebuild", _scope_of, scopes=NAMED, states=NOTHING, changes=True),
    _task("doctor", _scope_of, states=NOTHING),
    _task("doctor-skill", lambda a: {**_scope_of(a), "name": a.state}, rule="examine"),
    _task("sweep", lambda _: {}, rule="no-task", scopes=NOWHERE, states=NOTHING),
)

CALLS = {call.name: call for call in (*READS, *WRITES, *OPERATES)}
