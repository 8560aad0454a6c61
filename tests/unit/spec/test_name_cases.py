"""Every name of ``cases/names.jsonl``: what a skill may be called, and what is proposed instead."""

from __future__ import annotations

import pytest
from case_inputs import Case, ids, read_cases

from skill_registry.spec.model import has_errors
from skill_registry.spec.names import check_skill_name, is_skill_name

_CASES = read_cases("names")


@pytest.mark.parametrize("case", _CASES, ids=ids(_CASES))
def test_a_name_is_accepted_or_refused_by_its_rule(case: Case) -> None:
    found = check_skill_name(case["name"])
    assert [each.code for each in found] == case["codes"]
    assert is_skill_name(case["name"]) == (not has_errors(found))
    if has_errors(found):
        assert found[0].hint == case["hint"]
