"""The most memory that this process ever had."""

from __future__ import annotations

import resource
from pathlib import Path


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
