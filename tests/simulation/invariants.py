"""The eighteen invariants of the registry by name: what must hold whatever happens.

Each is one function, told of every fact that it speaks of. It answers what is wrong, or None.
Where an outsider takes what the bucket policy denies to everybody, only a weaker form can hold; the
docstring of the invariant says which.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from simulation.facts import Fact
    from simulation.world import World

    Check = Callable[[World, Any], str | None]
    Checks = Mapping[type, tuple[Callable[[World, Fact], str | None], ...]]


@dataclass(frozen=True, slots=True)
class Invariant:
    """One invariant: its number in the architecture, and what it looks at."""

    number: int
    check: Check
    facts: tuple[type, ...]

    @property
    def name(self) -> str:
        """The name of its function, by which a violation is told."""
        return self.check.__name__


def invariant(*facts: type) -> Callable[[Check], Invariant]:
    """Make a function an invariant; its name starts with the number, as in ``i05_one_...``."""

    def make(check: Check) -> Invariant:
        return Invariant(int(check.__name__[1:3]), check, facts)

    return make


def all_invariants() -> dict[str, Invariant]:
    """Return every invariant by its name."""
    from simulation import log_invariants, quiet_invariants, reading_invariants

    found = [
        value
        for module in (log_invariants, reading_invariants, quiet_invariants)
        for value in vars(module).values()
        if isinstance(value, Invariant)
    ]
    return {each.name: each for each in sorted(found, key=lambda each: each.number)}


def checks() -> Checks:
    """Return the checks by the kind of fact that they are told of."""
    by_fact: dict[type, list[Check]] = {}
    for each in all_invariants().values():
        for fact in each.facts:
            by_fact.setdefault(fact, []).append(each.check)
    return {fact: tuple(found) for fact, found in by_fact.items()}
