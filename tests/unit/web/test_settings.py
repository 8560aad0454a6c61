"""Settings: the environment, read lazily, with one sentence for what is wrong in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from house import ADMIN, skill_md

from skill_registry.errors import SkillInvalid
from skill_registry.store.directory import DirectorySkillStore
from skill_registry.web.environment import make_store, open_registry
from skill_registry.web.settings import Settings, SettingsError


def test_an_unset_or_empty_variable_leaves_its_default() -> None:
    assert Settings.read({}) == Settings.read({"CATALOG_MAX_AGE": " ", "MAX_FILES": ""})


def test_every_kind_of_value_is_read() -> None:
    settings = Settings.read(
        {
            "REGISTRY_BUCKET": "b",
            "REGISTRY_ADMINISTRATORS": "arn:a, arn:b,",
            "CATALOG_MAX_AGE": "60",
            "SKILLS_STRICT": "true",
            "SKILLS_DIR": "other",
            "MAX_SKILL_BYTES": "1000",
        }
    )
    assert settings.registry_administrators == ("arn:a", "arn:b")
    assert (settings.catalog_max_age, settings.skills_strict) == (60, True)
    assert settings.skills_dir == Path("other")
    assert (settings.limits.total_bytes, settings.limits.file_bytes) == (1000, 1000)


@pytest.mark.parametrize(("name", "text"), [("CATALOG_MAX_AGE", "-1"), ("MAX_FILES", "many")])
def test_what_is_no_whole_number_is_named(name: str, text: str) -> None:
    with pytest.raises(SettingsError, match=name):
        Settings.read({name: text})


def test_a_download_link_lives_five_minutes_at_most() -> None:
    with pytest.raises(SettingsError, match="BUNDLE_EXPIRES"):
        Settings.read({"BUNDLE_EXPIRES": "301"})


def test_without_a_bucket_the_skills_directory_is_the_store(tmp_path: Path) -> None:
    environ = {"SKILLS_DIR": str(tmp_path)}
    assert isinstance(make_store(Settings.read(environ), environ), DirectorySkillStore)


def test_a_registry_over_a_directory_lists_what_lies_in_it(tmp_path: Path) -> None:
    for name in ("alpha", "beta"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "SKILL.md").write_bytes(skill_md(name, version="1.2"))
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "SKILL.md").write_text("no frontmatter")
    page = open_registry({"SKILLS_DIR": str(tmp_path)}).listing.page(ADMIN)
    assert [(x.entry.name, x.entry.version) for x in page.skills] == [
        ("alpha", "1.2"),
        ("beta", "1.2"),
    ]
    assert [d.code for d in page.diagnostics] == ["skill_unreadable"]


def test_a_strict_directory_refuses_to_open_and_names_the_path(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "SKILL.md").write_text("no frontmatter")
    with pytest.raises(SkillInvalid, match=r"broken/SKILL\.md"):
        open_registry({"SKILLS_DIR": str(tmp_path), "SKILLS_STRICT": "1"})


def test_a_missing_directory_is_an_empty_registry(tmp_path: Path) -> None:
    registry = open_registry({"SKILLS_DIR": str(tmp_path / "nothing")})
    assert registry.listing.page(ADMIN).skills == ()
    assert not (tmp_path / "nothing").exists()
