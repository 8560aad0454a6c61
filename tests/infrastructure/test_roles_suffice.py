"""The functions need every grant that they have and no other: their requests meet the roles."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from house import House, event_body, http_event, skill_files, skill_zip
from infrastructure.iam import BUCKET, Guard

from skill_registry.catalog.principal import subject_hash
from skill_registry.store import keys
from skill_registry.store.base import UploadTarget
from skill_registry.store.keys import SkillId, UploadId
from skill_registry.store.memory import MemorySkillStore
from skill_registry.web.refresh import refresh
from skill_registry.web.settings import Settings

if TYPE_CHECKING:
    from infrastructure.stack import Stack

ADMIN_ROLE = "arn:aws:iam::000000000000:role/admin"
BOT = "arn:aws:iam::000000000000:role/bot"
BOT_SESSION = "arn:aws:sts::000000000000:assumed-role/bot/me"
ZIP = {"content-type": "application/zip"}


class Function:
    """One function over a bucket, with the rights of its role."""

    def __init__(self, house: House, stack: Stack, role: str) -> None:
        self.house = house
        self.guard = Guard(stack, role)
        house.registry = house.environment()
        house.faults.before_if = self.guard.refuses

    def call(self, route: str, **more: Any) -> dict[str, Any]:
        """Send a request to the function that the route belongs to; return its answer."""
        registry = self.house.registry
        apis = {
            "ListSkillsRole": registry.list_api,
            "ViewSkillRole": registry.view_api,
            "UploadSkillRole": registry.upload_api,
            "RefreshMetadataRole": registry.maintenance_api,
        }
        result = apis[self.guard.role]().answer(http_event(route, **more))
        assert result["statusCode"] < 500, result["body"]
        found: dict[str, Any] = json.loads(result["body"] or "{}")
        return found

    def finish(self) -> None:
        """Nothing was refused, and no grant on the bucket was left over."""
        self.house.faults.clear()
        assert self.guard.refused == []
        on_bucket = {grant for grant in self.guard.grants if grant[1].startswith(BUCKET)}
        assert on_bucket - self.guard.used == set()


@pytest.fixture
def house() -> House:
    """A bucket with a managed skill of three revisions and vendored ones; it keeps little."""
    settings = Settings(registry_administrators=(ADMIN_ROLE,), keep_versions=1, keep_days=0)
    house = House(MemorySkillStore(versioned=True), settings)
    for text in ("one", "two", "three"):
        house.publish("managed", text)
    for name in ("vendored", "found"):
        for file in skill_files(name):
            house.put(keys.tree_file(SkillId("system", name), file.path), file.data)
    return house


def _target(answer: dict[str, Any]) -> UploadTarget:
    return UploadTarget(
        answer["method"], answer["url"], answer.get("headers", {}), answer.get("fields", {})
    )


def test_list_skills_needs_catalogs_only(house: House, stack: Stack) -> None:
    function = Function(house, stack, "ListSkillsRole")
    assert function.call("GET /skills")["skills"]
    function.call("GET /skills", query="scope=system&scope=team-absent")
    function.call("$default")
    function.call("GET /skills", caller=BOT_SESSION)
    # A GET of an absent key is a 404 only to who may list.
    assert not function.guard.judge("s3:ListBucket", BUCKET, conditional=False)
    function.finish()


def test_view_skill_reads_skills_and_keeps_snapshots(house: House, stack: Stack) -> None:
    function = Function(house, stack, "ViewSkillRole")
    for name in ("managed", "vendored", "absent"):
        for query in ("", "path=references/notes.md", "version=1"):
            function.call("GET /skills/{name}", path={"name": name}, query=query)
        function.call("GET /skills/{name}/bundle", path={"name": name})
    snapshots = [key for key in house.state() if "/snapshots/" in key]
    # What a bundle's presigned URL reads, it reads with the rights of this role.
    for key in (*snapshots, keys.revision(SkillId("system", "managed"), 3)):
        assert not function.guard.judge("s3:GetObject", f"{BUCKET}/{key}", conditional=False)
    assert len(snapshots) == 1
    function.finish()


def test_upload_skill_publishes_projects_signs_and_purges(house: House, stack: Stack) -> None:
    house.registry.view_api().answer(
        http_event("GET /skills/{name}/bundle", path={"name": "vendored"})
    )
    function = Function(house, stack, "UploadSkillRole")
    for name in ("managed", "vendored", "fresh"):
        body = skill_zip(name, "four")
        function.call("PUT /skills/{name}", path={"name": name}, headers=ZIP, body=body)
        opened = function.call("POST /uploads", body=json.dumps({"name": name}))
        upload = UploadId(subject_hash(ADMIN_ROLE), opened["upload_id"])
        key = f"{BUCKET}/{keys.upload(upload)}"
        assert not function.guard.judge("s3:PutObject", key, conditional=False)
        house.bucket.receive(_target(opened), skill_zip(name, "five"))
        parameters = {"id": opened["upload_id"]}
        function.call("GET /uploads/{id}", path=parameters)
        assert function.call("POST /uploads/{id}/complete", path=parameters)["version"]
        function.call("GET /uploads/{id}", path=parameters)
        function.call("DELETE /skills/{name}", path={"name": name})
    function.call("POST /validate", headers=ZIP, body=skill_zip("any"))
    # The directory as it was, with its bundle; and what came through an upload.
    for version in (1, 3):
        purge = json.dumps({"version": version})
        assert function.call("POST /skills/{name}/purge", path={"name": "vendored"}, body=purge)
    label, restored = json.dumps({"labels": {"good": 2}}), json.dumps({"version": 2})
    for agent in ("review", "coding"):
        grant = json.dumps({"role": BOT, "grant": {"roles": ["reader"], "agent": agent}})
        assert function.call("PATCH /access", body=grant)["grants"]
    function.call("GET /access")
    for _ in range(2):
        function.call("PATCH /skills/{name}", path={"name": "managed"}, body=label)
    function.call("POST /skills/{name}/rollback", path={"name": "managed"}, body=restored)
    function.finish()


def test_refresh_metadata_finishes_whatever_was_begun(house: House, stack: Stack) -> None:
    managed = SkillId("system", "managed")
    upload_ids = [house.upload("managed", skill_zip("managed", text)) for text in ("4", "5")]
    uploads = [keys.upload(UploadId(subject_hash(ADMIN_ROLE), each)) for each in upload_ids]
    assert set(uploads) <= set(house.state())
    house.put(keys.tree_file(managed, "left/over.md"), b"no revision has this")
    function = Function(house, stack, "RefreshMetadataRole")
    named = [
        uploads[0],
        keys.revision(managed, 3),
        keys.tree_file(SkillId("system", "found"), "SKILL.md"),
    ]
    records = [{"messageId": str(i), "body": event_body(key)} for i, key in enumerate(named)]
    assert refresh(house.registry, {"Records": records}) == {"batchItemFailures": []}
    refresh(house.registry, {"action": "reconcile"})
    for body in ({"fix": True}, {"fix": True, "scope": "system", "name": "managed"}):
        function.call("POST /maintenance/{task}", path={"task": "doctor"}, body=json.dumps(body))
    for task in ("rebuild", "reconcile"):
        function.call("POST /maintenance/{task}", path={"task": task})
    assert house.version("managed") == b"5\n"
    function.finish()


def test_the_judge_refuses_what_a_role_lacks_and_what_the_bucket_denies(stack: Stack) -> None:
    guard = Guard(stack, "UploadSkillRole")
    revision = f"{BUCKET}/registry/system/managed/revisions/00000001.zip"
    assert guard.judge("s3:DeleteObject", revision, conditional=False)
    assert guard.judge("s3:PutObject", revision, conditional=False)
    assert not guard.judge("s3:PutObject", revision, conditional=True)
    assert guard.judge(
        "s3:DeleteObject", f"{BUCKET}/skills/system/managed/.version", conditional=True
    )
    assert not guard.judge(
        "s3:DeleteObject", f"{BUCKET}/skills/system/managed/a.md", conditional=True
    )
    assert not guard.judge("s3:DeleteObjectVersion", revision, conditional=False)
    access = f"{BUCKET}/{keys.access()}"
    assert not guard.judge("s3:PutObject", access, conditional=True)
    assert guard.judge("s3:PutObject", access, conditional=False)
    assert guard.judge("s3:DeleteObjectVersion", access, conditional=False)
