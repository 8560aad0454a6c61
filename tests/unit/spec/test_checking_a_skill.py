"""The strict door and the tolerant one, beyond what one text shows."""

from __future__ import annotations

import json

import pytest

from skill_registry.spec.archive import ArchiveContents
from skill_registry.spec.diagnostics import error
from skill_registry.spec.layout import arrange
from skill_registry.spec.model import Limits, Severity, SkillFile, has_errors
from skill_registry.spec.validation import check_contents, check_skill, read_skill

_TEXT = b"---\nname: bean-pots\ndescription: Grows beans.\n---\nWater.\n"
_SKILL_MD = SkillFile("SKILL.md", _TEXT)


def test_a_sound_skill_has_its_metadata_and_no_diagnostics() -> None:
    report = check_skill([_SKILL_MD], name="bean-pots")
    assert report.ok
    assert report.meta is not None
    assert (report.meta.name, report.meta.description) == ("bean-pots", "Grows beans.")


def test_another_name_than_the_published_one_is_refused_with_both() -> None:
    report = check_skill([_SKILL_MD], name="pea-pots")
    (found,) = report.diagnostics
    assert (found.code, found.line, found.column) == ("name_mismatch", 2, 1)
    assert "bean-pots" in found.message
    assert "pea-pots" in found.message
    assert report.meta is None


def test_the_published_name_is_checked_too() -> None:
    codes = [found.code for found in check_skill([_SKILL_MD], name="Pea Pots").diagnostics]
    assert codes == ["name_characters", "name_mismatch"]
    assert [found.code for found in check_skill([], name="Pea Pots").diagnostics] == [
        "skill_md_missing",
        "name_characters",
    ]


def test_a_store_lists_a_skill_under_its_directory() -> None:
    report = read_skill(_TEXT, directory="pea-pots")
    assert report.meta is not None
    assert report.meta.name == "pea-pots"
    assert [found.severity for found in report.diagnostics] == [Severity.WARNING]


def test_files_and_text_are_judged_in_one_answer() -> None:
    files = [
        SkillFile("SKILL.md", b"---\nname: Bean\nagents: []\n---\n"),
        SkillFile("../x", b""),
        SkillFile("a.md", b"12345"),
        SkillFile("A.md", b"1234567"),
    ]
    report = check_skill(files, name=None, limits=Limits(files=3, file_bytes=6, total_bytes=10))
    assert sorted({found.code for found in report.diagnostics}) == [
        "agents_invalid",
        "body_empty",
        "description_missing",
        "file_too_large",
        "name_characters",
        "path_collision",
        "path_traversal",
        "skill_too_large",
        "too_many_files",
    ]
    by_code = {found.code: found for found in report.diagnostics}
    assert (by_code["too_many_files"].limit, by_code["too_many_files"].actual) == (3, 4)


def test_a_version_sidecar_among_the_files_is_passed_over() -> None:
    assert check_skill([_SKILL_MD, SkillFile(".version", b"99")], name=None).diagnostics == ()


def test_an_agent_that_nobody_knows_is_a_warning() -> None:
    text = _TEXT.replace(b"---\nWater", b"agents: [review, somehost]\n---\nWater")
    files = [SkillFile("SKILL.md", text)]
    report = check_skill(files, name=None, known_agents={"review"})
    (found,) = report.diagnostics
    assert (found.code, found.severity) == ("agents_unknown", Severity.WARNING)
    assert "somehost" in found.message
    assert check_skill(files, name=None).diagnostics == ()


def test_a_file_limit_names_the_file_and_both_numbers() -> None:
    files = [_SKILL_MD, SkillFile("a.bin", bytes(len(_TEXT) + 1))]
    report = check_skill(files, name=None, limits=Limits(file_bytes=len(_TEXT)))
    (found,) = report.diagnostics
    assert (found.code, found.file) == ("file_too_large", "a.bin")
    assert (found.limit, found.actual) == (len(_TEXT), len(_TEXT) + 1)


def test_a_skill_md_of_twelve_mebibytes_names_its_limits_and_its_size() -> None:
    data = _TEXT + b"x" * (12 * 1024 * 1024)
    report = check_skill([SkillFile("SKILL.md", data)], name=None)
    assert [(found.code, found.limit, found.actual) for found in report.diagnostics] == [
        ("file_too_large", 10 * 1024 * 1024, len(data)),
        ("skill_md_too_large", 512 * 1024, len(data)),
    ]


def test_files_sent_one_by_one_are_arranged_like_an_archive() -> None:
    contents = arrange(
        [
            SkillFile("skill.md", _TEXT),
            SkillFile(".version", b"99"),
            SkillFile(".DS_Store", b""),
            SkillFile("a/../../x", b""),
        ]
    )
    assert [file.path for file in contents.files] == ["SKILL.md"]
    assert [found.code for found in contents.diagnostics] == [
        "file_ignored",
        "path_traversal",
        "skill_md_renamed",
    ]


def test_what_an_upload_and_its_skill_break_is_named_once() -> None:
    missing = ArchiveContents((), (error("skill_md_missing", "There is none."),))
    assert check_contents(missing, name="x").diagnostics == missing.diagnostics
    twice = ArchiveContents((_SKILL_MD,), check_skill([_SKILL_MD], name="x").diagnostics)
    assert len(check_contents(twice, name="x").diagnostics) == 1


def test_a_thousand_breaches_make_a_small_answer() -> None:
    files = [_SKILL_MD, *(SkillFile(f"../{'x' * 5_000}{n}", b"") for n in range(1_000))]
    report = check_skill(files, name=None)
    assert has_errors(report.diagnostics)
    assert len(json.dumps([found.to_dict() for found in report.diagnostics])) < 200_000
    assert "more." in " ".join(found.message for found in report.diagnostics)


@pytest.mark.parametrize(
    "line", ["disable-model-invocation: true", "agents: [a]", "owner: {a: [b]}"]
)
def test_metadata_can_be_written_as_json(line: str) -> None:
    text = _TEXT.replace(b"---\nWater", line.encode() + b"\n---\nWater")
    meta = read_skill(text, directory="bean-pots").meta
    assert meta is not None
    json.dumps([dict(meta.metadata), dict(meta.extra), meta.disable_model_invocation])
