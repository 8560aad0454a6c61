"""The inputs of ``tests/cases``: one JSON object a line.

``id`` names a case, ``rule`` says what it pins, ``covers`` lists the cases of the catalogues of
seeds and bug reports that it stands for.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from zips import make_zip

FOLDER = Path(__file__).parent / "cases"

Case = dict[str, Any]


def read_cases(name: str) -> list[Case]:
    """Return the cases of one file."""
    text = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


def ids(cases: list[Case]) -> list[str]:
    """Return the ids of cases, for pytest."""
    return [case["id"] for case in cases]


def skill_md_of(case: Case) -> bytes:
    """Return the bytes of a case of ``skill_md``.

    ``fill`` is a character and a count that ``<fill>`` in the text stands for, ``encoding`` another
    encoding than UTF-8.
    """
    text: str = case["text"]
    if "fill" in case:
        character, count = case["fill"]
        text = text.replace("<fill>", character * count)
    return text.encode(case.get("encoding", "utf-8"))


def archive_of(case: Case) -> bytes:
    """Pack a case of ``archives``: entries of ``text`` or ``hex`` under exactly these names."""
    return make_zip(*((e["name"], _data_of(e), e) for e in case["entries"]))


def _data_of(entry: Case) -> bytes:
    return bytes.fromhex(entry["hex"]) if "hex" in entry else entry["text"].encode()
