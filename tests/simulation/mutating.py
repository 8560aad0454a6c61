"""Broken variants of the real code: one decision of one function is written otherwise.

A mutant names the function, a piece of its source that occurs there once, and what stands there
instead. Where the source has changed, the mutant cannot be made, and the tests say so.
"""

from __future__ import annotations
import __future__

import functools
import importlib
import inspect
import textwrap
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simulation.mixes import Mix

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PACKAGE = "skill_registry."


@dataclass(frozen=True, slots=True)
class Edit:
    """One decision: ``target`` is ``module:function`` or ``module:Class.method``."""

    target: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """A variant of the protocol with one step left out or done wrong.

    Attributes:
        broken: What it does wrong.
        caught_by: The invariants that may find it first.
        within: Seeded runs of ``mix`` in which it has to be found.
        redundant: Why nobody can tell it from the real one; "" where somebody can.
    """

    name: str
    broken: str
    edits: tuple[Edit, ...]
    mix: Mix
    caught_by: tuple[str, ...] = ()
    within: int = 200
    redundant: str = field(default="")


class EditError(ValueError):
    """The source that a mutant is about has changed."""


@contextmanager
def applied(mutant: Mutant) -> Iterator[Counter[str]]:
    """Run the code with the mutant's edits, and put everything back.

    Yields how often each edited function was entered, by its target.
    """
    reached: Counter[str] = Counter()
    done: list[tuple[Any, str, Any]] = []
    targets = dict.fromkeys(edit.target for edit in mutant.edits)
    try:
        for target in targets:
            owner, name = _owner(target)
            original = inspect.getattr_static(owner, name)
            edits = [edit for edit in mutant.edits if edit.target == target]
            setattr(owner, name, _counted(_edited(original, edits), target, reached))
            done.append((owner, name, original))
        yield reached
    finally:
        for owner, name, original in reversed(done):
            setattr(owner, name, original)


def _owner(target: str) -> tuple[Any, str]:
    module, _, path = target.partition(":")
    owner: Any = importlib.import_module(PACKAGE + module)
    *parents, name = path.split(".")
    for parent in parents:
        owner = getattr(owner, parent)
    return owner, name


def _edited(original: Any, edits: Sequence[Edit]) -> Any:
    """Compile a function's source anew, with the edits."""
    source = textwrap.dedent(inspect.getsource(original))
    for edit in edits:
        if source.count(edit.old) != 1:
            raise EditError(f"{edit.target} holds {source.count(edit.old)} times: {edit.old}")
        source = source.replace(edit.old, edit.new)
    code = compile(
        source,
        f"<mutant of {edits[0].target}>",
        "exec",
        flags=__future__.annotations.compiler_flag,
        dont_inherit=True,
    )
    names: dict[str, Any] = {}
    exec(code, original.__globals__, names)
    return names[original.__name__]


def _counted(function: Any, target: str, reached: Counter[str]) -> Any:
    @functools.wraps(function)
    def counted(*given: Any, **named: Any) -> Any:
        reached[target] += 1
        return function(*given, **named)

    return counted
