"""The SDK's own resend, over a real S3: what a lost reply looks like, and what is made of it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from lossy_proxy import Fate, LossyProxy, scripted
from real_store.clients import opened
from real_store.evidence import (
    ADMINISTRATOR,
    Acknowledged,
    contents_of,
    derived_violations,
    log_violations,
)

from skill_registry.catalog.runtime import Runtime
from skill_registry.store.base import IfAbsent, IfMatch, Lost, StoredObject, Written
from skill_registry.store.conditional import Taken, put_once
from skill_registry.store.keys import SkillId
from skill_registry.web.settings import Settings
from skill_registry.web.wiring import Registry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local_stack.emulator import Endpoint
    from skill_registry.store.s3 import S3SkillStore

ID = "0" * 31 + "1"
SKILL = SkillId("team-a", "example")
PASS, LOSE, REFUSE = Fate.PASS, Fate.LOSE, Fate.REFUSE


@dataclass(frozen=True, slots=True)
class Line:
    """A bucket through the proxy (``store``), and without anything in between (``direct``)."""

    proxy: LossyProxy
    store: S3SkillStore
    direct: S3SkillStore

    def suffer(self, *fates: Fate, method: str = "PUT") -> None:
        """Give these fates to the next requests of a method; those behind them pass."""
        self.proxy.follow(scripted(*fates, method=method))


@pytest.fixture(scope="module")
def line(emulator: Endpoint) -> Iterator[Line]:
    bucket = emulator.make_bucket()
    with (
        LossyProxy(emulator.url, scripted()) as proxy,
        opened(emulator, bucket, url=proxy.url) as store,
        opened(emulator, bucket) as direct,
    ):
        yield Line(proxy, store, direct)


@pytest.fixture
def key() -> str:
    """A key of this test alone."""
    return f"registry/team-b/{uuid.uuid4().hex}/revisions/00000001.zip"


def test_the_sdk_resends_and_the_store_answers_lost_against_its_own_object(
    line: Line, key: str
) -> None:
    line.suffer(LOSE)
    # Which is why nobody but put_once may believe the answer of a conditional write.
    assert isinstance(line.store.put(key, b"mine", condition=IfAbsent()), Lost)
    assert line.proxy.count() == 2
    assert line.direct.head(key) is not None


@pytest.mark.parametrize(
    ("fates", "requests"),
    [((LOSE,), 3), ((REFUSE,), 2), ((REFUSE, LOSE), 4), ((LOSE, LOSE, LOSE), 4)],
)
@pytest.mark.parametrize("replaces", [False, True])
def test_a_write_that_was_applied_is_known_as_ours_whatever_became_of_its_replies(
    line: Line, key: str, fates: tuple[Fate, ...], requests: int, replaces: bool
) -> None:
    before = line.direct.put(key, b"before") if replaces else None
    condition = IfMatch(before.etag) if isinstance(before, Written) else IfAbsent()
    line.suffer(*fates)
    outcome = put_once(line.store, key, b"mine", condition=condition, write_id=ID)
    assert line.proxy.count() == requests
    current = line.direct.get(key)
    assert isinstance(current, StoredObject) and current.body == b"mine"
    assert outcome == Written(current.etag)


def test_a_write_that_was_refused_each_time_is_known_as_not_applied(line: Line, key: str) -> None:
    line.suffer(REFUSE, REFUSE, REFUSE)
    outcome = put_once(line.store, key, b"mine", condition=IfAbsent(), write_id=ID)
    assert line.proxy.count(REFUSE) == 3
    assert outcome == Taken(None)
    assert line.direct.head(key) is None


def test_a_write_that_lost_to_another_is_known_as_taken_also_when_that_reply_is_lost(
    line: Line, key: str
) -> None:
    line.direct.put(key, b"theirs")
    line.suffer(LOSE)
    outcome = put_once(line.store, key, b"mine", condition=IfAbsent(), write_id=ID)
    found = line.direct.get(key)
    assert isinstance(found, StoredObject) and found.body == b"theirs"
    assert outcome == Taken(found.info)


def test_a_conditional_delete_whose_reply_is_lost_counts_as_done(line: Line, key: str) -> None:
    written = line.direct.put(key, b"old")
    assert isinstance(written, Written)
    line.suffer(LOSE, method="DELETE")
    assert line.store.delete(key, if_match=written.etag) is True
    assert line.proxy.count(LOSE) == 1
    assert line.direct.head(key) is None


def test_a_publish_is_one_revision_whichever_of_its_writes_loses_its_reply(line: Line) -> None:
    acknowledged: list[Acknowledged] = []
    for lost in range(20):
        line.suffer(*[PASS] * lost, LOSE)
        registry = Registry(Settings(), line.store, Runtime())
        identity = f"lost-{lost}"
        for _ in range(2):
            published = registry.publisher.publish_inline(
                ADMINISTRATOR, SKILL, contents_of(SKILL.name, identity), idempotency_key=identity
            )
        upload, number = published.upload.id, published.info.number
        acknowledged.append(Acknowledged(SKILL, identity, upload, number))
        if not line.proxy.count(LOSE):
            break
    # One round for each write of a publish, and one that had no such write any more.
    assert len(acknowledged) > 6
    assert not line.proxy.count(LOSE)
    assert log_violations(line.direct, SKILL, acknowledged) == []
    assert derived_violations(line.direct, SKILL.scope, [SKILL.name]) == []
