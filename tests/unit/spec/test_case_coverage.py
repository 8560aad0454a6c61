"""Which cases of the catalogues of seeds and bug reports are pinned, and by what.

A case that a line of ``tests/cases`` stands for is named in its ``covers``, as a point of the
checklist of the seeds may be; the others are here, with the test that holds them.
"""

from __future__ import annotations

import re
from pathlib import Path

from case_inputs import FOLDER, read_cases

TESTS = Path(__file__).resolve().parents[2]

# Everything of the format: seeds 1 to 3 (ab, sb, pi; x is common to them) and the bug reports whose
# input is a text, an archive, a path or a listing.
WANTED = {
    *(f"pi-{number:02d}" for number in (*range(1, 18), 19, 20, 24, 25, 26)),
    *("x-31", "x-32", "sb-01", "sb-02", "sb-03", "sb-04", "sb-07", "sb-11"),
    *("sb-05", "sb-08", "sb-10", "sb-12", "sb-14", "sb-15", "sb-16"),
    *("ab-02", "ab-03", "ab-05", "ab-06", "ab-08", "ab-22"),
    *(f"ab-{number}" for number in range(11, 17)),
    *(f"b{number:02d}" for number in (*range(1, 24), 36)),
}

ELSEWHERE = {
    "ab-03": "unit/catalog/test_vendored.py::test_its_version_is_the_sidecar_else_the_frontmatter",
    "sb-05": "unit/agent/test_skillset_refusals.py"
    "::test_an_unknown_skill_is_refused_with_those_that_can_be_loaded",
    "sb-08": "unit/agent/test_skillset_refusals.py"
    "::test_an_agent_without_a_source_is_told_so_and_its_prompt_stays",
    "sb-10": "unit/agent/test_skillset.py::test_a_mirrored_skill_tells_its_repository_and_commit",
    "sb-12": "unit/cli/test_vendor_manifest.py::test_each_fault_of_an_entry_is_named",
    "sb-14": "unit/cli/test_vendor_rendering.py"
    "::test_upstream_keeps_its_keys_and_gets_agents_source_and_provenance",
    "sb-15": "unit/cli/test_vendor_rendering.py"
    "::test_a_local_entry_and_an_unpinned_source_are_not_rendered",
    "sb-16": "unit/cli/test_vendor_check.py::test_a_clean_tree_has_no_problem",
    "ab-11": "unit/agent/test_skillset.py"
    "::test_a_mounted_skill_costs_one_download_and_then_nothing_in_a_turn",
    "ab-12": "unit/agent/test_skillset_versions.py"
    "::test_a_loaded_skill_that_is_listed_at_another_version_is_stale",
    "ab-13": "unit/agent/test_compaction.py::test_a_body_load_keeps_its_name_and_version_only",
    "ab-14": "unit/agent/test_compaction.py::test_what_is_no_body_load_stays_as_it_is",
    "ab-15": "unit/agent/test_compaction.py"
    "::test_a_client_is_shown_that_a_skill_was_activated_and_no_more",
    "ab-16": "unit/agent/test_tool_definitions.py"
    "::test_the_name_is_one_of_the_listed_skills_and_the_path_optional",
    "b20": "unit/catalog/test_faulty_neighbours.py"
    "::test_every_faulty_text_is_listed_or_named_and_none_costs_another",
    "b21": "unit/spec/test_token_budget.py"
    "::test_four_hundred_skills_with_chinese_among_them_stay_in_order",
}

# What a line of the cases cannot show of a report that it covers.
BESIDES = {
    "b01": "unit/catalog/test_faulty_neighbours.py"
    "::test_what_was_read_in_spite_of_a_fault_is_listed_with_a_warning",
    "b07": "unit/catalog/test_vendored.py::test_its_version_is_the_sidecar_else_the_frontmatter",
    "b09": "unit/spec/test_frontmatter_reading.py::test_a_bomb_is_refused_in_bounded_memory",
    "b10": "unit/catalog/test_faulty_neighbours.py"
    "::test_every_listed_name_loads_under_exactly_that_name",
    "b11": "unit/web/test_path_cases.py::test_every_legal_name_can_be_published_listed_and_viewed",
    "b15": "unit/catalog/test_faulty_neighbours.py"
    "::test_an_inner_skill_md_is_a_file_of_the_outer_skill",
    "b16": "unit/catalog/test_faulty_neighbours.py"
    "::test_another_spelling_of_skill_md_is_named_with_its_remedy",
    "b17": "unit/catalog/test_refreshing.py"
    "::test_the_executable_bit_reaches_the_tree_and_leaves_it_again",
    "b18": "unit/web/test_api_refusals.py::test_a_bad_archive_is_a_problem_and_changes_nothing",
    "b19": "unit/spec/test_checking_a_skill.py"
    "::test_a_skill_md_of_twelve_mebibytes_names_its_limits_and_its_size",
    "b23": "unit/spec/test_references.py::test_a_missing_file_is_told_once_with_its_place",
}


def covered() -> set[str]:
    """Return every case that a line of the cases stands for."""
    lines = [case for path in FOLDER.glob("*.jsonl") for case in read_cases(path.stem)]
    return {name for case in lines for name in case.get("covers", ())}


def test_every_case_of_the_format_is_pinned() -> None:
    assert WANTED - covered() - ELSEWHERE.keys() == set()


def test_nothing_is_said_to_be_covered_that_is_no_case() -> None:
    known = re.compile(r"(?:b|(?:pi|sb|ab|x)-)\d\d|checklist \d+")
    assert [name for name in covered() if not known.fullmatch(name)] == []
    assert covered() & ELSEWHERE.keys() == set()


def test_every_test_that_is_named_here_exists() -> None:
    for name in (*ELSEWHERE.values(), *BESIDES.values()):
        path, _, function = name.partition("::")
        assert f"def {function}(" in (TESTS / path).read_text(encoding="utf-8"), name


def test_ids_of_cases_are_used_once_in_a_file() -> None:
    for path in FOLDER.glob("*.jsonl"):
        names = [case["id"] for case in read_cases(path.stem)]
        assert len(set(names)) == len(names), path.name


def test_every_line_says_what_it_is_for() -> None:
    for path in FOLDER.glob("*.jsonl"):
        for case in read_cases(path.stem):
            told = case.get("rule") or case.get("like") or case.get("covers")
            assert told, f"{path.name}: {case['id']}"
