"""The bucket policy by its effect: every request of a golden table, and every way to weaken it."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest
from infrastructure.access_table import (
    ABSENT,
    ALLOWED,
    CONDITIONAL,
    DELETE_VERSION,
    FORWARD,
    FUNCTIONS,
    MATCH,
    NO_GRANT,
    OPERATOR,
    PURGE,
    REFUSED,
    TLS,
    UNDELETABLE,
    WRITERS,
    Row,
)
from infrastructure.iam import BUCKET, bucket_statements, named, role_statements
from infrastructure.policy_evaluator import AccessRequest, Decision, applies, decide, listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from infrastructure.conftest import Deploy
    from infrastructure.policy_evaluator import Statement
    from infrastructure.stack import Stack

TABLE = ALLOWED + REFUSED
SIDS = (TLS, WRITERS, UNDELETABLE, PURGE, FORWARD, CONDITIONAL)
ANYTHING = [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]
# Patterns that look much the same, and are not.
LIKE = {
    "uploads/*": ("uploads/*.zip", "uploads/*.json"),
    "registry/*": ("registry/*.zip", "registry/*/revisions/*", "registry/team-a/pdf/*"),
    "skills/*/.version": ("skills/*", "skills/*/pdf/.version", "skills/*/*/*/.version"),
    "*": ("skills/*", "registry/*"),
}
NARROWER_ACTIONS = ("s3:Get*", "s3:Put*", "s3:*Object", "s3:List*")


def _request(row: Row) -> AccessRequest:
    principal = row.who
    if row.who in FUNCTIONS:
        session = f"arn:${{AWS::Partition}}:sts::${{AWS::AccountId}}:assumed-role/${{{row.who}}}/s"
        principal = named(session if row.emulated else f"${{{row.who}.Arn}}")
    return AccessRequest(
        row.action,
        named(f"{BUCKET}/{row.key}" if row.key else BUCKET),
        principal,
        tls=row.tls,
        if_match='"an-etag"' if row.condition == MATCH else None,
        if_none_match="*" if row.condition == ABSENT else None,
        creates=row.creates,
    )


class Table:
    """The rows over one version of the bucket's statements.

    The roles are evaluated once: what is varied here is the bucket policy.
    """

    def __init__(self, stack: Stack) -> None:
        grants = {role: role_statements(stack, role) for role in FUNCTIONS}
        self.statements = bucket_statements(stack)
        self.requests = [_request(row) for row in TABLE]
        self._known: dict[str, list[bool]] = {}
        self.granted = [
            decide(grants.get(row.who or "", ANYTHING), request) is Decision.ALLOWED
            for row, request in zip(TABLE, self.requests, strict=True)
        ]

    def refusals(self, index: int) -> set[str]:
        """What refuses a row."""
        found = {item["Sid"] for item in self.statements if applies(item, self.requests[index])}
        return found if self.granted[index] else found | {NO_GRANT}

    def flips(self, statements: list[Statement]) -> list[Row]:
        """Rows that other statements would answer otherwise."""
        denials = zip(*map(self._denied, statements), strict=True)
        answers = zip(TABLE, self.granted, denials, strict=True)
        return [
            row for row, granted, denied in answers if (granted and not any(denied)) == bool(row.by)
        ]

    def _denied(self, statement: Statement) -> list[bool]:
        key = json.dumps(statement, sort_keys=True)
        if key not in self._known:
            self._known[key] = [
                decide([statement], request) is Decision.DENIED for request in self.requests
            ]
        return self._known[key]


@pytest.fixture
def table(stack: Stack) -> Table:
    return Table(stack)


def test_every_request_is_allowed_or_refused_as_the_table_says(table: Table) -> None:
    for index, row in enumerate(TABLE):
        assert table.refusals(index) == set(row.by), row


def test_the_table_has_every_row_once() -> None:
    assert len(set(TABLE)) == len(TABLE)


def test_the_policy_denies_and_grants_nobody_anything(table: Table) -> None:
    assert [item["Sid"] for item in table.statements] == list(SIDS)
    assert {(item["Effect"], item["Principal"]) for item in table.statements} == {("Deny", "*")}


@pytest.mark.parametrize("sid", SIDS)
def test_a_policy_without_one_statement_is_noticed(table: Table, sid: str) -> None:
    flips = table.flips([item for item in table.statements if item["Sid"] != sid])
    assert flips
    assert all(row.by == (sid,) for row in flips)


def test_every_other_policy_is_noticed(table: Table) -> None:
    assert table.flips(table.statements) == []
    mutants = [
        [mutant if item is original else item for item in table.statements]
        for original in table.statements
        for mutant in _mutants(original)
    ]
    assert len(mutants) >= 90
    assert [mutant for mutant in mutants if not table.flips(mutant)] == []


def test_whoever_is_added_to_the_writers_or_the_purgers_is_noticed(table: Table) -> None:
    for sid in (WRITERS, PURGE):
        for added in ("arn:*:*:*:*:*", "arn:aws:iam::111122223333:role/*", OPERATOR):
            statements = copy.deepcopy(table.statements)
            (statement,) = [item for item in statements if item["Sid"] == sid]
            statement["Condition"]["ArnNotLike"]["aws:PrincipalArn"].append(added)
            assert table.flips(statements), (sid, added)


def test_exempting_the_functions_from_a_rule_for_everybody_is_noticed(table: Table) -> None:
    exempt = next(item for item in table.statements if item["Sid"] == WRITERS)["Condition"]
    for sid in (UNDELETABLE, FORWARD):
        statements = [
            item | {"Condition": exempt} if item["Sid"] == sid else item
            for item in table.statements
        ]
        assert table.flips(statements), sid


def test_the_parameter_leaves_out_the_rule_on_conditions_and_no_other(
    deploy: Deploy, table: Table
) -> None:
    without = bucket_statements(deploy(EnforceConditionalWrites="false"))
    assert [item["Sid"] for item in without] == [sid for sid in SIDS if sid != CONDITIONAL]
    assert {row.by for row in table.flips(without)} == {(CONDITIONAL,)}


def test_a_purge_needs_both_the_grant_and_the_exemption(table: Table) -> None:
    removals = [row for row in ALLOWED if row.action == DELETE_VERSION]
    assert {row.who for row in removals} == {"UploadSkillRole", OPERATOR}


def _mutants(statement: Statement) -> Iterator[Statement]:
    """Yield the statement with each of its parts left out, turned round or narrowed."""
    yield statement | {"Effect": "Allow"}
    for element in ("Action", "Resource"):
        values = listed(statement[element])
        for value in values:
            rest = [other for other in values if other != value]
            yield from (statement | {element: [*rest, *new]} for new in _replacements(value))
    if "Condition" in statement:
        yield {name: part for name, part in statement.items() if name != "Condition"}
    yield from _other_conditions(statement)


def _replacements(value: str) -> Iterator[list[str]]:
    """Yield what may stand for an action or a resource: nothing, and what looks like it."""
    yield []
    if value == "s3:*":
        yield from ([action] for action in NARROWER_ACTIONS)
    bucket = named(BUCKET) + "/"
    yield from ([bucket + other] for other in LIKE.get(value.removeprefix(bucket), ()))


def _other_conditions(statement: Statement) -> Iterator[Statement]:
    condition: dict[str, dict[str, Any]] = statement.get("Condition", {})
    for operator, block in condition.items():
        rest = {name: other for name, other in condition.items() if name != operator}
        yield statement | {"Condition": rest}
        for key, wanted in block.items():
            others = {name: other for name, other in block.items() if name != key}
            for changed in (others, *(others | {key: _other(wanted, v)} for v in listed(wanted))):
                yield statement | {"Condition": {**rest, operator: changed}}


def _other(wanted: Any, value: str) -> Any:
    """A flag turned round, or a list without one of its values."""
    if value in ("true", "false"):
        return "false" if value == "true" else "true"
    return [other for other in wanted if other != value]
