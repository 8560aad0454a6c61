"""What upstreams hold that a skill cannot, archives that are not whole, and git's own settings."""

from __future__ import annotations

import io
import subprocess
import zipfile
from pathlib import Path

import pytest
from command_line import Capture, Run
from git_repositories import Link, Repository, Submodule
from synced_trees import Place, skill_md

from skill_registry_cli.vendoring.archives import RepositoryArchive
from skill_registry_cli.vendoring.problems import VendoringRefused

COMMIT = "ab" * 20
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"


@pytest.fixture
def upstream(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "upstream")
    repository.commit({"LICENSE": "MIT\n", "skills/alpha/SKILL.md": skill_md("alpha")})
    return repository


@pytest.fixture
def place(upstream: Repository, tmp_path: Path) -> Place:
    place = Place(tmp_path / "skills", upstream.url, "file", None)
    place.write("alpha")
    return place


def warned(run: Run) -> list[tuple[str, str]]:
    assert run.code == 0, run.err
    return [(each["code"], each["file"]) for each in run.document()["warnings"]]


def test_what_is_no_part_of_a_skill_is_told_and_left_out(
    place: Place, upstream: Repository, capsysbinary: Capture
) -> None:
    upstream.commit(
        {
            "skills/alpha/node_modules/a/m.js": "x",
            "skills/alpha/node_modules/b/m.js": "x",
            "skills/alpha/node_modules/.bin/m": Link("../a/m.js"),
            "skills/alpha/scripts/__pycache__/m.pyc": "x",
            "skills/alpha/.version": "7",
            "skills/alpha/vendored": Submodule(COMMIT),
            "other/node_modules/m.js": "x",
            "other/vendored": Submodule(COMMIT),
        }
    )
    assert warned(place.sync(capsysbinary, "--json")) == [
        ("file_left_out", "kit: skills/alpha/.version"),
        ("file_left_out", "kit: skills/alpha/node_modules"),
        ("file_left_out", "kit: skills/alpha/scripts/__pycache__"),
        ("file_left_out", "kit: skills/alpha/vendored"),
    ]
    assert {path.name for path in (place.root / "alpha").iterdir()} == {"SKILL.md", "LICENSE"}


def test_a_pointer_of_git_lfs_is_told_and_kept(
    place: Place, upstream: Repository, capsysbinary: Capture
) -> None:
    upstream.commit({"skills/alpha/model.bin": POINTER})
    assert warned(place.sync(capsysbinary, "--json")) == [
        ("lfs_pointer", "kit: skills/alpha/model.bin")
    ]
    assert (place.root / "alpha/model.bin").read_text() == POINTER


@pytest.mark.parametrize(
    ("name", "is_licence"),
    [
        ("LICENSE-MIT", True),
        ("licence.md", True),
        ("COPYING", True),
        ("LICENSE-APACHE-2.0.txt", True),
        ("UNLICENSE", True),
        ("LICENSE-BSD-3-Clause", True),
        ("LICENSE.GPLv3", True),
        ("COPYING.LESSER", True),
        ("license-cc_by-sa-4.0.md", True),
        ("license-mit-checker.py", False),
        ("LICENSE-MIT.py", False),
        ("license.mitre.md", False),
        ("license-checker.py", False),
        ("copying-files.md", False),
        ("LICENSES.md", False),
    ],
)
def test_a_licence_is_known_by_its_whole_name(
    place: Place, upstream: Repository, capsysbinary: Capture, name: str, is_licence: bool
) -> None:
    upstream.commit({f"skills/alpha/{name}": "Words\n"})
    assert warned(place.sync(capsysbinary, "--json")) == []
    assert (place.root / "alpha/LICENSE").exists() is not is_licence


def test_a_path_that_is_not_utf8_is_refused_by_its_bytes(
    place: Place, upstream: Repository, capsysbinary: Capture
) -> None:
    upstream.commit({"skills/alpha/\udcff\udcfe": "x"})
    run = place.sync(capsysbinary)
    assert (run.code, run.err.split(":")[0]) == (1, "skill_unusable")
    assert "skills/alpha/\\xff\\xfe" in run.err
    assert not (place.root / "alpha").exists()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("*.md eol=crlf", True),
        ("*.md ident", True),
        ("*.bin filter=lfs -text", True),
        ("*.txt working-tree-encoding=UTF-16", True),
        ("a#b eol=crlf", True),
        ("# *.md ident", False),
        ("*.md identical", False),
        ("* text=auto", False),
        ("*.md text eol=lf -ident", False),
    ],
)
def test_attributes_that_change_bytes_are_told(
    place: Place, upstream: Repository, capsysbinary: Capture, line: str, told: bool
) -> None:
    upstream.commit({".gitattributes": f"{line}\n"})
    found = warned(place.sync(capsysbinary, "--json"))
    assert found == ([("attributes_change_files", "kit: .gitattributes")] if told else [])


def test_settings_of_the_user_do_not_change_the_upstreams_bytes(
    place: Place,
    upstream: Repository,
    capsysbinary: Capture,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    attributes = tmp_path / "attributes"
    attributes.write_text("* text eol=crlf\n")
    (tmp_path / ".gitconfig").write_text(
        f"[core]\n\tautocrlf = true\n\teol = crlf\n\tattributesFile = {attributes}\n"
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    assert place.sync(capsysbinary).code == 0
    assert b"\r" not in (place.root / "alpha/SKILL.md").read_bytes()
    assert (place.root / "alpha/LICENSE").read_bytes() == b"MIT\n"


def test_filters_of_the_user_do_not_run(
    place: Place,
    upstream: Repository,
    capsysbinary: Capture,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Git LFS sets up one like the first; the name of the other is as odd as git allows.
    (tmp_path / ".gitconfig").write_text(
        '[filter "lfs"]\n\tsmudge = tr a-z A-Z\n\tprocess = false\n\trequired = true\n'
        '[filter "o=d.d"]\n\tsmudge = tr a-z A-Z\n\trequired = true\n'
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    attributes = "*.bin filter=lfs\n*.txt filter=o=d.d\n"
    upstream.commit(
        {
            ".gitattributes": attributes,
            "skills/alpha/a.bin": POINTER,
            "skills/alpha/a.txt": "words\n",
        }
    )
    assert place.sync(capsysbinary).code == 0
    assert (place.root / "alpha/a.bin").read_text() == POINTER
    assert (place.root / "alpha/a.txt").read_text() == "words\n"


def test_objects_that_stand_in_for_others_on_this_machine_are_not_taken(
    place: Place, upstream: Repository, capsysbinary: Capture
) -> None:
    before = upstream.commit({"skills/alpha/a.md": "before\n"})
    after = upstream.commit({"skills/alpha/a.md": "after\n"})
    objects = (f"{after}:skills", f"{before}:skills")
    subprocess.run(["git", "-C", upstream.folder, "replace", *objects], check=True)
    assert place.sync(capsysbinary).code == 0
    assert (place.root / "alpha/a.md").read_text() == "after\n"


def test_variables_of_git_name_no_other_repository(
    place: Place,
    upstream: Repository,
    capsysbinary: Capture,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = Repository(tmp_path / "other")
    other.commit({"README.md": "Nothing.\n"})
    monkeypatch.setenv("GIT_DIR", str(other.folder))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.autocrlf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "nonsense")
    assert place.sync(capsysbinary).code == 0
    assert (place.root / "alpha/LICENSE").read_bytes() == b"MIT\n"


def test_a_directory_inside_a_repository_is_none(
    place: Place, upstream: Repository, capsysbinary: Capture, tmp_path: Path
) -> None:
    # A colon would end one path and begin another in lists of git.
    clone = tmp_path / "a:b" / "clone"
    subprocess.run(["git", "clone", "-q", upstream.folder, clone], check=True)
    link, loop = tmp_path / "link", tmp_path / "loop"
    link.symlink_to(clone / "skills")
    loop.symlink_to(loop)
    below = (clone / "skills", clone / "skills/alpha", upstream.folder / "objects")
    for inner in (*below, link, loop):
        manifest = place.manifest.replace(upstream.url, inner.as_uri())
        (place.root / "manifest.yaml").write_text(manifest)
        run = place.sync(capsysbinary)
        assert (run.code, run.err.split(":")[0]) == (1, "upstream_not_found")
        place.write("alpha")
    for top in (clone, clone / ".git"):
        manifest = place.manifest.replace(upstream.url, top.as_uri())
        (place.root / "manifest.yaml").write_text(manifest)
        assert place.sync(capsysbinary).code == 0
        place.write("alpha")


def archive(comment: bytes = COMMIT.encode()) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as zipped:
        zipped.writestr("repository/skills/alpha/SKILL.md", skill_md("alpha"))
        zipped.comment = comment
    return target.getvalue()


@pytest.mark.parametrize("lost", range(1, 64))
def test_an_archive_without_its_end_is_refused(lost: int) -> None:
    with pytest.raises(VendoringRefused) as refused:
        RepositoryArchive(io.BytesIO(archive()[:-lost]), COMMIT)
    assert refused.value.code == "archive_invalid"


def test_a_comment_says_of_which_commit_an_archive_is_or_nothing() -> None:
    for comment in (COMMIT.encode(), b""):
        with RepositoryArchive(io.BytesIO(archive(comment)), COMMIT) as whole:
            assert whole.skill("skills/alpha").files[0].path == "SKILL.md"
    for comment in (b"cd" * 20, b"ab", b"a comment"):
        with pytest.raises(VendoringRefused, match="cannot be used: it is of"):
            RepositoryArchive(io.BytesIO(archive(comment)), COMMIT)


def test_a_sync_leaves_no_file_beside_the_tree(
    place: Place, capsysbinary: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir(mode=0o500)
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    named: list[str] = []
    monkeypatch.setattr("tempfile.mkdtemp", named.append)
    assert place.sync(capsysbinary).code == 0
    assert (named, list(folder.iterdir())) == ([], [])
