"""Who calls the local server: two headers stand in for API Gateway's authorizer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from local_stack.http_events import LOCAL_ADMINISTRATOR, CallerInvalid, Request, request_event
from local_stack.routing import Match
from local_stack.template import Route

ROLE = "arn:aws:iam::000000000000:role/bot"
SESSION = "arn:aws:sts::000000000000:assumed-role/bot/i-1"
CLAIMS = json.dumps({"sub": "ann"})


def event(**headers: str) -> dict[str, Any]:
    sent = [(name.replace("_", "-"), value) for name, value in headers.items()]
    match = Match(Route("GET", "/skills", function="List"), {})
    return request_event(Request("GET", "/skills", "", sent), match)


def test_without_a_header_the_caller_is_the_local_administrator() -> None:
    authorizer = event()["requestContext"]["authorizer"]
    assert (set(authorizer), authorizer["iam"]["userArn"]) == ({"iam"}, LOCAL_ADMINISTRATOR)


@pytest.mark.parametrize("arn", [ROLE, SESSION, "arn:aws:iam::000000000000:user/ann"])
def test_a_role_header_is_the_callers_arn_as_it_stands(arn: str) -> None:
    made = event(x_local_role=arn)
    authorizer = made["requestContext"]["authorizer"]
    assert (set(authorizer), authorizer["iam"]["userArn"]) == ({"iam"}, arn)
    assert "x-local-role" not in made["headers"]


@pytest.mark.parametrize(
    "headers",
    [
        {"x_local_role": ""},
        {"x_local_role": "  "},
        {"x_local_role": ROLE, "x_local_claims": CLAIMS},
        {"x_local_role": "", "x_local_claims": CLAIMS},
        {"x_local_claims": "[]"},
        {"x_local_claims": ""},
    ],
)
def test_headers_that_name_nobody_or_two_callers_are_refused(headers: dict[str, str]) -> None:
    with pytest.raises(CallerInvalid):
        event(**headers)
