"""What a benchmark prints: a small table, or the same as JSON."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Report:
    """One table.

    Attributes:
        method: How it was measured, in one sentence.
        rows: Text and numbers, one row a thing measured.
    """

    title: str
    method: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | int | float, ...], ...]

    def text(self) -> str:
        """Return the table for a terminal."""
        cells = [self.columns, *(tuple(map(_shown, row)) for row in self.rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.columns))]
        lines = ["  ".join(_aligned(row, widths)).rstrip() for row in cells]
        rule = "  ".join("-" * width for width in widths)
        return "\n".join((self.title, self.method, "", lines[0], rule, *lines[1:]))


def _shown(value: str | int | float) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _aligned(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    first, *others = zip(row, widths, strict=True)
    return [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]


def machine() -> str:
    """Say what the figures were taken on."""
    return f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()}"


def show(reports: Sequence[Report], *, as_json: bool) -> None:
    """Print the reports."""
    if as_json:
        document = {"machine": machine(), "reports": [asdict(report) for report in reports]}
        print(json.dumps(document, indent=2))
        return
    print(f"({machine()})")
    for report in reports:
        print()
        print(report.text())
