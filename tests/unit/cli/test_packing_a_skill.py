"""What a directory or a zip file becomes before it is sent."""

from __future__ import annotations

import io
import os
import unicodedata
import zipfile
from pathlib import Path

import pytest
from house import skill_zip, zipped

from skill_registry.agent.packing import Packed, pack, target_name
from skill_registry.errors import SkillInvalid
from skill_registry.spec.archive import read_archive, read_revision
from skill_registry.spec.model import MOST_BYTES, MOST_FILES

SKILL = "---\nname: notes\ndescription: Does one thing.\n---\nDo it.\n"


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    root = tmp_path / "notes"
    _write(root, {"SKILL.md": SKILL})
    return root


def _write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def _codes(packed: Packed) -> list[tuple[str, str | None]]:
    return [(each.code, each.file) for each in packed.diagnostics]


def _refused(root: Path) -> list[tuple[str, str | None]]:
    with pytest.raises(SkillInvalid) as refused:
        pack(root)
    return [(each.code, each.file) for each in refused.value.diagnostics]


def test_every_file_is_packed_byte_for_byte_in_order(skill: Path) -> None:
    _write(skill, {"references/b.md": "b", "references/a.md": "a", "z": "", ".hidden": "h"})
    (skill / "empty").mkdir()
    packed = pack(skill)
    files = {file.path: file.data for file in read_revision(packed.archive)}
    assert packed.name == "notes"
    assert files == {
        ".hidden": b"h",
        "SKILL.md": SKILL.encode(),
        "references/a.md": b"a",
        "references/b.md": b"b",
        "z": b"",
    }
    assert list(packed.files) == sorted(files)
    assert packed.diagnostics == ()


def test_equal_directories_give_equal_archives(skill: Path, tmp_path: Path) -> None:
    _write(skill, {"a": "1", "b/c": "2"})
    twin = tmp_path / "twin"
    _write(twin, {"b/c": "2", "a": "1", "SKILL.md": SKILL})
    os.utime(twin / "a", (0, 0))
    assert pack(skill).archive == pack(twin).archive


def test_ignore_files_of_every_level_are_honoured(skill: Path) -> None:
    _write(
        skill,
        {
            ".gitignore": "*.log\n/build/\n",
            "a.log": "",
            "build/out": "",
            "sub/.gitignore": "!keep.log\nsecret\n",
            "sub/keep.log": "",
            "sub/other.log": "",
            "sub/secret": "",
            "secret": "",
        },
    )
    assert pack(skill).files == (
        ".gitignore",
        "SKILL.md",
        "secret",
        "sub/.gitignore",
        "sub/keep.log",
    )


def test_dot_ignore_outweighs_a_gitignore_beside_it(skill: Path) -> None:
    _write(skill, {".gitignore": "drafts\n", ".ignore": "!drafts\nold\n", "drafts": "", "old": ""})
    assert "drafts" in pack(skill).files
    assert "old" not in pack(skill).files


def test_what_lies_in_an_ignored_directory_cannot_be_taken_back(skill: Path) -> None:
    _write(skill, {".gitignore": "out/\n!out/keep\n", "out/keep": "", "out/.gitignore": "!keep"})
    assert pack(skill).files == (".gitignore", "SKILL.md")


def test_a_pattern_that_is_none_is_reported_with_its_line(skill: Path) -> None:
    _write(skill, {".gitignore": "a\n!\n"})
    assert _codes(pack(skill)) == [("ignore_pattern_invalid", ".gitignore")]
    assert pack(skill).diagnostics[0].line == 2


@pytest.mark.parametrize("name", [".git", "node_modules", "__pycache__", ".DS_Store"])
def test_what_no_author_means_is_never_packed(name: str, skill: Path) -> None:
    _write(skill, {".gitignore": f"!{name}\n", f"{name}/x": "", f"sub/{name}/x": "", "sub/y": ""})
    assert pack(skill).files == (".gitignore", "SKILL.md", "sub/y")


def test_the_version_sidecar_is_left_out_at_every_depth(skill: Path) -> None:
    _write(skill, {".version": "6\n", "assets/.version": "1.2", "assets/x": ""})
    assert pack(skill).files == ("SKILL.md", "assets/x")


def test_links_are_not_followed_and_are_reported(skill: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("s")
    (skill / "folder").symlink_to(tmp_path / "outside")
    (skill / "file").symlink_to(tmp_path / "outside/secret")
    (skill / "broken").symlink_to("nowhere")
    (skill / "loop").symlink_to(".")
    packed = pack(skill)
    assert packed.files == ("SKILL.md",)
    names = ["broken", "file", "folder", "loop"]
    assert _codes(packed) == [("link_skipped", name) for name in names]


def test_an_ignored_link_is_not_worth_a_word(skill: Path) -> None:
    _write(skill, {".gitignore": "current\n"})
    (skill / "current").symlink_to(".")
    assert pack(skill).diagnostics == ()


def test_an_ignore_file_that_is_a_link_does_not_count(skill: Path, tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("*\n")
    (skill / ".gitignore").symlink_to(tmp_path / "rules")
    assert pack(skill).files == ("SKILL.md",)
    assert _codes(pack(skill)) == [("link_skipped", ".gitignore")]


def test_a_link_to_the_directory_itself_may_be_pushed(skill: Path, tmp_path: Path) -> None:
    (skill / "SKILL.md").write_text("no frontmatter")
    (tmp_path / "link").symlink_to(skill)
    assert pack(tmp_path / "link").name == "notes"


def test_a_pipe_is_left_out_and_reported(skill: Path) -> None:
    os.mkfifo(skill / "pipe")
    assert _codes(pack(skill)) == [("special_file_skipped", "pipe")]


def test_the_executable_bit_is_kept(skill: Path) -> None:
    _write(skill, {"scripts/run.sh": "#!/bin/sh\n", "scripts/lib.sh": ""})
    (skill / "scripts/run.sh").chmod(0o750)
    (skill / "scripts/lib.sh").chmod(0o640)
    modes = {file.path: file.mode for file in read_archive(pack(skill).archive).files}
    assert modes == {"SKILL.md": "0644", "scripts/lib.sh": "0644", "scripts/run.sh": "0755"}


def test_a_name_is_brought_to_form_c(skill: Path) -> None:
    composed = "für.md"
    _write(skill, {unicodedata.normalize("NFD", composed): ""})
    assert pack(skill).files == ("SKILL.md", composed)


def test_two_spellings_of_one_name_are_refused(skill: Path) -> None:
    composed = "für.md"
    _write(skill, {unicodedata.normalize("NFD", composed): "", composed: ""})
    if len(list(skill.iterdir())) == 3:  # file systems of macOS take both for the same
        assert _refused(skill) == [("path_collision", composed)]


def test_a_name_that_is_no_utf8_is_refused(skill: Path) -> None:
    Path(os.fsdecode(os.fsencode(skill) + b"/caf\xe9")).write_text("")
    assert _refused(skill) == [("path_not_utf8", "caf\\udce9")]


@pytest.mark.parametrize("name", [".gitignore", ".ignore"])
def test_a_skill_that_ignores_its_own_skill_md_is_refused(name: str, skill: Path) -> None:
    _write(skill, {name: "*\n"})
    with pytest.raises(SkillInvalid) as refused:
        pack(skill)
    (found,) = refused.value.diagnostics
    assert (found.code, found.file) == ("skill_md_ignored", "SKILL.md")
    assert found.hint is not None
    assert "!SKILL.md" in found.hint
    _write(skill, {name: "*\n!SKILL.md\n"})
    assert pack(skill).files == ("SKILL.md",)


def test_a_directory_without_skill_md_names_the_skills_in_it(tmp_path: Path) -> None:
    _write(tmp_path, {"one/SKILL.md": SKILL, "two/SKILL.md": SKILL, "x": ""})
    with pytest.raises(SkillInvalid) as refused:
        pack(tmp_path)
    (found,) = refused.value.diagnostics
    assert found.code == "skill_md_missing"
    assert found.hint is not None
    assert f"{tmp_path / 'one'}, {tmp_path / 'two'}" in found.hint


def test_a_skill_md_that_is_a_link_or_a_directory_is_refused(tmp_path: Path) -> None:
    _write(tmp_path, {"text": SKILL, "linked/x": "", "folder/SKILL.md/x": ""})
    (tmp_path / "linked/SKILL.md").symlink_to(tmp_path / "text")
    for name in ("linked", "folder"):
        assert _refused(tmp_path / name) == [("skill_md_missing", "SKILL.md")]


def test_another_spelling_of_skill_md_is_sent_as_it_is(tmp_path: Path) -> None:
    _write(tmp_path / "notes", {"skill.md": SKILL})
    assert pack(tmp_path / "notes").files == ("skill.md",)


def test_a_directory_larger_than_any_skill_is_refused_without_reading_it(skill: Path) -> None:
    (skill / "huge").touch()
    os.truncate(skill / "huge", MOST_BYTES)
    assert _refused(skill) == [("skill_too_large", None)]


def test_a_directory_of_more_files_than_any_skill_is_refused(skill: Path) -> None:
    for number in range(MOST_FILES):
        os.link(skill / "SKILL.md", skill / f"f{number}")
    assert _refused(skill) == [("too_many_files", None)]


@pytest.mark.parametrize(
    ("skill_md", "fallback", "name"),
    [
        ("---\nname: notes\n---\n", "directory", "notes"),
        ("---\nname: notes\ndescription: a: b\n---\n", "directory", "notes"),
        ("---\nname: Bad Name\n---\n", "directory", "directory"),
        ("---\nname: Bad Name\n---\n", "Bad_Directory", "bad-name"),
        ("---\nname: [a]\n---\n", "directory", "directory"),
        ("---\ndescription: d\n---\n", "directory", "directory"),
        ("no frontmatter", "directory", "directory"),
        ("", "My Skill (1)", "my-skill-1"),
        ("", "!!!", "skill"),
    ],
)
def test_the_skill_is_named_by_its_frontmatter_else_by_its_place(
    skill_md: str, fallback: str, name: str
) -> None:
    assert target_name(skill_md.encode(), fallback) == name


def test_a_zip_file_is_taken_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.zip"
    for data in (
        skill_zip("notes"),
        zipped({"folder/SKILL.md": SKILL.encode(), "folder/a": b""}),
        zipped({"skill.md": SKILL.encode()}),
    ):
        path.write_bytes(data)
        packed = pack(path)
        assert (packed.name, packed.archive, packed.files) == ("notes", data, ())


def test_a_zip_file_that_nobody_can_name_goes_by_its_own_name(tmp_path: Path) -> None:
    path = tmp_path / "some-skill.zip"
    path.write_bytes(zipped({"a/b/SKILL.md": SKILL.encode()}))
    assert pack(path).name == "some-skill"


def test_a_file_that_is_no_zip_is_refused(tmp_path: Path) -> None:
    whole = skill_zip("notes")
    for data in (b"", b"text", whole[:-30]):
        (tmp_path / "x.zip").write_bytes(data)
        assert _refused(tmp_path / "x.zip") == [("archive_invalid", None)]


def test_a_zip_file_whose_skill_md_cannot_be_unpacked_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("SKILL.md", SKILL)
    damaged = buffer.getvalue().replace(b"Do it.", b"Do not")
    (tmp_path / "x.zip").write_bytes(damaged)
    assert _refused(tmp_path / "x.zip") == [("archive_invalid", None)]


def test_real_skills_arrive_as_they_lie_there(corpus: Path | None, skill: Path) -> None:
    entries = sorted(corpus.rglob("SKILL.md")) if corpus else [skill / "SKILL.md"]
    for entry in entries:
        packed = pack(entry.parent)
        files = read_revision(packed.archive)
        assert tuple(file.path for file in files) == packed.files
        for file in files:
            assert (entry.parent / file.path).read_bytes() == file.data
