"""A thousand events in any order, each twice, through the refresh function's own handler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from real_store.clients import opened
from real_store.deliveries import Scene, deliver, in_order, shuffled_and_doubled, state
from real_store.evidence import derived_violations

if TYPE_CHECKING:
    from local_stack.emulator import Endpoint


def test_a_thousand_events_end_in_the_same_bucket_in_any_order_and_write_nothing_again(
    emulator: Endpoint,
) -> None:
    scene = Scene(emulator, publishes=36, skills=3)
    names = [skill.name for skill in scene.skills]
    other = scene.copy()
    disorder = shuffled_and_doubled(scene.events, seed=2)
    assert sum(map(len, disorder)) >= 1000
    with opened(emulator, other) as store:
        assert derived_violations(store, "system", names) != []
        assert deliver(emulator, scene.bucket, in_order(scene.events)).writes > 0
        assert deliver(emulator, other, disorder).writes > 0
        assert derived_violations(store, "system", names) == []
    assert state(emulator, other) == state(emulator, scene.bucket)
    assert deliver(emulator, other, in_order(scene.events)).writes == 0
