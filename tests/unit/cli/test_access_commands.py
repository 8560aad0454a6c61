"""access list, grant and revoke: which IAM roles may call, as administrators type it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from command_line import Capture, Run
from loopback import Loopback

if TYPE_CHECKING:
    from collections.abc import Iterator

BOT = "arn:aws:iam::000000000000:role/bot"
BOB = json.dumps({"sub": "bob"})


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    with Loopback() as running:
        monkeypatch.setenv("SKILL_REGISTRY_URL", running.url)
        yield running


def test_a_role_is_granted_listed_and_revoked(capsysbinary: Capture) -> None:
    run = Run(capsysbinary, "access", "list")
    assert (run.code, run.out) == (0, "")
    assert run.err == "Nothing is granted: only administrators of the deployment may call.\n"
    run = Run(capsysbinary, "access", "grant", BOT, "--role", "reader")
    assert (run.code, run.out, run.err) == (0, f"{BOT} is reader now.\n", "")
    run = Run(capsysbinary, "access", "list")
    assert run.out == f"{BOT}\treader\t-\t-\t-\n"
    run = Run(capsysbinary, "access", "revoke", BOT)
    assert (run.code, run.out) == (0, f"{BOT} has no grant now.\n")
    assert Run(capsysbinary, "access", "revoke", BOT).code == 0


def test_a_grant_takes_scopes_in_their_order_an_agent_a_tier_and_a_reason(
    capsysbinary: Capture,
) -> None:
    roles = ("--role", "author", "--role", "maintainer")
    scopes = ("--scope", "team-b", "--scope", "team-a")
    more = ("--agent", "review", "--tier", "ultra", "--reason", "Writes for us")
    document = Run(
        capsysbinary, "access", "grant", BOT, *roles, *scopes, *more, "--json"
    ).document()
    assert document["grants"] == [
        {
            "role": BOT,
            "roles": ["author", "maintainer"],
            "scopes": ["team-b", "team-a"],
            "agent": "review",
            "tier": "ultra",
        }
    ]
    assert document["changes"][0]["why"] == "Writes for us"
    run = Run(capsysbinary, "access", "list")
    assert run.out == f"{BOT}\tauthor, maintainer\tteam-b, team-a\treview\tultra\n"
    assert Run(capsysbinary, "access", "list", "--json").document() == document
    document = Run(capsysbinary, "access", "revoke", BOT, "--reason", "Left", "--json").document()
    assert (document["grants"], document["changes"][1]["why"]) == ([], "Left")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("grant", BOT), 2, "usage"),
        (("grant", "--role", "reader"), 2, "usage"),
        (("revoke",), 2, "usage"),
        (("grant", BOT, "--role", "root"), 1, "access_invalid"),
        (("grant", f"{BOT}/session", "--role", "reader", "--scope", "all"), 1, "access_invalid"),
        (("grant", "bot", "--role", "reader"), 1, "access_invalid"),
        (("revoke", "arn:aws:sts::000000000000:assumed-role/bot/me"), 1, "access_invalid"),
    ],
)
def test_what_is_typed_wrong_is_refused(
    capsysbinary: Capture, arguments: tuple[str, ...], code: int, said: str
) -> None:
    run = Run(capsysbinary, "access", *arguments)
    assert (run.code, run.out, run.err.partition(":")[0]) == (code, "", said)


@pytest.mark.parametrize(
    "arguments", [("list",), ("grant", BOT, "--role", "admin"), ("revoke", BOT)]
)
def test_others_than_administrators_are_refused(
    capsysbinary: Capture, arguments: tuple[str, ...]
) -> None:
    run = Run(capsysbinary, "--claims", BOB, "access", *arguments)
    assert (run.code, run.err.partition(":")[0]) == (1, "forbidden")
    assert Run(capsysbinary, "access", "list").out == ""
