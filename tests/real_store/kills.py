"""``kill -9`` of handler processes while publishers publish through the local server."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from real_store.clients import opened
from real_store.evidence import derived_violations, log_violations

from local_stack.emulator import Endpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from real_store.callers import Callers

    from local_stack.launcher import ServerProcess
    from skill_registry.store.base import SkillStore
    from skill_registry.store.keys import SkillId

FUNCTIONS = ("upload_skill", "refresh_metadata")
# A publish takes some ten milliseconds to a few hundred: the kill falls anywhere in that.
LATEST_KILL_SECONDS = 0.15


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 90.0) -> None:
    """Return when the condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"it never came true that {what}"
        time.sleep(0.05)


def handlers(server: ServerProcess, function: str) -> set[int]:
    """Return the processes of a function: children of this server and of no other one."""
    handler = f"{function}.app.lambda_handler"
    return {
        process
        for process, parent, words in _processes()
        if parent == server.process_id and handler in words
    }


def _processes() -> Iterator[tuple[int, int, list[str]]]:
    """Yield each process with its parent and its command line."""
    if not Path("/proc/self/stat").exists():
        # Twice w: not cut to the width of a terminal.
        listed = subprocess.check_output(["ps", "-Aww", "-o", "pid=,ppid=,args="], text=True)
        for line in listed.splitlines():
            process, parent, *words = line.split()
            yield int(process), int(parent), words
        return
    # Small systems have no ps.
    for folder in Path("/proc").glob("[0-9]*"):
        # One that ended meanwhile is none of those that are looked for.
        with suppress(OSError):
            after_name = (folder / "stat").read_text(errors="replace").rpartition(")")[2]
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            yield int(folder.name), int(after_name.split()[1]), words


@dataclass(slots=True)
class Siege:
    """Publishers at a server whose handlers are killed until there were enough kills.

    Args:
        environments: How many processes each function has.
    """

    server: ServerProcess
    callers: Callers
    environments: int
    seed: int
    kills: int = 0
    _over: threading.Event = field(default_factory=threading.Event)

    def run(self, skills: Sequence[SkillId], publishers: int, kills: int) -> None:
        """Return when all kills were done and every publish that had begun was answered."""
        with ThreadPoolExecutor(publishers) as pool:
            publishing = [pool.submit(self._publish, skills, n) for n in range(publishers)]
            try:
                self._kill(kills, random.Random(self.seed))
            finally:
                self._over.set()
            for done in publishing:
                done.result()

    def _publish(self, skills: Sequence[SkillId], number: int) -> None:
        turn = 0
        while not self._over.is_set():
            skill = skills[(number + turn) % len(skills)]
            presigned = (number + turn // len(skills)) % 2 == 0
            self.callers.publish(number, skill, f"siege-{number}-{turn}", presigned=presigned)
            turn += 1

    def _kill(self, kills: int, choices: random.Random) -> None:
        newest: dict[str, set[int]] = {function: set() for function in FUNCTIONS}
        while self.kills < kills:
            function = FUNCTIONS[self.kills % len(FUNCTIONS)]
            before = handlers(self.server, function)
            self.callers.wait_for_a_publish()
            # The fault itself: a moment that nobody chose.
            time.sleep(choices.uniform(0, LATEST_KILL_SECONDS))
            # One that was just started has nothing in its hands yet.
            victim = choices.choice(sorted(before - newest[function] or before))
            os.kill(victim, signal.SIGKILL)
            self.kills += 1
            wait_for(partial(self._is_replaced, function, victim), f"{function} is whole again")
            newest[function] = handlers(self.server, function) - before

    def _is_replaced(self, function: str, victim: int) -> bool:
        found = handlers(self.server, function)
        return victim not in found and len(found) == self.environments


def violations_after(
    server: ServerProcess, callers: Callers, skills: Sequence[SkillId], seconds: float = 90.0
) -> list[str]:
    """Return what is wrong once the events are worked off, which alone have to mend it all."""
    note = server.note()
    endpoint, queue = Endpoint(note["store"]), note["queue"]
    with opened(endpoint, note["bucket"]) as store:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if not _waiting(endpoint, queue) and not _left_behind(store, skills):
                break
            time.sleep(0.05)
        lost = [each for one in skills for each in log_violations(store, one, callers.of(one))]
        return lost + _left_behind(store, skills)


def _left_behind(store: SkillStore, skills: Sequence[SkillId]) -> list[str]:
    scopes = {skill.scope: [s.name for s in skills if s.scope == skill.scope] for skill in skills}
    return [each for scope in scopes for each in derived_violations(store, scope, scopes[scope])]


def _waiting(endpoint: Endpoint, queue: str) -> int:
    """Return how many events were not worked off."""
    sqs = endpoint.client("sqs")
    names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
    found = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=list(names))
    sqs.close()
    return sum(int(found["Attributes"][name]) for name in names)
