"""list and view: filters, and where a vendored skill was taken over from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from command_line import Capture, Run
from loopback import Loopback

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"
BODY, FILES = "b" * 64, "f" * 64


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    with Loopback() as running:
        monkeypatch.setenv("SKILL_REGISTRY_URL", running.url)
        yield running


def upstream(repo: str, *, files: bool = True) -> str:
    """Frontmatter that a sync writes, in one line."""
    digests = f"bodySha256: {BODY}" + f", filesSha256: {FILES}" * files
    return f'{{repo: "{repo}", commit: "{COMMIT}", path: skills/notes, {digests}}}'


def listed(capture: Capture, *options: str) -> list[str]:
    return [line.split("\t")[0] for line in Run(capture, "list", *options).out.splitlines()]


@pytest.mark.parametrize(
    ("repo", "shown"),
    [
        ("https://github.com/acme/skills", "acme/skills@0123456789ab"),
        ("https://git.example.com/acme/skills", "git.example.com/acme/skills@0123456789ab"),
        ("file:///srv/skills", "file:///srv/skills@0123456789ab"),
    ],
)
def test_a_list_shows_where_a_vendored_skill_is_from(
    registry: Loopback, capsysbinary: Capture, repo: str, shown: str
) -> None:
    registry.house.publish("notes", upstream=upstream(repo))
    registry.house.publish("own")
    run = Run(capsysbinary, "list")
    assert run.out.splitlines() == [
        f"notes\t1\tsystem\t{shown}\tDoes one thing well.",
        "own\t1\tsystem\t-\tDoes one thing well.",
    ]


@pytest.mark.parametrize(
    ("files", "digest"), [(True, f"filesSha256: {FILES}"), (False, f"bodySha256: {BODY}")]
)
def test_a_view_says_where_a_vendored_skill_is_from(
    registry: Loopback, capsysbinary: Capture, files: bool, digest: str
) -> None:
    repo = "https://github.com/acme/skills"
    registry.house.publish("notes", upstream=upstream(repo, files=files))
    for path in ((), ("references/notes.md",)):
        lines = Run(capsysbinary, "view", "notes", *path).err.splitlines()
        assert lines[0].startswith("notes v:1 in system, ")
        assert lines[1:] == [f"From {repo} at {COMMIT}, skills/notes. {digest}"]


def test_a_view_of_a_skill_that_was_written_here_has_one_line(
    registry: Loopback, capsysbinary: Capture
) -> None:
    registry.house.publish("notes")
    assert Run(capsysbinary, "view", "notes").err == "notes v:1 in system, SKILL.md\n"


def test_a_view_in_json_has_the_provenance_among_the_metadata(
    registry: Loopback, capsysbinary: Capture
) -> None:
    registry.house.publish("notes", upstream=upstream("https://github.com/acme/skills"))
    run = Run(capsysbinary, "view", "notes", "--json")
    assert (run.err, run.document()["metadata"]["upstream"]["commit"]) == ("", COMMIT)


def test_a_list_is_narrowed_by_words_the_best_first(
    registry: Loopback, capsysbinary: Capture
) -> None:
    registry.house.publish("other", description="Speaks of notes too.")
    registry.house.publish("notes")
    registry.house.publish("third")
    assert listed(capsysbinary, "-q", "notes") == ["notes", "other"]
    assert listed(capsysbinary, "--query", "third") == ["third"]


def test_a_list_and_a_view_are_those_of_an_agent(registry: Loopback, capsysbinary: Capture) -> None:
    registry.house.publish("ours", agents="[review]")
    registry.house.publish("theirs", agents="[coding]")
    registry.house.publish("all")
    assert listed(capsysbinary, "--agent", "review") == ["all", "ours"]
    assert Run(capsysbinary, "view", "ours", "--agent", "review").code == 0
    assert Run(capsysbinary, "view", "theirs", "--agent", "review").code == 1


def push(capture: Capture, folder: Path, name: str, line: str) -> None:
    """Publish a skill with one more line of frontmatter."""
    skill = folder / name
    skill.mkdir()
    head = f"---\nname: {name}\ndescription: Does one thing.\n{line}\n---\nDo it.\n"
    (skill / "SKILL.md").write_text(head)
    assert Run(capture, "push", skill).code == 0


def test_a_list_and_a_view_are_those_of_a_tier(
    registry: Loopback, tmp_path: Path, capsysbinary: Capture
) -> None:
    push(capsysbinary, tmp_path, "large", "min_tier: ultra")
    registry.house.publish("small")
    assert listed(capsysbinary, "--tier", "lite") == ["small"]
    assert listed(capsysbinary, "--tier", "ultra") == ["large", "small"]
    assert Run(capsysbinary, "view", "large", "--tier", "ultra").code == 0
    assert Run(capsysbinary, "view", "large", "--tier", "lite").code == 1
    assert Run(capsysbinary, "list", "--tier", "huge").code == 2


def test_a_list_leaves_out_what_needs_other_tools(
    registry: Loopback, capsysbinary: Capture
) -> None:
    registry.house.publish("reads", allowed_tools="Read")
    registry.house.publish("runs", allowed_tools="Read Bash")
    assert listed(capsysbinary, "--tool", "Read") == ["reads"]
    assert listed(capsysbinary, "--tool", "Read", "--tool", "Bash") == ["reads", "runs"]


def test_a_list_speaks_the_language_that_is_asked_for(
    tmp_path: Path, capsysbinary: Capture
) -> None:
    push(capsysbinary, tmp_path, "notes", "description_de: Schreibt Notizen.")
    assert Run(capsysbinary, "list", "--lang", "de").out.endswith("\tSchreibt Notizen.\n")
    assert Run(capsysbinary, "list").out.endswith("\tDoes one thing.\n")
