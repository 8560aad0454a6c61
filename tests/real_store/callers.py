"""Publishers over HTTP, by the toolkit's own client, that come again as they are told."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Self, TypeVar

from real_store.evidence import Acknowledged, contents_of

from skill_registry.agent.client import RegistryClient
from skill_registry.agent.problems import RegistryProblem, RegistryUnreachable
from skill_registry.agent.retries import REGISTRY_STATUSES, RetryPolicy
from skill_registry.spec.archive import write_archive

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from skill_registry.agent.answers import Published
    from skill_registry.store.keys import SkillId

T = TypeVar("T")

# A bound for publishers that get nowhere; nothing is expected to take this long.
PATIENCE_SECONDS = 300.0
# Where an answer names no time to wait.
PAUSE_SECONDS = 0.1
# More share the connections of one client than it has.
CALLERS_PER_CLIENT = 50


class Callers:
    """Publishers of one registry. Each call is repeated by hand, so that every answer is counted.

    Attributes:
        acknowledged: The answers.
        told: Answers that asked to come again, by status and code.
    """

    def __init__(self, url: str, count: int) -> None:
        once = RetryPolicy(attempts=1)
        self.acknowledged: list[Acknowledged] = []
        self.told: Counter[str] = Counter()
        self._clients = [
            RegistryClient(url, retry=once) for _ in range(0, count, CALLERS_PER_CLIENT)
        ]
        self._begun = 0
        self._begin = threading.Condition()
        self._deadline = time.monotonic() + PATIENCE_SECONDS

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for client in self._clients:
            client.close()

    def publish(self, caller: int, skill: SkillId, identity: str, *, presigned: bool) -> None:
        """Publish once, however often it has to be asked for."""
        client = self._clients[caller // CALLERS_PER_CLIENT]
        data = write_archive(contents_of(skill.name, identity).files)
        with self._begin:
            self._begun += 1
            self._begin.notify_all()
        done = self._send(client, skill, data) if presigned else None
        if done is None:
            put = partial(client.publish_inline, skill.name, data, scope=skill.scope, key=identity)
            done = self._insist(put)
        assert done.upload_id is not None
        told = Acknowledged(skill, identity, done.upload_id, done.version)
        with self._begin:
            self.acknowledged.append(told)

    def wait_for_a_publish(self, seconds: float = 60.0) -> None:
        """Return when another publish begins."""
        with self._begin:
            before = self._begun
            assert self._begin.wait_for(lambda: self._begun > before, seconds)

    def of(self, skill: SkillId) -> list[Acknowledged]:
        """Return the publishes of a skill."""
        return [ack for ack in self.acknowledged if ack.skill == skill]

    def _send(self, client: RegistryClient, skill: SkillId, data: bytes) -> Published:
        ticket = self._insist(
            partial(
                client.create_upload,
                skill.name,
                size=len(data),
                sha256=hashlib.sha256(data).hexdigest(),
                scope=skill.scope,
            )
        )
        self._insist(partial(client.send_upload, ticket, data))
        return self._insist(partial(client.complete, ticket.upload_id))

    def _insist(self, call: Callable[[], T]) -> T:
        while True:
            try:
                return call()
            except RegistryProblem as problem:
                if problem.status not in REGISTRY_STATUSES:
                    raise
                self._note(f"{problem.status} {problem.code}", problem.retry_after)
            except RegistryUnreachable as error:
                self._note(error.code, None)

    def _note(self, what: str, retry_after: float | None) -> None:
        with self._begin:
            self.told[what] += 1
        assert time.monotonic() < self._deadline, self.told
        time.sleep(PAUSE_SECONDS if retry_after is None else retry_after)


def publish_at_once(callers: Callers, skill: SkillId, count: int) -> None:
    """Let ``count`` callers publish one version each, all of them beginning together."""
    start = threading.Barrier(count)

    def publish(number: int) -> None:
        start.wait(60)
        callers.publish(number, skill, f"at-once-{number}", presigned=False)

    with ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(publish, number) for number in range(count)]:
            done.result()
