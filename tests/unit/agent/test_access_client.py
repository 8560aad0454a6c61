"""The client's calls about access: what is sent, what is read, and that repeating is harmless."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from loopback import Fault, Loopback

from skill_registry.agent.access import AccessChange, Grant
from skill_registry.agent.client import RegistryClient
from skill_registry.agent.problems import AnswerInvalid, RegistryProblem

if TYPE_CHECKING:
    from collections.abc import Callable

BOT = "arn:aws:iam::000000000000:role/bot"
AGENTS = "arn:aws:iam::000000000000:role/agents"


def _body(registry: Loopback) -> Any:
    return json.loads(registry.requests[-1].body)


def test_a_grant_sends_what_was_asked_for_and_nothing_else(
    registry: Loopback, client: RegistryClient
) -> None:
    client.grant(BOT, roles=["reader"])
    assert _body(registry) == {"role": BOT, "grant": {"roles": ["reader"], "scopes": []}}
    scopes = ("team-b", "team-a")
    now = client.grant(
        AGENTS, roles=["maintainer"], scopes=scopes, agent="review", tier="ultra", reason="Why"
    )
    grant = {"roles": ["maintainer"], "scopes": [*scopes], "agent": "review", "tier": "ultra"}
    assert _body(registry) == {"role": AGENTS, "grant": grant, "reason": "Why"}
    assert now.grants == (
        Grant(AGENTS, ("maintainer",), scopes, "review", "ultra"),
        Grant(BOT, ("reader",), (), None, None),
    )
    assert [each.why for each in now.changes] == [None, "Why"]
    client.revoke(BOT, reason="Gone")
    assert _body(registry) == {"role": BOT, "grant": None, "reason": "Gone"}
    assert [each.role for each in client.access().grants] == [AGENTS]
    last = client.access().changes[-1]
    assert isinstance(last, AccessChange)
    assert (last.what, last.why) == ({"role": BOT, "grant": None}, "Gone")


def test_grants_that_did_not_change_cost_a_304(registry: Loopback, client: RegistryClient) -> None:
    first = client.access()
    assert client.access() is first
    client.grant(BOT, roles=["reader"])
    assert len(client.access().grants) == 1


def test_a_grant_whose_reply_was_lost_is_noted_once(
    registry: Loopback, client: RegistryClient
) -> None:
    registry.faults.append(Fault("PATCH /access", applied=True))
    assert len(client.grant(BOT, roles=["reader"]).changes) == 1
    registry.faults.append(Fault("PATCH /access", applied=True))
    assert len(client.revoke(BOT).changes) == 2


def test_a_refusal_is_raised_as_the_registry_says_it(
    registry: Loopback, client: RegistryClient
) -> None:
    with pytest.raises(RegistryProblem) as refused:
        client.grant(BOT, roles=["root"])
    assert refused.value.code == "access_invalid"
    with (
        RegistryClient(registry.url, claims={"sub": "bob"}) as bob,
        pytest.raises(RegistryProblem) as refused,
    ):
        bob.access()
    assert refused.value.code == "forbidden"


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"grants": [], "changes": {}},
        {"grants": [{"role": 1}], "changes": []},
        {"grants": [{"role": BOT, "roles": "reader"}], "changes": []},
        {"grants": [], "changes": [{"who": "me"}]},
    ],
)
@pytest.mark.parametrize(
    ("route", "call"),
    [
        ("GET /access", lambda client: client.access()),
        ("PATCH /access", lambda client: client.revoke(BOT)),
    ],
)
def test_an_answer_that_is_none_of_a_registry_is_said_to_be_none(
    registry: Loopback,
    client: RegistryClient,
    answer: Any,
    route: str,
    call: Callable[[RegistryClient], Any],
) -> None:
    registry.faults.append(Fault(route, 200, body=json.dumps(answer).encode()))
    with pytest.raises(AnswerInvalid):
        call(client)
