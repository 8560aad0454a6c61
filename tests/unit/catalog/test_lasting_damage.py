"""Damage that no run can mend: named, and then met again and again without a write or a claim."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from damages import CATALOG, NOTES, PLAIN, furnished, put_with_metadata_of
from house import ADMIN, House, skill_files, skill_zip, zipped

from skill_registry.errors import RevisionDamaged
from skill_registry.store import keys
from skill_registry.store.keys import SkillId

if TYPE_CHECKING:
    from collections.abc import Callable

    from skill_registry.catalog.findings import Finding
    from skill_registry.store.gate import Request, Result

LONE = SkillId("system", "lone")
UPPER = SkillId("system", "UP")
HEAD = keys.revision(NOTES, 3)


def lose_log(house: House) -> None:
    for number in (1, 2, 3):
        house.bucket.delete(keys.revision(NOTES, number))


def lose_one(house: House) -> None:
    house.bucket.delete(keys.revision(NOTES, 2))
    house.put(keys.sidecar(NOTES), b"1\n")


# Each with a code that must stay named, None where a repair mends the finding itself.
LASTING: dict[str, tuple[Callable[[House], object], str | None]] = {
    "head without metadata": (lambda h: h.put(HEAD, skill_zip("notes", "forged")), "damaged"),
    "head of other bytes": (lambda h: put_with_metadata_of(h, HEAD, b"not a zip"), "damaged"),
    "another zip next": (lambda h: h.put(keys.revision(NOTES, 4), zipped({"a": b""})), "damaged"),
    "another zip ahead": (lambda h: h.put(keys.revision(NOTES, 9), zipped({"a": b""})), "gap"),
    "a version removed, an old number stated": (
        lose_one,
        "gap",
    ),
    "a path of no skill": (lambda h: h.put(keys.tree(NOTES) + "a//b", b"x"), "unsafe"),
    "a reference alone": (lambda h: h.put(keys.tree_file(LONE, "ref.md"), b"x"), "stray"),
    "a .version alone": (lambda h: h.put(keys.sidecar(LONE), b"garbage"), "garbage"),
    "settings alone": (lambda h: h.put(keys.settings(LONE), b"on!"), None),
    "settings of no skill": (lambda h: h.put(keys.settings(UPPER), b"on!"), None),
    "a version of no skill": (lambda h: h.put(keys.revision(UPPER, 1), b"x"), "damaged"),
    "a floor to come": (lambda h: h.put(keys.settings(NOTES), b'{"prune_below": 9}'), "settings"),
    "a log that is lost": (lose_log, "log_missing"),
}


@pytest.fixture(params=[False, True], ids=["md5-etags", "opaque-etags"])
def house(request: pytest.FixtureRequest) -> House:
    """A registry that remembers what it published, over a bucket in step."""
    return furnished(opaque_etags=request.param)


def examine(house: House, skill: SkillId = NOTES) -> list[Finding]:
    return house.environment().examiner.examine(skill)


@pytest.mark.parametrize("case", LASTING)
def test_a_second_reconcile_repairs_nothing_and_says_so(house: House, case: str) -> None:
    LASTING[case][0](house)
    house.registry.reconciler.run()
    house.counter.reset()
    again = house.registry.reconciler.run()
    assert (again.repaired, again.uploads, dict(again.pruned)) == ((), (), {})
    assert house.counter.count("PUT", "DELETE") == 0


@pytest.mark.parametrize("case", LASTING)
def test_rebuild_doctor_and_reconcile_agree_on_every_entry(house: House, case: str) -> None:
    LASTING[case][0](house)
    house.registry.examiner.examine_all(fix=True)
    version = house.registry.fresh_refresher.rebuild("system").version
    catalog = house.read(CATALOG)
    house.counter.reset()
    for registry in (house.registry, house.environment()):
        registry.reconciler.run()
        assert registry.examiner.examine_all(fix=True).repaired == ()
        assert registry.fresh_refresher.rebuild("system").version == version
    assert house.counter.count("PUT", "DELETE") == 0
    assert house.read(CATALOG) == catalog


@pytest.mark.parametrize("case", LASTING)
def test_a_repair_leaves_nothing_that_it_calls_fixable(house: House, case: str) -> None:
    LASTING[case][0](house)
    done = house.environment().examiner.examine_all(fix=True)
    assert [each.code for each in done.findings if each.fixable] == []
    assert "repair_failed" not in {each.code for each in done.findings}
    named = LASTING[case][1]
    codes = " ".join(each.code for each in done.findings)
    assert codes == "" if named is None else named in codes
    assert house.environment().examiner.examine_all().findings == done.findings


def test_a_zip_without_our_metadata_is_no_version_wherever_it_lies(house: House) -> None:
    for number in (2, 3):
        house.put(keys.revision(NOTES, number), skill_zip("notes", "forged"))
    tree = house.tree("notes")
    environment = house.environment()
    for pin in (None, 2):
        with pytest.raises(RevisionDamaged):
            environment.viewing.view(ADMIN, "notes", pin=pin)
    for done in (environment.reconciler.run, environment.examiner.examine_all):
        done()
    environment.examiner.repair(NOTES)
    environment.refresher.rebuild("system")
    assert house.tree("notes") == tree
    assert house.listed(registry=house.environment()) == {"other": 1, "plain": None}
    assert [each.code for each in examine(house)] == ["revision_damaged"] * 2
    assert environment.publisher.rollback(ADMIN, NOTES, 1).info.number == 4
    assert house.tree("notes")["references/notes.md"] == b"a"


@pytest.mark.parametrize("member", ["kind", "upload-id", "sha256", "digest"])
def test_a_version_that_lost_one_of_its_proofs_is_damaged(house: House, member: str) -> None:
    info, body = house.bucket.head(HEAD), house.read(HEAD)
    assert info is not None and body is not None
    said = {key: value for key, value in info.metadata.items() if key != member}
    house.bucket.put(HEAD, body, metadata=said)
    with pytest.raises(RevisionDamaged):
        house.environment().viewing.view(ADMIN, "notes")
    (found,) = (each for each in examine(house) if each.code == "revision_damaged")
    assert f"has no {member}" in found.detail
    assert house.environment().examiner.repair(NOTES) == [found]


def test_the_mark_of_a_deletion_is_held_to_the_same(house: House) -> None:
    house.registry.publisher.delete(ADMIN, NOTES)
    put_with_metadata_of(house, keys.revision(NOTES, 4), skill_zip("notes", "forged"))
    (found,) = (each for each in examine(house) if each.code == "revision_damaged")
    assert "it is the mark of a deletion and holds 2 files" in found.detail
    with pytest.raises(RevisionDamaged):
        house.environment().viewing.view(ADMIN, "notes")
    assert house.publish("notes", "d") == 5


def test_a_zip_some_numbers_ahead_costs_nothing_until_publishes_come_to_it(house: House) -> None:
    house.put(keys.revision(NOTES, 5), zipped({"a": b"x"}))
    found = {each.code: each for each in examine(house)}
    assert set(found) == {"revision_gap", "revision_damaged"}
    assert "goes on behind it" in (found["revision_damaged"].hint or "")
    assert house.registry.viewing.view(ADMIN, "notes").loaded.version == 3
    assert [house.publish("notes", text) for text in "de"] == [4, 6]
    assert house.listed(registry=house.environment())["notes"] == 6


def test_a_sidecar_past_the_log_says_what_becomes_of_its_number(house: House) -> None:
    house.bucket.delete(HEAD)
    found = {each.code: each for each in examine(house)}
    assert found["sidecar_past_log"].fixable
    assert "may have been removed; the next publish takes its number again" in (
        found["sidecar_past_log"].detail
    )
    assert house.environment().publisher.rollback(ADMIN, NOTES, 1).info.number == 3


def test_a_lost_log_is_named_for_as_long_as_the_tree_shows_it(house: House) -> None:
    lose_log(house)
    found = {each.code: each for each in examine(house)}
    assert set(found) == {"log_missing", "catalog_entry_stale"}
    assert "the catalog lists version 3" in found["log_missing"].detail
    (left,) = house.environment().examiner.repair(NOTES)
    assert (left.code, left.fixable) == ("log_missing", False)
    assert "publishes wrote its files up to version 3" in left.detail
    house.put(keys.settings(NOTES), b'{"labels": {"stable": 2}}')
    house.bucket.delete(keys.sidecar(NOTES))
    house.deliver(keys.settings(NOTES))
    codes = {each.code for each in examine(house)}
    assert codes == {"log_missing", "label_dangling"}


def test_a_directory_with_a_number_of_its_own_never_had_a_log(house: House) -> None:
    house.put(keys.sidecar(PLAIN), b"4\n")
    house.deliver(keys.sidecar(PLAIN))
    assert examine(house, PLAIN) == []


def test_files_without_a_skill_md_are_named_one_by_one(house: House) -> None:
    for path in ("ref.md", "deep/er.md"):
        house.put(keys.tree_file(LONE, path), b"x")
    found = house.environment().examiner.examine_all().findings
    assert {(each.code, each.key) for each in found} == {
        ("stray_object", "skills/system/lone/ref.md"),
        ("stray_object", "skills/system/lone/deep/er.md"),
    }
    for file in skill_files("lone"):
        house.put(keys.tree_file(LONE, file.path), file.data)
    house.deliver(keys.tree_file(LONE, "SKILL.md"))
    assert house.environment().examiner.examine_all().findings == ()


def test_a_name_that_cannot_be_published_is_not_told_to_be(house: House) -> None:
    house.put(keys.revision(UPPER, 1), b"not a zip")
    house.put(keys.sidecar(SkillId("system", "UP-two")), b"garbage")
    house.put(keys.sidecar(SkillId("system", "UP-three")), b"7\n")
    house.registry.reconciler.run()
    done = house.environment().examiner.examine_all()
    codes = {each.code for each in done.findings}
    assert codes == {"revision_damaged", "sidecar_garbage", "sidecar_past_log"}
    told = " ".join(f"{each.detail} {each.hint}" for each in done.findings)
    told += " ".join(each.message for each in house.environment().listing.page(ADMIN).diagnostics)
    assert "ublish it again" not in told and "ublish the skill" not in told
    assert "A publish" not in told


def test_a_repair_that_mended_nothing_says_so(house: House) -> None:
    house.put(keys.sidecar(NOTES), b"1\n")

    def again(request: Request, _: Result) -> None:
        if request.op == "LIST" and request.key == keys.revisions(NOTES):
            house.put(keys.sidecar(NOTES), b"1\n")

    house.faults.on_after = again
    left = house.environment().examiner.repair(NOTES)
    assert "repair_failed" in {each.code for each in left}


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (keys.revisions(NOTES) + "abc.zip", "policy lets nobody remove it"),
        (keys.tree(NOTES) + "a//b", "may stay or be deleted"),
        ("registry/system/notes/other.json", "policy lets nobody remove it"),
        ("skills/readme.md", "may stay or be deleted"),
        ("uploads/x", "lets it expire"),
    ],
)
def test_a_hint_names_only_what_an_operator_can_do(house: House, key: str, words: str) -> None:
    house.bucket.put(key, b"x")
    (found,) = house.environment().examiner.examine_all().findings
    assert words in (found.hint or "")
