"""The main job, end to end: the real server, the real functions, the real command line, HTTP."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from house import skill_md, zipped

from local_stack.launcher import ServerProcess

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = Path(__file__).resolve().parents[2]
BUNDLED = {
    "code-review-and-quality",
    "doubt-driven-development",
    "incremental-implementation",
    "performance-optimization",
    "pr-description",
    "security-and-hardening",
    "spec-driven-development",
    "test-driven-development",
}
TDD = "test-driven-development"


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, stack_environments: None
) -> Iterator[ServerProcess]:
    """The server as the README starts it, over an empty folder. May be restarted."""
    server = ServerProcess(tmp_path_factory.mktemp("story")).start()
    yield server
    server.stop()


@pytest.fixture
def client(server: ServerProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=60, trust_env=False) as client:
        yield client


def skillctl(server: ServerProcess, *arguments: str) -> tuple[int, str, str]:
    """Run the command line; return exit status, stdout and stderr."""
    done = subprocess.run(
        [str(PROJECT / "scripts" / "skillctl"), *arguments],
        env={**os.environ, "SKILL_REGISTRY_URL": server.url, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


def versions(client: httpx.Client) -> dict[str, Any]:
    skills = client.get("/skills").json()["skills"]
    return {skill["name"]: skill["version"] for skill in skills}


def test_a_fresh_server_lists_the_bundled_skills_at_version_1(client: httpx.Client) -> None:
    assert versions(client) == dict.fromkeys(BUNDLED, 1)
    lines = client.get("/skills", headers={"Accept": "text/markdown"}).text.splitlines()
    assert len(lines) == 8
    assert all(re.fullmatch(r"- \*\*[a-z-]+\*\* \(v:1\): \S.*", line) for line in lines)


def test_a_view_is_the_body_without_frontmatter_and_its_version(client: httpx.Client) -> None:
    seen = client.get(f"/skills/{TDD}").json()
    stored = (PROJECT / "skills" / TDD / "SKILL.md").read_text()
    assert seen["version"] == 1
    assert stored.endswith(seen["content"])
    assert not seen["content"].lstrip().startswith("---")


def test_a_pushed_change_is_the_next_version_in_list_and_view(
    server: ServerProcess, client: httpx.Client, tmp_path: Path
) -> None:
    copy = tmp_path / TDD
    shutil.copytree(PROJECT / "skills" / TDD, copy)
    with (copy / "SKILL.md").open("a") as file:
        file.write("\nOne more line.\n")
    status, out, err = skillctl(server, "push", str(copy), "--json")
    assert (status, json.loads(out)["version"]) == (0, 2), err
    assert versions(client)[TDD] == 2
    seen = client.get(f"/skills/{TDD}").json()
    assert (seen["version"], seen["content"].endswith("One more line.\n")) == (2, True)
    status, out, _ = skillctl(server, "view", TDD, "--version", "1")
    assert status == 0
    assert "One more line." not in out


def test_a_killed_server_comes_back_with_all_that_was_published(server: ServerProcess) -> None:
    with httpx.Client(base_url=server.url, timeout=60, trust_env=False) as client:
        done = client.put(
            "/skills/kept",
            content=zipped({"SKILL.md": skill_md("kept"), "data.bin": bytes(range(256))}),
            headers={"Content-Type": "application/zip"},
        )
        assert done.status_code == 201
        before = versions(client)
    server.stop(signal.SIGKILL)
    server.url = ""
    server.start()
    with httpx.Client(base_url=server.url, timeout=60, trust_env=False) as client:
        assert versions(client) == before
        raw = client.get("/skills/kept", params={"path": "data.bin", "raw": "1"})
        assert raw.content == bytes(range(256))


def test_the_event_publishes_an_upload_whose_client_went_away(client: httpx.Client) -> None:
    ticket = client.post("/uploads", json={"name": "late"}).json()
    sent = httpx.post(
        ticket["url"],
        data=ticket["fields"],
        files={"file": ("late.zip", zipped({"SKILL.md": skill_md("late")}))},
        trust_env=False,
    )
    assert sent.status_code in (200, 201, 204)
    outcome = _eventually(client, f"/uploads/{ticket['upload_id']}")
    assert (outcome["state"], outcome["version"]) == ("published", 1)


def _eventually(client: httpx.Client, path: str) -> dict[str, Any]:
    """Ask until an upload has an outcome; the queue delivers within seconds."""
    for _ in range(300):
        outcome: dict[str, Any] = client.get(path).json()
        if outcome["state"] != "received":
            return outcome
        # The poll itself is what waits: each request takes some milliseconds.
    raise AssertionError("no event arrived")


def test_a_bundle_is_the_whole_skill_with_its_digest(client: httpx.Client) -> None:
    import hashlib

    link = client.get("/skills/pr-description/bundle").json()
    data = httpx.get(link["url"], trust_env=False).content
    assert (hashlib.sha256(data).hexdigest(), len(data)) == (link["sha256"], link["size"])


def test_callers_are_who_their_claims_say(client: httpx.Client) -> None:
    review = {"X-Local-Claims": json.dumps({"sub": "bot", "agent": "review"})}
    names = {skill["name"] for skill in client.get("/skills", headers=review).json()["skills"]}
    assert "code-review-and-quality" in names
    assert TDD not in names
    refused = client.get(f"/skills/{TDD}", headers=review)
    assert (refused.status_code, refused.json()["code"]) == (404, "skill_not_found")
    assert "code-review-and-quality" in refused.json()["available"]


def test_skillctl_says_exactly_why_it_was_refused(server: ServerProcess, tmp_path: Path) -> None:
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "SKILL.md").write_text("---\nname: bad\ndescription: a: b\n---\n")
    status, _, err = skillctl(server, "push", str(bad))
    assert status == 1
    assert "SKILL.md:3:" in err
    status, _, _ = skillctl(server, "view", "no-such-skill")
    assert status == 1
    status, _, err = skillctl(server, "--url", "http://127.0.0.1:9", "list")
    assert status == 2
    assert "127.0.0.1:9" in err


def test_wrong_methods_and_paths_are_problems(client: httpx.Client) -> None:
    for method, path, status, code in (
        ("PATCH", "/skills", 405, "method_not_allowed"),
        ("GET", "/nowhere", 404, "route_not_found"),
        ("GET", "/skills/%2e%2e%2fx", 404, None),
        ("POST", "/uploads", 400, "body_not_json"),
    ):
        answer = client.request(method, path)
        assert answer.status_code == status
        if code:
            assert answer.json()["code"] == code
            assert answer.headers["content-type"] == "application/problem+json"
