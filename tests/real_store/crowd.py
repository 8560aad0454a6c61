"""Publishers and readers in threads, each an execution environment over boto3's real client.

Publishers do what they are told: after a 503 they wait as long as it says and send the same call
again, with the same Idempotency-Key or upload id, to another environment.
"""

from __future__ import annotations

import hashlib
import itertools
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

import httpx
from house import as_published
from real_store.evidence import (
    ADMINISTRATOR,
    Acknowledged,
    Seen,
    contents_of,
    identity_in,
    identity_of,
)

from skill_registry.catalog.log import NO_PRECONDITION
from skill_registry.catalog.runtime import Runtime, Threads
from skill_registry.errors import SkillNotFound, Unavailable
from skill_registry.spec.archive import write_archive
from skill_registry.store.keys import SkillId
from skill_registry.store.s3 import S3SkillStore
from skill_registry.web.settings import Settings
from skill_registry.web.wiring import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mypy_boto3_s3 import S3Client

    from skill_registry.catalog.publishing import Published
    from skill_registry.store.base import SkillStore, UploadTarget

T = TypeVar("T")

# A bound for a crowd that hangs; nothing is expected to take this long.
PATIENCE_SECONDS = 240.0


@dataclass(frozen=True, slots=True)
class Upload:
    """What one publish brings.

    Attributes:
        presigned: Send it past the registry; else it goes inline.
        again: Call once more after the answer, as if that had been lost on its way.
    """

    skill: SkillId
    identity: str
    presigned: bool
    again: bool


@dataclass(slots=True)
class Ledger:
    """What everybody was told, and what was wrong with it. Its methods may be called at once."""

    acknowledged: list[Acknowledged] = field(default_factory=list)
    seen: set[Seen] = field(default_factory=set)
    violations: list[str] = field(default_factory=list)
    reads: int = 0
    told_to_retry: int = 0
    _floors: dict[SkillId, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def acknowledge(self, upload: Upload, published: Published) -> None:
        """Note the answer of a publish."""
        number = published.info.number
        with self._lock:
            self.acknowledged.append(
                Acknowledged(upload.skill, upload.identity, published.upload.id, number)
            )
            self._floors[upload.skill] = max(number, self._floors.get(upload.skill, 0))

    def floor(self, skill: SkillId) -> int:
        """Return the highest version that was acknowledged until now, 0 for none."""
        with self._lock:
            return self._floors.get(skill, 0)

    def note(self, *seen: Seen) -> None:
        """Note what one answer told."""
        with self._lock:
            self.reads += 1
            self.seen.update(seen)

    def wrong(self, what: str) -> None:
        """Note a violation."""
        with self._lock:
            self.violations.append(what)

    def retried(self) -> None:
        """Note that a caller was told to come again."""
        with self._lock:
            self.told_to_retry += 1

    def of(self, skill: SkillId) -> list[Acknowledged]:
        """Return the publishes of a skill."""
        return [ack for ack in self.acknowledged if ack.skill == skill]


class Crowd:
    """A crowd around one bucket.

    Args:
        clients: The registry's own, through whatever lies between them and the store. Few share
            one: the SDK stops resending when a client has resent much and is answered with 304,
            404 or 412, which a crowd behind one client is within seconds.
        bucket: Its name.
    """

    def __init__(self, clients: Sequence[S3Client], bucket: str) -> None:
        self.ledger = Ledger()
        self._clients = itertools.cycle(clients)
        self._bucket = bucket
        self._over = threading.Event()
        self._deadline = time.monotonic() + PATIENCE_SECONDS

    def environment(self) -> Registry:
        """Start an execution environment with an empty memory."""
        store = S3SkillStore(next(self._clients), self._bucket)
        return Registry(Settings(), store, replace(Runtime(), parallel=Threads()))

    def run(self, publishers: Sequence[Sequence[Upload]], readers: int, seed: int) -> Ledger:
        """Let each publisher publish what it has, one after the other, while others read."""
        self._over.clear()
        skills = sorted({upload.skill for uploads in publishers for upload in uploads})
        with (
            httpx.Client(timeout=30, trust_env=False) as http,
            ThreadPoolExecutor(len(publishers) + readers) as pool,
        ):
            reading = [
                pool.submit(self._read, skills, random.Random(seed + number))
                for number in range(readers)
            ]
            publishing = [pool.submit(self._publish_all, uploads, http) for uploads in publishers]
            try:
                for done in publishing:
                    done.result()
            finally:
                self._over.set()
            for done in reading:
                done.result()
        return self.ledger

    def _publish_all(self, uploads: Sequence[Upload], http: httpx.Client) -> None:
        for upload in uploads:
            publish = self._presigned(upload, http) if upload.presigned else self._inline(upload)
            published = publish()
            self.ledger.acknowledge(upload, published)
            if upload.again and (again := publish()).info.number != published.info.number:
                self.ledger.wrong(f"{upload}: {published.info.number}, then {again.info.number}")

    def _inline(self, upload: Upload) -> Callable[[], Published]:
        """Return the call that publishes inline."""
        contents = contents_of(upload.skill.name, upload.identity)
        return lambda: self._patiently(
            lambda registry: registry.publisher.publish_inline(
                ADMINISTRATOR, upload.skill, contents, idempotency_key=upload.identity
            )
        )

    def _presigned(self, upload: Upload, http: httpx.Client) -> Callable[[], Published]:
        """Send what is to be published past the registry, and return the call that publishes it."""
        data = write_archive(contents_of(upload.skill.name, upload.identity).files)
        announced = self._patiently(
            lambda registry: registry.uploader.announce(
                ADMINISTRATOR,
                upload.skill,
                precondition=NO_PRECONDITION,
                size=len(data),
                sha256=hashlib.sha256(data).hexdigest(),
            )
        )
        self._send(announced.target, data, http)
        return lambda: self._patiently(
            lambda registry: as_published(
                registry.uploader.complete(ADMINISTRATOR, announced.upload.id)
            )
        )

    def _send(self, target: UploadTarget, data: bytes, http: httpx.Client) -> None:
        while True:
            assert time.monotonic() < self._deadline
            try:
                answer = http.put(target.url, content=data, headers=target.headers)
            except httpx.TransportError:
                continue
            # The target takes these very bytes once: 412 says that an earlier attempt stored them.
            if answer.is_success or answer.status_code == 412:
                return
            assert answer.status_code in (409, 503), answer.text

    def _patiently(self, call: Callable[[Registry], T], registry: Registry | None = None) -> T:
        """Call until there is an answer that is no 503, waiting as long as each of those says."""
        while True:
            try:
                return call(registry or self.environment())
            except Unavailable as error:
                self.ledger.retried()
                if time.monotonic() + error.retry_after > self._deadline:
                    raise
                time.sleep(error.retry_after)

    def _read(self, skills: Sequence[SkillId], choices: random.Random) -> None:
        registry = self.environment()
        viewed = dict.fromkeys(skills, 0)
        listed = dict.fromkeys(skills, 0)
        while not self._over.is_set():
            skill = choices.choice(skills)
            self._list(registry, skill.scope, listed)
            # A listing never leads what a view that begins after it answers.
            floor = max(listed[skill], viewed[skill], self.ledger.floor(skill))
            self._view(registry, skill, floor, viewed)

    def _list(self, registry: Registry, scope: str, listed: dict[SkillId, int]) -> None:
        page = self._patiently(lambda r: r.listing.page(ADMINISTRATOR, scopes=(scope,)), registry)
        entries = {each.entry.name: each.entry for each in page.skills}
        told = []
        for skill, before in listed.items():
            entry = entries.get(skill.name)
            version = entry.version if entry else 0
            identity = identity_in(entry.description) if entry else ""
            if not isinstance(version, int) or version < before or identity is None:
                self.ledger.wrong(f"{skill}: listed as {version} of {identity} after {before}")
                continue
            listed[skill] = version
            told += [Seen(skill, version, identity)] if entry else []
        self.ledger.note(*told)

    def _view(
        self, registry: Registry, skill: SkillId, floor: int, viewed: dict[SkillId, int]
    ) -> None:
        try:
            view = self._patiently(
                lambda r: r.viewing.view(ADMINISTRATOR, skill.name, scopes=(skill.scope,)), registry
            )
        except SkillNotFound:
            if floor:
                self.ledger.wrong(f"{skill}: not found after version {floor}")
            self.ledger.note()
            return
        version, files = view.loaded.version, view.loaded.files
        identity = identity_of([file.data for file in files.values()])
        if not isinstance(version, int) or version < floor or identity is None:
            self.ledger.wrong(f"{skill}: viewed as {version} of {identity} after {floor}")
            return
        viewed[skill] = version
        self.ledger.note(Seen(skill, version, identity))


def found_scope(store: SkillStore, scope: str) -> None:
    """Publish something into a scope, so that it has a catalog."""
    contents = contents_of("founder", "founder")
    Registry(Settings(), store, Runtime()).publisher.publish_inline(
        ADMINISTRATOR, SkillId(scope, "founder"), contents
    )


def rounds_of(skills: Sequence[SkillId], publishers: int, rounds: int) -> list[list[Upload]]:
    """Return what a crowd publishes: publishers take turns at the skills, and ways to publish."""
    return [
        [
            Upload(
                skills[number % len(skills)],
                f"{number}-{turn}",
                presigned=(number + turn) % 2 == 0,
                again=(number // 2 + turn) % 4 == 0,
            )
            for turn in range(rounds)
        ]
        for number in range(publishers)
    ]
