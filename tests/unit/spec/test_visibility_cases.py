"""Every case of ``cases/visibility.jsonl``: which skills a viewer sees."""

from __future__ import annotations

import pytest
from case_inputs import Case, ids, read_cases

from skill_registry.spec.visibility import Viewer, may_see

_CASES = read_cases("visibility")


@pytest.mark.parametrize("case", _CASES, ids=ids(_CASES))
def test_a_viewer_sees_what_is_for_it(case: Case) -> None:
    viewer = Viewer(**case["viewer"])
    seen = [
        name
        for name, skill in case["skills"].items()
        if may_see(
            agents=skill.get("agents"),
            min_tier=skill.get("min_tier"),
            viewer=viewer,
            strict=case.get("strict", False),
        )
    ]
    assert seen == case["seen"]
