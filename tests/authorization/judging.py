"""Holds an answer against the table: its status and code, and what it says of skills."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from authorization import marks
from authorization.evidence import Reply, may_be_told, strange_scopes_in
from authorization.rules import aim_of, checked, expected, given_by
from authorization.table import Role, Scope, State, listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from authorization.calls import Call, Sent

PROBLEM = "application/problem+json"
# What shows enough of a skill to know it by its marks.
SHOWING = ("view", "view-file", "view-raw", "versions", "diff")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    call: Call
    role: Role
    scope: Scope
    state: State

    @property
    def sent(self) -> Sent:
        """The request."""
        return self.call.make(aim_of(self.call, self.role, self.scope, self.state))

    @property
    def expected(self) -> tuple[int, str | None]:
        """The status that it has to have, with the problem's code."""
        return expected(self.call, self.role, self.scope, self.state)

    @property
    def is_allowed(self) -> bool:
        """Whether it is to be done."""
        return self.expected[0] < 400

    def __str__(self) -> str:
        return f"{self.call.name} by {self.role.name} in {self.scope} of {self.state}"


def judge(row: Row, reply: Reply) -> Iterator[str]:
    """Say what is wrong with the answer to a row."""
    got = (reply.status, reply.code)
    if got != row.expected:
        yield f"{got} instead of {row.expected}: {reply.text[:200]}"
    elif reply.status < 400:
        yield from _of_allowed(row, reply)
    else:
        yield from _of_refused(row, reply)
    if strange := strange_scopes_in(reply.whole, row.role, row.sent):
        yield f"names {strange}"


def _of_allowed(row: Row, reply: Reply) -> Iterator[str]:
    told = marks.told_in(reply.whole, row.sent.text)
    may = may_be_told(row.call, row.role, row.scope, row.state)
    if told - may:
        yield f"tells of {told - may}"
    if row.call.rule == "list":
        yield from _of_listing(row, reply)
    elif row.call.rule == "check":
        yield from _of_check(row, reply)
    elif row.call.name in SHOWING:
        yield from _of_view(row, reply)


def _of_refused(row: Row, reply: Reply) -> Iterator[str]:
    if reply.headers["content-type"] != PROBLEM:
        yield f"is no {PROBLEM}"
    told = marks.told_in(reply.whole, row.sent.text)
    # Of a skill that is seen, what it has is offered where it has no such file or version.
    is_seen = reply.code in ("file_not_found", "version_not_found")
    may = may_be_told(row.call, row.role, row.scope, row.state) if is_seen else set()
    if told - may:
        yield f"tells of {told - may}"
    if reply.code == "skill_not_found" and not row.call.changes and row.call.rule != "examine":
        offered = reply.body.get("available", [])
        if offered != list(listed(row.role, row.scope)):
            yield f"offers {offered}"


def _of_listing(row: Row, reply: Reply) -> Iterator[str]:
    """A listing has what may be listed, each from the scope that gives it, and nothing else."""
    wanted = listed(row.role, row.scope)
    if "application/json" in reply.headers["content-type"]:
        found = {skill["name"]: skill["scope"] for skill in reply.body["skills"]}
        names = {name: row.role.scope_name(given) for name, given in wanted.items()}
    else:
        found = dict.fromkeys(re.findall(r"\*\*(\w+)\*\*", reply.text))
        names = dict.fromkeys(wanted)
    if found != names:
        yield f"lists {found} instead of {names}"


def _of_check(row: Row, reply: Reply) -> Iterator[str]:
    found = reply.body["skills"][row.state]["state"]
    wanted = checked(row.role, row.scope, row.state)
    if row.state is State.VENDORED and wanted == "current":
        # What was loaded is no version of a directory.
        wanted = "stale"
    if found != wanted:
        yield f"is {found} instead of {wanted}"


def _of_view(row: Row, reply: Reply) -> Iterator[str]:
    """An answer about one skill is about that of the right scope, and shows it."""
    given = given_by(row.call, row.role, row.scope, row.state)
    assert given is not None
    told = marks.told_in(reply.text)
    if row.state is not State.VENDORED and (given, row.state) not in told:
        yield "does not show the skill"
    body = reply.body if reply.text.startswith("{") else {}
    said = body.get("scope", reply.headers.get("x-skill-scope"))
    if said != row.role.scope_name(given):
        yield f"is of {said} and not of {given}"
