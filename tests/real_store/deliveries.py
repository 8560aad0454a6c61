"""All S3 events of some dozen publishes, delivered to the refresh function in any order.

The publishes leave work behind: what follows a publish (catalog and tree) fails for many of them,
some clients go away between upload and call, some in the middle of a commit. What is left of one
bucket is copied, so that the same events can be delivered in order to one and in disorder to the
other.
"""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from house import Faults
from real_store.clients import endpoint_variables, opened
from real_store.evidence import ADMINISTRATOR, contents_of

from local_stack import resources
from local_stack.template import read_template
from local_stack.virtualenvs import PROJECT
from refresh_metadata.app import lambda_handler
from skill_registry.catalog.log import NO_PRECONDITION
from skill_registry.catalog.runtime import Runtime
from skill_registry.catalog.snapshot import decode
from skill_registry.errors import Unavailable
from skill_registry.spec.archive import write_archive
from skill_registry.store import keys
from skill_registry.store.base import IfAbsent, StoredObject, Written, list_all
from skill_registry.store.gate import GatedStore
from skill_registry.store.keys import SkillId
from skill_registry.web.environment import registry
from skill_registry.web.settings import Settings
from skill_registry.web.wiring import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from local_stack.emulator import Endpoint
    from skill_registry.store.base import SkillStore
    from skill_registry.store.gate import Request

FILES = 16
TEMPLATE = PROJECT / "template.yaml"
# Of each commit anew, so not the same in two buckets.
_VARYING = frozenset({"created", "write-id"})


@dataclass(frozen=True, slots=True)
class Delivered:
    """One way to deliver: ``writes`` counts object versions that were made or removed by it."""

    batches: int
    writes: int


class Scene:
    """A bucket in which publishes left work behind, and every event that S3 sent about it."""

    def __init__(self, endpoint: Endpoint, publishes: int, skills: int) -> None:
        self.endpoint = endpoint
        self.skills = [SkillId("system", f"skill-{number:02d}") for number in range(skills)]
        self.bucket = endpoint.make_bucket()
        template = read_template(TEMPLATE, self.bucket)
        assert template.queue is not None
        queue = resources.make_queue(endpoint, self.bucket, template.queue, template.rules)
        assert queue is not None
        with opened(endpoint, self.bucket) as store:
            self._publish(store, publishes)
        self.events = list(_drain(endpoint, queue))

    def _publish(self, store: SkillStore, publishes: int) -> None:
        faults = Faults()
        # What fails here fails every time: there is nothing to wait for.
        runtime = Runtime(pause=lambda _: None)
        environment = Registry(Settings(), GatedStore(store, faults), runtime)
        for number in range(publishes):
            skill = self.skills[number % len(self.skills)]
            # Every fourth leaves catalog and tree behind.
            faults.before_if = _follow_of(skill) if number % 4 == 0 else _nothing
            data = contents_of(skill.name, f"scene-{number}", FILES)
            environment.publisher.publish_inline(
                ADMINISTRATOR, skill, data, idempotency_key=str(number)
            )
        # The last of each skill comes from a client that goes away, at one of three moments.
        for number, skill in enumerate(self.skills):
            leave = (self._after_the_upload, self._within_a_commit, self._before_what_follows)
            leave[number % len(leave)](environment, faults, skill)

    def _after_the_upload(self, environment: Registry, faults: Faults, skill: SkillId) -> None:
        faults.before_if = _nothing
        self._upload(environment, skill)

    def _within_a_commit(self, environment: Registry, faults: Faults, skill: SkillId) -> None:
        """Durable, not visible, and no upload whose event would bring it about."""
        faults.before_if = _sidecar_of(skill)
        with suppress(Unavailable):
            environment.publisher.publish_inline(
                ADMINISTRATOR, skill, contents_of(skill.name, "unseen", FILES)
            )

    def _before_what_follows(self, environment: Registry, faults: Faults, skill: SkillId) -> None:
        faults.before_if = _follow_of(skill)
        environment.uploader.complete(ADMINISTRATOR, self._upload(environment, skill))

    def _upload(self, environment: Registry, skill: SkillId) -> str:
        """Put an upload where its form would have put it; return its id."""
        announced = environment.uploader.announce(
            ADMINISTRATOR, skill, precondition=NO_PRECONDITION
        )
        ticket = {
            name.removeprefix("x-amz-meta-"): value
            for name, value in announced.target.fields.items()
            if name.startswith("x-amz-meta-")
        }
        data = write_archive(contents_of(skill.name, "late", FILES).files)
        environment.store.put(keys.upload(announced.upload), data, metadata=ticket)
        return announced.upload.id

    def copy(self) -> str:
        """Return a bucket that holds the same, and tells nobody what happens to it."""
        bucket = self.endpoint.make_bucket()
        with (
            opened(self.endpoint, self.bucket) as source,
            opened(self.endpoint, bucket) as target,
        ):
            for listed in list_all(source, ""):
                found = source.get(listed.key)
                assert isinstance(found, StoredObject)
                put = target.put(
                    listed.key,
                    found.body,
                    condition=IfAbsent(),
                    metadata=found.info.metadata,
                    content_type=found.info.content_type or "",
                )
                assert put == Written(found.etag)
        return bucket


def _nothing(_: Request) -> bool:
    return False


def _sidecar_of(skill: SkillId) -> Callable[[Request], bool]:
    """Tell the visible commit of a skill: without it, a publish is durable and nobody sees it."""
    return lambda request: request.op == "PUT" and request.key == keys.sidecar(skill)


def _follow_of(skill: SkillId) -> Callable[[Request], bool]:
    """Tell the writes that follow a publish: of the catalog and of the tree."""
    catalog, sidecar, tree = keys.catalog(skill.scope), keys.sidecar(skill), keys.tree(skill)

    def follows(request: Request) -> bool:
        in_tree = request.key.startswith(tree) and request.key != sidecar
        return request.op == "PUT" and (in_tree or request.key == catalog)

    return follows


def deliver(endpoint: Endpoint, bucket: str, batches: Sequence[Sequence[str]]) -> Delivered:
    """Deliver batches of notifications to the function's own handler, in one fresh process' state.

    What a batch reports as failed comes again, as the queue would have it.
    """
    before = versions(endpoint, bucket)
    with endpoint_variables(endpoint, REGISTRY_BUCKET=bucket):
        registry.cache_clear()
        try:
            for batch in batches:
                _deliver(batch)
        finally:
            registry.cache_clear()
    return Delivered(len(batches), len(before ^ versions(endpoint, bucket)))


def _deliver(batch: Sequence[str]) -> None:
    waiting = {f"message-{number}": body for number, body in enumerate(batch)}
    for _ in range(5):
        event = {"Records": [{"messageId": id, "body": body} for id, body in waiting.items()]}
        answer = lambda_handler(event, None)
        failed = {item["itemIdentifier"] for item in answer["batchItemFailures"]}
        waiting = {id: body for id, body in waiting.items() if id in failed}
        if not waiting:
            return
    raise AssertionError(f"delivered five times and still failed: {waiting}")


def in_order(events: Sequence[str], size: int = 50) -> list[list[str]]:
    """Return the events as they came, in whole batches."""
    return [list(events[start : start + size]) for start in range(0, len(events), size)]


def shuffled_and_doubled(events: Sequence[str], seed: int) -> list[list[str]]:
    """Return each event twice, in any order, in batches of different sizes."""
    choices = random.Random(seed)
    all_of_them = [*events, *events]
    choices.shuffle(all_of_them)
    batches = []
    while all_of_them:
        size = choices.randint(30, 50)
        batches.append(all_of_them[:size])
        del all_of_them[:size]
    return batches


def versions(endpoint: Endpoint, bucket: str) -> set[tuple[str, str]]:
    """Return every object version of what the registry keeps, deletions included."""
    s3 = endpoint.client("s3")
    found = set()
    for prefix in (keys.SKILLS, keys.REGISTRY):
        for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket, Prefix=prefix):
            listed = (*page.get("Versions", ()), *page.get("DeleteMarkers", ()))
            found |= {(each["Key"], each["VersionId"]) for each in listed}
    s3.close()
    return found


def state(endpoint: Endpoint, bucket: str) -> Mapping[str, Any]:
    """Return what the registry keeps: bytes and metadata by key, catalogs by their entries."""
    with opened(endpoint, bucket) as store:
        return {
            listed.key: _content(store, listed.key)
            for prefix in (keys.SKILLS, keys.REGISTRY)
            for listed in list_all(store, prefix)
        }


def _content(store: SkillStore, key: str) -> Any:
    found = store.get(key)
    assert isinstance(found, StoredObject)
    scope = keys.parse_catalog(key)
    catalog = decode(scope, found.body) if scope else None
    if catalog is not None:
        return catalog.entries
    metadata = found.info.metadata.items()
    return found.body, {name: text for name, text in metadata if name not in _VARYING}


def _drain(endpoint: Endpoint, queue: str) -> Iterator[str]:
    sqs = endpoint.client("sqs")
    while messages := sqs.receive_message(
        QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=1
    ).get("Messages"):
        yield from (message["Body"] for message in messages)
        handles = [
            {"Id": str(number), "ReceiptHandle": message["ReceiptHandle"]}
            for number, message in enumerate(messages)
        ]
        sqs.delete_message_batch(QueueUrl=queue, Entries=handles)
    sqs.close()
