"""What the real functions write down of real calls: every fact, and nothing that is secret."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest
from house import skill_md, zipped

from local_stack.launcher import ServerProcess
from skill_registry.web import contract

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MARK = "marked-secret-7f3a"
TOKEN = {
    "Authorization": f"Bearer {MARK}",
    "Cookie": f"session={MARK}",
    "Idempotency-Key": f"{MARK}-key",
    "X-Local-Claims": json.dumps({"sub": "ann", "roles": "admin", "private": MARK}),
}
SECONDS = 30.0


@dataclass
class Story:
    """A server that took every kind of call, and what must not be in its logs.

    Attributes:
        secrets: Signatures and credentials of the presigned targets that it gave.
    """

    server: ServerProcess
    client: httpx.Client
    secrets: set[str] = field(default_factory=set)

    def call(self, method: str, path: str, correlation: str, **more: Any) -> httpx.Response:
        """Send a call of the administrator."""
        answer = self.client.request(
            method,
            path,
            headers={"X-Correlation-Id": correlation, **more.pop("headers", {})},
            **more,
        )
        assert answer.headers["x-correlation-id"] == correlation
        return answer

    def publish(self, name: str, correlation: str, text: str = MARK) -> httpx.Response:
        """Publish inline."""
        files = {"SKILL.md": skill_md(name).decode() + text}
        return self.call(
            "PUT", f"/skills/{name}", correlation, json={"files": files, "message": MARK}
        )

    def upload(self, name: str, correlation: str, archive: bytes, *, put: bool = False) -> str:
        """Announce and send an upload; return its id."""
        sized = {"size": len(archive), "sha256": hashlib.sha256(archive).hexdigest()} if put else {}
        ticket = self.call(
            "POST", "/uploads", correlation, json={"name": name, "message": MARK, **sized}
        ).json()
        self.keep(ticket["url"], ticket.get("fields", {}))
        if put:
            sent = httpx.put(
                ticket["url"], content=archive, headers=ticket["headers"], trust_env=False
            )
        else:
            files = {"file": ("a.zip", archive)}
            sent = httpx.post(ticket["url"], data=ticket["fields"], files=files, trust_env=False)
        assert sent.is_success
        return str(ticket["upload_id"])

    def keep(self, url: str, fields: dict[str, str] | None = None) -> None:
        """Note what is secret of a presigned target."""
        for name, value in [*parse_qsl(urlsplit(url).query), *(fields or {}).items()]:
            if name.lower() in ("x-amz-signature", "x-amz-credential", "policy"):
                self.secrets.add(value)

    def logs(self) -> dict[str, str]:
        """Return every log by the name of what wrote it."""
        return {path.stem: path.read_text() for path in (self.server.data / "logs").glob("*.log")}

    def facts(self, function: str, message: str) -> list[dict[str, Any]]:
        """Return the facts of one kind that a function wrote down."""
        lines = self.logs()[function].splitlines()
        facts = [json.loads(line) for line in lines if line.startswith("{")]
        return [fact for fact in facts if fact["message"] == message]

    def fact(self, function: str, message: str, correlation: str) -> dict[str, Any]:
        """Wait for the one fact of a call; events take their time."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            facts = self.facts(function, message)
            found = [fact for fact in facts if fact["correlation_id"] == correlation]
            if found:
                assert len(found) == 1, found
                return found[0]
            time.sleep(0.05)
        raise AssertionError(f"{function} wrote no {message} of {correlation}")


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory, stack_environments: None) -> Iterator[Story]:
    data: Path = tmp_path_factory.mktemp("telemetry")
    options = ("--empty", "--environments", "1", "--parameter", "LogLevel=DEBUG")
    server = ServerProcess(data, *options).start()
    try:
        with httpx.Client(base_url=server.url, timeout=60, trust_env=False) as client:
            told = Story(server, client)
            call_everything(told)
            yield told
    finally:
        server.stop()


def call_everything(story: Story) -> None:
    """Every route with a token and marked members, then calls that go well and ones that do not."""
    for route in contract.ROUTES:
        method, _, template = route.partition(" ")
        path = template.replace("{name}", "notes").replace("{id}", "0" * 32)
        body = {"name": "notes", "message": MARK, "reason": MARK, "files": {"SKILL.md": MARK}}
        for sent in (body, {**body, "unknown": MARK}):
            content = None if method == "GET" else json.dumps(sent)
            story.client.request(
                method,
                path.replace("{task}", "reconcile"),
                params={"q": MARK, "message": MARK},
                content=content,
                headers={**TOKEN, "Content-Type": "application/json"},
            )
    good_calls(story)
    bad_calls(story)


def good_calls(story: Story) -> None:
    assert story.publish("told", "call-publish").status_code == 201
    assert story.publish("told", "call-again", MARK * 2).status_code == 200
    story.call("GET", "/skills", "call-list")
    story.call("GET", "/skills", "call-search", params={"q": MARK})
    assert MARK in story.call("GET", "/skills/told", "call-view").text
    link = story.call("GET", "/skills/told/bundle", "call-bundle").json()
    story.keep(link["url"])
    assert httpx.get(link["url"], trust_env=False).is_success
    archive = zipped({"SKILL.md": skill_md("sent") + MARK.encode()})
    upload = story.upload("sent", "call-announce", archive, put=True)
    story.call("POST", f"/uploads/{upload}/complete", "call-complete")
    story.upload("left", "call-left", zipped({"SKILL.md": skill_md("left") + MARK.encode()}))
    story.call("POST", "/skills/told/rollback", "call-back", json={"version": 1, "message": MARK})
    story.call("PATCH", "/skills/told", "call-patch", json={"enabled": True, "reason": MARK})
    assert story.call("DELETE", "/skills/told", "call-delete").status_code == 200


def bad_calls(story: Story) -> None:
    bad = {"files": {"SKILL.md": f"---\nname: bad\ndescription: {MARK}: {MARK}\n---\n"}}
    assert story.call("PUT", "/skills/bad", "call-bad", json=bad).status_code == 422
    assert story.call("GET", "/skills/told", "call-gone").status_code == 404
    assert story.call("GET", "/skills/never", "call-never").status_code == 404
    archive = zipped({"SKILL.md": f"---\nname: worse\n{MARK}: [\n---\n".encode()})
    upload = story.upload("worse", "call-worse", archive)
    refused = story.call("POST", f"/uploads/{upload}/complete", "call-refused")
    assert refused.status_code == 422
    story.upload("lost", "call-lost", archive)
    raw = story.call("PUT", "/skills/bad", "call-raw", content=b"PK" + MARK.encode())
    assert raw.status_code == 400


def test_a_publish_is_told_with_what_was_published(story: Story) -> None:
    fact = story.fact("upload_skill", "skill_published", "call-publish")
    assert (fact["skill"], fact["version"], fact["scope"]) == ("told", 1, "system")
    assert (fact["kind"], fact["author"].rpartition("/")[2]) == ("content", "local-administrator")
    assert fact["size"] > 0
    assert fact["SkillPublished"] == [1.0]
    assert fact["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "SkillRegistry"
    back = story.fact("upload_skill", "skill_published", "call-back")
    assert (back["version"], back["restores"]) == (3, 1)
    assert story.fact("upload_skill", "skill_published", "call-delete")["kind"] == "tombstone"


def test_an_upload_is_told_under_the_call_that_announced_it(story: Story) -> None:
    deadline = time.monotonic() + SECONDS
    found: list[dict[str, Any]] = []
    while not found and time.monotonic() < deadline:
        facts = [
            *story.facts("upload_skill", "skill_published"),
            *story.facts("refresh_metadata", "skill_published"),
        ]
        found = [fact for fact in facts if fact["correlation_id"] == "call-announce"]
    # The call and the event both publish; whichever was first tells, and once.
    assert [fact["skill"] for fact in found] == ["sent"]


def test_the_event_function_tells_under_the_call_whose_client_went_away(story: Story) -> None:
    fact = story.fact("refresh_metadata", "skill_published", "call-left")
    assert (fact["skill"], fact["version"]) == ("left", 1)
    assert fact["request_id"] != "call-left"


def test_the_event_function_tells_a_refusal_that_nobody_waited_for(story: Story) -> None:
    fact = story.fact("refresh_metadata", "skill_refused", "call-lost")
    assert (fact["skill"], fact["scope"], fact["reason"]) == ("lost", "system", "skill_invalid")


def test_a_load_is_told_with_the_body_that_was_given(story: Story) -> None:
    fact = story.fact("view_skill", "skill_loaded", "call-view")
    members = ("skill", "version", "scope", "description")
    assert [fact[name] for name in members] == ["told", 2, "system", "Does one thing well."]
    assert fact["body_bytes"] > 2 * len(MARK)
    assert fact["SkillLoadedBytes"] == [fact["body_bytes"]]
    bundle = story.fact("view_skill", "skill_loaded", "call-bundle")
    assert "path" not in bundle


def test_a_listing_is_told_with_its_count(story: Story) -> None:
    fact = story.fact("list_skills", "skill_listed", "call-list")
    assert (fact["scopes"], fact["searched"]) == (["system"], False)
    assert fact["count"] >= 1
    assert story.fact("list_skills", "skill_listed", "call-search")["searched"] is True


@pytest.mark.parametrize(
    ("function", "correlation", "skill", "reason"),
    [
        ("view_skill", "call-gone", "told", "deleted"),
        ("view_skill", "call-never", "never", "unknown"),
        ("upload_skill", "call-bad", "bad", "skill_invalid"),
        ("upload_skill", "call-refused", None, "skill_invalid"),
        ("upload_skill", "call-raw", "bad", "content_type_invalid"),
    ],
)
def test_a_refusal_is_told_with_the_true_reason(
    story: Story, function: str, correlation: str, skill: str | None, reason: str
) -> None:
    fact = story.fact(function, "skill_refused", correlation)
    # An upload is refused by its id, which is drawn.
    assert fact["skill"] == skill or (skill is None and len(fact["skill"]) == 32)
    assert fact["reason"] == reason
    assert fact["SkillRefused"] == [1.0]


@pytest.mark.parametrize(
    "secret",
    [
        lambda text: MARK in text,
        lambda text: "x-amz-signature" in text.lower(),
        lambda text: "x-amz-credential" in text.lower(),
        lambda text: "authorization" in text.lower(),
        lambda text: "bearer" in text.lower(),
    ],
    ids=["mark", "signature", "credential", "authorization", "bearer"],
)
def test_no_log_holds_a_body_a_presigned_url_or_a_token(
    story: Story, secret: Callable[[str], bool]
) -> None:
    # The last things that happen are the events of the uploads that nobody completed.
    story.fact("refresh_metadata", "skill_published", "call-left")
    story.fact("refresh_metadata", "skill_refused", "call-lost")
    assert [name for name, text in story.logs().items() if secret(text)] == []


def test_no_log_holds_a_signature_or_a_credential_that_was_given(story: Story) -> None:
    assert len(story.secrets) >= 6
    found = [
        (name, value)
        for name, text in story.logs().items()
        for value in story.secrets
        if value in text
    ]
    assert found == []


def test_every_line_of_a_function_is_json_and_has_the_ids_of_its_call(story: Story) -> None:
    for function in ("list_skills", "view_skill", "upload_skill", "refresh_metadata"):
        lines = [json.loads(line) for line in story.logs()[function].splitlines()]
        assert lines
        for line in lines:
            assert line["correlation_id"] and line["request_id"], line
