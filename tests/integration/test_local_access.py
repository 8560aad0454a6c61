"""Who may call, end to end: grants by the command line, sessions of roles over HTTP."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from house import skill_md

from local_stack.launcher import ServerProcess
from skill_registry.catalog.principal import user_scope

if TYPE_CHECKING:
    from collections.abc import Iterator

SKILLCTL = Path(__file__).resolve().parents[2] / "scripts" / "skillctl"


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, stack_environments: None
) -> Iterator[ServerProcess]:
    """The real functions, for which a change of access counts at once everywhere."""
    data = tmp_path_factory.mktemp("access")
    server = ServerProcess(data, "--empty", "--parameter", "AccessMaxAge=0").start()
    yield server
    server.stop()


class Caller:
    """A session of an IAM role."""

    def __init__(self, server: ServerProcess, role: str, session: str = "i-1") -> None:
        arn = f"arn:aws:sts::000000000000:assumed-role/{role}/{session}"
        self._client = httpx.Client(
            base_url=server.url, timeout=60, trust_env=False, headers={"X-Local-Role": arn}
        )

    def __enter__(self) -> Caller:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def list(self) -> tuple[int, Any]:
        answer = self._client.get("/skills")
        return answer.status_code, answer.json()

    def publish(self, scope: str, name: str = "notes") -> int:
        files = {"files": {"SKILL.md": skill_md(name).decode()}}
        return self._client.put(f"/skills/{name}", params={"scope": scope}, json=files).status_code

    def view(self, name: str = "notes") -> int:
        return self._client.get(f"/skills/{name}").status_code

    def grant(self, role: str) -> int:
        body = {"role": role, "grant": {"roles": ["admin"]}}
        return self._client.patch("/access", json=body).status_code


def skillctl(server: ServerProcess, *arguments: str) -> Any:
    """Run a command about access and return its answer."""
    done = subprocess.run(
        [str(SKILLCTL), "access", *arguments, "--json"],
        env={**os.environ, "SKILL_REGISTRY_URL": server.url, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_a_role_sees_and_writes_what_it_is_granted_while_it_is(server: ServerProcess) -> None:
    role = "arn:aws:iam::000000000000:role/agents/bot"
    own = user_scope("arn:aws:iam::000000000000:role/bot")
    with Caller(server, "bot") as bot, Caller(server, "bot", "i-2") as other:
        status, problem = bot.list()
        assert (status, problem["code"]) == (401, "unauthenticated")
        skillctl(server, "grant", role, "--role", "reader", "--scope", "team-x")
        status, listing = bot.list()
        assert (status, listing["skills"]) == (200, [])
        assert list(listing["catalog_version"]) == [own, "team-x", "system"]
        assert [bot.publish("team-x"), bot.grant(role)] == [403, 403]
        skillctl(server, "grant", role, "--role", "maintainer", "--scope", "team-x")
        assert [bot.publish("team-x"), bot.publish("system"), bot.publish(own, "mine")] == [
            201,
            403,
            201,
        ]
        # Sessions of a role are one principal.
        names = {(each["name"], each["scope"]) for each in other.list()[1]["skills"]}
        assert names == {("notes", "team-x"), ("mine", own)}
        assert [other.view(), other.view("mine")] == [200, 200]
        answer = skillctl(server, "revoke", role, "--reason", "Its work is done")
        assert (answer["grants"], answer["changes"][-1]["why"]) == ([], "Its work is done")
        assert [bot.list()[0], bot.view(), bot.publish("team-x"), other.list()[0]] == [401] * 4


def test_a_session_that_is_called_like_a_granted_role_is_nobody(server: ServerProcess) -> None:
    skillctl(server, "grant", "arn:aws:iam::000000000000:role/chief", "--role", "admin")
    with Caller(server, "chief", "me") as chief, Caller(server, "worker", "chief") as worker:
        assert (chief.publish("system"), worker.list()[0]) == (201, 401)
        assert chief.grant("arn:aws:iam::000000000000:role/deputy") == 200
        assert worker.grant("arn:aws:iam::000000000000:role/worker") == 401
    listed = {each["role"] for each in skillctl(server, "list")["grants"]}
    prefix = "arn:aws:iam::000000000000:role"
    assert {f"{prefix}/chief", f"{prefix}/deputy"} <= listed
    assert f"{prefix}/worker" not in listed


def test_a_request_with_claims_and_a_role_is_refused(server: ServerProcess) -> None:
    both = {
        "X-Local-Role": "arn:aws:iam::000000000000:role/local-administrator",
        "X-Local-Claims": '{"sub": "ann"}',
    }
    answer = httpx.get(f"{server.url}/skills", headers=both, timeout=60, trust_env=False)
    assert answer.status_code == 401
