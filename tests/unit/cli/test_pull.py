"""pull against the registry's own code: exact bytes, whole or not at all, and no edit is lost."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command_line import Capture, Run
from house import skill_md
from loopback import Loopback
from mounts import tree

NUMBER = ".version"


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Loopback]:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with Loopback() as running:
        monkeypatch.setenv("SKILL_REGISTRY_URL", running.url)
        running.house.publish("notes", "one\n")
        yield running


def _names(directory: Path = Path()) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def _modes(directory: Path) -> dict[str, bool]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): os.access(path, os.X_OK) for path in files}


def _pulled(text: str, number: int) -> dict[str, bytes]:
    return {
        "SKILL.md": skill_md("notes"),
        "references/notes.md": text.encode(),
        NUMBER: b"%d\n" % number,
    }


def _posts_and_gets(registry: Loopback) -> list[str]:
    return [line for line in registry.seen() if not line.endswith("/s3")]


def test_what_was_pushed_comes_back_byte_for_byte_through_every_state(
    tmp_path: Path, capsysbinary: Capture
) -> None:
    author = tmp_path / "author"
    files = {
        "SKILL.md": b"---\r\nname: odd\r\ndescription: Does one thing.\r\n---\r\nDo it.\r\n",
        "assets/logo.bin": bytes(range(256)) * 40,
        "empty.txt": b"",
        "no newline": b"x",
        "scripts/deep/er/run.sh": b"#!/bin/sh\n",
        "références/naïve 漢字.md": "ö\n".encode(),
    }
    for path, data in files.items():
        (author / path).parent.mkdir(parents=True, exist_ok=True)
        (author / path).write_bytes(data)
    (author / "scripts/deep/er/run.sh").chmod(0o755)
    assert Run(capsysbinary, "push", author).code == 0
    run = Run(capsysbinary, "pull", "odd", "--to", "a/b")
    assert (run.code, run.out, run.err) == (0, "Pulled odd v:1 to a/b/odd.\n", "")
    copy = Path("a/b/odd")
    assert tree(copy) == {**files, NUMBER: b"1\n"}
    assert [path for path, runs in _modes(copy).items() if runs] == ["scripts/deep/er/run.sh"]
    assert Run(capsysbinary, "check", copy).code == 0
    (copy / "empty.txt").write_text("no more")
    assert "edited" in Run(capsysbinary, "check", copy).out
    assert Run(capsysbinary, "push", copy).code == 0
    assert Run(capsysbinary, "pull", "odd").out == "Pulled odd v:2 to odd.\n"
    assert tree(Path("odd")) == {**files, "empty.txt": b"no more", NUMBER: b"2\n"}


def test_a_copy_that_is_current_is_not_written_nor_downloaded_again(
    registry: Loopback, capsysbinary: Capture
) -> None:
    Run(capsysbinary, "pull", "notes")
    before = Path("notes").stat()
    registry.requests.clear()
    run = Run(capsysbinary, "pull", "notes")
    assert (run.code, run.out) == (0, "notes v:1 is here already.\n")
    assert Path("notes").stat().st_ino == before.st_ino
    assert registry.seen() == ["GET /skills/notes"]
    assert Run(capsysbinary, "pull", "notes", "--force").out == "notes v:1 is here already.\n"


def test_a_copy_as_it_was_published_is_replaced_by_the_current_version(
    registry: Loopback, capsysbinary: Capture
) -> None:
    Run(capsysbinary, "pull", "notes")
    registry.house.publish("notes", "two\n")
    run = Run(capsysbinary, "pull", "notes")
    assert (run.code, run.out) == (0, "Pulled notes v:2 to notes (v:1 before).\n")
    assert tree(Path("notes")) == _pulled("two\n", 2)
    assert _names() == ["notes"]


def test_the_files_of_the_wanted_version_only_get_its_number(capsysbinary: Capture) -> None:
    Run(capsysbinary, "pull", "notes")
    Path("notes", NUMBER).unlink()
    assert Run(capsysbinary, "pull", "notes").out == "Pulled notes v:1 to notes.\n"
    assert tree(Path("notes")) == _pulled("one\n", 1)


def test_an_empty_directory_is_filled(capsysbinary: Capture) -> None:
    Path("notes").mkdir()
    assert Run(capsysbinary, "pull", "notes").code == 0
    assert tree(Path("notes")) == _pulled("one\n", 1)


def _edit(root: Path) -> None:
    (root / "references/notes.md").write_text("mine\n")


def _add(root: Path) -> None:
    (root / ".gitignore").write_text("draft\n")
    (root / "draft").write_text("ignored, and dear\n")


def _remove(root: Path) -> None:
    (root / "references/notes.md").unlink()


def _allow(root: Path) -> None:
    (root / "SKILL.md").chmod(0o755)


def _link(root: Path) -> None:
    data = (root / "SKILL.md").read_bytes()
    (root / "SKILL.md").unlink()
    (root.parent / "elsewhere.md").write_bytes(data)
    (root / "SKILL.md").symlink_to("../elsewhere.md")


def _nest(root: Path) -> None:
    (root / ".git").mkdir()
    (root / ".git" / "HEAD").write_text("ref\n")
    (root / "references" / NUMBER).write_text("1\n")


EDITS: dict[Callable[[Path], None], list[str]] = {
    _edit: ["references/notes.md (changed)"],
    _add: [".gitignore (added)", "draft (added)"],
    _remove: ["references/notes.md (removed)"],
    _allow: ["SKILL.md (mode)"],
    _link: ["SKILL.md (changed)"],
    _nest: [".git/HEAD (added)", "references/.version (added)"],
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("published", [1, 2])
def test_a_copy_that_was_edited_stays_and_what_differs_is_named(
    registry: Loopback, capsysbinary: Capture, edit: Callable[[Path], None], published: int
) -> None:
    Run(capsysbinary, "pull", "notes")
    edit(Path("notes"))
    before = tree(Path("notes"))
    if published == 2:
        registry.house.publish("notes", "two\n")
    registry.requests.clear()
    run = Run(capsysbinary, "pull", "notes")
    assert (run.code, run.out) == (1, "")
    named = ", ".join(EDITS[edit])
    assert run.err.startswith(f"copy_edited: notes is not as notes v:1 is: {named}. ")
    assert "--force" in run.err
    assert tree(Path("notes")) == before
    assert registry.seen() == ["GET /skills/notes"] * published
    document = Run(capsysbinary, "pull", "notes", "--json").document()["skills"][0]
    assert (document["state"], document["code"]) == ("refused", "copy_edited")
    assert [f"{each['path']} ({each['change']})" for each in document["files"]] == EDITS[edit]
    assert Run(capsysbinary, "pull", "notes", "--force").code == 0
    texts = {1: "one\n", 2: "two\n"}
    assert tree(Path("notes")) == _pulled(texts[published], published)


def test_an_edited_copy_names_ten_paths_and_counts_the_rest(capsysbinary: Capture) -> None:
    Run(capsysbinary, "pull", "notes")
    for number in range(13):
        Path("notes", f"new-{number:02}").touch()
    run = Run(capsysbinary, "pull", "notes")
    assert "new-09 (added), 3 more." in run.err
    assert "new-10" not in run.err


@pytest.mark.parametrize("stated", ["7", "0", "garbage", ""])
def test_a_version_that_the_registry_does_not_have_is_no_leave(
    capsysbinary: Capture, stated: str
) -> None:
    Path("notes").mkdir()
    Path("notes/SKILL.md").write_text("mine")
    Path("notes", NUMBER).write_text(stated)
    run = Run(capsysbinary, "pull", "notes")
    assert (run.code, run.err.partition(":")[0]) == (1, "copy_edited")
    assert Path("notes/SKILL.md").read_text() == "mine"


def test_a_version_or_a_label_is_pulled_when_it_is_asked_for(
    registry: Loopback, capsysbinary: Capture
) -> None:
    registry.house.publish("notes", "two\n")
    Run(capsysbinary, "label", "notes", "stable", "1")
    assert Run(capsysbinary, "pull", "notes", "--version", "2").code == 0
    back = Run(capsysbinary, "pull", "notes", "--version", "@stable")
    assert back.out == "Pulled notes v:1 to notes (v:2 before).\n"
    assert tree(Path("notes")) == _pulled("one\n", 1)
    none = Run(capsysbinary, "pull", "notes", "--version", "9")
    assert (none.code, none.err.partition(":")[0]) == (1, "version_not_found")


def test_several_are_pulled_with_a_result_each(registry: Loopback, capsysbinary: Capture) -> None:
    for name in ("ant", "bee"):
        registry.house.publish(name)
    run = Run(capsysbinary, "pull", "bee", "none", "ant", "bee")
    assert (run.code, run.err.partition(":")[0]) == (1, "skill_not_found")
    assert run.out == "Pulled bee v:1 to bee.\nPulled ant v:1 to ant.\n"
    document = Run(capsysbinary, "pull", "ant", "none", "--json").document()
    states = [(each["name"], each["state"]) for each in document["skills"]]
    assert states == [("ant", "current"), ("none", "refused")]
    assert document["skills"][0]["version"] == 1


def test_all_that_is_listed_is_pulled(registry: Loopback, capsysbinary: Capture) -> None:
    for number in range(12):
        registry.house.publish(f"skill-{number}")
    run = Run(capsysbinary, "pull", "--all", "--jobs", "4")
    assert (run.code, len(run.out.splitlines())) == (0, 13)
    assert _names() == sorted(registry.house.listed())
    assert len(_posts_and_gets(registry)) == 1 + 13


def test_a_directory_without_a_version_in_the_registry_gets_none_here(
    registry: Loopback, capsysbinary: Capture
) -> None:
    registry.house.put("skills/system/vendored/SKILL.md", skill_md("vendored"))
    run = Run(capsysbinary, "pull", "vendored")
    assert (run.code, run.out) == (0, "Pulled vendored v:- to vendored.\n")
    assert tree(Path("vendored")) == {"SKILL.md": skill_md("vendored")}
    assert Run(capsysbinary, "pull", "vendored").out == "vendored v:- is here already.\n"


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(
    registry: Loopback, capsysbinary: Capture
) -> None:
    run = Run(capsysbinary, "pull", "notes", "--to", "new", "--dry-run")
    assert (run.code, run.out) == (0, "Would pull notes v:1 to new/notes.\n")
    assert _names() == []
    assert registry.seen() == ["GET /skills/notes"]
    document = Run(capsysbinary, "pull", "notes", "--dry-run", "--json").document()
    assert (document["dry_run"], document["skills"][0]["state"]) == (True, "pulled")
    Run(capsysbinary, "pull", "notes")
    _edit(Path("notes"))
    assert Run(capsysbinary, "pull", "notes", "--dry-run").code == 1
    assert Run(capsysbinary, "pull", "notes", "--dry-run", "--force").code == 0
    assert Path("notes/references/notes.md").read_text() == "mine\n"


@pytest.mark.parametrize("name", ["..", ".", "a/b", ".hidden", "a\x1b", "x" * 200])
def test_a_name_that_is_none_for_a_directory_is_refused_before_anything_is_asked(
    registry: Loopback, capsysbinary: Capture, name: str
) -> None:
    run = Run(capsysbinary, "pull", name)
    assert (run.code, run.err.partition(":")[0]) == (2, "request_invalid")
    assert (registry.requests, _names()) == ([], [])


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_link_or_a_file_in_its_place_stays(
    registry: Loopback, capsysbinary: Capture, force: tuple[str, ...]
) -> None:
    Path("elsewhere").mkdir()
    Path("notes").symlink_to("elsewhere")
    run = Run(capsysbinary, "pull", "notes", *force)
    assert (run.code, "notes is a link, and stays as it is" in run.err) == (1, True)
    assert (_names(Path("elsewhere")), Path("notes").is_symlink()) == ([], True)
    Path("notes").unlink()
    Path("notes").write_text("a list")
    run = Run(capsysbinary, "pull", "notes", *force)
    assert (run.code, "notes is no directory" in run.err) == (1, True)
    assert Path("notes").read_text() == "a list"
    assert registry.requests == []


def test_usage_that_cannot_be_meant_is_refused(registry: Loopback, capsysbinary: Capture) -> None:
    Path("file").touch()
    for arguments in (
        (),
        ("notes", "--all"),
        ("--all", "--version", "1"),
        ("notes", "other", "--version", "1"),
        ("notes", "--version", "one"),
        ("notes", "--to", "file"),
    ):
        assert Run(capsysbinary, "pull", *arguments).code == 2, arguments
    assert registry.requests == []
