"""Manifest, tree and registry in one table: what a skill is in each, and what is to be done."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from command_line import Capture, Run
from loopback import Fault, Loopback
from vendored_trees import COMMIT, Skill, Tree

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    with Loopback() as running:
        monkeypatch.setenv("SKILL_REGISTRY_URL", running.url)
        yield running


@pytest.fixture
def tree(tmp_path: Path, capsysbinary: Capture) -> Tree:
    """Three skills that are published as they are."""
    tree = Tree(tmp_path / "skills")
    tree.write(Skill("alpha", {"run.sh": b"#!/bin/sh\n"}, ("run.sh",)), Skill("beta"))
    tree.write_local("own")
    for name in ("alpha", "beta", "own"):
        assert Run(capsysbinary, "push", tree.root / name).code == 0
    return tree


def status(tree: Tree, capture: Capture, *more: str) -> tuple[int, dict[str, list[str]]]:
    """Return the exit code and the cells of each skill."""
    run = Run(capture, "vendor", "status", "--dir", tree.root, *more)
    return run.code, {line.split("\t")[0]: line.split("\t")[1:] for line in run.out.splitlines()}


def test_what_is_the_same_everywhere_is_in_step(
    tree: Tree, registry: Loopback, capsysbinary: Capture
) -> None:
    registry.requests.clear()
    code, rows = status(tree, capsysbinary)
    short = COMMIT[:12]
    assert (code, rows) == (
        0,
        {
            "alpha": ["kit", short, "ok", "same", "1", short],
            "beta": ["kit", short, "ok", "same", "1", short],
            "own": ["-", "-", "ok", "same", "1", "-"],
        },
    )
    assert len(registry.requests) == 4


def test_a_registry_that_has_an_older_commit_is_behind(tree: Tree, capsysbinary: Capture) -> None:
    for path in (tree.root / "manifest.yaml", *tree.root.glob("*/SKILL.md")):
        path.write_bytes(path.read_bytes().replace(COMMIT.encode(), b"c" * 40))
    code, rows = status(tree, capsysbinary)
    assert code == 1
    assert rows["alpha"] == ["kit", "c" * 12, "ok", "behind", "1", COMMIT[:12]]
    assert rows["own"][2:4] == ["ok", "same"]


def test_a_tree_that_waits_for_a_sync_is_behind(tree: Tree, capsysbinary: Capture) -> None:
    path = tree.root / "manifest.yaml"
    path.write_bytes(path.read_bytes().replace(COMMIT.encode(), b"c" * 40))
    code, rows = status(tree, capsysbinary)
    assert (code, rows["alpha"][2:4]) == (1, ["behind", "same"])


def test_edited_missing_and_unpublished_skills_are_told_apart(
    tree: Tree, capsysbinary: Capture
) -> None:
    (tree.root / "alpha/run.sh").chmod(0o644)
    shutil.rmtree(tree.root / "beta")
    assert Run(capsysbinary, "delete", "own").code == 0
    code, rows = status(tree, capsysbinary)
    assert code == 1
    assert rows["alpha"][2:5] == ["edited", "differs", "1"]
    assert rows["beta"][2:5] == ["missing", "differs", "1"]
    assert rows["own"][2:5] == ["ok", "missing", "-"]


def test_a_registry_whose_files_differ_is_told_whatever_its_upstream_block_says(
    tree: Tree, capsysbinary: Capture, tmp_path: Path
) -> None:
    shutil.copytree(tree.root / "alpha", tmp_path / "alpha")
    (tmp_path / "alpha/run.sh").write_bytes(b"#!/bin/sh\nrm -r x\n")
    assert Run(capsysbinary, "push", tmp_path / "alpha").code == 0
    code, rows = status(tree, capsysbinary)
    assert (code, rows["alpha"][2:5]) == (1, ["ok", "differs", "2"])


def test_a_directory_that_the_manifest_does_not_list_is_unlisted(
    tree: Tree, capsysbinary: Capture
) -> None:
    tree.forget("beta")
    (tree.root / "hand made").mkdir()
    (tree.root / "own").rename(tree.root / "elsewhere")
    (tree.root / "own").symlink_to("elsewhere")
    manifest = tree.root / "manifest.yaml"
    lines = manifest.read_text().splitlines(keepends=True)
    manifest.write_text("".join(line for line in lines if "name: own" not in line))
    code, rows = status(tree, capsysbinary)
    assert code == 1
    assert rows["beta"] == ["-", "-", "unlisted", "same", "1", COMMIT[:12]]
    assert rows["hand made"] == ["-", "-", "unlisted", "missing", "-", "-"]
    assert rows["own"] == ["-", "-", "unlisted", "differs", "1", "-"]


def test_a_skill_of_our_sources_that_only_the_registry_has_is_unlisted(
    tree: Tree, capsysbinary: Capture
) -> None:
    tree.forget("beta")
    shutil.rmtree(tree.root / "beta")
    code, rows = status(tree, capsysbinary)
    assert (code, rows["beta"]) == (1, ["-", "-", "missing", "unlisted", "1", COMMIT[:12]])


def test_a_scope_is_looked_at_alone(tree: Tree, capsysbinary: Capture) -> None:
    assert Run(capsysbinary, "push", tree.root / "own", "--scope", "team-blue").code == 0
    code, rows = status(tree, capsysbinary, "--scope", "team-blue")
    assert (code, rows["own"][2:4], rows["alpha"][3]) == (1, ["ok", "same"], "missing")


def test_a_registry_that_fails_is_no_skill_that_is_missing(
    tree: Tree, registry: Loopback, capsysbinary: Capture
) -> None:
    registry.faults.append(Fault("GET /skills/beta", 403, body=b"{}"))
    run = Run(capsysbinary, "vendor", "status", "--dir", tree.root, "--json")
    assert (run.code, run.document()["code"]) == (1, "forbidden")


def test_json_has_a_row_a_skill(tree: Tree, capsysbinary: Capture) -> None:
    document = Run(capsysbinary, "vendor", "status", "--dir", tree.root, "--json").document()
    assert document["skills"][0] == {
        "name": "alpha",
        "source": "kit",
        "pinned": COMMIT,
        "tree": "ok",
        "registry": "same",
        "version": 1,
        "scope": "system",
        "deployed": COMMIT,
    }
