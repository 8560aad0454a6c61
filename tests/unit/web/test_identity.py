"""Identity: who a request is, from API Gateway's authorizer context and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from skill_registry.catalog.principal import Principal, user_scope
from skill_registry.errors import Forbidden, ScopeRequired, Unauthenticated
from skill_registry.web.identity import principal_of, role_arn
from skill_registry.web.settings import Settings

ADMIN = "arn:aws:iam::000000000000:role/ops/admin"
SETTINGS = Settings(registry_administrators=(ADMIN,))


def iam(arn: str) -> dict[str, Any]:
    return {"requestContext": {"authorizer": {"iam": {"userArn": arn}}}}


def jwt(**claims: object) -> dict[str, Any]:
    return {"requestContext": {"authorizer": {"jwt": {"claims": claims}}}}


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"requestContext": {}},
        {"requestContext": {"authorizer": None}},
        {"requestContext": {"authorizer": {"iam": None, "jwt": None}}},
        iam(""),
        iam("arn:aws:iam::000000000000:role/other"),
        iam("arn:aws:sts::000000000000:assumed-role/other/admin"),
        iam("arn:aws:sts::111111111111:assumed-role/admin/session"),
        jwt(sub=""),
        jwt(email="a@b"),
    ],
)
def test_without_a_known_identity_there_is_no_access(event: dict[str, Any]) -> None:
    with pytest.raises(Unauthenticated):
        principal_of(event, SETTINGS)


def test_the_role_counts_and_never_the_session_name() -> None:
    for session in ("one", "two"):
        arn = f"arn:aws:sts::000000000000:assumed-role/admin/{session}"
        assert principal_of(iam(arn), SETTINGS).administrator
    assert role_arn("arn:aws-cn:sts::000000000000:assumed-role/admin/x") == (
        "arn:aws-cn:iam::000000000000:role/admin"
    )


def test_a_subject_reads_its_own_scope_first_then_its_teams_then_the_system() -> None:
    principal = principal_of(jwt(sub="ann", teams="[blue red]"), SETTINGS)
    assert principal.reads == (user_scope("ann"), "team-blue", "team-red", "system")
    assert principal.default_scope == user_scope("ann")


def test_no_subject_can_name_itself_into_another_scope() -> None:
    principal = principal_of(jwt(sub="system", teams=["../system", "A", "ok"]), SETTINGS)
    assert principal.reads == (user_scope("system"), "team-ok", "system")


@pytest.mark.parametrize(
    ("roles", "writable"),
    [
        (None, {"own"}),
        ("reader", set()),
        ("author", {"own"}),
        (["maintainer"], {"own", "team-blue"}),
        ("[admin]", {"own", "team-blue", "system", "team-red"}),
    ],
)
def test_the_role_says_where_a_subject_may_write(roles: object, writable: set[str]) -> None:
    claims = {"sub": "ann", "teams": ["blue"]} | ({"roles": roles} if roles else {})
    principal = principal_of(jwt(**claims), SETTINGS)
    names = {"own": user_scope("ann")}
    for scope in ("own", "team-blue", "team-red", "system"):
        asked = names.get(scope, scope)
        if scope in writable:
            assert principal.write_scope(asked) == asked
        else:
            with pytest.raises(Forbidden):
                principal.write_scope(asked)


def test_a_reader_is_told_that_it_may_not_write() -> None:
    with pytest.raises(Forbidden):
        principal_of(jwt(sub="ann", roles="reader"), SETTINGS).write_scope(None)


def test_a_writer_without_a_default_scope_has_to_name_one() -> None:
    with pytest.raises(ScopeRequired):
        Principal("x", reads=(), writes=frozenset({"team-blue"})).write_scope(None)


def test_a_subject_that_cannot_be_written_down_is_none() -> None:
    with pytest.raises(Unauthenticated):
        principal_of(jwt(sub="\ud800"), SETTINGS)


def test_the_names_of_the_claims_are_settings() -> None:
    settings = Settings(claim_subject="user", claim_agent="bot")
    principal = principal_of(jwt(user="ann", bot="review", agent="coding"), settings)
    assert (principal.subject, principal.agent) == ("ann", "review")
