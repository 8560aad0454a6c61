"""The client copies, looks at large skills without publishing them, and follows a 202."""

from __future__ import annotations

import pytest
from house import skill_zip, zipped
from loopback import QUICK, Fault, Loopback

from skill_registry.agent.answers import CopiedFrom
from skill_registry.agent.client import RegistryClient
from skill_registry.agent.problems import RegistryProblem
from skill_registry.agent.requests import Precondition

AGAIN = {"Retry-After": "2", "Location": "/uploads/x"}


def test_a_copy_names_its_source_and_takes_what_a_publish_takes(
    registry: Loopback, client: RegistryClient
) -> None:
    client.publish("notes", skill_zip("notes", "one"))
    client.publish("notes", skill_zip("notes", "two"))
    new = Precondition(absent=True)
    done = client.copy(
        "notes", "team-blue", version=1, scopes=["system"], message="Promoted", precondition=new
    )
    assert (done.scope, done.version, done.copied_from) == (
        "team-blue",
        1,
        CopiedFrom("system", 1),
    )
    page = client.versions("notes", "team-blue")
    assert page.versions[0].copied_from == CopiedFrom("system", 1)
    assert page.versions[0].message == "Promoted"
    assert client.versions("notes", "system").versions[0].copied_from is None
    with pytest.raises(RegistryProblem) as late:
        client.copy("notes", "team-blue", scopes=["system"], precondition=new)
    assert (late.value.status, late.value.current) == (412, 1)


def test_a_lost_reply_of_a_copy_makes_no_second_version(
    registry: Loopback, client: RegistryClient, naps: list[float]
) -> None:
    client.publish("notes", skill_zip("notes"))
    registry.faults.append(Fault("POST /skills/notes/copy", applied=True))
    assert client.copy("notes", "team-blue").version == 1
    assert len(naps) == 1


def test_a_dry_run_by_upload_gives_diagnostics_and_publishes_nothing(
    registry: Loopback, client: RegistryClient
) -> None:
    assert client.validate_upload("notes", skill_zip("notes")).valid
    verdict = client.validate_upload("notes", zipped({"SKILL.md": b"no frontmatter"}))
    assert not verdict.valid
    assert verdict.diagnostics[0].code == "frontmatter_missing"
    assert registry.house.listed() == {}
    assert client.upload_state(str(verdict.answer["upload_id"])).state == "validated"


def test_a_publish_that_is_never_finished_in_time_is_told_and_can_be_looked_at(
    registry: Loopback, client: RegistryClient, naps: list[float]
) -> None:
    ticket = client.create_upload("notes")
    client.send_upload(ticket, skill_zip("notes"))
    registry.faults += [Fault("POST /uploads/", 202, AGAIN)] * QUICK.attempts
    with pytest.raises(RegistryProblem) as waiting:
        client.complete(ticket.upload_id)
    assert (waiting.value.status, waiting.value.code) == (202, "time_is_up")
    assert waiting.value.retry_after == 2
    assert naps == [2.0] * (QUICK.attempts - 1)
    assert client.upload_state(ticket.upload_id).state == "received"
    assert client.complete(ticket.upload_id).version == 1


def test_too_many_uploads_are_told_at_once_with_the_way_out(registry: Loopback) -> None:
    problem = b'{"status":429,"code":"too_many_uploads","detail":"Complete them, or wait."}'
    naps: list[float] = []
    registry.faults.append(Fault("POST /uploads", 429, {"Retry-After": "60"}, problem))
    with (
        RegistryClient(registry.url, retry=QUICK, sleep=naps.append) as client,
        pytest.raises(RegistryProblem) as refused,
    ):
        client.create_upload("notes")
    assert (refused.value.code, refused.value.retry_after, naps) == ("too_many_uploads", 60, [])
