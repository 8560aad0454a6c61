"""What a sync does not take from anybody, and what it says of what it takes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from command_line import Capture
from git_repositories import Repository
from mounts import tree as snapshot
from synced_trees import Place, skill_md


@pytest.fixture
def upstream(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "upstream")
    repository.commit(
        {
            "LICENSE": "MIT\n",
            "skills/alpha/SKILL.md": skill_md("alpha"),
            "skills/beta/SKILL.md": skill_md("beta"),
        }
    )
    return repository


@pytest.fixture
def place(upstream: Repository, tmp_path: Path, capsysbinary: Capture) -> Place:
    """A tree after its first sync."""
    place = Place(tmp_path / "skills", upstream.url, "file", None)
    assert place.sync(capsysbinary).code == 0
    return place


def make_own(place: Place, name: str) -> None:
    """Take what a sync wrote out of a SKILL.md, and go on writing."""
    (place.root / name / "SKILL.md").write_text(skill_md(name, "MY WORK\n", agents="[review]"))


@pytest.mark.parametrize("synced", [True, False])
def test_a_skill_that_became_ones_own_is_not_replaced_when_it_gets_a_source_again(
    place: Place, capsysbinary: Capture, synced: bool
) -> None:
    vendored = place.manifest
    make_own(place, "beta")
    place.write("alpha", more="  - {name: beta, local: true, agents: [review]}\n")
    if synced:
        assert place.sync(capsysbinary).code == 0
        assert place.check(capsysbinary).code == 0
    (place.root / "manifest.yaml").write_text(vendored)
    before = snapshot(place.root)
    run = place.sync(capsysbinary)
    assert (run.code, run.err.split(":")[0]) == (1, "not_vendored")
    assert snapshot(place.root) == before


@pytest.mark.parametrize("prune", [True, False])
def test_a_repository_inside_a_vendored_skill_is_not_removed(
    place: Place, capsysbinary: Capture, prune: bool
) -> None:
    (place.root / "beta/.git").mkdir()
    (place.root / "beta/.git/HEAD").write_text("ref: refs/heads/mine\n")
    if prune:
        place.write("alpha")
    else:
        (place.root / "beta/more").write_text("x")
    before = snapshot(place.root)
    run = place.sync(capsysbinary, *(["--prune"] if prune else []))
    assert run.code == 1
    assert "beta/ holds a git repository of its own" in run.err
    assert snapshot(place.root) == before


def test_a_vendored_directory_can_be_pruned_without_the_lock(
    place: Place, capsysbinary: Capture
) -> None:
    place.write("alpha")
    (place.root / "manifest.lock").unlink()
    run = place.sync(capsysbinary, "--prune")
    assert (run.code, (place.root / "beta").exists()) == (0, False)


def test_a_pipe_in_a_skill_goes_with_a_sync(place: Place, capsysbinary: Capture) -> None:
    os.mkfifo(place.root / "alpha/pipe")
    assert place.check(capsysbinary).code == 1
    run = place.sync(capsysbinary)
    assert (run.code, (place.root / "alpha/pipe").exists()) == (0, False)


def test_what_a_publish_would_refuse_is_told_when_it_is_taken(
    place: Place, upstream: Repository, capsysbinary: Capture
) -> None:
    long = skill_md("gamma").replace("Use when asked.", "word " * 300)
    upstream.commit({"skills/gamma/SKILL.md": long})
    place.add("gamma")
    run = place.sync(capsysbinary)
    assert run.code == 0
    assert "kit: skills/gamma/SKILL.md" in run.err
    assert "warning not_publishable: description_too_long: " in run.err


def test_a_frontmatter_that_no_check_can_read_is_refused_before_anything_is_written(
    place: Place, upstream: Repository, capsysbinary: Capture
) -> None:
    upstream.commit({"skills/alpha/SKILL.md": skill_md("alpha").replace("Does", "&d Does")})
    before = snapshot(place.root)
    run = place.sync(capsysbinary)
    assert (run.code, run.err.split(":")[0]) == (1, "skill_unusable")
    assert snapshot(place.root) == before


def test_every_source_that_cannot_be_used_is_named_at_its_line(
    place: Place, upstream: Repository, capsysbinary: Capture
) -> None:
    place.write("alpha", ref="nowhere")
    text = place.manifest.replace(
        "skills:", f"  two:\n    repo: {upstream.url}2\n    ref: x\nskills:"
    )
    (place.root / "manifest.yaml").write_text(text)
    document = place.sync(capsysbinary, "--json").document()
    assert [(each["code"], each["line"]) for each in document["diagnostics"]] == [
        ("ref_not_found", 4),
        ("upstream_not_found", 7),
    ]
    assert document["code"] == "ref_not_found"
    assert "The source kit: " in document["diagnostics"][0]["message"]


def test_a_dry_run_after_a_killed_sync_changes_nothing(place: Place, capsysbinary: Capture) -> None:
    (place.root / ".vendor-00ff").mkdir()
    before = snapshot(place.root)
    run = place.sync(capsysbinary, "--dry-run")
    assert (run.code, run.err.split(":")[0]) == (1, "sync_interrupted")
    assert (place.root / ".vendor-00ff").is_dir() and snapshot(place.root) == before
    assert place.sync(capsysbinary).code == 0
    assert not (place.root / ".vendor-00ff").exists()
