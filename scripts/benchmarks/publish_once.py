"""Run by ``bench memory`` in a process of its own: the real handler publishes one upload."""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

from upload_skill.app import lambda_handler


def _event(upload: str) -> dict[str, Any]:
    claims = {"sub": os.environ["SUBJECT"], "roles": "admin"}
    return {
        "routeKey": "POST /uploads/{id}/complete",
        "headers": {},
        "rawQueryString": "",
        "pathParameters": {"id": upload},
        "requestContext": {"authorizer": {"jwt": {"claims": claims}}, "requestId": "bench"},
    }


def peak_bytes() -> int:
    """Return the most resident memory that this program had.

    Linux hands ``ru_maxrss`` down through fork and exec, so that a large parent would count; the
    high-water mark of the process itself does not (proc manual page). macOS counts in bytes.
    """
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (text for text in status.read_text().splitlines() if text.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    """Publish, and print the version with the peak resident memory in bytes."""
    answer = lambda_handler(_event(sys.argv[1]), None)
    print(json.dumps({**json.loads(answer["body"]), "peak_bytes": peak_bytes()}))


if __name__ == "__main__":
    main()
