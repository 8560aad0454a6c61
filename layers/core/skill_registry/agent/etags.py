"""What a client remembers of conditional reads: the ETag of a call and the value read with it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skill_registry.agent.requests import Call

ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class Remembered(Generic[ValueT]):
    """One answer and the ETag that it came with."""

    etag: str
    value: ValueT


def unless(known: Remembered[Any] | None) -> Mapping[str, str]:
    """Return the headers that ask for an answer unless it is the remembered one."""
    return {} if known is None else {"If-None-Match": known.etag}


class EtagCache(Generic[ValueT]):
    """The last answers of at most ``size`` calls, least recently used first to go. Thread-safe."""

    def __init__(self, size: int = 64) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, Remembered[ValueT]] = OrderedDict()

    def get(self, call: Call) -> Remembered[ValueT] | None:
        """Return what is remembered of a call."""
        with self._lock:
            entry = self._entries.get(call.target)
            if entry is not None:
                self._entries.move_to_end(call.target)
            return entry

    def put(self, call: Call, etag: str | None, value: ValueT) -> None:
        """Remember an answer; one without an ETag cannot be asked about and is forgotten."""
        with self._lock:
            self._entries.pop(call.target, None)
            # What is not ASCII no header can carry back.
            if etag and etag.isascii():
                self._entries[call.target] = Remembered(etag, value)
            while len(self._entries) > self._size:
                self._entries.popitem(last=False)
