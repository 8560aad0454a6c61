"""The command line of ``./scripts/bench``."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import agent, api, crowd, memory, real_store, reliability, requests, warm
from benchmarks import format as skill_format
from benchmarks.report import Report, show

if TYPE_CHECKING:
    from collections.abc import Callable


def _reliability(steps: int = reliability.STEPS) -> list[Report]:
    """Run the simulation, and the same promises over a real store and real processes."""
    return [*reliability.run(steps), *real_store.run()]


BENCHMARKS: dict[str, Callable[[], list[Report]]] = {
    "requests": requests.run,
    "warm": warm.run,
    "api": api.run,
    "memory": memory.run,
    "format": skill_format.run,
    "agent": agent.run,
    "crowd": crowd.run,
    "reliability": _reliability,
}


def main(arguments: list[str]) -> int:
    """Run one benchmark, or all of them."""
    parser = argparse.ArgumentParser(
        prog="./scripts/bench",
        description="Measure this checkout: counts, and ratios of one interleaved run.",
    )
    parser.add_argument("name", nargs="?", default="all", choices=[*BENCHMARKS, "all"])
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument(
        "--corpus", type=_folder, metavar="DIR", help="for format: a folder of real skills"
    )
    parser.add_argument(
        "--steps",
        type=int,
        default=reliability.STEPS,
        metavar="N",
        help="for reliability: requests of the simulation (%(default)s)",
    )
    given = parser.parse_args(arguments)
    benchmarks = BENCHMARKS | {
        "format": partial(skill_format.run, given.corpus),
        "reliability": partial(_reliability, given.steps),
    }
    chosen = benchmarks.values() if given.name == "all" else [benchmarks[given.name]]
    show([report for run in chosen for report in run()], as_json=given.json)
    return 0


def _folder(text: str) -> Path:
    path = Path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is no folder")
    return path


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
