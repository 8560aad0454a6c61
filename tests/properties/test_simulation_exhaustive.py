"""Every order of the steps of a few actors, with one fault anywhere: no invariant breaks in any.

Bounded here; ``./scripts/bench reliability`` makes all runs and prints their numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from simulation.exploring import CRASHES, explore
from simulation.invariants import checks
from simulation.mutants import MUTANTS
from simulation.mutating import applied
from simulation.settings import all_settings, editors, publishers

if TYPE_CHECKING:
    from simulation.exploring import Setting

MOST = 600


@pytest.mark.parametrize("setting", all_settings(), ids=lambda setting: setting.name)
def test_no_interleaving_breaks_an_invariant(setting: Setting) -> None:
    explored = explore(setting, checks(), most=MOST)
    assert not explored.violations, explored.report()
    assert explored.complete or explored.runs == MOST
    assert set(explored.struck) == set(setting.kinds)


def test_shares_of_an_exploration_make_up_the_whole() -> None:
    setting = publishers(())
    whole = explore(setting, checks())
    shares = [explore(setting, checks(), part=(share, 2)) for share in range(2)]
    assert whole.complete and all(share.complete for share in shares)
    assert whole.runs == sum(share.runs for share in shares)
    assert all(share.runs for share in shares)


def test_without_a_step_some_interleaving_breaks() -> None:
    for name, setting in (
        ("no scan", publishers(CRASHES)),
        ("blind flip", publishers(CRASHES)),
        ("no precondition", editors()),
    ):
        with applied(MUTANTS[name]):
            explored = explore(setting, checks(), most=MOST)
        assert explored.violations, name
