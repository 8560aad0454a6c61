"""Hunting mutants: seeded runs of broken code until an invariant notices."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from simulation.campaign import NAMES, run
from simulation.content import refused, samples
from simulation.invariants import checks
from simulation.mutants import MUTANTS
from simulation.mutating import applied

if TYPE_CHECKING:
    from simulation.campaign import Run

# Runs in which a mutant that nobody can tell from the real code is tried.
FRUITLESS = 60


@dataclass(frozen=True, slots=True)
class Hunt:
    """What came of hunting one mutant.

    Attributes:
        runs: How many it took, or how many there were in vain.
        found: The run that showed it, None where none did.
        reached: Whether every function that it broke was entered.
    """

    mutant: str
    runs: int
    steps: int
    found: Run | None
    reached: bool

    @property
    def caught_by(self) -> str:
        """The invariant that noticed first, "" where none did."""
        return self.found.violations[0].invariant if self.found else ""


@cache
def hunt(name: str) -> Hunt:
    """Run the seeds of a mutant's own mix until one shows it, or its budget is used up."""
    mutant = MUTANTS[name]
    for skill in NAMES:
        # Made by the real code, before it is broken.
        samples(skill)
        refused(skill)
    told = checks()
    steps = 0
    budget = FRUITLESS if mutant.redundant else mutant.within
    with applied(mutant) as reached:
        for seed in range(budget):
            done = run("house", seed, told, mutant.mix)
            steps += done.steps
            if done.violations:
                return Hunt(name, seed + 1, steps, done, True)
        entered = all(reached[edit.target] for edit in mutant.edits)
    return Hunt(name, budget, steps, None, entered)
