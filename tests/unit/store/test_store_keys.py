"""The key layout: what is spelled is read back, and nothing else is."""

from __future__ import annotations

import pytest

from skill_registry.store import keys
from skill_registry.store.keys import SkillId, UploadId

SKILL = SkillId("team-web", "pdf-tools")
PRINCIPAL = "0123456789abcdef0123456789abcdef"


def test_the_layout_is_the_agreed_one() -> None:
    assert keys.tree(SKILL) == "skills/team-web/pdf-tools/"
    assert keys.tree_file(SKILL, "a/b.md") == "skills/team-web/pdf-tools/a/b.md"
    assert keys.sidecar(SKILL) == "skills/team-web/pdf-tools/.version"
    assert keys.revision(SKILL, 6) == "registry/team-web/pdf-tools/revisions/00000006.zip"
    assert keys.settings(SKILL) == "registry/team-web/pdf-tools/settings.json"
    assert keys.snapshot(SKILL, "f00") == "registry/team-web/pdf-tools/snapshots/f00.zip"
    assert keys.catalog("system") == "registry/system/catalog.json.gz"
    assert keys.scope_tree("system") == "skills/system/"
    assert keys.scope_records("system") == "registry/system/"


@pytest.mark.parametrize("number", [1, 42, 99_999_999, 100_000_000, 10**12])
def test_a_revision_number_survives_its_key(number: int) -> None:
    assert keys.revision_number(keys.revision(SKILL, number)) == number


def test_byte_order_of_revisions_is_number_order() -> None:
    numbers = [1, 2, 9, 10, 99, 100, 12_345_678, 99_999_999]
    spelled = [keys.revision(SKILL, number) for number in numbers]
    assert sorted(spelled, key=str.encode) == spelled


@pytest.mark.parametrize(
    "key",
    [
        "registry/s/n/revisions/6.zip",
        "registry/s/n/revisions/0000006.zip",
        "registry/s/n/revisions/00000006.zip.bak",
        "registry/s/n/revisions/x00000006.zip",
        "registry/s/n/snapshots/00000006.zip",
        "registry/s/n/revisions/",
        "00000006.zip",
    ],
)
def test_a_key_that_is_no_revision_has_no_number(key: str) -> None:
    assert keys.revision_number(key) is None


@pytest.mark.parametrize(
    "key",
    [
        keys.tree_file(SKILL, "SKILL.md"),
        keys.tree_file(SKILL, "references/deep/x.md"),
        keys.sidecar(SKILL),
        keys.settings(SKILL),
        keys.revision(SKILL, 6),
    ],
)
def test_a_key_of_a_skills_state_names_the_skill(key: str) -> None:
    assert keys.parse_skill(key) == SKILL


@pytest.mark.parametrize(
    "key",
    [
        keys.catalog("team-web"),
        keys.snapshot(SKILL, "f00"),
        keys.upload(UploadId(PRINCIPAL, "id")),
        "registry/access.json",
        "skills/team-web/README.md",
        "skills/team-web",
        "skills//pdf-tools/SKILL.md",
        "skills/team-web//SKILL.md",
        "registry/team-web/pdf-tools/revisions/deep/00000006.zip",
        "other/team-web/pdf-tools/SKILL.md",
        "",
    ],
)
def test_a_key_of_something_derived_names_no_skill(key: str) -> None:
    assert keys.parse_skill(key) is None


@pytest.mark.parametrize("name", ["id", "A_b-9", "x" * 64])
def test_an_upload_survives_its_key(name: str) -> None:
    upload = UploadId(PRINCIPAL, name)
    assert keys.parse_upload(keys.upload(upload)) == upload


@pytest.mark.parametrize(
    "key",
    [
        keys.outcome(UploadId(PRINCIPAL, "id")),
        f"uploads/{PRINCIPAL}/a/b.zip",
        f"uploads/{PRINCIPAL}/.zip",
        f"uploads/{PRINCIPAL}/{'x' * 65}.zip",
        f"uploads/{PRINCIPAL}/../x.zip",
        f"uploads/{PRINCIPAL.upper()}/id.zip",
        f"uploads/{PRINCIPAL[1:]}/id.zip",
        f"x/uploads/{PRINCIPAL}/id.zip",
        f"uploads/{PRINCIPAL}/id.zip\n",
        "",
    ],
)
def test_a_key_that_is_no_upload_names_none(key: str) -> None:
    assert keys.parse_upload(key) is None
