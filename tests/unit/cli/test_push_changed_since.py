"""push --changed-since, over real git repositories: which skills count as changed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from command_line import Capture, Run
from loopback import Loopback
from trees import grow

if TYPE_CHECKING:
    from collections.abc import Iterator

ZEROS = "0" * 40
ODD = "mit Leer/über\nall"


def skill_md(name: str) -> str:
    return f"---\nname: {name}\ndescription: Does one thing.\n---\nDo it.\n"


class WorkTree:
    """A git repository with a working tree."""

    def __init__(self, root: Path) -> None:
        self.root = root
        if not (root / ".git").exists():
            root.mkdir(parents=True)
            self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> str:
        who = ("-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
        command = ["git", "-C", str(self.root), *who, *arguments]
        return subprocess.run(
            command, check=True, capture_output=True, encoding="utf-8", timeout=60
        ).stdout.strip()

    def commit(self) -> str:
        """Commit all that is there, and return the commit."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=x", "--allow-empty")
        return self.git("rev-parse", "HEAD")


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    with Loopback() as running:
        monkeypatch.setenv("SKILL_REGISTRY_URL", running.url)
        yield running


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WorkTree:
    """A repository whose skills are alpha, beta and odd, where the command is run."""
    tree = WorkTree(tmp_path / "project")
    files = {
        "skills/alpha/SKILL.md": skill_md("alpha"),
        "skills/alpha/references/a b.md": "x\n",
        "skills/beta/SKILL.md": skill_md("beta"),
        f"skills/{ODD}/SKILL.md": skill_md("odd"),
        f"skills/{ODD}/ä ö ü.md": "x\n",
        "other/SKILL.md": skill_md("other"),
        ".gitignore": "*.tmp\n",
    }
    grow(tree.root, files)
    monkeypatch.chdir(tree.root)
    return tree


def pushed(capture: Capture, *arguments: str | Path) -> list[str]:
    """Run a push that publishes, and return what it published."""
    run = Run(capture, "push", "--changed-since", *arguments)
    assert run.code == 0, run.err
    return re.findall(r"Published (\S+)", run.out)


def test_only_skills_with_a_file_that_differs_are_published(
    tree: WorkTree, registry: Loopback, capsysbinary: Capture
) -> None:
    first = tree.commit()
    grow(tree.root, {"skills/alpha/references/a b.md": "y\n", "README.md": "# More\n"})
    tree.commit()
    assert pushed(capsysbinary, first) == ["alpha"]
    assert pushed(capsysbinary, first, "skills") == ["alpha"]
    assert pushed(capsysbinary, first, ".") == ["alpha"]
    assert pushed(capsysbinary, first, "skills/beta", "skills/alpha") == ["alpha"]
    assert registry.house.listed() == {"alpha": 4}


def test_paths_with_blanks_letters_and_line_ends_are_found(
    tree: WorkTree, capsysbinary: Capture
) -> None:
    first = tree.commit()
    grow(tree.root, {f"skills/{ODD}/ä ö ü.md": "y\n", "skills/beta\n/x": "no skill"})
    tree.commit()
    assert pushed(capsysbinary, first) == ["odd"]


@pytest.mark.parametrize("staged", [False, True])
def test_what_is_not_committed_yet_counts_too(
    tree: WorkTree, staged: bool, capsysbinary: Capture
) -> None:
    first = tree.commit()
    grow(tree.root, {"skills/beta/SKILL.md": skill_md("beta") + "More.\n"})
    grow(tree.root, {"skills/new/SKILL.md": skill_md("new"), "skills/alpha/x.tmp": "ignored"})
    if staged:
        tree.git("add", "--all")
    assert pushed(capsysbinary, first) == ["beta", "new"]


def test_a_file_that_was_removed_or_may_be_run_now_is_a_change(
    tree: WorkTree, capsysbinary: Capture
) -> None:
    first = tree.commit()
    (tree.root / "skills/alpha/references/a b.md").unlink()
    (tree.root / "skills/beta/SKILL.md").chmod(0o755)
    tree.commit()
    assert pushed(capsysbinary, first) == ["alpha", "beta"]


def test_a_file_that_moved_changes_both_skills(tree: WorkTree, capsysbinary: Capture) -> None:
    first = tree.commit()
    tree.git("mv", "skills/alpha/references/a b.md", "skills/beta/a b.md")
    tree.git("config", "diff.renames", "copies")
    tree.commit()
    assert pushed(capsysbinary, first) == ["alpha", "beta"]


def test_what_changed_and_changed_back_is_no_change(tree: WorkTree, capsysbinary: Capture) -> None:
    first = tree.commit()
    grow(tree.root, {"skills/beta/SKILL.md": "else"})
    tree.commit()
    grow(tree.root, {"skills/beta/SKILL.md": skill_md("beta")})
    tree.commit()
    assert pushed(capsysbinary, first) == []


def test_a_merge_brings_what_its_branch_changed(tree: WorkTree, capsysbinary: Capture) -> None:
    tree.commit()
    tree.git("checkout", "--quiet", "-b", "topic")
    grow(tree.root, {"skills/beta/new.md": "new\n"})
    tree.commit()
    tree.git("checkout", "--quiet", "main")
    grow(tree.root, {"README.md": "# Meanwhile\n"})
    before = tree.commit()
    tree.git("merge", "--quiet", "--no-ff", "--message=Merge", "topic")
    assert pushed(capsysbinary, before, "skills") == ["beta"]
    assert pushed(capsysbinary, "HEAD^1") == ["beta"]


def test_branches_and_tags_are_revisions_too(tree: WorkTree, capsysbinary: Capture) -> None:
    tree.commit()
    tree.git("tag", "--annotate", "--message=x", "skills")
    grow(tree.root, {"skills/beta/new.md": "new\n"})
    tree.commit()
    assert pushed(capsysbinary, "skills") == ["beta"]
    assert pushed(capsysbinary, "main") == []


@pytest.mark.parametrize("nothing", [ZEROS, ""])
def test_no_commit_before_means_everything(
    tree: WorkTree, nothing: str, capsysbinary: Capture
) -> None:
    tree.commit()
    assert pushed(capsysbinary, nothing) == ["alpha", "beta", "odd"]


def test_nothing_that_changed_is_no_failure(
    tree: WorkTree, registry: Loopback, capsysbinary: Capture
) -> None:
    first = tree.commit()
    run = Run(capsysbinary, "push", "--changed-since", first)
    assert (run.code, run.out, run.err) == (0, "", f"No skill changed since {first}.\n")
    as_json = Run(capsysbinary, "push", "--changed-since", first, "--json")
    assert as_json.document() == {"results": [], "published": 0, "refused": 0}
    assert (as_json.err, registry.requests) == ("", [])


def test_the_results_are_a_list_even_of_one_skill(tree: WorkTree, capsysbinary: Capture) -> None:
    tree.commit()
    grow(tree.root, {"skills/beta/new.md": "new\n"})
    run = Run(capsysbinary, "push", "--changed-since", "HEAD", "skills/beta", "--json")
    assert [each["name"] for each in run.document()["results"]] == ["beta"]


@pytest.mark.parametrize(
    "revision", ["nowhere", "f" * 40, "HEAD~99", "--output=x", "-h", "HEAD:skills", "main..main"]
)
def test_a_revision_that_git_does_not_know_ends_with_2(
    tree: WorkTree, revision: str, registry: Loopback, capsysbinary: Capture
) -> None:
    tree.commit()
    run = Run(capsysbinary, "push", f"--changed-since={revision}", "--json")
    document = run.document()
    assert (run.code, document["code"]) == (2, "revision_unknown")
    assert "fetch-depth: 0" in document["detail"]
    assert registry.requests == []
    assert not (tree.root / "x").exists()


def test_a_shallow_clone_lacks_the_revision(
    tree: WorkTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: Capture
) -> None:
    first = tree.commit()
    grow(tree.root, {"skills/beta/new.md": "new\n"})
    tree.commit()
    source = tree.root.as_uri()
    tree.git("clone", "--quiet", "--depth=1", source, str(tmp_path / "shallow"))
    monkeypatch.chdir(tmp_path / "shallow")
    run = Run(capsysbinary, "push", "--changed-since", first)
    assert (run.code, run.err.partition(":")[0]) == (2, "revision_unknown")
    WorkTree(tmp_path / "shallow").git("fetch", "--quiet", "--unshallow")
    assert pushed(capsysbinary, first) == ["beta"]


def test_without_a_repository_it_ends_with_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: Capture
) -> None:
    grow(tmp_path, {"skills/alpha/SKILL.md": skill_md("alpha")})
    monkeypatch.chdir(tmp_path)
    run = Run(capsysbinary, "push", "--changed-since", "HEAD")
    assert (run.code, run.err.partition(":")[0]) == (2, "repository_missing")


def test_without_git_it_ends_with_2(
    tree: WorkTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: Capture
) -> None:
    first = tree.commit()
    monkeypatch.setenv("PATH", str(tmp_path))
    run = Run(capsysbinary, "push", "--changed-since", first)
    assert (run.code, run.err.partition(":")[0]) == (2, "git_failed")
    assert "Traceback" not in run.err


def test_variables_of_a_git_hook_name_no_other_repository(
    tree: WorkTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: Capture
) -> None:
    first = tree.commit()
    grow(tree.root, {"skills/beta/new.md": "new\n"})
    monkeypatch.setenv("GIT_DIR", str(WorkTree(tmp_path / "elsewhere").root / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert pushed(capsysbinary, first) == ["beta"]


def test_a_skill_that_is_gone_is_told_and_stays(
    tree: WorkTree, registry: Loopback, capsysbinary: Capture
) -> None:
    registry.house.publish("beta")
    first = tree.commit()
    shutil.rmtree("skills/beta")
    tree.commit()
    run = Run(capsysbinary, "push", "--changed-since", first)
    assert (run.code, run.out) == (0, "")
    assert run.err.splitlines() == [
        f"No skill changed since {first}.",
        f"beta is gone since {first}; `skillctl delete beta` takes it out of the registry.",
    ]
    document = Run(capsysbinary, "push", "--changed-since", first, "--json").document()
    assert document["gone"] == [{"name": "beta", "path": "skills/beta"}]
    scoped = Run(capsysbinary, "push", "--changed-since", first, "--scope", "team-blue")
    assert "`skillctl delete beta --scope team-blue`" in scoped.err
    assert registry.house.listed() == {"beta": 1}


def test_a_skill_that_moved_is_not_gone(tree: WorkTree, capsysbinary: Capture) -> None:
    first = tree.commit()
    tree.git("mv", "skills/beta", "skills/better")
    tree.git("mv", f"skills/{ODD}", "skills/even")
    grow(tree.root, {"skills/even/SKILL.md": skill_md("even")})
    tree.commit()
    run = Run(capsysbinary, "push", "--changed-since", first)
    assert re.findall(r"Published (\S+)", run.out) == ["beta", "even"]
    assert re.findall(r"(\S+) is gone", run.err) == ["odd"]


def test_what_was_no_skill_is_not_gone(tree: WorkTree, capsysbinary: Capture) -> None:
    places = ("skills/alpha/examples/inner", "skills/node_modules/x", "skills/.hidden", "outside")
    grow(tree.root, {f"{place}/SKILL.md": skill_md("inner") for place in places})
    first = tree.commit()
    for place in places:
        shutil.rmtree(place)
    shutil.rmtree("skills/beta")
    grow(tree.root, {"skills/beta/notes.md": "what is left\n"})
    run = Run(capsysbinary, "push", "--changed-since", first, "skills")
    assert re.findall(r"(\S+) is gone", run.err) == ["beta"]
    assert re.findall(r"Published (\S+)", run.out) == ["alpha"]


def test_a_folder_whose_last_skill_is_gone_is_no_wrong_usage(
    tree: WorkTree, capsysbinary: Capture
) -> None:
    first = tree.commit()
    shutil.rmtree("skills")
    run = Run(capsysbinary, "push", "--changed-since", first)
    assert (run.code, re.findall(r"(\S+) is gone", run.err)) == (0, ["alpha", "beta", "odd"])
    never = Run(capsysbinary, "push", "--changed-since", first, "typo")
    assert (never.code, "there is no typo" in never.err) == (2, True)


def test_a_skill_that_is_reached_by_a_link_changes_with_what_it_leads_to(
    tree: WorkTree, capsysbinary: Capture
) -> None:
    grow(tree.root, {}, {"skills/linked": "../other"})
    first = tree.commit()
    assert pushed(capsysbinary, first) == []
    grow(tree.root, {"other/new.md": "new\n"})
    assert pushed(capsysbinary, first) == ["other"]


def test_a_submodule_that_moved_on_changes_its_skills(
    tree: WorkTree, tmp_path: Path, capsysbinary: Capture
) -> None:
    theirs = WorkTree(tmp_path / "theirs")
    grow(theirs.root, {"gamma/SKILL.md": skill_md("gamma")})
    theirs.commit()
    allowed = ("-c", "protocol.file.allow=always")
    tree.git(*allowed, "submodule", "--quiet", "add", theirs.root.as_uri(), "skills/theirs")
    first = tree.commit()
    assert pushed(capsysbinary, first) == []
    grow(theirs.root, {"gamma/SKILL.md": skill_md("gamma") + "More.\n"})
    theirs.commit()
    WorkTree(tree.root / "skills/theirs").git(*allowed, "pull", "--quiet")
    tree.commit()
    assert pushed(capsysbinary, first) == ["gamma"]


def test_a_repository_in_the_repository_is_new(tree: WorkTree, capsysbinary: Capture) -> None:
    first = tree.commit()
    inner = WorkTree(tree.root / "skills/inner")
    grow(inner.root, {"delta/SKILL.md": skill_md("delta")})
    inner.commit()
    assert pushed(capsysbinary, first) == ["delta"]


def test_each_path_is_asked_about_in_its_own_repository(
    tree: WorkTree, tmp_path: Path, capsysbinary: Capture
) -> None:
    second = WorkTree(tmp_path / "second")
    grow(second.root, {"gamma/SKILL.md": skill_md("gamma"), "eta/SKILL.md": skill_md("eta")})
    for each in (tree, second):
        each.commit()
        each.git("tag", "deployed")
    grow(second.root, {"gamma/new.md": "new\n"})
    grow(tree.root, {"skills/beta/new.md": "new\n"})
    assert pushed(capsysbinary, "deployed", second.root, "skills") == ["gamma", "beta"]


def test_a_zip_file_counts_by_itself(tree: WorkTree, capsysbinary: Capture) -> None:
    shutil.make_archive(str(tree.root / "packed"), "zip", tree.root / "skills/beta")
    first = tree.commit()
    assert pushed(capsysbinary, first, "packed.zip") == []
    shutil.make_archive(str(tree.root / "packed"), "zip", tree.root / "skills/alpha")
    assert pushed(capsysbinary, first, "packed.zip") == ["alpha"]


def test_a_dry_run_is_of_what_changed(
    tree: WorkTree, registry: Loopback, capsysbinary: Capture
) -> None:
    first = tree.commit()
    grow(tree.root, {"skills/beta/new.md": "new\n"})
    run = Run(capsysbinary, "push", "--changed-since", first, "--dry-run")
    assert (run.code, run.out) == (0, "beta would be published in system as it is.\n")
    assert registry.house.listed() == {}
