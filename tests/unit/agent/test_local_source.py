"""Directories as a source: what only they have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from skill_registry.agent.local import LocalSource
from skill_registry.agent.skillset import Skillset
from skill_registry.agent.source import SkillQuery
from skill_registry.errors import RegistryError, SkillInvalid, VersionNotFound
from skill_registry.spec.model import Limits


def skill(folder: Path, name: str, text: str = "one", head: str = "") -> Path:
    directory = folder / name
    directory.mkdir(parents=True, exist_ok=True)
    body = f"---\nname: {name}\ndescription: Does {text}.\n{head}---\n# {text}\n"
    (directory / "SKILL.md").write_text(body)
    return directory


@pytest.mark.parametrize(
    ("sidecar", "head", "version"),
    [
        ("4\n", "version: 9.9\n", 4),
        (None, "version: 2.3\n", "2.3"),
        ("garbage", "version: 2.3\n", "2.3"),
        ("0", "", None),
        (None, "", None),
    ],
)
def test_the_version_is_the_sidecars_else_the_frontmatters_else_none(
    tmp_path: Path, sidecar: str | None, head: str, version: object
) -> None:
    directory = skill(tmp_path, "ant", head=head)
    if sidecar is not None:
        (directory / ".version").write_text(sidecar)
    source = LocalSource(tmp_path)
    assert source.list_all().skills[0].version == version
    assert source.view_skill("ant").version == version
    assert source.check({"ant": version})["ant"].state == "current"


@pytest.mark.parametrize(
    ("sidecar", "head", "found", "missing"),
    [
        ("4", "version: 9.9\n", (4, "4"), (9, "9.9", "04", "")),
        (None, "version: 2\n", ("2", 2), ("2.0", 1, "@stable")),
        (None, "", (None,), ("None", 0, 1, "")),
    ],
)
def test_a_version_that_is_asked_for_is_the_one_that_lies_there_or_none(
    tmp_path: Path,
    sidecar: str | None,
    head: str,
    found: tuple[int | str | None, ...],
    missing: tuple[int | str, ...],
) -> None:
    directory = skill(tmp_path, "ant", head=head)
    if sidecar is not None:
        (directory / ".version").write_text(sidecar)
    source = LocalSource(tmp_path)
    for version in found:
        assert source.view_skill("ant", version=version).data == b"# one\n"
        assert source.load_skill("ant", version) is not None
    for version in missing:
        with pytest.raises(VersionNotFound):
            source.view_skill("ant", version=version)


def test_a_refusal_can_be_written_whatever_was_asked_for(tmp_path: Path) -> None:
    skill(tmp_path, "ant")
    source = LocalSource(tmp_path)
    for name, version in (("\ud800\n\0", None), ("a" * 9000, None), ("ant", "\ud800" * 9000)):
        with pytest.raises(RegistryError) as refused:
            source.view_skill(name, version=version)
        assert len(str(refused.value).encode()) < 1000
        assert "\n" not in str(refused.value)


def test_the_first_source_wins_a_name_and_the_other_is_told(tmp_path: Path) -> None:
    skill(tmp_path / "first", "agenda", "the first")
    skill(tmp_path / "second", "agenda", "the second")
    source = LocalSource(tmp_path / "first", tmp_path / "second")
    listed = source.list_all()
    assert [each.description for each in listed.skills] == ["Does the first."]
    assert [each.code for each in listed.diagnostics] == ["collision"]
    assert source.view_skill("agenda").data == b"# the first\n"


def test_a_scope_is_whose_place_it_is_and_can_be_left_out(tmp_path: Path) -> None:
    home, here = tmp_path / "home", tmp_path / "here"
    skill(home / ".agents" / "skills", "mine")
    skill(here / ".agents" / "skills", "ours")
    skill(tmp_path / "extra", "named")
    source = LocalSource(tmp_path / "extra", defaults=True, home=home, cwd=here)
    assert {each.name: each.scope for each in source.list_all().skills} == {
        "mine": "user",
        "ours": "project",
        "named": "path",
    }
    only = SkillQuery(scopes=("project",))
    assert [each.name for each in source.list_all(only).skills] == ["ours"]
    with pytest.raises(RegistryError) as refused:
        source.view_skill("mine", query=only)
    assert refused.value.code == "skill_not_found"


def test_one_bad_skill_costs_the_others_nothing_and_is_told(tmp_path: Path) -> None:
    skill(tmp_path, "good")
    (skill(tmp_path, "bad") / "SKILL.md").write_text("no frontmatter")
    listed = LocalSource(tmp_path).list_all()
    assert [each.name for each in listed.skills] == ["good"]
    assert any("bad" in str(each.file) for each in listed.diagnostics)


def test_a_strict_source_names_the_path_that_it_cannot_read(tmp_path: Path) -> None:
    skill(tmp_path, "good")
    (skill(tmp_path, "bad") / "SKILL.md").write_text("no frontmatter")
    with pytest.raises(SkillInvalid, match=r"bad/SKILL\.md"):
        LocalSource(tmp_path, strict=True).list_all()


def test_a_missing_directory_is_no_skills_and_a_warning(tmp_path: Path) -> None:
    listed = LocalSource(tmp_path / "nowhere").list_all()
    assert listed.skills == ()
    assert [each.severity.value for each in listed.diagnostics] == ["warning"]


def test_a_copy_is_what_a_publish_would_send(tmp_path: Path) -> None:
    directory = skill(tmp_path, "ant")
    for path in ("scripts/run.sh", ".git/config", "node_modules/x.js", "drafts/a", ".version"):
        target = directory / path
        target.parent.mkdir(exist_ok=True)
        target.write_text("1")
    (directory / "scripts/run.sh").chmod(0o755)
    (directory / ".gitignore").write_text("drafts/\n")
    (directory / "link").symlink_to("/etc/hostname")
    copy = LocalSource(tmp_path).load_skill("ant")
    assert copy is not None
    assert {file.path: file.mode for file in copy.files} == {
        ".gitignore": "0644",
        "SKILL.md": "0644",
        "scripts/run.sh": "0755",
    }


def test_a_loose_file_is_a_skill_of_one_file(tmp_path: Path) -> None:
    (tmp_path / "loose.md").write_text("---\nname: loose\ndescription: Alone.\n---\nBody.\n")
    source = LocalSource(tmp_path)
    copy = source.load_skill("loose")
    assert copy is not None
    assert [file.path for file in copy.files] == ["SKILL.md"]
    assert source.view_skill("loose").data == b"Body.\n"


def test_a_skill_behind_a_link_is_read(tmp_path: Path) -> None:
    real = skill(tmp_path / "store", "ant")
    (tmp_path / "seen" / "ant").mkdir(parents=True)
    (tmp_path / "seen" / "ant" / "SKILL.md").symlink_to(real / "SKILL.md")
    copy = LocalSource(tmp_path / "seen").load_skill("ant")
    assert copy is not None
    assert [file.path for file in copy.files] == ["SKILL.md"]


def test_a_skill_over_the_limits_is_listed_and_not_loaded(tmp_path: Path) -> None:
    directory = skill(tmp_path, "ant")
    for number in range(5):
        (directory / f"{number}.txt").write_text("x" * 100)
    few = LocalSource(tmp_path, limits=Limits(files=5))
    with pytest.raises(SkillInvalid) as refused:
        few.load_skill("ant")
    assert [each.code for each in refused.value.diagnostics] == ["too_many_files"]
    small = LocalSource(tmp_path, limits=Limits(total_bytes=300))
    with pytest.raises(SkillInvalid) as refused:
        small.view_skill("ant")
    assert [each.code for each in refused.value.diagnostics] == ["skill_too_large"]


def test_an_agent_that_reads_no_directory_does_not_pay_for_one() -> None:
    script = (
        "import sys, skill_registry.agent\n"
        "print(sorted({'yaml', 'frontmatter', 'pathspec', 'asyncio'} & set(sys.modules)))"
    )
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"


def test_a_skillset_over_directories_sees_an_edit_in_the_next_turn(tmp_path: Path) -> None:
    directory = skill(tmp_path / "skills", "ant", head="version: 1.1\n")
    (directory / "run.sh").write_text("#!/bin/sh\necho done\n")
    (directory / "run.sh").chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    skills = Skillset(LocalSource(tmp_path / "skills"), workspace=work)
    assert "**ant** (v:1.1): Does one." in skills.instructions()
    assert (skills.view_skill("ant").version, skills.view_skill("ant").content) == (
        "1.1",
        "# one\n",
    )
    done = subprocess.run([work / ".skills/ant/run.sh"], capture_output=True, text=True, check=True)
    assert done.stdout == "done\n"

    skill(tmp_path / "skills", "ant", "two", head="version: 1.2\n")
    assert skills.view_skill("ant").content == "# one\n"
    assert "(v:1.2): Does two." in skills.instructions()
    assert [(each.loaded, each.listed) for each in skills.stale().values()] == [("1.1", "1.2")]
    assert skills.view_skill("ant").content == "# two\n"
    assert skills.stale() == {}


def test_an_edit_without_a_new_version_reaches_the_workspace_too(tmp_path: Path) -> None:
    skill(tmp_path / "skills", "ant")
    (tmp_path / "work").mkdir()
    skills = Skillset(LocalSource(tmp_path / "skills"), workspace=tmp_path / "work")
    skills.instructions()
    assert skills.view_skill("ant").content == "# one\n"
    skill(tmp_path / "skills", "ant", "two")
    skills.instructions()
    assert skills.view_skill("ant").content == "# two\n"
