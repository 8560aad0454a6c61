"""The client's calls about history and operation: once each, whatever gets lost, read strictly."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from house import skill_zip
from loopback import Fault, Loopback

from skill_registry.agent.problems import AnswerInvalid, RegistryProblem
from skill_registry.agent.requests import Precondition
from skill_registry.store import keys
from skill_registry.store.keys import SkillId

if TYPE_CHECKING:
    from collections.abc import Callable

    from skill_registry.agent.client import RegistryClient

NOTES = SkillId("system", "notes")


@pytest.fixture
def notes(registry: Loopback) -> Loopback:
    registry.house.publish("notes", "one\n")
    registry.house.publish("notes", "two\n")
    return registry


def _body(registry: Loopback, index: int = -1) -> Any:
    return json.loads(registry.requests[index].body)


def _key(registry: Loopback, index: int) -> str | None:
    return dict(registry.requests[index].headers).get("idempotency-key")


def test_versions_are_read_page_by_page(notes: Loopback, client: RegistryClient) -> None:
    page = client.versions("notes", limit=1)
    assert (page.name, page.scope, page.current, page.next) == ("notes", "system", 2, 2)
    (newest,) = page.versions
    assert (newest.version, newest.state, newest.labels, newest.restores) == (
        2,
        "content",
        (),
        None,
    )
    last = client.versions("notes", "system", before=page.next)
    assert ([each.version for each in last.versions], last.next) == ([1], None)


def test_unchanged_versions_cost_a_304(notes: Loopback, client: RegistryClient) -> None:
    first = client.versions("notes")
    assert client.versions("notes") is first
    assert dict(notes.requests[1].headers)["if-none-match"].startswith('"2-')
    notes.house.publish("notes", "three")
    assert client.versions("notes").current == 3


def test_a_message_of_a_publish_is_in_the_versions(client: RegistryClient) -> None:
    client.publish("notes", skill_zip("notes"), message="Through the store")
    client.publish_inline("notes", skill_zip("notes"), message="In the call")
    messages = [each.message for each in client.versions("notes").versions]
    assert messages == ["In the call", "Through the store"]


def test_a_diff_has_both_sides_of_each_file(notes: Loopback, client: RegistryClient) -> None:
    found = client.diff("notes")
    assert (found.old, found.new, found.truncated) == (1, 2, False)
    (file,) = found.files
    assert file.old is not None
    assert file.new is not None
    assert (file.path, file.change, file.old.size) == ("references/notes.md", "changed", 4)
    assert "-one\n+two\n" in found.text
    client.configure("notes", labels={"stable": 1})
    assert client.diff("notes", 2, "@stable").new == 1


def test_a_rollback_is_made_once_whatever_gets_lost(
    notes: Loopback, client: RegistryClient
) -> None:
    notes.faults.append(Fault("POST /skills/notes/rollback", applied=True))
    done = client.rollback("notes", 1, message="Back", precondition=Precondition(version=2))
    assert (done.version, done.restores) == (3, 1)
    assert _key(notes, 0) == _key(notes, 1) is not None
    assert client.rollback("notes", 2, key="own").version == 4
    assert client.rollback("notes", 2, key="own").version == 4


def test_a_deletion_is_made_once_whatever_gets_lost(
    notes: Loopback, client: RegistryClient
) -> None:
    notes.faults.append(Fault("DELETE /skills/notes", applied=True))
    assert client.delete("notes").version == 3
    assert _key(notes, 0) == _key(notes, 1) is not None
    with pytest.raises(RegistryProblem) as gone:
        client.delete("notes")
    assert gone.value.code == "skill_not_found"


def test_a_change_sends_what_is_to_change_and_nothing_else(
    notes: Loopback, client: RegistryClient
) -> None:
    now = client.configure("notes", agents=["review"], labels={"stable": 1}, reason="Why")
    assert _body(notes) == {"agents": ["review"], "labels": {"stable": 1}, "reason": "Why"}
    assert (now.enabled, now.agents, now.labels) == (True, ("review",), {"stable": 1})
    now = client.configure("notes", agents=[], labels={"stable": None})
    assert _body(notes) == {"agents": None, "labels": {"stable": None}}
    assert (now.agents, now.labels) == (None, {})
    assert client.configure("notes", enabled=False).enabled is False


def test_a_purge_tells_where_the_files_still_are(notes: Loopback, client: RegistryClient) -> None:
    notes.house.publish("notes", "one\n")
    notes.house.publish("notes", "four\n")
    done = client.purge("notes", 1, reason="A key")
    assert (done.version, done.also_in) == (1, {3: ("references/notes.md",)})


def test_maintenance_is_made_run_by_run(notes: Loopback, client: RegistryClient) -> None:
    notes.house.put(keys.sidecar(NOTES), b"9\n")
    (found,) = client.doctor()
    assert [(each.code, each.skill, each.fixable) for each in found.findings] == [
        ("sidecar_past_log", "system/notes", True)
    ]
    (fixed,) = client.doctor(scope="system", name="notes", fix=True)
    assert (fixed.findings, [each.code for each in fixed.repaired]) == ((), ["sidecar_past_log"])
    notes.house.bucket.delete(keys.sidecar(NOTES))
    (run,) = client.reconcile()
    assert (run.repaired, run.next) == (("system/notes",), None)
    assert client.rebuild("system").skills == 1


def test_no_run_is_made_before_it_is_asked_for(registry: Loopback, client: RegistryClient) -> None:
    pages = [{"next": "a"}, {"next": "b"}, {}]
    registry.faults += [
        Fault("POST /maintenance/reconcile", 200, body=json.dumps(page).encode()) for page in pages
    ]
    runs = client.reconcile()
    assert registry.requests == []
    next(runs)
    assert len(registry.requests) == 1
    assert len(list(runs)) == 2
    assert [_body(registry, i) for i in range(3)] == [{}, {"cursor": "a"}, {"cursor": "b"}]


CALLS: dict[str, tuple[Callable[[RegistryClient], object], list[dict[str, Any]]]] = {
    "GET /skills/n/versions": (
        lambda client: client.versions("n"),
        [
            {"name": "n", "scope": "s"},
            {"name": "n", "scope": "s", "versions": [{"version": "1"}]},
            {
                "name": "n",
                "scope": "s",
                "versions": [{"version": 1, "state": "content", "labels": 1}],
            },
        ],
    ),
    "GET /skills/n/diff": (
        lambda client: client.diff("n"),
        [{"name": "n", "scope": "s", "from": 1, "to": 2, "files": [{"path": "p"}], "diff": ""}],
    ),
    "DELETE /skills/n": (lambda client: client.delete("n"), [{"name": "n", "scope": "s"}]),
    "PATCH /skills/n": (
        lambda client: client.configure("n", enabled=True),
        [
            {"name": "n", "scope": "s", "labels": {"a": "1"}},
            {"name": "n", "scope": "s", "agents": "review"},
        ],
    ),
    "POST /skills/n/purge": (
        lambda client: client.purge("n", 1),
        [{"name": "n", "scope": "s", "version": 1, "removed": 1, "also_in": {"x": []}}],
    ),
    "POST /maintenance/rebuild": (lambda client: client.rebuild("s"), [{"scope": "s"}]),
    "POST /maintenance/reconcile": (
        lambda client: list(client.reconcile()),
        [{"pruned": {"s/n": ["1"]}}, {"repaired": [1]}, {"next": 3}],
    ),
    "POST /maintenance/doctor": (
        lambda client: list(client.doctor()),
        [{"examined": 1}, {"examined": 1, "findings": [{"code": "c"}]}],
    ),
}


@pytest.mark.parametrize("route", CALLS)
def test_an_answer_of_another_shape_is_none(
    route: str, registry: Loopback, client: RegistryClient
) -> None:
    call, answers = CALLS[route]
    for answer in answers:
        registry.faults.append(Fault(route, 200, body=json.dumps(answer).encode()))
        with pytest.raises(AnswerInvalid):
            call(client)
    assert registry.faults == []
