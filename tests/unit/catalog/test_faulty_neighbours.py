"""What reached the bucket by another way than a publish: a fault of one skill costs no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from case_inputs import read_cases, skill_md_of
from house import ADMIN, House, skill_md

from skill_registry.errors import SkillNotFound
from skill_registry.spec.model import Severity
from skill_registry.store import keys
from skill_registry.store.keys import SkillId

if TYPE_CHECKING:
    from skill_registry.catalog.listing import Listing

CASES = {case["id"]: case for case in read_cases("skill_md")}


@pytest.fixture
def house() -> House:
    return House()


def put(house: House, name: str, path: str, data: bytes) -> None:
    """Put one file of a directory into the bucket and deliver its event."""
    key = keys.tree_file(SkillId("system", name), path)
    house.put(key, data)
    house.deliver(key)


def reasons(page: Listing) -> dict[str | None, str]:
    return {d.file: d.message for d in page.diagnostics if d.code == "skill_unreadable"}


def test_every_faulty_text_is_listed_or_named_and_none_costs_another(house: House) -> None:
    for name, case in CASES.items():
        house.put(keys.tree_file(SkillId("system", name), "SKILL.md"), skill_md_of(case))
    house.registry.reconciler.run()
    page = house.registry.listing.page(ADMIN, limit=500)
    hidden = {"pi-26-true"}
    listed = {name for name, case in CASES.items() if case["listed"]} - hidden
    assert {each.entry.name for each in page.skills} == listed
    named = {f"system/{name}/SKILL.md" for name, case in CASES.items() if not case["listed"]}
    assert set(reasons(page)) == named
    assert all(reasons(page).values())


def test_what_was_read_in_spite_of_a_fault_is_listed_with_a_warning(house: House) -> None:
    put(house, "repaired", "SKILL.md", b"---\nname: repaired\ndescription: a: b\n---\nx\n")
    put(house, "gbk", "SKILL.md", "---\nname: gbk\ndescription: 茶叶\n---\nx\n".encode("gbk"))
    house.publish("managed")
    page = house.registry.listing.page(ADMIN)
    assert {each.entry.name for each in page.skills} == {"repaired", "gbk", "managed"}
    told = {(d.code, d.file, d.line, d.severity) for d in page.diagnostics}
    assert told == {
        ("frontmatter_repaired", "system/repaired/SKILL.md", 3, Severity.WARNING),
        ("not_utf8", "system/gbk/SKILL.md", 3, Severity.WARNING),
    }


def test_the_warnings_of_a_thousand_directories_make_a_small_answer(house: House) -> None:
    for number in range(300):
        key = keys.tree_file(SkillId("system", f"empty-{number}"), "SKILL.md")
        house.put(key, b"---\ndescription: Nothing else.\n---\n")
    house.registry.reconciler.run()
    page = house.registry.listing.page(ADMIN)
    assert [d.code for d in page.diagnostics] == ["body_empty"] * 50
    assert "250 more" in page.diagnostics[-1].message


def test_every_listed_name_loads_under_exactly_that_name(house: House) -> None:
    for name, case in CASES.items():
        house.put(keys.tree_file(SkillId("system", name), "SKILL.md"), skill_md_of(case))
    house.registry.reconciler.run()
    for each in house.registry.listing.page(ADMIN, limit=500).skills:
        seen = house.registry.viewing.view(ADMIN, each.entry.name)
        assert seen.loaded.skill.name == each.entry.name
        assert seen.loaded.meta is not None
        assert seen.loaded.meta.description == each.entry.description


@pytest.mark.parametrize("spelled", ["skill.md", "Skill.md"])
def test_another_spelling_of_skill_md_is_named_with_its_remedy(house: House, spelled: str) -> None:
    put(house, "plain", spelled, skill_md("plain"))
    page = house.registry.listing.page(ADMIN)
    assert page.skills == ()
    (found,) = page.diagnostics
    assert (found.code, found.severity) == ("skill_unreadable", Severity.ERROR)
    assert f"`{spelled}`" in found.message
    with pytest.raises(SkillNotFound):
        house.registry.viewing.view(ADMIN, "plain")


def test_a_skill_md_over_its_limit_is_named_with_both_numbers(house: House) -> None:
    data = skill_md("plain") + b"x" * 600_000
    put(house, "plain", "SKILL.md", data)
    message = reasons(house.registry.listing.page(ADMIN))["system/plain/SKILL.md"]
    assert str(len(data)) in message
    assert str(512 * 1024) in message


def test_a_directory_without_a_skill_is_no_skill_and_no_fault(house: House) -> None:
    put(house, "noentry", "README.md", b"# hi\n")
    house.put("skills/stray.txt", b"x")
    house.put("skills/system/folder-marker/", b"")
    house.deliver("skills/stray.txt", "skills/system/folder-marker/")
    house.registry.reconciler.run()
    page = house.registry.listing.page(ADMIN)
    assert (page.skills, page.diagnostics) == ((), ())


def test_a_mended_directory_comes_back_by_itself(house: House) -> None:
    put(house, "plain", "SKILL.md", "---\nname: plain\ndescription: 茶\n---\n".encode("gbk"))
    assert {d.code for d in house.registry.listing.page(ADMIN).diagnostics} >= {"not_utf8"}
    put(house, "plain", "SKILL.md", skill_md("plain"))
    page = house.registry.listing.page(ADMIN)
    assert ([each.entry.name for each in page.skills], page.diagnostics) == (["plain"], ())


def test_a_second_look_at_a_misspelt_directory_writes_nothing(house: House) -> None:
    put(house, "plain", "skill.md", skill_md("plain"))
    house.registry.reconciler.run()
    before = house.state()
    house.counter.reset()
    house.registry.reconciler.run()
    assert house.counter.puts == 0
    assert house.state() == before


def test_an_inner_skill_md_is_a_file_of_the_outer_skill(house: House) -> None:
    put(house, "knots", "SKILL.md", skill_md("knots"))
    put(house, "knots", "assets/template/SKILL.md", b"---\nname: inner\n---\n")
    assert house.listed() == {"knots": None}
    seen = house.registry.viewing.view(ADMIN, "knots", path="assets/template/SKILL.md")
    assert seen.text == "---\nname: inner\n---\n"
