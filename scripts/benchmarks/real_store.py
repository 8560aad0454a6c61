"""The part of ``bench reliability`` that runs over a real S3 and with real handler processes.

What happens is in ``tests/real_store``; the test suite runs the same with less of everything. A run
that breaks a promise ends with what it broke instead of a table.
"""

from __future__ import annotations

import logging
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from real_store.callers import Callers, publish_at_once
from real_store.clients import opened
from real_store.deliveries import Scene, deliver, in_order, shuffled_and_doubled, state
from real_store.evidence import derived_violations
from real_store.kills import Siege, violations_after
from real_store.lossy_store import weather

from benchmarks.report import Report
from local_stack.emulator import Emulator
from local_stack.launcher import ServerProcess
from skill_registry.store.keys import SkillId

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from local_stack.emulator import Endpoint

SHARED = [SkillId("system", "shared")]
APART = [SkillId("system", f"skill-{number:02d}") for number in range(64)]
READERS = 3
ENVIRONMENTS = 4
KILLS = 50
AT_ONCE = 200
# Of each, once; they are delivered in disorder and twice.
EVENTS_OF = 72


def run() -> list[Report]:
    """Run everything; about ten minutes on two cores.

    Raises:
        SystemExit: A promise was broken; the message names each violation.
    """
    with _quiet(), tempfile.TemporaryDirectory() as folder:
        with Emulator(Path(folder) / "emulator") as running:
            reports = [_lossy(running.endpoint), _events(running.endpoint)]
        return [*reports, _handlers(Path(folder) / "server")]


def _lossy(endpoint: Endpoint) -> Report:
    rows = []
    for label, skills, publishers, rounds in (
        ("16 publishers on one skill", SHARED, 16, 6),
        ("64 publishers on 64 skills", APART, 64, 3),
    ):
        seen = weather(endpoint, skills, publishers, rounds, READERS)
        _end_on(seen.violations)
        ledger = seen.ledger
        rows.append(
            (
                label,
                len(ledger.acknowledged),
                ledger.reads,
                seen.requests,
                seen.lost,
                seen.resent_commits,
                seen.refused,
                ledger.told_to_retry,
                len(seen.violations),
            )
        )
    return Report(
        "A real S3 behind a proxy that loses 15 % of the replies and answers 3 % with 503",
        "Through boto3's own client and its resends. Commits: conditional writes that were applied"
        " and never answered. Retries: calls that were told to come again, and did.",
        (
            "crowd",
            "publishes",
            "reads",
            "requests",
            "lost",
            "commits",
            "503",
            "retries",
            "violations",
        ),
        tuple(rows),
    )


def _events(endpoint: Endpoint) -> Report:
    scene = Scene(endpoint, publishes=EVENTS_OF, skills=6)
    other = scene.copy()
    ordered, disorder = in_order(scene.events), shuffled_and_doubled(scene.events, seed=1)
    rows = []
    for label, bucket, batches in (
        ("in order, once", scene.bucket, ordered),
        ("shuffled, each twice", other, disorder),
        ("all of them again", other, ordered),
    ):
        writes = deliver(endpoint, bucket, batches).writes
        rows.append((label, sum(map(len, batches)), len(batches), writes))
    differ = state(endpoint, other) != state(endpoint, scene.bucket)
    with opened(endpoint, other) as store:
        left = derived_violations(store, "system", [skill.name for skill in scene.skills])
    _end_on(
        [
            *left,
            *(["The order of the events decides what the bucket holds."] if differ else []),
            *(["Events that were worked off before write again."] if rows[-1][-1] else []),
        ]
    )
    return Report(
        "Events of publishes that left work behind, through the refresh function's handler",
        "Two copies of one bucket; they were equal in the end.",
        ("delivery", "events", "batches", "writes"),
        tuple(rows),
    )


def _handlers(data: Path) -> Report:
    server = ServerProcess(data, "--empty", "--environments", str(ENVIRONMENTS)).start()
    try:
        rows = [_killed(server), _at_once(server)]
    finally:
        server.stop()
    return Report(
        "The real handlers behind the local server",
        f"{ENVIRONMENTS} processes for each function. Retries: answers to come again (429, 5xx)"
        " after which the client did; any other error would have ended the run.",
        ("run", "publishes", "kill -9", "retries", "violations"),
        tuple(rows),
    )


def _killed(server: ServerProcess) -> tuple[str, int, int, int, int]:
    skills = [SkillId("system", f"killed-{number}") for number in range(6)]
    with Callers(server.url, 6) as callers:
        siege = Siege(server, callers, ENVIRONMENTS, seed=1)
        siege.run(skills, publishers=6, kills=KILLS)
        violations = violations_after(server, callers, skills)
        _end_on(violations)
        done, told = len(callers.acknowledged), callers.told.total()
        return "handlers killed", done, siege.kills, told, len(violations)


def _at_once(server: ServerProcess) -> tuple[str, int, int, int, int]:
    skill = SkillId("system", "contended")
    with Callers(server.url, AT_ONCE) as callers:
        publish_at_once(callers, skill, AT_ONCE)
        violations = violations_after(server, callers, [skill])
        _end_on(violations)
        done, told = len(callers.acknowledged), callers.told.total()
        return f"{AT_ONCE} at once on one skill", done, 0, told, len(violations)


def _end_on(violations: Sequence[str]) -> None:
    if violations:
        raise SystemExit("\n".join(("Promises were broken:", *violations)))


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the use cases' remarks on what fails on purpose out of the tables."""
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
