"""``put_once``: whatever happens to the reply, the outcome is read, never guessed (I16)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from skill_registry.errors import Unavailable
from skill_registry.store.base import IfAbsent, IfMatch, Written
from skill_registry.store.conditional import Taken, put_once
from skill_registry.store.gate import Counter, GatedStore, Request
from skill_registry.store.memory import MemorySkillStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from skill_registry.store.base import Condition, SkillStore
    from skill_registry.store.gate import Op, Result

KEY = "registry/system/example/revisions/00000001.zip"
OURS = "0" * 32
THEIRS = "1" * 32


def write(
    store: SkillStore, body: bytes = b"ours", condition: Condition | None = None
) -> Written | Taken:
    return put_once(
        store,
        KEY,
        body,
        condition=condition or IfAbsent(),
        metadata={"author": "ada"},
        content_type="application/zip",
        write_id=OURS,
    )


class Failing:
    """A gate that fails chosen operations before they are sent, or after they were applied."""

    def __init__(
        self,
        *,
        before: tuple[Op, ...] = (),
        after: tuple[Op, ...] = (),
        meanwhile: Callable[[], object] = lambda: None,
    ) -> None:
        self._before = before
        self._after = after
        self._meanwhile = meanwhile

    def before(self, request: Request) -> None:
        if request.op in self._before:
            self._meanwhile()
            raise Unavailable("not sent")

    def after(self, request: Request, result: Result) -> None:
        if request.op in self._after:
            self._meanwhile()
            raise Unavailable("reply lost")


class Resending:
    """A gate that loses the first reply to a PUT; the request is then sent again, as SDKs do."""

    def __init__(self, store: SkillStore) -> None:
        self._store = store
        self._resent = False

    def before(self, request: Request) -> None:
        if request.op == "PUT" and not self._resent:
            self._resent = True
            assert isinstance(request.condition, IfAbsent | IfMatch)
            self._store.put(
                request.key, b"ours", condition=request.condition, metadata={"write-id": OURS}
            )

    def after(self, request: Request, result: Result) -> None:
        pass


def test_a_write_that_is_answered_needs_no_read() -> None:
    counter = Counter()
    store = MemorySkillStore()
    outcome = write(GatedStore(store, counter))
    assert isinstance(outcome, Written)
    assert (counter.puts, counter.gets) == (1, 0)
    found = store.head(KEY)
    assert found is not None
    assert found.etag == outcome.etag
    assert found.metadata == {"author": "ada", "write-id": OURS}
    assert found.content_type == "application/zip"


def test_a_key_that_another_took_is_read_once_and_reported() -> None:
    store = MemorySkillStore()
    store.put(KEY, b"theirs", metadata={"write-id": THEIRS})
    counter = Counter()
    outcome = write(GatedStore(store, counter))
    assert outcome == Taken(store.head(KEY))
    assert [request.op for request in counter.requests] == ["PUT", "HEAD"]


def test_an_object_without_a_write_id_is_someone_elses() -> None:
    store = MemorySkillStore()
    store.put(KEY, b"ours")
    assert isinstance(write(store), Taken)


def test_a_resent_write_that_answers_412_against_our_own_object_is_written() -> None:
    store = MemorySkillStore()
    outcome = write(GatedStore(store, Resending(store)))
    found = store.head(KEY)
    assert found is not None
    assert outcome == Written(found.etag)


def test_a_resent_replacement_of_our_own_is_written() -> None:
    store = MemorySkillStore()
    base = store.put(KEY, b"base")
    assert isinstance(base, Written)
    outcome = write(GatedStore(store, Resending(store)), condition=IfMatch(base.etag))
    found = store.head(KEY)
    assert found is not None
    assert outcome == Written(found.etag)


def test_a_lost_reply_to_an_applied_write_is_written() -> None:
    store = MemorySkillStore()
    outcome = write(GatedStore(store, Failing(after=("PUT",))))
    found = store.head(KEY)
    assert found is not None
    assert outcome == Written(found.etag)


def test_an_unsent_write_leaves_nothing_and_is_not_sent_again() -> None:
    store = MemorySkillStore()
    counter = Counter()
    outcome = write(GatedStore(GatedStore(store, Failing(before=("PUT",))), counter))
    assert outcome == Taken(None)
    assert [request.op for request in counter.requests] == ["PUT", "HEAD"]


def test_a_write_replaced_before_it_was_read_back_is_taken() -> None:
    store = MemorySkillStore()

    def replaced() -> None:
        store.put(KEY, b"theirs", metadata={"write-id": THEIRS})

    outcome = write(GatedStore(store, Failing(after=("PUT",), meanwhile=replaced)))
    assert outcome == Taken(store.head(KEY))


def test_a_replacement_of_an_absent_key_is_taken_by_nobody() -> None:
    assert write(MemorySkillStore(), condition=IfMatch('"x"')) == Taken(None)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_an_unknown_outcome_is_unavailable(moment: str) -> None:
    store = MemorySkillStore()
    failing = (
        Failing(before=("PUT", "HEAD")) if moment == "before" else Failing(after=("PUT", "HEAD"))
    )
    with pytest.raises(Unavailable):
        write(GatedStore(store, failing))
