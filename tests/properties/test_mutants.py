"""Each step of the protocol left out or done wrong is noticed, and by the invariant that it breaks.

``./scripts/bench reliability`` prints the table.
"""

from __future__ import annotations

import pytest
from simulation.hunting import hunt
from simulation.invariants import all_invariants
from simulation.mutants import MUTANTS
from simulation.mutating import Edit, EditError, Mutant, applied

from skill_registry.catalog import log

CAUGHT = sorted(name for name, mutant in MUTANTS.items() if not mutant.redundant)
REDUNDANT = sorted(name for name, mutant in MUTANTS.items() if mutant.redundant)
# Liveness is no invariant of the architecture, and still has to hold.
LIVENESS = {"l01_everything_ends", "l02_who_retries_is_answered", "l03_no_error_is_a_surprise"}


@pytest.mark.parametrize("name", CAUGHT)
def test_a_step_that_is_missing_is_noticed(name: str) -> None:
    found = hunt(name)
    assert found.caught_by in MUTANTS[name].caught_by, MUTANTS[name].broken


@pytest.mark.parametrize("name", REDUNDANT)
def test_a_step_that_another_one_covers_is_not_missed(name: str) -> None:
    found = hunt(name)
    assert found.reached, "nothing of it ever ran"
    assert found.caught_by == "", found.found.report() if found.found else ""


def test_every_invariant_notices_some_mutant() -> None:
    noticed = {
        violation.invariant
        for name in CAUGHT
        if (done := hunt(name).found) is not None
        for violation in done.violations
    }
    assert set(all_invariants()) <= noticed


def test_a_mutant_names_invariants_that_exist() -> None:
    known = set(all_invariants()) | LIVENESS
    assert {name for mutant in MUTANTS.values() for name in mutant.caught_by} <= known
    assert all(bool(mutant.redundant) != bool(mutant.caught_by) for mutant in MUTANTS.values())


def test_a_mutant_of_source_that_has_changed_cannot_be_made() -> None:
    original = log.RevisionLog.top
    edit = Edit("catalog.log:RevisionLog.top", "what stands nowhere", "...")
    mutant = Mutant("gone", "", (edit,), next(iter(MUTANTS.values())).mix)
    with pytest.raises(EditError), applied(mutant):
        pass
    assert log.RevisionLog.top is original
