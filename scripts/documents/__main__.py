"""Fills the marked places of a document: ``<!-- generated: NAME -->`` to ``<!-- end -->``."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from documents.commands import commands_table
from skill_registry.catalog.findings import FINDINGS
from skill_registry.spec.diagnostics import CODES
from skill_registry.web.codes import PROBLEMS
from skill_registry_cli.vendoring.problems import VENDORING

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLACE = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def table(meanings: Mapping[str, str]) -> str:
    """Return codes and meanings as a Markdown table."""
    rows = "".join(f"| `{code}` | {meaning} |\n" for code, meaning in meanings.items())
    return f"| code | meaning |\n|---|---|\n{rows}"


def filled(text: str) -> str:
    """Return the document with every marked place made anew."""
    parts = {
        "problems": table(PROBLEMS),
        "diagnostics": table(CODES),
        "findings": table(FINDINGS),
        "vendoring": table(VENDORING),
        "skillctl": commands_table(),
    }
    return _PLACE.sub(lambda match: match[1] + parts[match[2]] + match[3], text)


def main(arguments: list[str]) -> int:
    """Write the document, or with ``--check`` tell whether it would change."""
    path = Path(arguments[0])
    before = path.read_text(encoding="utf-8")
    after = filled(before)
    if "--check" in arguments:
        return 0 if after == before else 1
    path.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
