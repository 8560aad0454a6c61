"""Every archive of ``cases/archives.jsonl``, packed here and checked as a publish checks it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from zips import make_zip

from skill_registry.spec.archive import read_archive
from skill_registry.spec.validation import check_contents

_CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "cases" / "archives.jsonl")
    .read_text(encoding="utf-8")
    .split("\n")
    if line
]


@pytest.mark.parametrize("case", _CASES, ids=[case["id"] for case in _CASES])
def test_an_archive_is_read_or_refused_by_its_rule(case: dict[str, Any]) -> None:
    entries = [(e["name"], e["text"].encode(), e) for e in case["entries"]]
    contents = read_archive(make_zip(*entries))
    report = check_contents(contents, name=None)
    assert sorted(found.code for found in report.diagnostics) == sorted(case["codes"])
    assert report.ok == (case["files"] is not None)
    if case["files"] is not None:
        assert [file.path for file in contents.files] == case["files"]
