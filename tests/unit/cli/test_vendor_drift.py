"""Drift of one skill: what differs is told apart, and what is at fault is named."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path

import pytest
from unprivileged import directory_of_nobody
from vendored_trees import Skill, Tree

from skill_registry_cli.vendoring.problems import VendoringRefused


def filled(root: Path) -> Tree:
    tree = Tree(root)
    more = {"a.md": b"one\ntwo\n", "win.md": b"one\r\ntwo\r\n", "run.sh": b"#!/bin/sh\n"}
    tree.write(Skill("alpha", more, ("run.sh",)), Skill("beta"))
    tree.write_local("own")
    return tree


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return filled(tmp_path / "skills")


def told(tree: Tree) -> list[tuple[str, str | None, int | None]]:
    return [(each.code, each.file, each.line) for each in tree.check()]


def edit(path: Path, old: str, new: str) -> None:
    data = path.read_bytes()
    assert old.encode() in data
    path.write_bytes(data.replace(old.encode(), new.encode()))


def test_an_edited_description_is_told_beside_an_edited_body(tree: Tree) -> None:
    skill_md = tree.root / "alpha/SKILL.md"
    skill_md.write_bytes(skill_md.read_bytes() + b"More.\n")
    assert [code for code, _, _ in told(tree)] == ["body_edited"]
    edit(skill_md, "Does alpha.", "Does beta.")
    assert [code for code, _, _ in told(tree)] == ["body_edited", "frontmatter_edited"]


def test_a_key_that_no_sync_writes_into_the_upstream_block_is_told_at_its_line(tree: Tree) -> None:
    edit(tree.root / "alpha/SKILL.md", "  bodySha256:", "  extra: x\n  bodySha256:")
    assert told(tree) == [("upstream_differs", "alpha/SKILL.md", 10)]


def test_other_agents_are_told_at_their_line(tree: Tree) -> None:
    edit(tree.root / "alpha/SKILL.md", "agents: [review]", "agents: [x]")
    assert told(tree) == [("agents_differ", "alpha/SKILL.md", 4)]


def test_a_lock_that_lies_is_at_fault_and_not_the_files(tree: Tree) -> None:
    edit(tree.root / "manifest.lock", "0755 ", "0644 ")
    assert told(tree) == [("lock_invalid", "manifest.lock", None)]


def test_line_ends_that_git_changed_are_one_problem_a_skill(tree: Tree) -> None:
    for path in ("alpha/a.md", "alpha/SKILL.md", "alpha/run.sh"):
        edit(tree.root / path, "\n", "\r\n")
    [found] = tree.check()
    assert (found.code, found.file) == ("line_ends_changed", "alpha")
    assert "-text" in (found.hint or "")
    edit(tree.root / "alpha/a.md", "one", "three")
    assert "line_ends_changed" not in {code for code, _, _ in told(tree)}


def test_a_skill_that_became_local_is_no_vendored_one_of_the_lock(tree: Tree) -> None:
    manifest = tree.root / "manifest.yaml"
    edit(manifest, "    source: kit\n    path: skills/beta\n", "    local: true\n")
    skill_md = tree.root / "beta/SKILL.md"
    text = skill_md.read_text()
    kept = text[: text.index("source:")] + text[text.index("---\n\n#") :]
    skill_md.write_text(kept)
    assert told(tree) == [("lock_invalid", "manifest.lock", None)]


def test_a_link_to_a_file_is_in_no_skills_place(tree: Tree, tmp_path: Path) -> None:
    (tree.root / "manifest.lock").rename(tmp_path / "lock")
    (tree.root / "manifest.lock").symlink_to(tmp_path / "lock")
    (tree.root / "notes").symlink_to(tmp_path / "lock")
    assert told(tree) == []


def test_what_is_no_directory_in_the_place_of_a_skill_is_told_as_such(tree: Tree) -> None:
    shutil.rmtree(tree.root / "beta")
    (tree.root / "beta").write_text("a file")
    [found] = tree.check()
    assert found.message == "The manifest lists beta, and beta is no directory."


def test_a_copy_of_a_skill_is_told_from_a_renamed_one(tree: Tree) -> None:
    shutil.copytree(tree.root / "beta", tree.root / "beta2")
    [copied] = tree.check()
    assert (copied.code, copied.message) == (
        "name_differs",
        "beta2/ holds beta: its directory was copied.",
    )
    shutil.rmtree(tree.root / "beta")
    assert "its directory was renamed" in tree.check()[-1].message


def test_a_file_that_cannot_be_read_is_one_problem_and_hides_no_other() -> None:
    with directory_of_nobody() as directory:
        tree = filled(directory / "skills")
        (tree.root / "alpha/SKILL.md").chmod(0)
        (tree.root / "beta/more").write_bytes(b"x")
        (tree.root / "own/inner").mkdir(mode=0)
        assert told(tree) == [
            ("skill_unreadable", "alpha/SKILL.md", None),
            ("file_extra", "beta/more", None),
            ("skill_unreadable", "own/inner", None),
        ]


def test_a_check_that_finds_something_while_a_sync_is_at_work_says_so(tree: Tree) -> None:
    (tree.root / "beta/more").write_bytes(b"x")
    folder = os.open(tree.root, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        with pytest.raises(VendoringRefused) as refused:
            tree.check()
        assert refused.value.code == "sync_running"
    finally:
        os.close(folder)
    assert [code for code, _, _ in told(tree)] == ["file_extra"]
