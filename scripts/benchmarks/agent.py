"""``bench agent``: what the toolkit costs a process that imports it, and a turn that uses it."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING

import httpx
from loopback import Loopback
from toolkit import publish_sample

from benchmarks.report import Report
from skill_registry.agent import RegistryClient, Skillset

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

IMPORTS = 11
ROUNDS = 15
CALLS = 10
SKILLS = 100
_IMPORT = "import time; t = time.process_time(); import {}; print(time.process_time() - t)"


def run() -> list[Report]:
    """Time imports in fresh interpreters, and the steps of a turn over one registry."""
    return [_imports(), *_turns()]


def _imports() -> Report:
    modules = ("httpx", "skill_registry.agent")
    times: dict[str, list[float]] = {module: [] for module in modules}
    for _ in range(IMPORTS):
        for module in modules:
            command = [sys.executable, "-c", _IMPORT.format(module)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            times[module].append(float(done.stdout))
    medians = {module: statistics.median(times[module]) for module in modules}
    return Report(
        "Import",
        f"CPU time in fresh interpreters, median of {IMPORTS}, interleaved.",
        ("module", "ms", "ratio"),
        tuple(
            (module, 1000 * median, median / medians["httpx"]) for module, median in medians.items()
        ),
    )


def _turns() -> list[Report]:
    with (
        Loopback() as registry,
        tempfile.TemporaryDirectory() as workspace,
        RegistryClient(registry.url) as client,
        httpx.Client() as bare,
    ):
        for number in range(SKILLS):
            publish_sample(registry, f"skill-{number:03d}")
        skills = Skillset(client, workspace=workspace)
        counted = _requests(registry, skills)
        url = f"{registry.url}/skills?limit=500"
        headers = {"If-None-Match": bare.get(url).headers["etag"]}

        def get() -> None:
            assert bare.get(url, headers=headers).status_code == 304

        calls: dict[str, Callable[[], object]] = {
            "bare conditional GET of the listing (304)": get,
            "instructions, unchanged": skills.instructions,
            "second view in a turn": lambda: skills.view_skill("skill-000"),
        }
        return [counted, _times(calls)]


def _requests(registry: Loopback, skills: Skillset) -> Report:
    """Count the requests of each step, the store's among them."""
    rows: list[tuple[str, int]] = []

    def count(label: str, call: Callable[[], object]) -> None:
        registry.requests.clear()
        call()
        rows.append((label, len(registry.requests)))

    count("first instructions", skills.instructions)
    count("first view of a skill, its directory copied", lambda: skills.view_skill("skill-000"))
    count("second view in the turn", lambda: skills.view_skill("skill-000"))
    count("another file of it", lambda: skills.view_skill("skill-000", "references/more.md"))
    count("instructions of the next turn, unchanged", skills.instructions)
    count("first view of that turn, unchanged", lambda: skills.view_skill("skill-000"))
    return Report(
        "Requests",
        f"Of one agent with a workspace, {SKILLS} skills; the store's are counted.",
        ("step", "requests"),
        tuple(rows),
    )


def _times(calls: Mapping[str, Callable[[], object]]) -> Report:
    times: dict[str, list[float]] = {label: [] for label in calls}
    for _ in range(ROUNDS):
        for label, call in calls.items():
            started = time.perf_counter()
            for _ in range(CALLS):
                call()
            times[label].append((time.perf_counter() - started) / CALLS)
    medians = {label: statistics.median(each) for label, each in times.items()}
    floor = next(iter(medians.values()))
    return Report(
        "A turn",
        f"{SKILLS} skills, the handlers behind a socket; median of {ROUNDS} rounds, interleaved.",
        ("call", "ms", "ratio"),
        tuple((label, 1000 * median, median / floor) for label, median in medians.items()),
    )
