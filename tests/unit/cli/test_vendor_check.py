"""The offline check of a vendored tree: one problem for each thing that is wrong, named exactly."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from command_line import Capture, Run
from vendored_trees import COMMIT, KIT, Skill, Tree

from skill_registry_cli.vendoring.problems import VENDORING

PROJECT = Path(__file__).resolve().parents[3]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    tree = Tree(tmp_path / "skills")
    tree.write(
        Skill("alpha", {"references/a.md": b"one\n", "run.sh": b"#!/bin/sh\n"}, ("run.sh",)),
        Skill("beta"),
    )
    tree.write_local("own")
    return tree


def codes(tree: Tree) -> list[str]:
    return [each.code for each in tree.check()]


def files(tree: Tree) -> list[tuple[str, str | None]]:
    return [(each.code, each.file) for each in tree.check()]


def edit(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))


def test_a_clean_tree_has_no_problem(tree: Tree) -> None:
    assert tree.check() == []


def test_this_projects_own_skills_are_what_their_manifest_says(capsysbinary: Capture) -> None:
    run = Run(capsysbinary, "vendor", "check", "--dir", PROJECT / "skills")
    assert (run.code, run.out, run.err) == (0, "vendor check: ok\n", "")


def test_an_entry_without_a_directory_is_one_problem_at_its_line(tree: Tree) -> None:
    shutil.rmtree(tree.root / "beta")
    [found] = tree.check()
    assert (found.code, found.file, found.line) == ("skill_missing", "manifest.yaml", 11)


def test_a_directory_without_an_entry_is_one_problem(tree: Tree) -> None:
    tree.write_local("stray", listed=False)
    (tree.root / "empty").mkdir()
    (tree.root / ".git").mkdir()
    assert files(tree) == [
        ("skill_unlisted", "empty"),
        ("skill_unlisted", "stray/SKILL.md"),
    ]


def test_a_vendored_directory_that_no_entry_has_any_more_is_one_problem(tree: Tree) -> None:
    tree.forget("beta")
    [found] = tree.check()
    assert (found.code, found.file) == ("skill_unlisted", "beta/SKILL.md")
    assert KIT in found.message and "--prune" in (found.hint or "")


def test_another_commit_than_the_pinned_one_is_one_problem_a_skill(tree: Tree) -> None:
    edit(tree.root / "manifest.yaml", COMMIT.encode(), b"c" * 40)
    assert codes(tree) == ["commit_differs", "commit_differs"]


def test_a_source_without_a_commit_is_one_problem_at_its_line(tree: Tree) -> None:
    edit(tree.root / "manifest.yaml", f"    commit: {COMMIT}\n".encode(), b"")
    [found] = tree.check()
    assert (found.code, found.file, found.line) == ("source_unpinned", "manifest.yaml", 3)


@pytest.mark.parametrize("more", [b"more\n", b"\r\n\r\nmore"])
def test_an_edited_body_is_one_problem_with_both_digests(tree: Tree, more: bytes) -> None:
    path = tree.root / "alpha/SKILL.md"
    path.write_bytes(path.read_bytes() + more)
    [found] = tree.check()
    assert (found.code, found.file) == ("body_edited", "alpha/SKILL.md")
    assert tree.body_digest("alpha")[:12] in found.message


def test_line_ends_behind_the_body_are_no_drift(tree: Tree) -> None:
    path = tree.root / "alpha/SKILL.md"
    path.write_bytes(path.read_bytes().rstrip() + b"\n\n \r\n")
    assert tree.check() == []


def test_other_agents_than_the_manifests_are_one_problem(tree: Tree) -> None:
    edit(tree.root / "alpha/SKILL.md", b"agents: [review]", b"agents: [review, coding]")
    assert codes(tree) == ["agents_differ"]
    edit(tree.root / "own/SKILL.md", b"agents: [coding]\n", b"")
    assert codes(tree) == ["agents_differ", "agents_differ"]


def test_a_renamed_directory_is_two_problems(tree: Tree) -> None:
    (tree.root / "beta").rename(tree.root / "gamma")
    assert files(tree) == [("skill_missing", "manifest.yaml"), ("name_differs", "gamma/SKILL.md")]


def test_a_local_skill_that_claims_an_upstream_is_one_problem(tree: Tree) -> None:
    block = b"upstream: {repo: r, commit: c, path: p, bodySha256: b}\nagents:"
    edit(tree.root / "own/SKILL.md", b"agents:", block)
    assert codes(tree) == ["upstream_unexpected"]


def test_an_edited_description_is_one_problem(tree: Tree) -> None:
    edit(tree.root / "alpha/SKILL.md", b"Does alpha.", b"Does more.")
    assert files(tree) == [("frontmatter_edited", "alpha/SKILL.md")]


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        (b"source: https", b"source: http", "source"),
        (b'path: "skills/alpha', b'path: "else/alpha', "upstream.path"),
        (
            b"repo: https://github.com/acme/kit",
            b"repo: https://github.com/acme/tik",
            "upstream.repo",
        ),
    ],
)
def test_an_edited_origin_is_one_problem(tree: Tree, old: bytes, new: bytes, field: str) -> None:
    edit(tree.root / "alpha/SKILL.md", old, new)
    [found] = tree.check()
    assert (found.code, found.field) == ("upstream_differs", field)


def test_an_edited_digest_is_noticed(tree: Tree) -> None:
    digest = tree.body_digest("alpha").encode()
    edit(tree.root / "alpha/SKILL.md", digest, b"0" * 64)
    [found] = tree.check()
    assert (found.code, found.field, found.line) == ("upstream_differs", "upstream.bodySha256", 10)
    edit(tree.root / "alpha/SKILL.md", b"0" * 64, digest)
    edit(tree.root / "beta/SKILL.md", tree.files_digest("beta").encode(), b"0" * 64)
    [found] = tree.check()
    assert (found.code, found.field) == ("upstream_differs", "upstream.filesSha256")


def test_a_partial_upstream_block_is_one_problem(tree: Tree) -> None:
    edit(tree.root / "alpha/SKILL.md", b"bodySha256", b"bodySha255")
    assert codes(tree) == ["upstream_missing"]


def test_added_changed_and_missing_files_are_named(tree: Tree) -> None:
    (tree.root / "alpha/references/a.md").write_bytes(b"two\n")
    (tree.root / "alpha/run.sh").unlink()
    (tree.root / "alpha/.hidden").write_bytes(b"")
    (tree.root / "beta/deep").mkdir()
    (tree.root / "beta/deep/more").write_bytes(b"x")
    assert files(tree) == [
        ("file_extra", "alpha/.hidden"),
        ("file_changed", "alpha/references/a.md"),
        ("file_missing", "alpha/run.sh"),
        ("file_extra", "beta/deep/more"),
    ]


def test_a_file_that_became_or_ceased_to_be_runnable_is_changed(tree: Tree) -> None:
    (tree.root / "alpha/run.sh").chmod(0o644)
    [found] = tree.check()
    assert found.message == "The mode is 0644; its upstream's is 0755."


def test_a_lost_skill_md_is_one_problem(tree: Tree) -> None:
    (tree.root / "alpha/SKILL.md").unlink()
    assert files(tree) == [("skill_unreadable", "alpha/SKILL.md")]


def test_what_tools_leave_in_a_directory_is_no_problem(tree: Tree) -> None:
    (tree.root / "alpha/__pycache__").mkdir()
    (tree.root / "alpha/__pycache__/x.pyc").write_bytes(b"x")
    (tree.root / "alpha/.version").write_text("3\n")
    assert tree.check() == []


def test_links_are_reported_and_not_followed(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/inside").write_bytes(b"x")
    (tree.root / "alpha/out").symlink_to("../../secret")
    (tree.root / "alpha/references/in").symlink_to("../SKILL.md")
    (tree.root / "own/absolute").symlink_to(tmp_path)
    (tree.root / "own/up").symlink_to("..")
    found = {each.file: each.message for each in tree.check() if each.code == "link_found"}
    assert len(found) == len(tree.check()) == 4
    assert "leads out of the skill" in found["alpha/out"]
    assert "stays in the skill" in found["alpha/references/in"]
    assert "leads out of the skill" in found["own/absolute"]
    assert "leads out of the skill" in found["own/up"]


def test_a_skill_whose_directory_is_a_link_is_not_followed(tree: Tree, tmp_path: Path) -> None:
    (tree.root / "beta").rename(tmp_path / "beta")
    (tree.root / "beta").symlink_to(tmp_path / "beta")
    assert files(tree) == [("link_found", "beta"), ("skill_unreadable", "beta/SKILL.md")]


def test_a_pipe_in_a_skill_is_reported_without_a_wait(tree: Tree) -> None:
    os.mkfifo(tree.root / "alpha/pipe")
    assert files(tree) == [("file_extra", "alpha/pipe")]


@pytest.mark.parametrize("data", [None, b"", b"[]", b'{"skills": {"alpha": {"a": "x"}}}', b"\xff"])
def test_a_lost_or_damaged_lock_is_a_problem_and_the_digest_still_counts(
    tree: Tree, data: bytes | None
) -> None:
    path = tree.root / "manifest.lock"
    path.unlink() if data is None else path.write_bytes(data)
    assert files(tree) == [("lock_invalid", "manifest.lock")]
    (tree.root / "alpha/more").write_bytes(b"x")
    assert files(tree) == [("lock_invalid", "manifest.lock"), ("files_differ", "alpha/SKILL.md")]


def test_a_lock_of_other_skills_is_a_problem(tree: Tree) -> None:
    edit(tree.root / "manifest.lock", b'"beta"', b'"teba"')
    assert codes(tree) == ["lock_invalid", "lock_invalid"]


def test_a_lock_that_was_edited_along_with_a_file_is_noticed(tree: Tree) -> None:
    tree.relock("alpha", {"references/a.md": b"two\n"})
    (tree.root / "alpha/references/a.md").write_bytes(b"two\n")
    [found] = tree.check()
    assert (found.code, found.field) == ("upstream_differs", "upstream.filesSha256")


def test_the_work_of_a_killed_sync_is_a_problem(tree: Tree) -> None:
    (tree.root / ".vendor-0123").mkdir()
    assert codes(tree) == ["sync_interrupted"]


def test_a_tree_without_a_manifest_is_one_problem(tmp_path: Path, capsysbinary: Capture) -> None:
    run = Run(capsysbinary, "vendor", "check", "--dir", tmp_path, "--json")
    assert (run.code, run.document()["code"]) == (1, "manifest_missing")
    (tmp_path / "manifest.yaml").write_bytes(b"\xff")
    assert Run(capsysbinary, "vendor", "check", "--dir", tmp_path).code == 1


def test_a_check_prints_one_line_a_problem_from_where_the_user_stands(
    tree: Tree, capsysbinary: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree.root / "alpha/more").write_bytes(b"x")
    shutil.rmtree(tree.root / "beta")
    monkeypatch.chdir(tree.root.parent)
    run = Run(capsysbinary, "vendor", "check")
    assert (run.code, run.out) == (1, "vendor check: 2 problems\n")
    assert [line for line in run.err.splitlines() if "hint" not in line] == [
        "skills/alpha/more: error file_extra: Its upstream has no such file.",
        "skills/manifest.yaml:11:5: error skill_missing: The manifest lists beta, and beta is not"
        " there.",
    ]
    document = Run(capsysbinary, "vendor", "check", "--json").document()
    assert document["ok"] is False
    assert [each["code"] for each in document["problems"]] == ["file_extra", "skill_missing"]


@pytest.mark.parametrize("arguments", [["--allow", "a b"], ["--nonsense"], ["more"]])
def test_wrong_usage_is_told_apart(arguments: list[str], capsysbinary: Capture) -> None:
    assert Run(capsysbinary, "vendor", "check", *arguments).code == 2


def test_every_code_of_the_check_is_in_the_table(tree: Tree) -> None:
    shutil.rmtree(tree.root / "alpha")
    (tree.root / "beta/x").write_bytes(b"")
    assert set(codes(tree)) <= VENDORING.keys()
