#!/usr/bin/env python3
"""Compare the run time of two commands on this machine, interleaved.

Runs A and B alternately, so that a machine that warms up, throttles or gets busy hurts both alike.
Reports the median of each, the ratio B/A with a 95 % interval, and a verdict that says "no
difference shown" unless the whole interval lies beyond the noise threshold.

    compare.py "python3 old.py data.json" "python3 new.py data.json"
    compare.py --runs 30 --json "./before" "./after"

Commands are split like a shell would split them, but no shell runs them. Their output is dropped.
Give the same command twice to learn the noise of this machine before you believe a small ratio.

Exit status: 0 measured, 1 B is slower than --max-ratio allows, 2 wrong usage or a command failed.
"""

from __future__ import annotations

import argparse
import json
import random
import shlex
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

RESAMPLES = 4000
MIN_PAIRS = 5
TAIL = 400


class CommandError(Exception):
    """A measured command did not start, ran too long or ended with a non-zero status."""


@dataclass(frozen=True)
class Result:
    """Times in seconds; ``ratio`` is B/A, so below 1 means that B is faster."""

    pairs: int
    median_a: float
    median_b: float
    spread_a: float
    spread_b: float
    ratio: float
    low: float
    high: float
    verdict: str
    cut_short: bool


def run_once(command: list[str], timeout: float) -> float:
    """Run a command and return its wall time in seconds.

    Raises:
        CommandError: When the time would not describe a successful run.
    """
    start = time.perf_counter()
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CommandError(f"{shlex.join(command)}: longer than {timeout:g} s") from error
    except (OSError, ValueError) as error:
        raise CommandError(f"{shlex.join(command)}: {error}") from error
    elapsed = time.perf_counter() - start
    if done.returncode != 0:
        tail = done.stderr[-TAIL:].decode(errors="replace").strip()
        raise CommandError(f"{shlex.join(command)}: exit status {done.returncode}. {tail}")
    return elapsed


def measure(
    a: list[str], b: list[str], *, runs: int, warmup: int, timeout: float, budget: float
) -> tuple[list[tuple[float, float]], bool]:
    """Return one (A, B) pair of seconds per run, and whether the budget ended it early.

    The order within a pair alternates: neither side always inherits a warm cache from the other.
    """
    end = time.perf_counter() + budget
    for _ in range(warmup):
        run_once(a, timeout)
        run_once(b, timeout)
    pairs: list[tuple[float, float]] = []
    for index in range(runs):
        if len(pairs) >= MIN_PAIRS and time.perf_counter() > end:
            return pairs, True
        if index % 2:
            time_b = run_once(b, timeout)
            pairs.append((run_once(a, timeout), time_b))
        else:
            time_a = run_once(a, timeout)
            pairs.append((time_a, run_once(b, timeout)))
    return pairs, False


def ratio_of(pairs: list[tuple[float, float]]) -> float:
    """Return median(B) / median(A)."""
    return statistics.median(b for _, b in pairs) / statistics.median(a for a, _ in pairs)


def interval(pairs: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the 95 % percentile bootstrap interval of the ratio.

    The seed is fixed: the same measurements always give the same verdict.
    """
    generator = random.Random(0)
    ratios = sorted(ratio_of(generator.choices(pairs, k=len(pairs))) for _ in range(RESAMPLES))
    return ratios[int(RESAMPLES * 0.025)], ratios[int(RESAMPLES * 0.975) - 1]


def spread(times: list[float]) -> float:
    """Return the median distance from the median: unlike a deviation, deaf to one outlier."""
    centre = statistics.median(times)
    return statistics.median(abs(value - centre) for value in times)


def judge(pairs: list[tuple[float, float]], noise: float, cut_short: bool) -> Result:
    """Summarise the pairs; the verdict needs the whole interval outside 1 +- noise."""
    times_a = [a for a, _ in pairs]
    times_b = [b for _, b in pairs]
    low, high = interval(pairs)
    if high < 1 - noise:
        verdict = "B is faster"
    elif low > 1 + noise:
        verdict = "B is slower"
    else:
        verdict = "no difference shown"
    return Result(
        pairs=len(pairs),
        median_a=statistics.median(times_a),
        median_b=statistics.median(times_b),
        spread_a=spread(times_a),
        spread_b=spread(times_b),
        ratio=ratio_of(pairs),
        low=low,
        high=high,
        verdict=verdict,
        cut_short=cut_short,
    )


def render(result: Result) -> str:
    """Return the report for people."""
    lines = [
        f"A  median {result.median_a * 1000:9.1f} ms  spread {result.spread_a * 1000:7.1f} ms",
        f"B  median {result.median_b * 1000:9.1f} ms  spread {result.spread_b * 1000:7.1f} ms",
        f"B/A {result.ratio:.3f}  95 % interval {result.low:.3f} to {result.high:.3f}"
        f"  ({result.pairs} pairs)",
        f"verdict: {result.verdict}",
    ]
    if result.cut_short:
        lines.append("note: --budget ended the measurement early")
    return "\n".join(lines)


def bounded(kind: Callable[[str], float], lowest: float) -> Callable[[str], float]:
    """Return an argparse type that refuses values below ``lowest``."""

    def number(text: str) -> float:
        value = kind(text)
        if not value >= lowest:
            raise argparse.ArgumentTypeError(f"{text} is less than {lowest:g}")
        return value

    return number


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    cli = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    cli.add_argument("a", metavar="A", help="command before the change")
    cli.add_argument("b", metavar="B", help="command after the change")
    cli.add_argument("--runs", type=bounded(int, MIN_PAIRS), default=20, help="pairs (20)")
    cli.add_argument("--warmup", type=bounded(int, 0), default=2, help="unmeasured pairs (2)")
    cli.add_argument("--noise", type=bounded(float, 0), default=0.02, help="threshold (0.02)")
    cli.add_argument("--timeout", type=bounded(float, 0.1), default=60, help="s per run (60)")
    cli.add_argument("--budget", type=bounded(float, 1), default=300, help="s in all (300)")
    cli.add_argument("--max-ratio", type=bounded(float, 0), help="fail when B/A is surely above")
    cli.add_argument("--json", action="store_true", help="print the result as JSON")
    return cli


def main(arguments: list[str] | None = None) -> int:
    """Run the comparison and return the exit status."""
    cli = parser()
    options = cli.parse_args(arguments)
    try:
        commands = [shlex.split(options.a), shlex.split(options.b)]
    except ValueError as error:
        cli.error(f"cannot split a command: {error}")
    if not all(commands):
        cli.error("a command is empty")
    try:
        pairs, cut_short = measure(
            *commands,
            runs=options.runs,
            warmup=options.warmup,
            timeout=options.timeout,
            budget=options.budget,
        )
    except CommandError as error:
        print(f"compare.py: {error}", file=sys.stderr)
        return 2
    result = judge(pairs, options.noise, cut_short)
    print(json.dumps(asdict(result), indent=2) if options.json else render(result))
    return 1 if options.max_ratio is not None and result.low > options.max_ratio else 0


if __name__ == "__main__":
    sys.exit(main())
