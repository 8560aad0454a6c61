"""``bench crowd``: two local servers over one store, under clients that mix all calls.

What happens is in ``tests/real_store/traffic.py``; the test suite runs the same for less time.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

from real_store.traffic import Traffic
from real_store.traffic import run as mix

from benchmarks.report import Report
from local_stack.launcher import ServerProcess

CLIENTS = 32
SECONDS = 60
ENVIRONMENTS = 3


def run() -> list[Report]:
    """Run the crowd for a minute.

    Raises:
        SystemExit: An answer was a 5xx, or a version went backwards; the message names each.
    """
    options = ("--empty", "--environments", str(ENVIRONMENTS))
    with tempfile.TemporaryDirectory() as folder:
        first = ServerProcess(Path(folder) / "first", *options).start()
        try:
            store = first.note()["store"]
            second = ServerProcess(Path(folder) / "second", *options, "--store", store).start()
            try:
                seen = mix((first.url, second.url), CLIENTS, SECONDS)
            finally:
                second.stop()
        finally:
            first.stop()
    if seen.violations:
        raise SystemExit("\n".join(("Promises were broken:", *seen.violations)))
    return [_report(seen)]


def _report(seen: Traffic) -> Report:
    calls = Counter[str]()
    for answer, times in seen.statuses.items():
        method, _, status = answer.partition(" ")
        calls[f"{method} {status[0]}xx"] += times
    rows = [(call, times) for call, times in sorted(calls.items())]
    return Report(
        "Two local servers over one store, all calls mixed",
        f"{CLIENTS} clients for {SECONDS} seconds, {ENVIRONMENTS} processes for each function of"
        " each server. No answer was a 5xx, no version went backwards for any client.",
        ("answers", "times"),
        (*rows, ("all", seen.statuses.total())),
    )
