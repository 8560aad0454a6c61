"""The real handlers behind the local server: killed in the middle of publishes, and all at once.

``./scripts/bench reliability`` runs the same with more of everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from real_store.callers import Callers, publish_at_once
from real_store.kills import Siege, violations_after

from local_stack.launcher import ServerProcess
from skill_registry.store.keys import SkillId

if TYPE_CHECKING:
    from collections.abc import Iterator

ENVIRONMENTS = 2
KILLS = 5
AT_ONCE = 24


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, stack_environments: None
) -> Iterator[ServerProcess]:
    data = tmp_path_factory.mktemp("besieged")
    server = ServerProcess(data, "--empty", "--environments", str(ENVIRONMENTS)).start()
    yield server
    server.stop()


def test_no_publish_is_lost_when_handlers_are_killed(server: ServerProcess) -> None:
    skills = [SkillId("system", name) for name in ("first", "second", "third")]
    with Callers(server.url, 4) as callers:
        siege = Siege(server, callers, ENVIRONMENTS, seed=1)
        siege.run(skills, publishers=4, kills=KILLS)
        assert siege.kills == KILLS
        # A kill that interrupted nobody would prove nothing.
        assert callers.told["500 unavailable"] > 0
        assert violations_after(server, callers, skills) == []


def test_publishes_of_one_skill_at_once_are_numbered_densely(server: ServerProcess) -> None:
    skill = SkillId("system", "contended")
    with Callers(server.url, AT_ONCE) as callers:
        publish_at_once(callers, skill, AT_ONCE)
        told = sorted(ack.number for ack in callers.acknowledged)
        assert told == list(range(1, AT_ONCE + 1))
        assert violations_after(server, callers, [skill]) == []
