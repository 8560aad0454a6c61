"""Granting: by administrators, by compare-and-set, noted, and never over what nobody can read."""

from __future__ import annotations

import pytest
from house import ADMIN, House, person

from skill_registry.catalog.access import Access, make_grant, read_access, write_access
from skill_registry.catalog.granting import GRANTS
from skill_registry.errors import (
    AccessUnreadable,
    Forbidden,
    RegistryError,
    RequestInvalid,
    Unavailable,
)
from skill_registry.store import keys
from skill_registry.store.gate import Request, Result

BOT = "arn:aws:iam::000000000000:role/bot"
OTHER = "arn:aws:iam::000000000000:role/other"
READER = make_grant(BOT, ("reader",))
AUTHOR = make_grant(BOT, ("author",))


@pytest.fixture
def house() -> House:
    return House()


def stored(house: House) -> Access:
    access = read_access(house.read(keys.access()) or b"")
    assert access is not None
    return access


def test_a_change_is_noted_with_who_when_what_and_why(house: House) -> None:
    granter = house.registry.granter
    granter.change(ADMIN, BOT, READER, "Lists skills")
    house.time += 1
    access = granter.change(ADMIN, BOT, None)
    assert access == stored(house) == granter.read(ADMIN)
    assert (access.grants, access.changes) == (
        {},
        (
            {
                "who": ADMIN.subject,
                "when": "2027-01-15T08:00:00Z",
                "what": {"role": BOT, "grant": {"roles": ["reader"], "scopes": []}},
                "why": "Lists skills",
            },
            {
                "who": ADMIN.subject,
                "when": "2027-01-15T08:00:01Z",
                "what": {"role": BOT, "grant": None},
            },
        ),
    )


def test_the_same_again_writes_nothing(house: House) -> None:
    granter = house.registry.granter
    for _ in range(2):
        house.counter.reset()
        granter.change(ADMIN, OTHER, None)
        assert (house.counter.puts, house.counter.count()) == (0, 1)
    granter.change(ADMIN, BOT, READER)
    house.counter.reset()
    granter.change(ADMIN, BOT.replace("bot", "path/bot"), make_grant(BOT, ("reader",)))
    assert (house.counter.puts, len(stored(house).changes)) == (0, 1)
    granter.change(ADMIN, BOT, AUTHOR)
    assert (house.counter.puts, stored(house).grants) == (1, {BOT: AUTHOR})


def test_the_last_fifty_changes_are_kept(house: House) -> None:
    for _ in range(26):
        for grant in (READER, AUTHOR):
            house.registry.granter.change(ADMIN, BOT, grant)
    changes = stored(house).changes
    assert len(changes) == 50
    assert changes[-1]["what"]["grant"]["roles"] == ["author"]


def test_a_change_counts_at_once_in_its_environment_and_costs_no_further_request(
    house: House,
) -> None:
    registry = house.registry
    assert registry.access.grant_of(BOT) is None
    registry.granter.change(ADMIN, BOT, READER)
    house.counter.reset()
    assert registry.access.grant_of(BOT) == READER
    registry.granter.change(ADMIN, BOT, None)
    assert registry.access.grant_of(BOT) is None
    assert house.counter.count() == 2
    house.environment().granter.change(ADMIN, BOT, AUTHOR)
    assert registry.access.grant_of(BOT) is None
    registry.granter.read(ADMIN)
    assert registry.access.grant_of(BOT) == AUTHOR


def test_only_administrators_read_or_change_grants(house: House) -> None:
    for caller in (person("ann", "red"), person("bob")):
        with pytest.raises(Forbidden):
            house.registry.granter.read(caller)
        with pytest.raises(Forbidden):
            house.registry.granter.change(caller, BOT, READER)
    assert house.counter.count() == 0


@pytest.mark.parametrize("grant", [None, READER])
def test_something_else_than_a_role_is_neither_granted_nor_revoked(
    house: House, grant: object
) -> None:
    session = "arn:aws:sts::000000000000:assumed-role/bot/me"
    with pytest.raises(RequestInvalid) as refused:
        house.registry.granter.change(ADMIN, session, READER if grant else None)
    assert (refused.value.code, house.counter.count()) == ("access_invalid", 0)


def test_there_is_an_end_to_the_number_of_grants(house: House) -> None:
    many = [make_grant(f"{BOT}-{number}", ("reader",)) for number in range(GRANTS)]
    house.put(keys.access(), write_access(Access({grant.role: grant for grant in many})))
    with pytest.raises(RequestInvalid) as refused:
        house.registry.granter.change(ADMIN, BOT, READER)
    assert refused.value.code == "access_invalid"
    house.registry.granter.change(ADMIN, many[0].role, None)
    house.registry.granter.change(ADMIN, BOT, READER)
    assert len(stored(house).grants) == GRANTS


@pytest.mark.parametrize("body", [b"", b"garbage", b'{"schema": 2, "grants": [], "changes": []}'])
def test_what_cannot_be_read_is_never_replaced(house: House, body: bytes) -> None:
    house.put(keys.access(), body)
    for grant in (READER, None):
        with pytest.raises(AccessUnreadable):
            house.registry.granter.change(ADMIN, BOT, grant)
    with pytest.raises(AccessUnreadable):
        house.registry.granter.read(ADMIN)
    assert house.read(keys.access()) == body


def test_two_who_grant_at_the_same_time_both_count(house: House) -> None:
    once = [make_grant(OTHER, ("reader",))]

    def meanwhile(request: Request, _result: Result) -> None:
        if request.op == "GET" and request.key == keys.access() and once:
            other = once.pop()
            house.environment().granter.change(ADMIN, other.role, other)

    house.faults.on_after = meanwhile
    house.registry.granter.change(ADMIN, BOT, READER)
    assert set(stored(house).grants) == {BOT, OTHER}
    assert len(stored(house).changes) == 2


def test_a_lost_reply_is_no_second_change(house: House) -> None:
    house.faults.after_if = lambda request: request.op == "PUT"
    access = house.registry.granter.change(ADMIN, BOT, READER)
    assert access == stored(house)
    assert len(access.changes) == 1


def test_a_store_that_does_not_answer_is_told(house: House) -> None:
    house.faults.before_if = lambda request: request.op == "PUT"
    with pytest.raises(Unavailable):
        house.registry.granter.change(ADMIN, BOT, READER)


def test_what_others_keep_changing_is_given_up_in_the_end(house: House) -> None:
    numbers = iter(range(1000))

    def meanwhile(request: Request, _result: Result) -> None:
        if request.op == "GET" and request.key == keys.access():
            other = make_grant(f"{OTHER}-{next(numbers)}", ("reader",))
            house.bucket.put(keys.access(), write_access(Access({other.role: other})))

    house.faults.on_after = meanwhile
    with pytest.raises(RegistryError) as refused:
        house.registry.granter.change(ADMIN, BOT, READER)
    assert refused.value.code == "store_unavailable"
