"""Grants as they are stored: read strictly, and remembered no longer than they may be."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from house import House

from skill_registry.catalog.access import (
    Access,
    AccessCache,
    caller_role,
    make_grant,
    read_access,
    role_of,
    write_access,
)
from skill_registry.errors import AccessUnreadable, RequestInvalid, Unavailable
from skill_registry.store import keys

if TYPE_CHECKING:
    from skill_registry.catalog.access import Grant

BOT = "arn:aws:iam::000000000000:role/bot"
GRANT = make_grant(BOT, ("maintainer",), ("team-a",), "review", "ultra")
CHANGE = {"who": "me", "when": "2026-01-01T00:00:00Z", "what": {"role": BOT}, "why": "Because"}
ACCESS = Access({BOT: GRANT}, (CHANGE,))


@pytest.fixture
def house() -> House:
    return House()


def store(house: House, *grants: Grant) -> None:
    house.put(keys.access(), write_access(Access({grant.role: grant for grant in grants})))


def cache_of(house: House, max_age: float = 60) -> AccessCache:
    registry = house.environment()
    return AccessCache(registry.store, registry.runtime, max_age=max_age, stale_age=300)


def test_what_is_written_is_read_again() -> None:
    assert read_access(write_access(ACCESS)) == ACCESS
    assert read_access(write_access(Access())) == Access()


def test_the_order_of_grants_in_the_file_is_that_of_their_roles() -> None:
    grants = [make_grant(f"{BOT}-{each}", ("reader",)) for each in "cab"]
    raw = json.loads(write_access(Access({grant.role: grant for grant in grants})))
    assert [each["role"] for each in raw["grants"]] == [f"{BOT}-{each}" for each in "abc"]
    assert raw["schema"] == 1


def _document(**members: Any) -> bytes:
    return json.dumps({"schema": 1, "grants": [], "changes": []} | members).encode()


def _with(**members: Any) -> bytes:
    return _document(grants=[{"role": BOT, "roles": ["reader"], "scopes": []} | members])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b"[" * 100_000,
        _document(schema=2),
        _document(schema="1"),
        _document(schema=True),
        _document(schema=1.0),
        _document(schema=None),
        _document(grants={}),
        _document(grants=None),
        _document(grants=["x"]),
        _document(changes="x"),
        _document(changes=[1]),
        _document(changes=[{"who": "me", "when": "now"}]),
        _document(changes=[{"who": 1, "when": "now", "what": {}}]),
        _document(changes=[{"who": "\ud800", "when": "now", "what": {}}]),
        _document(changes=[{"who": "me", "when": "now", "what": "x"}]),
        _document(more=1),
        _with(role="bot"),
        _with(role=7),
        _with(role="arn:aws:sts::000000000000:assumed-role/bot/me"),
        _with(role="arn:aws:iam::000000000000:user/bot"),
        _with(roles="reader"),
        _with(roles=[1]),
        _with(scopes=None),
        _with(scopes=["team-A"]),
        _with(scopes=[["system"]]),
        _with(agent=""),
        _with(agent=["a"]),
        _with(agent="a\nb"),
        _with(tier="best"),
        _with(tier=["lite"]),
        _with(expires="2026-01-01"),
        _document(
            grants=[
                {"role": BOT, "roles": ["reader"], "scopes": []},
                {"role": BOT.replace("bot", "x/bot"), "roles": ["admin"], "scopes": []},
            ]
        ),
    ],
)
def test_what_is_not_ours_to_understand_is_none(body: bytes) -> None:
    assert read_access(body) is None


def test_a_word_that_is_no_role_is_kept_and_gives_nothing() -> None:
    access = read_access(_with(roles=["reader", "auditor"]))
    assert access is not None
    assert access.grants[BOT].roles == ("reader", "auditor")
    assert read_access(write_access(access)) == access


def test_a_stored_role_goes_by_its_arn_without_a_path() -> None:
    access = read_access(_with(role="arn:aws:iam::000000000000:role/a/b/bot"))
    assert access is not None
    assert list(access.grants) == [BOT]


@pytest.mark.parametrize(
    ("arn", "role"),
    [
        ("arn:aws:iam::000000000000:role/bot", BOT),
        ("arn:aws:iam::000000000000:role/a/b/bot", BOT),
        ("arn:aws:iam::000000000000:role/aws-reserved/sso.amazonaws.com/bot", BOT),
        ("arn:aws:iam::000000000000:role/", None),
        ("arn:aws:iam::000000000000:role/a/", None),
        ("arn:aws:iam::000000000000:role/bot x", None),
        ("arn:aws:iam::000000000000:role/bo\u0442", None),
        ("arn:aws:iam::\u0660\u0660\u0660000000000:role/bot", None),
        ("arn:aws:iam::0:role/bot", None),
        ("arn:aws:iam::000000000000:role/" + "x" * 65, None),
        ("arn:AWS:iam::000000000000:role/bot", None),
        ("arn:aws:sts::000000000000:role/bot", None),
        (" arn:aws:iam::000000000000:role/bot", None),
        ("arn:aws:iam::000000000000:role/bot\n", None),
    ],
)
def test_a_role_is_told_by_its_arn_alone(arn: str, role: str | None) -> None:
    assert role_of(arn) == role
    assert caller_role(arn) == role


def test_a_session_is_no_role_to_grant_something_to() -> None:
    session = "arn:aws:sts::000000000000:assumed-role/bot/me"
    assert (caller_role(session), role_of(session)) == (BOT, None)


@pytest.mark.parametrize(
    "asked",
    [
        (BOT, ()),
        (BOT, ("owner",)),
        (BOT, ("reader", "owner")),
        ("bot", ("reader",)),
        ("arn:aws:sts::000000000000:assumed-role/bot/me", ("reader",)),
        (BOT, ("reader",), ("team-A",)),
        (BOT, ("reader",), tuple(f"team-{number}" for number in range(51))),
        (BOT, ("reader",), (), ""),
        (BOT, ("reader",), (), " a"),
        (BOT, ("reader",), (), "a\tb"),
        (BOT, ("reader",), (), "a" * 65),
        (BOT, ("reader",), (), "a", "best"),
        (BOT, ("reader",), (), "a", ""),
    ],
)
def test_a_grant_that_says_what_cannot_be_is_refused(asked: Any) -> None:
    with pytest.raises(RequestInvalid) as refused:
        make_grant(*asked)
    assert refused.value.code == "access_invalid"


def test_what_a_grant_names_twice_counts_once() -> None:
    grant = make_grant(BOT, ("author", "reader", "author"), ("team-b", "team-a", "team-b"))
    assert (grant.roles, grant.scopes) == (("reader", "author"), ("team-b", "team-a"))


def test_within_its_age_it_costs_no_request_for_unknown_roles_neither(house: House) -> None:
    store(house, GRANT)
    cache = cache_of(house)
    house.counter.reset()
    assert cache.grant_of(BOT) == GRANT
    assert cache.grant_of(f"{BOT}-other") is None
    house.time += 59
    assert cache.grant_of(f"{BOT}-another") is None
    assert house.counter.count() == 1


def test_beyond_its_age_it_is_revalidated_by_one_request(house: House) -> None:
    store(house, GRANT)
    cache = cache_of(house)
    assert cache.grant_of(BOT) == GRANT
    house.time += 60
    house.counter.reset()
    assert cache.grant_of(BOT) == GRANT
    assert house.counter.count() == 1
    store(house)
    assert cache.grant_of(BOT) == GRANT
    house.time += 60
    assert cache.grant_of(BOT) is None


def test_without_an_age_each_question_is_one_request(house: House) -> None:
    cache = cache_of(house, max_age=0)
    assert cache.grant_of(BOT) is None
    store(house, GRANT)
    house.counter.reset()
    assert [cache.grant_of(BOT), cache.grant_of(BOT)] == [GRANT, GRANT]
    assert house.counter.count() == 2
    house.bucket.delete(keys.access())
    assert cache.grant_of(BOT) is None


def test_while_the_store_does_not_answer_the_last_known_counts_for_a_while(house: House) -> None:
    store(house, GRANT)
    cache = cache_of(house, max_age=10)
    assert cache.grant_of(BOT) == GRANT
    house.faults.before_if = lambda _: True
    house.time += 300
    assert cache.grant_of(BOT) == GRANT
    assert cache.grant_of(f"{BOT}-other") is None
    house.time += 1
    with pytest.raises(Unavailable) as refused:
        cache.grant_of(BOT)
    assert refused.value.code == "store_unavailable"


def test_nobody_is_let_in_by_grants_that_were_never_read(house: House) -> None:
    house.faults.before_if = lambda _: True
    with pytest.raises(Unavailable):
        cache_of(house).grant_of(BOT)


def test_grants_that_became_unreadable_let_nobody_in_until_they_are_mended(house: House) -> None:
    store(house, GRANT)
    cache = cache_of(house)
    assert cache.grant_of(BOT) == GRANT
    house.put(keys.access(), b"{")
    house.time += 60
    for _ in range(2):
        with pytest.raises(AccessUnreadable):
            cache.grant_of(BOT)
    house.faults.before_if = lambda _: True
    with pytest.raises(AccessUnreadable):
        cache.grant_of(BOT)
    house.faults.clear()
    store(house, GRANT)
    assert cache.grant_of(BOT) == GRANT
