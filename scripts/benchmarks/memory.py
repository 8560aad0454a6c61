"""``bench memory``: what a process of the upload function holds while it publishes."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

from benchmarks.report import Report
from benchmarks.samples import ADMIN, large_skill
from local_stack.emulator import Emulator, Endpoint
from local_stack.virtualenvs import PROJECT, interpreter
from skill_registry.catalog.log import NO_PRECONDITION
from skill_registry.catalog.runtime import Runtime
from skill_registry.spec.archive import write_archive
from skill_registry.store import keys
from skill_registry.store.keys import SkillId
from skill_registry.store.s3 import S3SkillStore
from skill_registry.web.settings import Settings
from skill_registry.web.wiring import Registry

MIB = 1024 * 1024
# The archive's own headers have to fit into the limit as well.
LARGEST = 16 * MIB - 8 * 1024
NAME = "large-skill"


def run() -> list[Report]:
    """Publish skills of growing size, each in a fresh process of the real handler."""
    rows = []
    with tempfile.TemporaryDirectory() as folder, Emulator(Path(folder)) as running:
        for label, size in (("1 KiB", 1024), ("4 MiB", 4 * MIB), ("16 MiB", LARGEST)):
            rows.append((label, peak_of_a_publish(running.endpoint, size)))
    return [
        Report(
            "Resident memory of the upload function",
            "Peak of one fresh process that publishes one upload of bytes that do not compress.",
            ("skill", "MiB"),
            tuple(rows),
        )
    ]


def peak_of_a_publish(endpoint: Endpoint, size: int) -> float:
    """Return the peak resident memory, in MiB, of a process that publishes ``size`` bytes."""
    bucket = endpoint.make_bucket()
    store = S3SkillStore(endpoint.client("s3"), bucket)
    registry = Registry(Settings(), store, Runtime())
    announced = registry.uploader.announce(
        ADMIN, SkillId("system", NAME), precondition=NO_PRECONDITION
    )
    ticket = announced.target.fields
    metadata = {
        name.removeprefix("x-amz-meta-"): value
        for name, value in ticket.items()
        if name.startswith("x-amz-meta-")
    }
    store.put(
        keys.upload(announced.upload),
        write_archive(large_skill(NAME, size).files),
        metadata=metadata,
    )
    done = subprocess.run(
        [str(interpreter("runtime")), "-m", "benchmarks.publish_once", announced.upload.id],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(
                str(PROJECT / part) for part in ("layers/core", "functions", "scripts")
            ),
            "REGISTRY_BUCKET": bucket,
            "SUBJECT": ADMIN.subject,
            **endpoint.environment(),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["version"] == 1, answer
    return float(answer["peak_bytes"]) / MIB
