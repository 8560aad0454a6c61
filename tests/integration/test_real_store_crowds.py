"""Crowds at a real S3 that loses 15 % of its replies: nothing lost, torn, doubled or going back.

``./scripts/bench reliability`` runs the same with more of everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from real_store.lossy_store import weather

from skill_registry.store.keys import SkillId

if TYPE_CHECKING:
    from local_stack.emulator import Endpoint

ONE = [SkillId("system", "shared")]
MANY = [SkillId("system", f"skill-{number:02d}") for number in range(64)]


@pytest.mark.parametrize(
    ("skills", "publishers", "rounds"),
    [(ONE, 16, 2), (MANY, 64, 1)],
    ids=["16-publishers-on-one-skill", "64-publishers-on-64-skills"],
)
def test_a_crowd_gets_what_it_was_promised_over_a_store_that_loses_replies(
    emulator: Endpoint, skills: list[SkillId], publishers: int, rounds: int
) -> None:
    weathered = weather(emulator, skills, publishers, rounds, readers=2)
    assert weathered.violations == []
    assert len(weathered.ledger.acknowledged) == publishers * rounds
    # The store was as bad as it was meant to be, and somebody read.
    assert weathered.resent_commits > 0 and weathered.refused > 0
    assert weathered.ledger.reads > 0
