"""Identity: who a request is, from API Gateway's authorizer context and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from house import House

from skill_registry.catalog.access import AccessCache, Grant, make_grant
from skill_registry.catalog.granting import AccessFile, Granter
from skill_registry.catalog.principal import Principal, user_scope
from skill_registry.errors import Forbidden, ScopeRequired, Unauthenticated
from skill_registry.web.identity import Identity
from skill_registry.web.settings import Settings

ADMIN = "arn:aws:iam::000000000000:role/ops/admin"
ADMIN_SESSION = "arn:aws:sts::000000000000:assumed-role/admin/me"
BOT = "arn:aws:iam::000000000000:role/bot"
BOT_SESSION = "arn:aws:sts::000000000000:assumed-role/bot/i-1"
SETTINGS = Settings(registry_administrators=(ADMIN,))
STRICT = Settings(registry_administrators=(ADMIN,), strict_agents=True)
OWN = user_scope(BOT)


def iam(arn: object) -> dict[str, Any]:
    return {"requestContext": {"authorizer": {"iam": {"userArn": arn}}}}


def jwt(**claims: object) -> dict[str, Any]:
    return {"requestContext": {"authorizer": {"jwt": {"claims": claims}}}}


def granted(*grants: Grant, settings: Settings = SETTINGS) -> Identity:
    """An identity over a store in which these grants were made."""
    house = House()
    runtime = house.registry.runtime
    cache = AccessCache(house.registry.store, runtime)
    granter = Granter(AccessFile(house.registry.store, runtime), cache, runtime)
    admin = Identity(SETTINGS).principal_of(iam(ADMIN_SESSION))
    for grant in grants:
        granter.change(admin, grant.role, grant)
    return Identity(settings, cache)


def with_role(*roles: str, scopes: tuple[str, ...] = (), **more: str) -> Principal:
    """What a session of a role is that was granted this."""
    return granted(make_grant(BOT, roles, scopes, **more)).principal_of(iam(BOT_SESSION))


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"requestContext": {}},
        {"requestContext": None},
        {"requestContext": "text"},
        {"requestContext": {"authorizer": None}},
        {"requestContext": {"authorizer": [1]}},
        {"requestContext": {"authorizer": {"iam": None, "jwt": None}}},
        {"requestContext": {"authorizer": {"iam": "x", "jwt": 1}}},
        {"requestContext": {"authorizer": {"jwt": {"claims": ["sub"]}}}},
        {"requestContext": {"authorizer": {"lambda": {"userArn": ADMIN}}}},
        iam(""),
        iam(None),
        iam(17),
        iam({"arn": ADMIN}),
        iam("arn:aws:iam::000000000000:role/other"),
        iam("arn:aws:iam::000000000000:user/admin"),
        iam("arn:aws:iam::000000000000:root"),
        iam("arn:aws:sts::000000000000:federated-user/admin"),
        iam("arn:aws:sts::000000000000:assumed-role/other/admin"),
        iam("arn:aws:sts::000000000000:assumed-role/other/role/admin"),
        iam("arn:aws:sts::000000000000:assumed-role/admin"),
        iam("arn:aws:sts::000000000000:assumed-role/admin/"),
        iam("arn:aws:sts::000000000000:assumed-role/admin/a/b"),
        iam("arn:aws:sts::111111111111:assumed-role/admin/session"),
        iam("arn:aws-cn:sts::000000000000:assumed-role/admin/session"),
        iam("arn:aws:sts::000000000000:assumed-role/ops/admin/session"),
        iam(ADMIN_SESSION + "\nx"),
        jwt(),
        jwt(sub=""),
        jwt(sub=" "),
        jwt(sub=None),
        jwt(sub=["ann"]),
        jwt(sub={"a": 1}),
        jwt(sub="\ud800"),
        jwt(sub="a\x00b"),
        jwt(email="a@b"),
    ],
)
@pytest.mark.parametrize("identity", [Identity(SETTINGS), granted()], ids=["alone", "with-access"])
def test_without_a_known_identity_there_is_no_access(
    event: dict[str, Any], identity: Identity
) -> None:
    with pytest.raises(Unauthenticated):
        identity.principal_of(event)


def test_two_identities_are_none() -> None:
    both = {"iam": {"userArn": ADMIN_SESSION}, "jwt": {"claims": {"sub": "ann"}}}
    with pytest.raises(Unauthenticated):
        Identity(SETTINGS).principal_of({"requestContext": {"authorizer": both}})


@pytest.mark.parametrize("arn", [ADMIN, "arn:aws:iam::000000000000:role/admin", ADMIN_SESSION])
def test_an_administrator_of_the_deployment_administers_system(arn: str) -> None:
    principal = Identity(STRICT).principal_of(iam(arn))
    assert principal == Principal(
        "arn:aws:iam::000000000000:role/admin",
        reads=("system",),
        default_scope="system",
        administrator=True,
        roles=frozenset({"admin"}),
    )


@pytest.mark.parametrize("partition", ["aws", "aws-cn", "aws-us-gov", "aws-iso-b"])
def test_every_partition_of_aws_has_roles(partition: str) -> None:
    role = f"arn:{partition}:iam::123456789012:role/team/path/agents"
    session = f"arn:{partition}:sts::123456789012:assumed-role/agents/anybody@example.com"
    plain = f"arn:{partition}:iam::123456789012:role/agents"
    settings = Settings(registry_administrators=(role,))
    assert Identity(settings).principal_of(iam(session)).subject == plain
    identity = granted(make_grant(role, ("reader",)))
    assert identity.principal_of(iam(session)).subject == plain
    assert identity.principal_of(iam(role)).subject == plain


def test_the_role_counts_and_never_the_session_name() -> None:
    identity = granted(make_grant(BOT, ("reader",)))
    for name in ("one", "admin", "ops-admin", "a@b"):
        arn = f"arn:aws:sts::000000000000:assumed-role/bot/{name}"
        principal = identity.principal_of(iam(arn))
        assert (principal.subject, principal.administrator) == (BOT, False)
    with pytest.raises(Unauthenticated):
        identity.principal_of(iam("arn:aws:sts::000000000000:assumed-role/other/bot"))


@pytest.mark.parametrize(
    "named",
    [
        "arn:aws:iam::000000000000:user/bot",
        "arn:aws:iam::000000000000:root",
        BOT_SESSION,
        "bot",
        "*",
        "arn:aws:iam::000000000000:role/*",
    ],
)
def test_a_setting_that_names_no_role_lets_nobody_in(named: str) -> None:
    identity = Identity(Settings(registry_administrators=(named,)))
    for arn in (named, BOT, BOT_SESSION):
        with pytest.raises(Unauthenticated):
            identity.principal_of(iam(arn))


@pytest.mark.parametrize(
    ("roles", "writes", "default"),
    [
        (("reader",), set(), None),
        (("author",), {OWN}, OWN),
        (("maintainer",), {OWN, "team-b", "team-a"}, OWN),
        (("reader", "author"), {OWN}, OWN),
        (("admin",), {OWN, "team-b", "team-a"}, "system"),
    ],
)
def test_a_grant_says_where_a_role_reads_and_writes(
    roles: tuple[str, ...], writes: set[str], default: str | None
) -> None:
    principal = with_role(*roles, scopes=("team-b", "team-a"), agent="review", tier="ultra")
    assert principal == Principal(
        BOT,
        reads=(OWN, "team-b", "team-a", "system"),
        writes=frozenset(writes),
        default_scope=default,
        agent="review",
        tier="ultra",
        administrator="admin" in roles,
        roles=frozenset(roles),
        own_scope=OWN,
    )
    assert principal.may_write("team-other") is ("admin" in roles)


def test_a_scope_that_is_named_twice_is_read_once() -> None:
    principal = with_role("maintainer", scopes=("system", "team-a", OWN, "team-a"))
    assert principal.reads == (OWN, "system", "team-a")
    assert principal.writes == {OWN, "system", "team-a"}


def test_a_parameter_comes_before_a_grant() -> None:
    principal = granted(make_grant(ADMIN, ("reader",))).principal_of(iam(ADMIN_SESSION))
    assert principal.administrator


@pytest.mark.parametrize(
    ("event", "strict"),
    [
        (iam(ADMIN_SESSION), False),
        (iam(BOT_SESSION), True),
        (iam("arn:aws:iam::000000000000:role/chief"), False),
        (iam("arn:aws:iam::000000000000:role/chief-bot"), True),
        (jwt(sub="ann"), True),
        (jwt(sub="ann", agent="review"), True),
        (jwt(sub="ann", roles="admin"), False),
        (jwt(sub="ann", roles="admin", agent="review"), True),
    ],
)
def test_the_strict_mode_holds_for_all_but_administrators_who_are_no_agent(
    event: dict[str, Any], strict: bool
) -> None:
    grants = (
        make_grant(BOT, ("reader",)),
        make_grant("arn:aws:iam::000000000000:role/chief", ("admin",)),
        make_grant("arn:aws:iam::000000000000:role/chief-bot", ("admin",), agent="review"),
    )
    assert granted(*grants, settings=STRICT).principal_of(event).strict is strict
    assert granted(*grants).principal_of(event).strict is False


def test_a_subject_reads_its_own_scope_first_then_its_teams_then_the_system() -> None:
    principal = Identity(SETTINGS).principal_of(jwt(sub="ann", teams="[blue red blue]"))
    assert principal.reads == (user_scope("ann"), "team-blue", "team-red", "system")
    assert principal.default_scope == principal.own_scope == user_scope("ann")
    assert principal.roles == {"author"}


def test_no_subject_can_name_itself_into_another_scope() -> None:
    principal = Identity(SETTINGS).principal_of(jwt(sub="system", teams=["../system", "A", "ok"]))
    assert principal.reads == (user_scope("system"), "team-ok", "system")


@pytest.mark.parametrize(
    ("roles", "writable"),
    [
        (None, {"own"}),
        ("reader", set()),
        ("author", {"own"}),
        (["maintainer"], {"own", "team-blue"}),
        ("[admin]", {"own", "team-blue", "system", "team-red"}),
        ("[reader superuser]", set()),
    ],
)
def test_the_role_says_where_a_subject_may_write(roles: object, writable: set[str]) -> None:
    claims = {"sub": "ann", "teams": ["blue"]} | ({"roles": roles} if roles else {})
    principal = Identity(SETTINGS).principal_of(jwt(**claims))
    names = {"own": user_scope("ann")}
    for scope in ("own", "team-blue", "team-red", "system"):
        asked = names.get(scope, scope)
        if scope in writable:
            assert principal.write_scope(asked) == asked
        else:
            with pytest.raises(Forbidden):
                principal.write_scope(asked)


@pytest.mark.parametrize("roles", ["root", "[Admin ADMIN]", ["", "owner"], "administrator"])
def test_words_that_are_no_roles_give_nothing(roles: object) -> None:
    with pytest.raises(Forbidden):
        Identity(SETTINGS).principal_of(jwt(sub="ann", roles=roles))


def test_a_reader_is_told_that_it_may_not_write() -> None:
    reader = Identity(SETTINGS).principal_of(jwt(sub="ann", roles="reader"))
    assert (reader.own_scope, reader.default_scope) == (user_scope("ann"), None)
    with pytest.raises(Forbidden):
        reader.write_scope(None)


def test_a_writer_without_a_default_scope_has_to_name_one() -> None:
    with pytest.raises(ScopeRequired):
        Principal("x", reads=(), writes=frozenset({"team-blue"})).write_scope(None)


def test_the_names_of_the_claims_are_settings() -> None:
    settings = Settings(claim_subject="user", claim_agent="bot")
    principal = Identity(settings).principal_of(jwt(user="ann", bot="review", agent="coding"))
    assert (principal.subject, principal.agent) == ("ann", "review")


@pytest.mark.parametrize("blank", ["", " "])
def test_a_blank_claim_is_no_agent_and_no_tier_and_opens_nothing(blank: str) -> None:
    who = Identity(SETTINGS).principal_of(jwt(sub="ann", agent=blank, tier=blank))
    assert not who.sees(("review",), None)
    assert who.sees(None, None)
    assert not who.narrowed(agent=None, tier="ultra").sees(None, "ultra")


@pytest.mark.parametrize("roles", ["", "[]", [], None])
def test_roles_that_are_said_to_be_none_are_none(roles: object) -> None:
    with pytest.raises(Forbidden):
        Identity(SETTINGS).principal_of(jwt(sub="ann", roles=roles))


@pytest.mark.parametrize("subject", [" ann", "ann ", "ann\n", "\tann"])
def test_no_blank_makes_two_subjects_one(subject: str) -> None:
    with pytest.raises(Unauthenticated):
        Identity(SETTINGS).principal_of(jwt(sub=subject))
