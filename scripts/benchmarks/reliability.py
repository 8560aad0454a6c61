"""``bench reliability``, the part over a simulated S3: the real code, and who notices broken code.

Everything runs by seeds or exhaustively, so that it comes out the same on every machine; only the
seconds differ.
"""

from __future__ import annotations

import itertools
import logging
import multiprocessing
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from simulation.campaign import Tally, run_many
from simulation.exploring import Explored, explore
from simulation.hunting import hunt
from simulation.invariants import all_invariants, checks
from simulation.mutants import MUTANTS
from simulation.scheduler import Fault
from simulation.settings import all_settings

from benchmarks.report import Report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from simulation.hunting import Hunt

T = TypeVar("T")
A = TypeVar("A")

STEPS = 1_000_000
PROCESSES = 2
# Shares of the steps: by the rules, with outsiders in it, on directories.
SHARES = {"house": 0.5, "tampered": 0.3, "vendored": 0.2}
SEEDS_APART = 10_000_000


def run(steps: int = STEPS) -> list[Report]:
    """Run everything that is simulated; about ten minutes on two cores.

    Args:
        steps: Requests of the seeded runs, of all processes together.

    Raises:
        SystemExit: An invariant broke; the message has the trace and how to see it again. Or a
            mutant was not caught.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, mp_context=context, initializer=_silent) as pool:

        def everywhere(call: Callable[[A], T], work: Iterable[A]) -> list[T]:
            return list(pool.map(call, work))

        reports = _seeded(everywhere, steps)
        reports.append(_exhaustive(everywhere))
        reports.append(_mutants(everywhere))
    return reports


def _silent() -> None:
    logging.disable(logging.CRITICAL)


def _seeded(everywhere: Callable[..., list[Tally]], steps: int) -> list[Report]:
    start = time.monotonic()
    work = list(itertools.product(SHARES, range(PROCESSES)))
    tallies = everywhere(partial(_share, steps), work)
    seconds = time.monotonic() - start
    failures = [run for tally in tallies for run in tally.failures]
    if failures:
        raise SystemExit(failures[0].report())
    by_mix = {
        mix: [tally for (name, _), tally in zip(work, tallies, strict=True) if name == mix]
        for mix in SHARES
    }
    return [
        _runs(by_mix, seconds),
        _faults([tally.injected for tally in tallies]),
        _violations([tally.violations for tally in tallies]),
    ]


def _share(steps: int, work: tuple[str, int]) -> Tally:
    mix, process = work
    most = round(steps * SHARES[mix] / PROCESSES)
    return run_many(mix, itertools.count(process * SEEDS_APART), steps=most)


def _runs(by_mix: dict[str, list[Tally]], seconds: float) -> Report:
    rows = [
        (
            mix,
            sum(tally.runs for tally in tallies),
            sum(tally.steps for tally in tallies),
            sum(tally.injected.total() for tally in tallies),
            sum(tally.violations.total() for tally in tallies),
        )
        for mix, tallies in by_mix.items()
    ]
    total = tuple(sum(int(row[column]) for row in rows) for column in range(1, 5))
    return Report(
        "The real code over a simulated S3",
        f"Seeded runs; a step is one request. {seconds:.0f} seconds in {PROCESSES} processes.",
        ("actors", "runs", "steps", "faults", "violations"),
        (*rows, ("all", *total)),
    )


def _faults(injected: list[Counter[Fault]]) -> Report:
    total = sum(injected, Counter[Fault]())
    return Report(
        "Faults injected",
        "Each at one request, at random.",
        ("fault", "times"),
        tuple((fault.value, total[fault]) for fault in Fault if fault),
    )


def _violations(found: list[Counter[str]]) -> Report:
    total = sum(found, Counter[str]())
    return Report(
        "Violations",
        "Of each invariant, checked after every write, answer and acknowledgement, and at the end.",
        ("invariant", "violations"),
        tuple((name, total[name]) for name in all_invariants()),
    )


def _exhaustive(everywhere: Callable[..., list[Explored]]) -> Report:
    settings = range(len(all_settings()))
    work = list(itertools.product(settings, range(PROCESSES)))
    explored = everywhere(_explore, work)
    if broken := [each.report() for each in explored if each.violations]:
        raise SystemExit("\n".join(broken))
    rows = []
    for setting in settings:
        parts = [each for (s, _), each in zip(work, explored, strict=True) if s == setting]
        struck = sum((part.struck for part in parts), Counter[Fault]())
        rows.append(
            (
                parts[0].name,
                sum(part.runs for part in parts),
                sum(part.steps for part in parts),
                struck[Fault.CRASH_BEFORE] + struck[Fault.CRASH_AFTER],
                struck[Fault.RESENT],
                sum(len(part.violations) for part in parts),
            )
        )
    return Report(
        "Every interleaving",
        "Of all requests of the actors; after each run, retries, a healing and every check.",
        ("actors", "runs", "steps", "with a crash", "with a lost reply", "violations"),
        tuple(rows),
    )


def _explore(work: tuple[int, int]) -> Explored:
    setting, process = work
    return explore(all_settings()[setting], checks(), part=(process, PROCESSES))


def _mutants(everywhere: Callable[..., list[Hunt]]) -> Report:
    hunts = everywhere(hunt, sorted(MUTANTS))
    wrong = [
        f"{each.mutant}: {each.caught_by or 'not caught'} after {each.runs} runs"
        for each in hunts
        if not _as_declared(each)
    ]
    if wrong:
        raise SystemExit("\n".join(wrong))
    rows = tuple((each.mutant, _by(each), each.runs, each.steps) for each in hunts)
    return Report(
        f"{len(hunts)} mutants of the protocol",
        "One decision of the real code written otherwise; runs until an invariant noticed.",
        ("mutant", "noticed by, or why nobody can", "runs", "steps"),
        rows,
    )


def _as_declared(each: Hunt) -> bool:
    mutant = MUTANTS[each.mutant]
    if mutant.redundant:
        return not each.caught_by and each.reached
    return each.caught_by in mutant.caught_by


def _by(each: Hunt) -> str:
    return each.caught_by or f"redundant: {MUTANTS[each.mutant].redundant}"
