"""Every archive of ``cases/archives.jsonl``, packed here and checked as a publish checks it."""

from __future__ import annotations

import pytest
from case_inputs import Case, archive_of, ids, read_cases

from skill_registry.spec.archive import read_archive
from skill_registry.spec.validation import check_contents

_CASES = read_cases("archives")


@pytest.mark.parametrize("case", _CASES, ids=ids(_CASES))
def test_an_archive_is_read_or_refused_by_its_rule(case: Case) -> None:
    contents = read_archive(archive_of(case))
    report = check_contents(contents, name=case.get("publish_as"))
    assert sorted(found.code for found in report.diagnostics) == sorted(case["codes"])
    assert report.ok == (case["files"] is not None)
    said = "\n".join(f"{found.file} {found.message} {found.hint}" for found in report.diagnostics)
    assert [word for word in case.get("told", ()) if word not in said] == []
    if case["files"] is not None:
        assert [file.path for file in contents.files] == case["files"]
        runnable = [file.path for file in contents.files if file.executable]
        assert runnable == case.get("executable", [])


def test_files_of_every_kind_arrive_byte_for_byte() -> None:
    for case in _CASES:
        packed = {e["name"]: bytes.fromhex(e["hex"]) for e in case["entries"] if "hex" in e}
        files = read_archive(archive_of(case)).files
        assert packed.items() <= {f"knot-book/{file.path}": file.data for file in files}.items()
