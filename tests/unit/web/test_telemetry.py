"""Logs: one JSON object a line, from every ring."""

from __future__ import annotations

import json
import os
import subprocess
import sys

PROGRAM = """
import logging
from skill_registry.web.telemetry import logger
logger().set_correlation_id("request-1")
logging.getLogger("skill_registry.catalog.events").warning("tree_drift", extra={"skill": "a/b"})
"""


def test_the_inner_rings_log_in_the_form_of_the_edge_and_once() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={
            "PYTHONPATH": os.pathsep.join(sys.path),
            "POWERTOOLS_SERVICE_NAME": "skill-registry",
            "LOG_LEVEL": "INFO",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = (done.stdout + done.stderr).splitlines()
    logged = json.loads(line)
    assert (logged["message"], logged["skill"], logged["level"]) == (
        "tree_drift",
        "a/b",
        "WARNING",
    )
