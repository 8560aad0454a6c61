"""The bucket of a simulation, and the store through which one process talks to it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulation.scheduler import Fault, current

from skill_registry.errors import Unavailable
from skill_registry.store.base import (
    IfAbsent,
    IfMatch,
    Lost,
    StoredObject,
    Written,
)
from skill_registry.store.gate import GatedStore
from skill_registry.store.memory import MemorySkillStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from simulation.scheduler import Call, Scheduler, Task

    from skill_registry.store.base import Condition
    from skill_registry.store.gate import R, Request, Result

_NO_LOSS = {Fault.CONFLICT: "ConditionalRequestConflict", Fault.SPURIOUS: "PreconditionFailed"}


@dataclass(frozen=True, slots=True)
class Change:
    """One applied write: what the key held, what it holds, and whether an outsider did it."""

    key: str
    before: StoredObject | None
    after: StoredObject | None
    outsider: bool


class Bucket(MemorySkillStore):
    """A bucket that tells of each change, whoever makes it; ETags repeat from run to run."""

    def __init__(
        self, clock: Callable[[], float], *, opaque_etags: bool = False, versioned: bool = False
    ) -> None:
        super().__init__(clock=clock, opaque_etags=opaque_etags, versioned=versioned)
        self._opaque = opaque_etags
        self._written = 0
        self.on_change: Callable[[Change], None] = lambda _: None

    def _etag_of(self, data: bytes) -> str:
        if not self._opaque:
            return super()._etag_of(data)
        self._written += 1
        return f'"{hashlib.md5(b"%d" % self._written, usedforsecurity=False).hexdigest()}"'

    def stored(self, key: str) -> StoredObject | None:
        """Return an object as it is now, without a request."""
        found = self.get(key)
        return found if isinstance(found, StoredObject) else None

    def put(
        self,
        key: str,
        body: bytes,
        *,
        condition: Condition | None = None,
        metadata: Mapping[str, str] | None = None,
        content_type: str = "application/octet-stream",
    ) -> Written | Lost:
        before = self.stored(key)
        result = super().put(
            key, body, condition=condition, metadata=metadata, content_type=content_type
        )
        if isinstance(result, Written):
            self.on_change(Change(key, before, self.stored(key), _by_outsider()))
        return result

    def delete(self, key: str, *, if_match: str | None = None) -> bool:
        before = self.stored(key)
        done = super().delete(key, if_match=if_match)
        if done and before is not None:
            self.on_change(Change(key, before, None, _by_outsider()))
        return done

    def delete_version(self, key: str, version_id: str) -> None:
        before = self.stored(key)
        super().delete_version(key, version_id)
        after = self.stored(key)
        if after is not before and self._versions is not None:
            self.on_change(Change(key, before, after, _by_outsider()))

    def copy(self) -> Bucket:
        """Return a bucket with the same objects, and the same ETags, that goes its own way."""
        other = Bucket(self._clock, opaque_etags=self._opaque)
        other._objects = dict(self._objects)
        other._written = self._written
        return other


def _by_outsider() -> bool:
    task = current()
    return task is None or task.outsider


class _Open:
    """A gate that lets everything pass: the faults come from the scheduler."""

    def before(self, request: Request) -> None:
        pass

    def after(self, request: Request, result: Result) -> None:
        pass


class ProcessStore(GatedStore):
    """The store as one process has it: every request waits for its turn, and may meet a fault."""

    def __init__(
        self,
        bucket: Bucket,
        scheduler: Scheduler,
        told: Callable[[Task, Request, Fault, object], None],
    ) -> None:
        super().__init__(bucket, _Open())
        self._scheduler = scheduler
        self._told = told

    def _pass(self, request: Request, send: Callable[[], R]) -> R:
        """Send a request; a lost reply makes the SDK send it again."""
        task = current()
        assert task is not None and task.call is not None, request
        while True:
            fault = self._scheduler.ask(request)
            task.call.requests += fault is not Fault.RESENT
            result = self._meet(task, task.call, request, send, fault)
            if fault is not Fault.RESENT:
                return result

    def _meet(
        self, task: Task, call: Call, request: Request, send: Callable[[], R], fault: Fault
    ) -> R:
        if fault in (Fault.CRASH_BEFORE, Fault.UNAVAILABLE, Fault.LATE):
            self._told(task, request, fault, "not sent")
        if fault is Fault.CRASH_BEFORE:
            raise call.crash()
        if fault is Fault.LATE:
            self._send_later(task, request, send)
        if fault in (Fault.UNAVAILABLE, Fault.LATE):
            raise Unavailable("The store did not answer.")
        if fault in _NO_LOSS:
            lost = _lost(request, _NO_LOSS[fault])
            self._told(task, request, fault, lost)
            return lost  # type: ignore[return-value]
        result = send()
        self._told(task, request, fault, result)
        if fault is Fault.CRASH_AFTER:
            raise call.crash()
        if fault is Fault.TIMEOUT:
            raise Unavailable("The reply was lost.")
        return result

    def _send_later(self, sender: Task, request: Request, send: Callable[[], object]) -> None:
        """Apply a request of which its sender has heard nothing, at some later step."""

        def arrive() -> None:
            task = current()
            assert task is not None
            self._scheduler.ask(request)
            self._told(task, request, Fault.NONE, send())

        self._scheduler.spawn(f"late {sender.name}", arrive).promise = sender.promise


def is_conditional(request: Request) -> bool:
    """Tell whether a request is a write under a condition."""
    writes = request.op in ("PUT", "DELETE")
    return writes and isinstance(request.condition, IfAbsent | IfMatch)


def _lost(request: Request, reason: str) -> Lost | bool:
    return False if request.op == "DELETE" else Lost(reason)
