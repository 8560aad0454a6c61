"""The whole authorization table: every call, by every role, in every scope, of every state.

Allowed calls work, others get the one right code. Nothing of a skill that its caller may not see is
in an answer; what is forbidden and what is not there cannot be told apart, neither by what is
answered nor by what the store is asked.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import pytest
from answers import body_of
from authorization import marks
from authorization.calls import CALLS
from authorization.estate import Bucket, Environment, bucket_of
from authorization.evidence import STRANGE, Reply, Sequence, asked_of, blurred, may_be_written
from authorization.judging import Row, judge
from authorization.rules import RULES
from authorization.table import BY_NAME, ROLES, Role, Scope, State

from skill_registry.store import keys
from skill_registry.web import contract

if TYPE_CHECKING:
    from collections.abc import Iterator

    from authorization.calls import Call

WRITES = ("PUT", "DELETE")


@dataclass(frozen=True, slots=True)
class Answered:
    """What a row was answered and what it asked the store: cold, and once more where it was."""

    row: Row
    cold: Reply
    warm: Reply
    requests: tuple[Sequence, Sequence]
    written: frozenset[str]

    @property
    def alike(self) -> object:
        """What rows have in common that nobody may tell apart."""
        row = self.row
        text = blurred(self.cold.whole, row.role, row.scope, row.state)
        return self.cold.status, text, self.requests


def answers(call: Call, role: Role) -> Iterator[Answered]:
    """Send every request of a call and a role, each to an environment with an empty memory.

    Rows that may write get a bucket of their own, the others share one that stays as it is.
    """
    shared = bucket_of(role).copy()
    for scope, state in product(call.scopes, call.states):
        row = Row(call, role, scope, state)
        # A directory is archived when somebody downloads it first.
        writes = row.is_allowed and (call.changes or state is State.VENDORED)
        yield send(row, bucket_of(role).copy() if writes else shared)
    assert shared.same_as(bucket_of(role)), f"{call.name} by {role.name}"


def send(row: Row, bucket: Bucket) -> Answered:
    environment = Environment.over(bucket)
    replies, requests, written = [], [], set()
    # What is shown may be asked for in its own way; what is hidden may not, however often.
    once = row.is_allowed and row.call.rule not in ("list", "check")
    for _ in range(1 if once else 2):
        environment.house.counter.reset()
        result = environment.answer(row.role, row.sent)
        replies.append(Reply(result["statusCode"], result["headers"], body_of(result).decode()))
        made = environment.house.counter.requests
        requests.append(asked_of(made, row.role, row.scope, row.state))
        written |= {each.key for each in made if each.op in WRITES}
    both = (requests[0], requests[-1])
    return Answered(row, replies[0], replies[-1], both, frozenset(written))


@pytest.mark.parametrize("name", CALLS)
def test_every_row_is_answered_as_the_rules_say(name: str) -> None:
    call, wrong = CALLS[name], []
    for role in call.roles:
        found = list(answers(call, role))
        for each in found:
            wrong += [f"{each.row}: {fault}" for fault in faults(each)]
        wrong += differences(found)
    assert wrong == []


def faults(answered: Answered) -> Iterator[str]:
    """Say what is wrong with one row."""
    row = answered.row
    yield from judge(row, answered.cold)
    beginnings = may_be_written(row.call, row.role, row.scope, row.state)
    if not row.is_allowed:
        beginnings = ()
        if (answered.warm.status, answered.warm.text) != (answered.cold.status, answered.cold.text):
            yield "answers otherwise the second time"
    if strange := {key for key in answered.written if not key.startswith(beginnings)}:
        yield f"writes {strange}"
    if row.role.refused and set(answered.requests[0]) - {("GET", keys.access())}:
        yield f"asks the store {answered.requests[0]}"


def differences(found: list[Answered]) -> Iterator[str]:
    """Say where a caller could tell what is forbidden from what is not there.

    Within a scope that it reads, refused reads are alike, and refused writes of whom may not write.
    Of scopes that are not its own business everything is alike, whether they exist or not.
    """
    for place in Scope:
        yield from _unlike([each for each in found if each.row.scope is place and _hides(each)])
    if not found[0].row.role.is_admin:
        yield from _unlike([each for each in found if _is_nobodys(each)])


def _hides(answered: Answered) -> bool:
    call, code = answered.row.call, answered.cold.code
    if code == "skill_not_found":
        return not call.changes or call.rule in ("copy-from", "copy-to")
    return code in ("forbidden", "unauthenticated")


def _is_nobodys(answered: Answered) -> bool:
    """Whether it is about a strange scope. An upload is named by its id, whose scope is none."""
    uploads = ("complete", "outcome")
    return answered.row.scope in STRANGE and answered.row.call.rule not in uploads


def _unlike(alike: list[Answered]) -> Iterator[str]:
    for each in alike[:-1]:
        # The unknown one comes last.
        if each.cold.code == alike[-1].cold.code and each.alike != alike[-1].alike:
            yield f"{each.row} is unlike {alike[-1].row}: {each.alike} and {alike[-1].alike}"


def test_the_table_has_every_route_of_the_contract_and_no_other() -> None:
    assert {call.route for call in CALLS.values()} == set(contract.ROUTES)


def test_the_table_has_every_maintenance_task() -> None:
    admin = BY_NAME["local-administrator"]
    row = Row(CALLS["sweep"], admin, Scope.NONE, State.UNKNOWN)
    refused = send(row, bucket_of(admin).copy())
    there = re.findall(r"[a-z]+", refused.cold.body["detail"].partition("there are ")[2])
    tasks = {name.partition("-")[0] for name, call in CALLS.items() if "{task}" in call.route}
    assert tasks == {*there, "sweep"}


def test_every_route_and_task_is_called_by_every_role() -> None:
    called = {(call.route, call.name.partition("-")[0]) for call in CALLS.values()}
    complete = {(c.route, c.name.partition("-")[0]) for c in CALLS.values() if c.roles == ROLES}
    assert {route for route, _ in complete} == set(contract.ROUTES)
    assert {each for each in called if "{task}" in each[0]} <= complete


def test_every_rule_is_of_a_call() -> None:
    assert {call.rule for call in CALLS.values()} == set(RULES)


def test_every_skill_of_the_bucket_can_be_told_by_its_marks() -> None:
    """A table that looks for words which are nowhere would find no leak."""
    admin = BY_NAME["admin-jwt"]
    told = marks.told_in(json.dumps({k: v.decode("latin-1") for k, v in texts(admin).items()}))
    assert told == {(s, state) for s in marks.SCOPES for state in State} - {
        (scope, State.UNKNOWN) for scope in marks.SCOPES
    }


def texts(role: Role) -> dict[str, bytes]:
    """Return the plain tree of a role's bucket."""
    state = Environment.over(bucket_of(role)).house.state()
    return {key: body for key, body in state.items() if key.startswith("skills/")}
