"""The command line of ``./scripts/bench``."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from benchmarks import memory, requests, warm
from benchmarks.report import Report, show

if TYPE_CHECKING:
    from collections.abc import Callable

BENCHMARKS: dict[str, Callable[[], list[Report]]] = {
    "requests": requests.run,
    "warm": warm.run,
    "memory": memory.run,
}


def main(arguments: list[str]) -> int:
    """Run one benchmark, or all of them."""
    parser = argparse.ArgumentParser(
        prog="./scripts/bench",
        description="Measure this checkout: counts, and ratios of one interleaved run.",
    )
    parser.add_argument("name", choices=[*BENCHMARKS, "all"])
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    given = parser.parse_args(arguments)
    chosen = BENCHMARKS.values() if given.name == "all" else [BENCHMARKS[given.name]]
    show([report for run in chosen for report in run()], as_json=given.json)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
