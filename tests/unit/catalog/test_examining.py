"""The doctor and one skill: each disagreement by name, and what a repair leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from damages import (
    CATALOG,
    FIXABLE,
    NOTES,
    OTHER,
    PATH,
    PLAIN,
    UNFIXABLE,
    damage_all,
    furnished,
    put_with_metadata_of,
    rewrite_catalog,
)
from house import ADMIN, House, skill_files, skill_md, zipped

from skill_registry.catalog.findings import FINDINGS
from skill_registry.catalog.overrides import NO_OVERRIDES, write_overrides
from skill_registry.catalog.snapshot import SCHEMA, Entry
from skill_registry.spec.layout import ArchiveContents
from skill_registry.store import keys
from skill_registry.store.base import StoredObject
from skill_registry.store.gate import Request, Result
from skill_registry.store.keys import SkillId

if TYPE_CHECKING:
    from skill_registry.catalog.findings import Finding


@pytest.fixture(params=[False, True], ids=["md5-etags", "opaque-etags"])
def house(request: pytest.FixtureRequest) -> House:
    return furnished(opaque_etags=request.param)


def codes(findings: list[Finding]) -> list[str]:
    return sorted(finding.code for finding in findings)


def examine(house: House, skill: SkillId = NOTES) -> list[Finding]:
    return house.environment().examiner.examine(skill)


def of(house: House, code: str, *skills: SkillId) -> Finding:
    found = [each for skill in skills for each in examine(house, skill) if each.code == code]
    assert len(found) == 1, [each.to_dict() for each in found]
    return found[0]


def test_nothing_is_said_of_a_bucket_where_all_is_well(house: House) -> None:
    done = house.environment().examiner.examine_all()
    assert ([f.to_dict() for f in done.findings], done.examined, done.next) == ([], 3, None)


def test_examining_writes_nothing(house: House) -> None:
    damage_all(house)
    before = house.state()
    house.counter.reset()
    house.environment().examiner.examine_all()
    assert house.counter.count("PUT", "DELETE") == 0
    assert house.state() == before


@pytest.mark.parametrize("case", FIXABLE)
def test_a_fixable_disagreement_is_named_exactly_and_mended(house: House, case: str) -> None:
    damage, code, words = FIXABLE[case]
    damage(house)
    found = examine(house)
    assert codes(found) == [code]
    assert words in found[0].detail
    assert found[0].fixable
    assert house.environment().examiner.repair(NOTES) == []
    assert house.version("notes") == b"3\n"
    assert house.tree("notes") == {f.path: f.data for f in skill_files("notes", "c")}
    assert house.listed(registry=house.environment()) == {"notes": 3, "other": 1, "plain": None}


@pytest.mark.parametrize("case", UNFIXABLE)
def test_an_unfixable_one_is_named_and_says_what_to_do(house: House, case: str) -> None:
    damage, code, words = UNFIXABLE[case]
    damage(house)
    found = of(house, code, NOTES, OTHER)
    assert words in found.detail
    assert (found.fixable, bool(found.hint)) == (False, True)


@pytest.mark.parametrize("case", [*FIXABLE, *UNFIXABLE])
def test_a_repair_leaves_the_unfixable_alone_and_a_second_one_writes_nothing(
    house: House, case: str
) -> None:
    (FIXABLE | UNFIXABLE)[case][0](house)
    left = house.environment().examiner.examine_all(fix=True).findings
    assert all(not finding.fixable for finding in left)
    assert tuple(left) == house.environment().examiner.examine_all().findings
    house.counter.reset()
    again = house.environment().examiner.examine_all(fix=True)
    assert (again.findings, again.repaired) == (left, ())
    writes = [r for r in house.counter.requests if r.op in ("PUT", "DELETE")]
    assert writes == []


def test_every_damage_at_once_is_found_and_all_that_can_be_is_mended(house: House) -> None:
    expected = damage_all(house)
    examiner = house.environment().examiner
    done = examiner.examine_all(fix=True)
    assert expected <= {finding.code for finding in (*done.findings, *done.repaired)}
    assert all(not finding.fixable for finding in done.findings)
    assert examiner.examine_all().findings == done.findings


def test_repairing_what_is_in_step_writes_nothing(house: House) -> None:
    for skill in (NOTES, OTHER, PLAIN):
        house.counter.reset()
        assert house.environment().examiner.repair(skill) == []
        assert house.counter.count("PUT", "DELETE") == 0


def test_a_damaged_head_says_publish_again_or_roll_back(house: House) -> None:
    put_with_metadata_of(house, keys.revision(NOTES, 3), b"not a zip")
    house.registry.events.handle({})
    found = of(house, "revision_damaged", NOTES)
    assert found.hint == "Nobody can load the skill: publish it again, or roll back to 2."
    left = house.environment().examiner.repair(NOTES)
    assert codes(left) == ["revision_damaged"]
    assert house.tree("notes")["references/notes.md"] == b"c"
    house.publish("notes", "d")
    (damaged,) = examine(house)
    assert (damaged.code, damaged.key) == ("revision_damaged", keys.revision(NOTES, 3))
    assert "not the current version" in (damaged.hint or "")


def test_a_wrong_mode_is_named_and_mended(house: House) -> None:
    plain = skill_files("notes", "d")
    files = ArchiveContents((plain[0], replace(plain[1], executable=True)))
    house.registry.publisher.publish_inline(ADMIN, NOTES, files)
    house.put(PATH, b"d")
    (found,) = examine(house)
    assert (found.code, found.key) == ("tree_mode", PATH)
    assert "0755" in found.detail
    assert house.environment().examiner.repair(NOTES) == []
    info = house.bucket.head(PATH)
    assert info is not None and info.metadata["mode"] == "0755"


def test_an_edit_by_hand_is_drift_that_only_a_repair_takes_over(house: House) -> None:
    house.put(PATH, b"by hand")
    house.deliver(PATH)
    done = house.registry.reconciler.run()
    assert "system/notes" in done.drift
    assert house.read(PATH) == b"by hand"
    house.environment().examiner.repair(NOTES)
    assert house.read(PATH) == b"c"


def test_a_label_of_nothing_is_named(house: House) -> None:
    labels = {"gone": 7, "stable": 1}
    house.put(keys.settings(NOTES), write_overrides(replace(NO_OVERRIDES, labels=labels)))
    house.deliver(keys.settings(NOTES))
    (found,) = examine(house)
    assert (found.code, found.fixable) == ("label_dangling", False)
    assert "`gone` names version 7, which does not exist" in found.detail


def test_an_unfinished_pruning_is_named_and_finished(house: House) -> None:
    house.put(keys.settings(NOTES), write_overrides(replace(NO_OVERRIDES, purged=(2,))))
    house.deliver(keys.settings(NOTES))
    (found,) = examine(house)
    assert (found.code, found.key) == ("revision_unpruned", keys.revision(NOTES, 2))
    assert house.environment().examiner.repair(NOTES) == []
    assert codes(examine(house)) == []


def test_bytes_that_are_gone_and_should_not_be_are_named(house: House) -> None:
    stub = house.bucket.get(keys.revision(NOTES, 2))
    assert isinstance(stub, StoredObject)
    said = {**stub.info.metadata, "kind": "pruned"}
    house.bucket.put(keys.revision(NOTES, 2), zipped({}), metadata=said)
    (found,) = examine(house)
    assert (found.code, found.fixable) == ("revision_pruned", False)
    assert "is to be kept" in found.detail


def test_a_catalog_of_a_newer_schema_is_left_alone_and_says_what_to_do(house: House) -> None:
    rewrite_catalog(house, lambda raw: raw.update(schema=SCHEMA + 1))
    before = house.read(CATALOG)
    examiner = house.environment().examiner
    for findings in (examiner.scope("system"), examiner.repair(NOTES), examine(house)):
        (found,) = findings
        assert (found.code, found.fixable) == ("catalog_schema", False)
        assert "rebuild" in (found.hint or "")
    assert house.read(CATALOG) == before


def test_an_entry_of_a_skill_that_is_not_there_is_named_and_removed(house: House) -> None:
    ghost = Entry("ghost", 4, 4, description="Boo.").to_dict()
    rewrite_catalog(house, lambda raw: raw["skills"].update(ghost=ghost))
    done = house.environment().examiner.examine_all(fix=True)
    assert [f.code for f in done.repaired] == ["catalog_entry_extra"]
    assert done.findings == ()
    assert "ghost" not in house.listed(registry=house.environment())


def test_a_vendored_directory_with_a_sidecar_of_garbage_is_left_to_its_owner(house: House) -> None:
    house.put(keys.sidecar(PLAIN), b"latest")
    house.deliver(keys.sidecar(PLAIN))
    (found,) = examine(house, PLAIN)
    assert (found.code, found.fixable) == ("sidecar_garbage", False)
    assert house.environment().examiner.repair(PLAIN) == [found]
    assert house.version("plain") == b"latest"


def test_a_lost_log_is_named(house: House) -> None:
    lost = SkillId("system", "lost")
    house.put(keys.sidecar(lost), b"6\n")
    (found,) = examine(house, lost)
    assert (found.code, found.fixable) == ("sidecar_past_log", False)
    assert "restore" in (found.hint or "")


def test_a_publish_on_its_way_is_no_disagreement(house: House) -> None:
    environment = house.environment()
    published = False

    def publish(request: Request, _: Result) -> None:
        nonlocal published
        if not published and request.op == "LIST" and request.key == keys.revisions(NOTES):
            published = True
            house.faults.on_after = lambda _request, _result: None
            house.publish("notes", "d")

    house.faults.on_after = publish
    assert environment.examiner.examine(NOTES) == []
    assert published


def test_every_code_that_was_told_is_in_the_list_of_codes(house: House) -> None:
    told = {code for _, code, _ in (*FIXABLE.values(), *UNFIXABLE.values())}
    assert told <= set(FINDINGS)
    house.put(PATH, b"by hand")
    (found,) = examine(house)
    assert found.to_dict() == {
        "code": "tree_foreign_file",
        "skill": "system/notes",
        "key": PATH,
        "detail": found.detail,
        "fixable": True,
    }


def test_an_invalid_directory_disagrees_with_nothing(house: House) -> None:
    house.put(keys.tree_file(SkillId("system", "odd"), "SKILL.md"), b"no frontmatter")
    house.put(keys.tree_file(SkillId("system", "fine"), "SKILL.md"), skill_md("fine"))
    house.registry.reconciler.run()
    assert house.environment().examiner.examine_all().findings == ()
