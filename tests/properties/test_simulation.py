"""The real code, its requests in any order, with faults at each: no invariant ever breaks.

A failure prints the seed, the trace of requests and the command that runs it again. More of the
same, over millions of requests: ``./scripts/bench reliability``.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

import pytest
from simulation.campaign import main, run, run_many
from simulation.events import event_of
from simulation.hunting import hunt
from simulation.invariants import all_invariants, checks
from simulation.mixes import MIXES
from simulation.scheduler import Fault

from skill_registry.store import keys
from skill_registry.store.keys import SkillId

if TYPE_CHECKING:
    from simulation.campaign import Tally

SEEDS = 110
BLOCKS = 2


@cache
def _block(mix: str, block: int) -> Tally:
    return run_many(mix, range(block * SEEDS, (block + 1) * SEEDS))


@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.parametrize("mix", MIXES)
def test_no_seed_breaks_an_invariant(mix: str, block: int) -> None:
    tally = _block(mix, block)
    assert not tally.failures, tally.failures[0].report()


def test_every_fault_strikes_often() -> None:
    injected: Counter[Fault] = sum((_block(mix, 0).injected for mix in MIXES), Counter())
    assert {fault for fault, count in injected.items() if count >= 20} == set(Fault) - {Fault.NONE}


def test_all_eighteen_invariants_are_checked() -> None:
    invariants = all_invariants().values()
    assert [each.number for each in invariants] == list(range(1, 19))
    told = {check.__name__ for found in checks().values() for check in found}
    assert told == {each.name for each in invariants}
    assert all(each.check.__doc__ and each.facts for each in invariants)


@pytest.mark.parametrize("mix", MIXES)
def test_a_seed_makes_the_same_run_again(mix: str) -> None:
    first, second = (run(mix, 11, checks()) for _ in range(2))
    assert [str(each) for each in first.trace] == [str(each) for each in second.trace]
    assert first.steps > 50


def test_a_failure_tells_how_to_see_it_again(capsys: pytest.CaptureFixture[str]) -> None:
    failed = hunt("blind create").found
    assert failed is not None
    report = failed.report()
    assert failed.violations[0].invariant in report
    assert report.splitlines()[-1].endswith(f"python -m simulation.campaign house {failed.seed}")
    assert "PUT registry/system/alpha/revisions/" in report
    assert main(["house", str(failed.seed)]) == 0, "the real code breaks here as well"
    assert "replay: " in capsys.readouterr().out


def test_events_are_those_that_the_template_asks_for() -> None:
    skill = SkillId("system", "alpha")
    told = {
        keys.sidecar(skill): (True, True),
        keys.tree_file(skill, "SKILL.md"): (True, True),
        keys.revision(skill, 1): (True, False),
        keys.settings(skill): (True, False),
        keys.catalog("system"): (False, True),
        f"uploads/{'0' * 32}/{'1' * 32}.zip": (True, False),
        f"uploads/{'0' * 32}/{'1' * 32}.json": (False, False),
    }
    assert {
        key: (event_of(key, removed=False) is not None, event_of(key, removed=True) is not None)
        for key in told
    } == told
