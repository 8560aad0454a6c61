"""The sync of vendored skills, from a code host over HTTP and from repositories of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from code_host import CodeHost
from command_line import Capture
from git_repositories import Executable, Link, Repository
from mounts import tree as snapshot
from synced_trees import Place, skill_md

if TYPE_CHECKING:
    from collections.abc import Iterator

BINARY = bytes(range(256)) * 4


@pytest.fixture
def upstream(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "upstream")
    repository.commit(
        {
            "LICENSE": "MIT\n",
            "skills/alpha/SKILL.md": skill_md("alpha", license="MIT"),
            "skills/alpha/references/a b.md": "one\r\ntwo\r\n",
            "skills/alpha/assets/logo.bin": BINARY,
            "skills/alpha/scripts/run.sh": Executable(b"#!/bin/sh\n"),
            "skills/alpha/CLAUDE.md": Link("SKILL.md"),
            "skills/alpha/out": Link("../../../../etc/hostname"),
            "skills/beta/SKILL.md": skill_md("beta"),
            "skills/beta/LICENSE.txt": "Apache\n",
            "other/gamma/SKILL.md": skill_md("gamma").replace("\n", "\r\n"),
        }
    )
    return repository


@pytest.fixture(params=["http", "file"])
def place(request: pytest.FixtureRequest, upstream: Repository, tmp_path: Path) -> Iterator[Place]:
    if request.param == "file":
        yield Place(tmp_path / "skills", upstream.url, "file", None)
        return
    with CodeHost() as host:
        host.add("acme/kit", upstream)
        yield Place(tmp_path / "skills", f"{host.url}/acme/kit", host.url, host)


@pytest.fixture
def web(upstream: Repository, tmp_path: Path) -> Iterator[Place]:
    with CodeHost() as host:
        host.add("acme/kit", upstream)
        place = Place(tmp_path / "skills", f"{host.url}/acme/kit", host.url, host)
        yield place


def test_a_first_sync_pins_the_source_and_writes_whole_skills(
    place: Place, upstream: Repository, capsysbinary: Capture
) -> None:
    head = upstream.head("main")
    run = place.sync(capsysbinary)
    assert run.code == 0, run.err
    assert run.out.splitlines() == [
        f"kit: main -> {head[:12]} (first pin)",
        "alpha: added",
        "beta: added",
        "vendor check: ok",
    ]
    assert f"    ref: main  # follow\n    commit: {head}\n" in place.manifest
    assert place.manifest.startswith("# Ours.\n") and place.manifest.count("# there") == 2
    written = snapshot(place.root / "alpha")
    theirs = upstream.files(head)
    assert written.keys() == {
        *("SKILL.md", "LICENSE", "references/a b.md", "assets/logo.bin", "scripts/run.sh")
    }
    for path in ("references/a b.md", "assets/logo.bin", "scripts/run.sh"):
        assert written[path] == theirs[f"skills/alpha/{path}"][1], path
    assert (place.root / "alpha/scripts/run.sh").stat().st_mode & 0o777 == 0o755
    assert (place.root / "alpha/references/a b.md").stat().st_mode & 0o777 == 0o644
    assert written["LICENSE"] == b"MIT\n"
    assert not (place.root / "beta/LICENSE").exists()
    assert place.check(capsysbinary).code == 0


def test_links_of_the_upstream_are_reported_and_left_out(
    place: Place, capsysbinary: Capture
) -> None:
    run = place.sync(capsysbinary)
    assert "kit: skills/alpha/CLAUDE.md: warning link_left_out: " in run.err
    assert 'skills/alpha/out is a link to "../../../../etc/hostname"' in run.err
    assert not any(path.is_symlink() for path in place.root.rglob("*"))


def test_a_sync_with_nothing_new_changes_nothing(place: Place, capsysbinary: Capture) -> None:
    place.sync(capsysbinary)
    before = snapshot(place.root)
    run = place.sync(capsysbinary)
    assert run.code == 0
    assert "(unchanged)" in run.out and "alpha: unchanged" in run.out
    assert snapshot(place.root) == before


def test_a_new_commit_moves_the_pin_and_every_skill_of_the_source(
    place: Place, upstream: Repository, capsysbinary: Capture
) -> None:
    first = upstream.head("main")
    place.sync(capsysbinary)
    second = upstream.commit(
        {
            "skills/alpha/SKILL.md": skill_md("alpha", "Do more.\n"),
            "skills/alpha/assets/logo.bin": None,
            "skills/alpha/new.md": "new\n",
        }
    )
    run = place.sync(capsysbinary)
    assert run.out.splitlines() == [
        f"kit: main -> {second[:12]} (was {first[:12]})",
        "alpha: updated",
        "beta: updated",
        "vendor check: ok",
    ]
    assert not (place.root / "alpha/assets").exists()
    assert (place.root / "alpha/new.md").read_bytes() == b"new\n"
    assert first not in place.manifest and second in place.manifest


def test_a_force_push_and_a_tag_are_followed(
    place: Place, upstream: Repository, capsysbinary: Capture
) -> None:
    first = upstream.head("main")
    upstream.tag("v1", annotated=True)
    second = upstream.commit({"skills/beta/SKILL.md": skill_md("beta", "Else.\n")})
    place.sync(capsysbinary)
    upstream.reset("main", first)
    assert f"was {second[:12]}" in place.sync(capsysbinary).out
    place.write("alpha", ref="v1")
    assert f"kit: v1 -> {first[:12]} (first pin)" in place.sync(capsysbinary, "--prune").out
    upstream.branch("topic/x", at=second)
    place.write("alpha", ref="topic/x")
    assert f"kit: topic/x -> {second[:12]}" in place.sync(capsysbinary).out


def test_pinned_commits_stay_where_that_is_asked_for(
    place: Place, upstream: Repository, capsysbinary: Capture
) -> None:
    place.sync(capsysbinary)
    before = snapshot(place.root)
    upstream.commit({"skills/beta/SKILL.md": skill_md("beta", "Else.\n")})
    (place.root / "beta/SKILL.md").write_text("edited")
    run = place.sync(capsysbinary, "--pinned")
    assert "beta: updated" in run.out and "alpha: unchanged" in run.out
    assert snapshot(place.root) == before


def test_whatever_was_edited_is_put_back(place: Place, capsysbinary: Capture) -> None:
    place.sync(capsysbinary)
    before = snapshot(place.root)
    (place.root / "alpha/references/a b.md").write_text("edited")
    (place.root / "alpha/extra").write_text("x")
    (place.root / "alpha/scripts/run.sh").unlink()
    assert place.check(capsysbinary).code == 1
    run = place.sync(capsysbinary)
    assert (run.code, "alpha: updated" in run.out) == (0, True)
    assert snapshot(place.root) == before


def test_other_agents_in_the_manifest_reach_the_skill(place: Place, capsysbinary: Capture) -> None:
    place.sync(capsysbinary)
    text = place.manifest.replace("agents: [review]", "agents: [coding, review]", 1)
    (place.root / "manifest.yaml").write_text(text)
    assert place.check(capsysbinary).code == 1
    assert "alpha: updated" in place.sync(capsysbinary).out
    assert "agents: [coding, review]" in (place.root / "alpha/SKILL.md").read_text()


def test_local_skills_are_left_alone(place: Place, capsysbinary: Capture) -> None:
    (place.root / "own").mkdir()
    (place.root / "own/SKILL.md").write_text(skill_md("own", agents="[x]"))
    place.write("alpha", more="  - {name: own, local: true, agents: [x]}\n")
    before = (place.root / "own/SKILL.md").stat()
    run = place.sync(capsysbinary)
    assert "own: local (written here, not synced)\n" in run.out
    after = (place.root / "own/SKILL.md").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_crlf_reaches_the_tree_as_the_upstream_has_it(place: Place, capsysbinary: Capture) -> None:
    place.write("gamma")
    assert place.sync(capsysbinary).code == 0
    data = (place.root / "gamma/SKILL.md").read_bytes()
    assert data.count(b"\r\n") == data.count(b"\n")


def test_a_dry_run_tells_and_writes_nothing(place: Place, capsysbinary: Capture) -> None:
    before = snapshot(place.root)
    run = place.sync(capsysbinary, "--dry-run", "--json")
    document = run.document()
    assert [each["outcome"] for each in document["skills"]] == ["added", "added"]
    assert (document["dry_run"], document["problems"]) == (True, [])
    assert snapshot(place.root) == before


def test_a_directory_that_no_sync_made_is_not_replaced(place: Place, capsysbinary: Capture) -> None:
    (place.root / "beta").mkdir()
    (place.root / "beta/SKILL.md").write_text(skill_md("beta", "The only copy.\n"))
    before = snapshot(place.root)
    run = place.sync(capsysbinary)
    assert run.code == 1
    assert run.err.startswith("not_vendored: ")
    assert snapshot(place.root) == before


def test_what_the_manifest_lists_no_more_goes_when_asked_unless_it_was_edited(
    place: Place, capsysbinary: Capture
) -> None:
    place.sync(capsysbinary)
    place.write("alpha")
    kept = place.sync(capsysbinary)
    assert (kept.code, (place.root / "beta").exists()) == (1, True)
    (place.root / "beta/more").write_text("x")
    refused = place.sync(capsysbinary, "--prune")
    assert refused.code == 1 and "beta/ was edited" in refused.err
    (place.root / "beta/more").unlink()
    pruned = place.sync(capsysbinary, "--prune")
    assert (pruned.code, "beta: removed" in pruned.out) == (0, True)
    assert not (place.root / "beta").exists()


@pytest.mark.parametrize(
    ("name", "path", "code"),
    [
        ("delta", "skills/delta", "path_not_found"),
        ("delta", "skills", "path_not_found"),
        ("delta", "skills/alpha", "skill_renamed"),
        ("delta", "LICENSE", "path_not_found"),
    ],
)
def test_a_skill_that_is_gone_moved_or_renamed_leaves_everything_as_it_was(
    place: Place, capsysbinary: Capture, name: str, path: str, code: str
) -> None:
    place.sync(capsysbinary)
    place.add(name, path)
    before = snapshot(place.root)
    run = place.sync(capsysbinary, "--json")
    document = run.document()
    assert (run.code, document["code"]) == (1, code)
    assert document["diagnostics"][0]["file"].startswith("kit: ")
    assert snapshot(place.root) == before


def test_every_skill_that_cannot_be_taken_is_named_at_once(
    place: Place, upstream: Repository, capsysbinary: Capture
) -> None:
    upstream.commit({"skills/alpha/SKILL.md": "no frontmatter\n"})
    upstream.move("skills/beta", "skills/better")
    run = place.sync(capsysbinary, "--json")
    found = [each["code"] for each in run.document()["diagnostics"]]
    assert found == ["skill_unusable", "path_not_found"]


def test_a_branch_is_meant_before_a_tag_of_its_name_and_commits_by_their_digits(
    place: Place, upstream: Repository, capsysbinary: Capture
) -> None:
    first = upstream.head("main")
    upstream.tag("same", at=first)
    second = upstream.commit({"skills/beta/SKILL.md": skill_md("beta", "Else.\n")})
    upstream.branch("same", at=second)
    for ref, commit in (
        *(("same", second), ("tags/same", first), ("heads/same", second)),
        *((first, first), (f"'{first[:10]}'", first)),
    ):
        place.write("alpha", ref=ref)
        run = place.sync(capsysbinary)
        assert f"-> {commit[:12]} (first pin)" in run.out, run.err


def test_an_unknown_ref_is_refused(place: Place, capsysbinary: Capture) -> None:
    for ref in ("nowhere", "--output=x", "main~0", "a..b", "main^{tree}"):
        place.write("alpha", ref=ref)
        run = place.sync(capsysbinary, "--json")
        assert (run.code, run.document()["code"]) == (1, "ref_not_found"), ref


def test_an_upstream_without_a_licence_is_told(
    place: Place, upstream: Repository, capsysbinary: Capture
) -> None:
    upstream.commit({"LICENSE": None})
    run = place.sync(capsysbinary)
    assert run.code == 0
    assert "kit: skills/alpha: warning licence_missing: " in run.err
    assert "skills/beta" not in run.err


def test_attributes_that_change_archives_are_told(
    place: Place, upstream: Repository, capsysbinary: Capture
) -> None:
    upstream.commit({".gitattributes": "*.md export-subst\n"})
    run = place.sync(capsysbinary)
    assert (run.code, "warning attributes_change_files" in run.err) == (0, True)


def test_paths_that_no_skill_can_have_are_refused(
    place: Place, upstream: Repository, capsysbinary: Capture
) -> None:
    upstream.commit({"skills/alpha/a.md": "1", "skills/alpha/A.md": "2"})
    run = place.sync(capsysbinary, "--json")
    assert (run.code, run.document()["code"]) == (1, "skill_unusable")
    assert not (place.root / "beta").exists()


def test_three_hundred_skills_of_a_source_cost_one_archive(
    web: Place, upstream: Repository, capsysbinary: Capture
) -> None:
    names = [f"skill-{number}" for number in range(300)]
    upstream.commit({f"skills/{name}/SKILL.md": skill_md(name) for name in names})
    web.write(*names)
    assert web.sync(capsysbinary).code == 0
    paths = web.requests()
    assert [path.split("/")[-2] for path in paths] == ["commits", "zipball", "legacy.zip"]
    assert len(list(web.root.glob("*/SKILL.md"))) == 300
    assert web.sync(capsysbinary).code == 0
    assert [path.split("/")[-2] for path in web.requests()] == ["commits"]
    assert web.sync(capsysbinary, "--pinned").code == 0
    assert web.requests() == []
    assert web.check(capsysbinary).code == 0
    assert web.requests() == []
